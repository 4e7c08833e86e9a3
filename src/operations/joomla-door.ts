import { Type } from '@sinclair/typebox';
import { makeDoor } from '../joomla/door';
import { get } from './kit/operation';
import { strictObject, Text } from './kit/schemas';

export const joomlaDoorOperations = {
  getJoomlaDoor: get(
    '/joomla-door',
    {
      summary: "Make the component for the site's own Joomla",
      description:
        'It signs administrators of the site in to the pages: *Components > Licensing*. The same zip as `licensing joomla-door` writes, for every site; it has no secret.',
      data: strictObject(
        {
          file_name: Text,
          element: Type.String({ description: "Joomla's name of the component." }),
          version: Text,
          zip: Type.String({ description: 'The component, in base64.' }),
        },
        { title: 'JoomlaDoor' },
      ),
    },
    async ({ settings: { programFolder } }) => {
      const { fileName, element, version, zip } = await makeDoor(programFolder);
      return { data: { file_name: fileName, element, version, zip: zip.toString('base64') } };
    },
  ),
};
