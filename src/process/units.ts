import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { startProgram } from './rights';

/** The restrictions of systemd on instances of deploy/licensing@.service, which do not apply to a command outside the unit. */

export interface Unit {
  /** such as `licensing@1` */
  name: string;
  user: string;
  group: string;
  /** undefined if it listens on a TCP address, or only the settings file names the socket */
  socket: string | undefined;
  /** `NoNewPrivileges`: no child process can take the rights of another user or group */
  gainsNoRights: boolean;
  /** `ProtectSystem=strict`: only `writable` can be written to */
  isReadOnly: boolean;
  /** the writable folders */
  writable: string[];
  /** `ProtectHome`: it cannot see /home, /root and /run/user */
  hidesHomes: boolean;
}

const PROPERTIES = [
  ...['Id', 'ActiveState', 'Environment', 'User', 'Group', 'NoNewPrivileges'],
  ...['ProtectSystem', 'ProtectHome', 'StateDirectory', 'ReadWritePaths'],
];
const TIMEOUT_MS = 3_000;

/** Lists the running instances. The list is empty without systemd, or if it does not respond. */
export async function readUnits(): Promise<Unit[]> {
  const args = ['show', `--property=${PROPERTIES.join(',')}`, 'licensing@*.service'];
  const { stdout } = await startProgram((user) =>
    promisify(execFile)('systemctl', args, { timeout: TIMEOUT_MS, ...user }),
  ).catch(() => ({ stdout: '' }));
  return stdout
    .split(/\n\n+/)
    .map((block) => new Map(block.split('\n').map(readProperty)))
    .filter((unit) => unit.has('Id') && !/^(?:inactive|failed)$/.test(unit.get('ActiveState') ?? ''))
    .map(toUnit);
}

function readProperty(line: string): [name: string, value: string] {
  const at = line.indexOf('=');
  return [line.slice(0, at), line.slice(at + 1)];
}

function toUnit(properties: Map<string, string>): Unit {
  const get = (name: string) => properties.get(name) ?? '';
  const words = (name: string) => get(name).split(' ').filter(Boolean);
  const listen = words('Environment').findLast((word) => word.startsWith('LICENSING_LISTEN='));
  return {
    name: get('Id').replace(/\.service$/, ''),
    user: get('User') || 'root',
    group: get('Group') || get('User') || 'root',
    socket: /^LICENSING_LISTEN=unix:(.+)$/.exec(listen ?? '')?.[1],
    gainsNoRights: get('NoNewPrivileges') === 'yes',
    isReadOnly: get('ProtectSystem') === 'strict',
    writable: [
      ...words('StateDirectory').map((folder) => `/var/lib/${folder}`),
      ...words('ReadWritePaths').map((path) => path.replace(/^[-+]+/, '')),
    ],
    hidesHomes: ['yes', 'tmpfs'].includes(get('ProtectHome')),
  };
}

/** Reports whether a path is one of the folders, or inside one. */
export function isWithin(path: string, folders: string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(folder.replace(/\/*$/, '/')));
}

/** The folders that `ProtectHome` hides. */
export const HOMES = ['/home', '/root', '/run/user'];

/** Reports whether the service's child processes cannot take the rights of another user or group. */
export async function serviceGainsNoRights(): Promise<boolean> {
  return hasNoNewPrivileges() || (await readUnits()).some((unit) => unit.gainsNoRights);
}

/** Reports whether this process cannot take the rights of another user or group. */
export function hasNoNewPrivileges(): boolean {
  try {
    return /^NoNewPrivs:\s*1$/m.test(readFileSync('/proc/self/status', 'utf8'));
  } catch {
    return false;
  }
}
