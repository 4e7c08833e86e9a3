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
        'With the component, administrators of the site open the pages by *Components > Licensing*, without another sign-in. The zip is the same for every site, contains no secret, and is the one that `licensing joomla-door` writes.',
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
