import { closeSync, openSync, statSync } from 'node:fs';
import { userInfo, type UserInfo } from 'node:os';

/** The rights of a command that root runs: those of the service's user, and root's own for the files that root named. */

/** The types of Node leave it out. */
type WithGroups = typeof process & { initgroups: (user: string, group: number) => void };

interface Rights {
  uid: number;
  gid: number;
}

const ROOT: Rights = { uid: 0, gid: 0 };
/** The service's user; undefined: nothing was changed, or there is no way back. */
let service: Rights | undefined;
let held = ROOT;

/**
 * Continues as the user of the service, like `sudo -u`, when root runs this process. The settings file belongs to that user
 * (docs/production.md). A file of root's, or one that its owner cannot read, names no such user.
 * @param mayReturn `asCaller` has root's rights again; false: they are given up for good
 * @returns the user's surroundings; undefined: nothing was changed
 */
export function becomeServiceUser(settingsFile: string, mayReturn: boolean): NodeJS.ProcessEnv | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(settingsFile, { throwIfNoEntry: false });
  if (owner === undefined || owner.uid === 0) return undefined;
  const user = userOf(owner.uid);
  const groups = process.getgroups?.() ?? [];
  if (user === undefined) process.setgroups?.([]);
  else (process as WithGroups).initgroups(user.username, user.gid);
  const rights = { uid: owner.uid, gid: user?.gid ?? owner.gid };
  take(rights);
  if (!mayRead(settingsFile)) {
    take(ROOT);
    process.setgroups?.(groups);
    return undefined;
  }
  if (mayReturn) service = rights;
  else {
    take(ROOT);
    process.setgid?.(rights.gid);
    process.setuid?.(rights.uid);
  }
  return user === undefined ? {} : { HOME: user.homedir, USER: user.username, LOGNAME: user.username };
}

/** Node looks up only the effective user, but asks the system, which may have more users than /etc/passwd. */
function userOf(uid: number): UserInfo<string> | undefined {
  process.seteuid?.(uid);
  try {
    return userInfo();
  } catch {
    return undefined;
  } finally {
    process.seteuid?.(ROOT.uid);
  }
}

function mayRead(file: string): boolean {
  try {
    closeSync(openSync(file, 'r'));
    return true;
  } catch {
    return false;
  }
}

/** Does what needs the rights of the person who typed the command: opens, writes and renames a file that they named. */
export function asCaller<T>(work: () => Promise<T>): Promise<T> {
  return holding(ROOT, work);
}

/** The reverse, for what happens while a file of the caller is written. */
export function asServiceUser<T>(work: () => Promise<T>): Promise<T> {
  return holding(service ?? ROOT, work);
}

/** The same work with the rights of this moment, whenever it is called. */
export function withRightsOfNow(work: () => void): () => void {
  const rights = held;
  return () => {
    if (service !== undefined) take(rights);
    work();
  };
}

/**
 * Starts a program that has only the service's user: with root as its real user, it could take root's rights back.
 * @param start starts it before it returns, as this user
 */
export function startProgram<T>(start: (user: Partial<Rights>) => T): T {
  if (service === undefined) return start({});
  const before = held;
  take(ROOT);
  try {
    return start(service);
  } finally {
    take(before);
  }
}

async function holding<T>(rights: Rights, work: () => Promise<T>): Promise<T> {
  if (service === undefined) return work();
  const before = held;
  take(rights);
  try {
    return await work();
  } finally {
    take(before);
  }
}

/** Takes root's rights first, without which no other group can be taken. */
function take(rights: Rights): void {
  process.seteuid?.(ROOT.uid);
  process.setegid?.(rights.gid);
  process.seteuid?.(rights.uid);
  held = rights;
}
