import { join } from 'node:path';
import { API_PATH } from '../licensing/api';
import { pack, readFolder, programVersion } from './plugin-files';

/** Packs the component for Joomla that signs a site's administrators in to the pages (docs/joomla-door.md): php/door. */

/** The component's name in Joomla and in its URL: index.php?option=com_licensing. */
export const DOOR_ELEMENT = 'com_licensing';

interface MadeDoor {
  element: string;
  version: string;
  fileName: string;
  zip: Buffer;
}

/** Packs the component. It is the same for every site, without an address or secret. @param root the program's folder */
export async function makeDoor(root: string): Promise<MadeDoor> {
  const version = await programVersion(root);
  const files = await readFolder(join(root, 'php/door'), { ApiPath: API_PATH, '0.0.0': version });
  return {
    element: DOOR_ELEMENT,
    version,
    fileName: `${DOOR_ELEMENT}-${version}.zip`,
    zip: await pack(files),
  };
}
