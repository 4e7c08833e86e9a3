import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The groups that a user needs to read a file, by the rights of the file and of the folders above it. */

export interface Needs {
  /** ids of groups that the user must join */
  groups: number[];
  /** the path that only its owner may enter, with the missing right; undefined: groups suffice */
  closed: { path: string; isFolder: boolean } | undefined;
}

/** Returns the groups that a user must join. @param uid undefined for a user who does not exist yet */
export function groupsToJoin(file: string, uid: number | undefined, gids: number[]): Needs {
  const groups: number[] = [];
  // The targets of links, and the folders that contain the links themselves.
  const real = realpathSync(file);
  const folders = new Set([...foldersAbove(file), ...foldersAbove(real)]);
  for (const path of [...folders, real]) {
    const isFolder = path !== real;
    const right = isFolder ? 1 : 4;
    const { mode, uid: owner, gid } = statSync(path);
    const has = (shift: number) => ((mode >> shift) & right) !== 0;
    if (uid === owner) {
      if (has(6)) continue;
    } else if (gids.includes(gid) || groups.includes(gid)) {
      if (has(3)) continue;
    } else if (has(0)) continue;
    else if (has(3) && gid !== 0) {
      groups.push(gid);
      continue;
    }
    return { groups, closed: { path, isFolder } };
  }
  return { groups, closed: undefined };
}

function foldersAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [...foldersAbove(above), above];
}
