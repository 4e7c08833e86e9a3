import { constants, readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { lookAt, replaceFile } from '../packages/replace-file';

/** The mode of a file. @param owner ids of its user and group */
export interface Rights {
  mode: number;
  owner?: [uid: number, gid: number] | undefined;
}

/** Writes a text atomically. Without `rights`, an existing file keeps its own. A link stays a link. */
export async function writeText(path: string, text: string, rights?: Rights): Promise<void> {
  const place = await lookAt(path);
  const { there } = place;
  const { mode, owner } = rights ?? {
    mode: there === undefined ? 0o644 : there.mode & 0o7777,
    owner: there === undefined ? undefined : ([there.uid, there.gid] as [number, number]),
  };
  await replaceFile(place, mode, async (sink, handle) => {
    await sink(text);
    if (owner !== undefined) await handle.chown(...owner);
  });
}

export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the id of a user or group by its name in `/etc/passwd` or `/etc/group`. */
export function idOf(name: string, file: '/etc/passwd' | '/etc/group'): number | undefined {
  const line = readFileSync(file, 'utf8')
    .split('\n')
    .map((one) => one.split(':'))
    .find(([first]) => first === name);
  return line === undefined ? undefined : Number(line[2]);
}

/** @throws Error if the user or group does not exist */
export function ownerIds(user: string, group: string): [uid: number, gid: number] {
  const [uid, gid] = [idOf(user, '/etc/passwd'), idOf(group, '/etc/group')];
  if (uid === undefined || gid === undefined)
    throw new Error(`There is no user ${user} or no group ${group}.`);
  return [uid, gid];
}

/** Reports whether a path already has these rights. */
export function hasRights(path: string, { mode, owner }: Rights): boolean {
  const there = statSync(path, { throwIfNoEntry: false });
  return (
    there !== undefined &&
    (there.mode & 0o777) === mode &&
    (owner === undefined || (there.uid === owner[0] && there.gid === owner[1]))
  );
}

/**
 * Gives a file or a folder these rights. Root follows no link that the service's user created there, even at this
 * moment.
 * @throws OperatorError
 */
export async function giveRights(path: string, { mode, owner }: Required<Rights>): Promise<void> {
  const { target } = await lookAt(path);
  const handle = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (owner !== undefined) await handle.chown(...owner);
    await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}
