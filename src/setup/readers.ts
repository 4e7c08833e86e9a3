import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Which groups a user needs to read a file, by the rights of the file and of the folders above it. */

export interface Needs {
  /** ids of groups that the user has to join */
  groups: number[];
  /** what lets nobody in who is not its owner, with the right that is missing; undefined: groups suffice */
  closed: { path: string; isFolder: boolean } | undefined;
}

/** @param uid and gids of who reads; a user who is not there yet has none */
export function whatToJoin(file: string, uid: number | undefined, gids: number[]): Needs {
  const groups: number[] = [];
  // Where links lead, and the folders that the links themselves are in.
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
