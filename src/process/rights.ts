import { closeSync, openSync, statSync } from 'node:fs';
import { userInfo, type UserInfo } from 'node:os';

/** Privilege dropping for commands that root runs: the service user's rights, and root's own for the files that root named. */

/** Node has this function, but its types lack it. */
type WithGroups = typeof process & { initgroups: (user: string, group: number) => void };

interface Rights {
  uid: number;
  gid: number;
}

const ROOT: Rights = { uid: 0, gid: 0 };
/** The service's user; undefined if nothing was changed, or if the change is permanent. */
let service: Rights | undefined;
let held = ROOT;

/**
 * Continues as the service's user, like `sudo -u`, if root runs this process. The service's user is the owner of the
 * settings file (docs/production.md), unless this is root or cannot read the file.
 * @param mayReturn whether `asCaller` can take root's rights again; if false, they are dropped for good
 * @returns the user's environment variables; undefined if nothing was changed
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

/** Returns the user. Node looks up only the effective user, but asks the system, which may know more than /etc/passwd. */
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

/** Runs work with the rights of the user who typed the command, such as writing a file that this user named. */
export function asCaller<T>(work: () => Promise<T>): Promise<T> {
  return holding(ROOT, work);
}

/** Runs work with the service user's rights, inside `asCaller`. */
export function asServiceUser<T>(work: () => Promise<T>): Promise<T> {
  return holding(service ?? ROOT, work);
}

/** Returns a function that runs the work with the present rights, whenever it is called. */
export function withRightsOfNow(work: () => void): () => void {
  const rights = held;
  return () => {
    if (service !== undefined) take(rights);
    work();
  };
}

/**
 * Starts a program whose real user is the service's user: if it were root, the program could take root's rights back.
 * @param start must start the program before it returns
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

/** Changes the effective user and group. It first becomes root, because only root may take another group. */
function take(rights: Rights): void {
  process.seteuid?.(ROOT.uid);
  process.setegid?.(rights.gid);
  process.seteuid?.(rights.uid);
  held = rights;
}
