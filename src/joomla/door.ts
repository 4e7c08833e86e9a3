import { join } from 'node:path';
import { API_PATH } from '../licensing/api';
import { pack, readFolder, readVersion } from './plugin-files';

/** The component that signs a site's administrators in to the pages (docs/joomla-door.md): php/door. */

/** In Joomla, as in its address: index.php?option=com_licensing. */
export const DOOR_ELEMENT = 'com_licensing';

interface MadeDoor {
  element: string;
  version: string;
  fileName: string;
  zip: Buffer;
}

/** The same for every site: it has no address and no secret. @param root the folder of this program */
export async function makeDoor(root: string): Promise<MadeDoor> {
  const version = await readVersion(root);
  const files = await readFolder(join(root, 'php/door'), { ApiPath: API_PATH, '0.0.0': version });
  return {
    element: DOOR_ELEMENT,
    version,
    fileName: `${DOOR_ELEMENT}-${version}.zip`,
    zip: await pack(files),
  };
}
