import { Type } from '@sinclair/typebox';
import { EXTENSION_CLIENTS, EXTENSION_TYPES } from '../joomla/extension-types';
import { regenerateUpdateXml, readUpdateXmlState } from '../joomla/regenerate-update-xml';
import { STABILITIES } from '../licensing/versions';
import { setUpdateXmlOptions } from '../joomla/update-xml/options';
import { get, put, type OperationCall } from './kit/operation';
import { readId } from './kit/request-params';
import { strictObject, enumOf, nullable, Text, TextOrNull } from './kit/schemas';

const options = {
  description: TextOrNull,
  info_url: TextOrNull,
  info_title: TextOrNull,
  target_platform: TextOrNull,
  php_minimum: TextOrNull,
  supported_databases: nullable(
    Type.Partial(strictObject({ mysql: Text, mariadb: Text, postgresql: Text }), {
      additionalProperties: false,
      description: 'The lowest version of each database, such as {"mysql":"8.0.13"}.',
    }),
  ),
  tag: nullable(enumOf(STABILITIES)),
  type: nullable(enumOf(EXTENSION_TYPES)),
  client: nullable(enumOf(EXTENSION_CLIENTS)),
  folder: TextOrNull,
};

const UpdateXml = strictObject(
  {
    state: enumOf(['written', 'stale', 'not_set'], {
      description:
        '`stale`: the file lacks the latest change. `not_set`: no element, or no address to write it for.',
    }),
    url: TextOrNull,
    xml: nullable(
      Type.String({ description: 'The text that the file should have; null: it cannot be made.' }),
    ),
    options: strictObject(options),
  },
  { title: 'UpdateXml' },
);

async function read({ db, settings }: OperationCall, id: number) {
  const { state, url, xml, options: stored } = await readUpdateXmlState(db, settings.updateXml, id);
  return { data: { state, url, xml, options: stored } };
}

export const updateXmlOperations = {
  getProductUpdateXml: get(
    '/products/{id}/update-xml',
    {
      summary: "Read a product's update XML, and whether Joomla is offered what is published",
      data: UpdateXml,
    },
    (call) => read(call, readId(call, 'id', 'product')),
  ),
  setProductUpdateXml: put(
    '/products/{id}/update-xml',
    {
      summary: 'Set options of the update XML, and write it',
      description:
        'Options that are not given stay. null clears an option. `tag` is the stability of the highest version.',
      body: Type.Partial(strictObject(options), { additionalProperties: false }),
      data: UpdateXml,
    },
    async (call) => {
      const id = readId(call, 'id', 'product');
      await setUpdateXmlOptions(call.db, id, call.body);
      await regenerateUpdateXml(call.db, call.settings.updateXml, id);
      return read(call, id);
    },
  ),
};
