import { readFile } from 'node:fs/promises';
import type { Stats } from 'node:fs';

/** The user of nginx's workers, which send the packages. */
export interface NginxUser {
  name: string;
  uid: number;
  /** the name of its primary group */
  group: string;
  gids: number[];
}

/** Returns the user in nginx's configuration; undefined if the file or the user is not on this machine. */
export async function readNginxUser(configuration = '/etc/nginx/nginx.conf'): Promise<NginxUser | undefined> {
  const text = await readFile(configuration, 'utf8').catch(() => '');
  const [, name, groupName] = /^\s*user\s+([^\s;]+)(?:\s+([^\s;]+))?\s*;/m.exec(text) ?? [];
  const account = (await readAccounts('/etc/passwd')).find(([login]) => login === name);
  const [uid, ownGid] = account?.slice(2, 4).map(Number) ?? [];
  if (name === undefined || uid === undefined || ownGid === undefined) return undefined;
  const groups = await readAccounts('/etc/group');
  const first = groups.find(([group, , gid]) =>
    groupName === undefined ? Number(gid) === ownGid : group === groupName,
  );
  if (first === undefined) return undefined;
  const members = groups.filter(([, , , list = '']) => list.split(',').includes(name));
  return { name, uid, group: first[0] ?? '', gids: [first, ...members].map(([, , gid]) => Number(gid)) };
}

/** Returns a group's name, or its number if it has no name. */
export async function groupName(gid: number): Promise<string> {
  const group = (await readAccounts('/etc/group')).find(([, , number]) => Number(number) === gid);
  return group?.[0] ?? String(gid);
}

/** Reports whether mode bits give a user a permission (4: read, 1: enter). Access control lists are ignored. */
export function mayUse({ uid, gids }: NginxUser, { mode, uid: owner, gid }: Stats, right: number): boolean {
  if (uid === 0) return true;
  const shift = uid === owner ? 6 : gids.includes(gid) ? 3 : 0;
  return ((mode >> shift) & right) === right;
}

async function readAccounts(file: string): Promise<string[][]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').map((line) => line.split(':'));
}
