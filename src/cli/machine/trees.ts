import { lstatSync, statSync } from 'node:fs';
import { cp, rename, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { OperatorError } from '../../licensing/operator-error';
import { HOMES, isWithin } from '../../process/units';
import { runOrThrow } from '../../setup/machine';
import { groupsToJoin } from '../../setup/readers';
import { CURRENT, TREES_DIR } from './place';

/** The folders of the program's versions, and the links that lead to them. */

export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

/** Replaces a link atomically, so that a reader finds either the old or the new one. */
export async function replaceLink(path: string, to: string): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  await rm(temporary, { force: true });
  await symlink(to, temporary);
  await rename(temporary, path);
}

/** Reports whether every user can read a path, and also the unit, which hides homes and has its own /tmp. */
export function isForAll(path: string): boolean {
  if (isWithin(path, [...HOMES, '/tmp', '/var/tmp'])) return false;
  const { groups, closed } = groupsToJoin(
    statSync(path).isDirectory() ? join(path, 'package.json') : path,
    undefined,
    [],
  );
  return groups.length === 0 && closed === undefined;
}

/** Returns an unused folder for a version's tree. A version that is installed again gets another one. */
export function newTreePath(version: string): string {
  for (let number = 1; ; number++) {
    const path = join(TREES_DIR, `${basename(CURRENT)}-${version}${number === 1 ? '' : `.${number}`}`);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
  }
}

/** Copies a tree without a checkout's history and settings. A failed copy is removed. */
export async function copyTree(from: string, to: string): Promise<void> {
  const left = ['.git', '.env', 'var', 'release'].map((name) => join(from, name));
  try {
    await cp(from, to, {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
      filter: (source) => !left.includes(source),
    });
    await runOrThrow(['chown', '-R', 'root:root', to]);
    await runOrThrow(['chmod', '-R', 'go=rX', to]);
  } catch (error) {
    await rm(to, { recursive: true, force: true });
    throw new OperatorError(`${from} was not copied to ${to}: ${(error as Error).message}`);
  }
}
