import { Type } from '@sinclair/typebox';
import { makePlugin } from '../joomla/plugin';
import { get } from './kit/operation';
import { readId } from './kit/request-params';
import { strictObject, nullable, Text } from './kit/schemas';

export const joomlaPluginOperations = {
  getProductJoomlaPlugin: get(
    '/products/{id}/joomla-plugin',
    {
      summary: "Make the Joomla package for customers' sites",
      description:
        "The package shows why an update was refused, and keeps the Download Key. The zip is the one that `licensing joomla-plugin` writes. The downloads' address comes from `LICENSING_PUBLIC_URL`; if that is not set, from the update XML.",
      query: strictObject({
        vendor: Type.String({
          description: 'Letters and digits, such as Acme. The names of the plugins begin with it.',
        }),
        base_url: Type.Optional(
          Type.String({
            description:
              'The site that the product is downloaded from, such as https://shop.example. It is not remembered.',
          }),
        ),
      }),
      data: strictObject(
        {
          file_name: Text,
          element: Type.String({ description: "Joomla's name of the package." }),
          version: Text,
          address: Type.String({ description: 'The address of the downloads that it works for.' }),
          xml_site: nullable(
            Type.String({
              description: 'The other site that the update XML sends sites to, where the plugins do nothing.',
            }),
          ),
          zip: Type.String({ description: 'The package, in base64.' }),
        },
        { title: 'JoomlaPlugin' },
      ),
    },
    async (call) => {
      const { db, query, settings } = call;
      const request = {
        productId: readId(call, 'id', 'product'),
        vendor: query.vendor,
        baseUrl: query.base_url,
      };
      const made = await makePlugin(db, request, settings.updateXml, settings.programFolder);
      const { product, fileName, element, version, address, zip } = made;
      return {
        data: {
          file_name: fileName,
          element,
          version,
          address,
          xml_site: product.otherBaseUrl ?? null,
          zip: zip.toString('base64'),
        },
      };
    },
  ),
};
