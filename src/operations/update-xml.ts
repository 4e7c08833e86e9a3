import { Type } from '@sinclair/typebox';
import { EXTENSION_CLIENTS, EXTENSION_TYPES } from '../joomla/extension-types';
import { followUpdateXml, readUpdateXmlState } from '../joomla/follow-xml';
import { STABILITIES } from '../licensing/versions';
import { setUpdateXmlOptions } from '../joomla/update-xml/options';
import { get, put, type Call } from './kit/operation';
import { readId } from './kit/reading';
import { exactly, oneOf, orNull, Text, TextOrNull } from './kit/schemas';

const options = {
  description: TextOrNull,
  info_url: TextOrNull,
  info_title: TextOrNull,
  target_platform: TextOrNull,
  php_minimum: TextOrNull,
  supported_databases: orNull(
    Type.Partial(exactly({ mysql: Text, mariadb: Text, postgresql: Text }), {
      additionalProperties: false,
      description: 'The lowest version of each database, such as {"mysql":"8.0.13"}.',
    }),
  ),
  tag: orNull(oneOf(STABILITIES)),
  type: orNull(oneOf(EXTENSION_TYPES)),
  client: orNull(oneOf(EXTENSION_CLIENTS)),
  folder: TextOrNull,
};

const UpdateXml = exactly(
  {
    state: oneOf(['written', 'stale', 'not_set'], {
      description:
        '`stale`: the file lacks the latest change. `not_set`: no element, or no address to write it for.',
    }),
    url: TextOrNull,
    xml: orNull(Type.String({ description: 'The text that the file should have; null: it cannot be made.' })),
    options: exactly(options),
  },
  { title: 'UpdateXml' },
);

async function read({ db, settings }: Call, id: number) {
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
      body: Type.Partial(exactly(options), { additionalProperties: false }),
      data: UpdateXml,
    },
    async (call) => {
      const id = readId(call, 'id', 'product');
      await setUpdateXmlOptions(call.db, id, call.body);
      await followUpdateXml(call.db, call.settings.updateXml, id);
      return read(call, id);
    },
  ),
};
