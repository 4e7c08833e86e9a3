import { Type } from '@sinclair/typebox';
import { makeShopPlugin } from '../joomla/shop-plugin';
import { OperatorError } from '../licensing/operator-error';
import { isPlugin } from '../orders/shop-kinds';
import { requireShop } from '../orders/shops';
import { get } from './kit/operation';
import { strictObject, Text, TextOrNull } from './kit/schemas';

export const shopPluginOperations = {
  getShopPlugin: get(
    '/shops/{name}/plugin',
    {
      summary: "Make the Joomla plugin that posts a shop's orders",
      description:
        "For a shop of the kinds `hikashop`, `membershippro` and `j2commerce`; 409 for another. Its settings begin with the shop's name and the address of this service. It has no token: make one of the scope `issue` with the shop's name, and paste it into the plugin's settings. Another shop's name apart, it is the zip that `licensing shop plugin` writes.",
      scope: 'write',
      data: strictObject(
        {
          file_name: Text,
          element: Type.String({ description: "Joomla's name of the plugin, in the group `system`." }),
          version: Text,
          address: { ...TextOrNull, description: 'Where it posts; null: to the service beside its site.' },
          zip: Type.String({ description: 'The plugin, in base64.' }),
        },
        { title: 'ShopPlugin' },
      ),
    },
    async ({ db, path, settings: { operatorUrl, programFolder } }) => {
      const { name, kind } = await requireShop(db, path.name ?? '');
      if (!isPlugin(kind))
        throw new OperatorError(`Shop ${name} is of the kind ${kind}, which has no plugin for Joomla.`, {
          code: 'CONFLICT',
        });
      const made = await makeShopPlugin({ kind, name }, operatorUrl, programFolder);
      const { fileName, element, version, zip } = made;
      return {
        data: {
          file_name: fileName,
          element,
          version,
          address: operatorUrl ?? null,
          zip: zip.toString('base64'),
        },
      };
    },
  ),
};
