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
        "For shops of the kinds `hikashop`, `membershippro` and `j2commerce`; 409 for another kind. The plugin's settings already have the shop's name and the address of this service, but no token. Make a token with the scope `issue` and the shop's name, and paste it into the settings. `licensing shop plugin` writes the same zip, apart from the shop's name.",
      scope: 'write',
      data: strictObject(
        {
          file_name: Text,
          element: Type.String({ description: "Joomla's name of the plugin, in the group `system`." }),
          version: Text,
          address: {
            ...TextOrNull,
            description: 'The address that it posts to; null: the service next to its site.',
          },
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
