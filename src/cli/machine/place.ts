import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../settings/config';
import { OperatorError } from '../../licensing/operator-error';
import { readText } from '../../setup/files';
import { isAskedToStop, putOffInterrupts } from '../../process/interrupts';
import { holdLock } from '../../setup/lock';
import { run } from '../../setup/machine';
import { unitVariable } from '../../setup/units';
import type { Output } from '../command';

/** Where an installation lies, as docs/production.md has it by hand. */

/** The program: a folder, or a link to the tree of the version that runs. The unit names it. */
export const HOME = '/opt/licensing-gateway';
/** Beside it: the trees of other versions. */
export const TREES = '/opt';
/** The settings of an installation whose program is a tree for each version. */
export const SETTINGS = '/etc/licensing-gateway.env';
export const DATA = '/var/lib/licensing';
export const USER = 'licensing';
export const UNIT = 'licensing@.service';
export const UNIT_FILE = `/etc/systemd/system/${UNIT}`;
/** What this machine needs otherwise than the unit has it. */
export const DROP_IN = `${UNIT_FILE}.d/setup.conf`;
export const NGINX_FILES = '/etc/nginx/licensing';
export const NGINX_LOG = '/var/log/nginx/licensing.log';
export const COMMAND = '/usr/local/bin/licensing';
const PACKAGE = 'licensing-gateway';
const PACKAGED_UNITS = ['/usr/lib/systemd/system', '/lib/systemd/system'].map((folder) => join(folder, UNIT));

/** The script that runs the service. A release has its own Node beside it, a checkout takes that of the machine. */
export const SERVICE_SCRIPT = 'bin/licensing-service';
const COMMAND_SCRIPT = 'bin/licensing';
const COMMAND_FILE = 'dist/src/cli.js';

/** The command's file in a tree, below HOME or elsewhere. */
export function commandIn(tree: string): string {
  return join(tree, existsSync(join(tree, COMMAND_SCRIPT)) ? COMMAND_SCRIPT : COMMAND_FILE);
}

export function hasOwnNode(tree: string): boolean {
  return existsSync(join(tree, 'node'));
}

/** A line that runs the command of a tree. */
export function lineIn(tree: string, args: string[]): string[] {
  return hasOwnNode(tree)
    ? [join(tree, COMMAND_SCRIPT), ...args]
    : [process.execPath, join(tree, COMMAND_FILE), ...args];
}

/** @throws OperatorError */
export function requireRoot(command: string): void {
  if (process.getuid?.() !== 0)
    throw new OperatorError(
      `Run this as root: sudo licensing ${command}. It makes a user, a unit and files of the web server.`,
    );
}

/** The tree that runs now, with links resolved. */
export const ownTree = realpathSync(packageRoot);

/** What HOME leads to; undefined: nothing is there. */
export function treeAtHome(): string | undefined {
  return existsSync(HOME) ? realpathSync(HOME) : undefined;
}

export function versionOf(tree: string): string | undefined {
  const text = readText(join(tree, 'package.json'));
  const { name, version } = JSON.parse(text ?? '{}') as { name?: string; version?: string };
  return name === 'licensing-gateway' ? version : undefined;
}

/** The .deb that a tree belongs to: its package's name; undefined: none, or there is no dpkg. */
export async function packageOwning(tree: string): Promise<string | undefined> {
  // dpkg knows its own path, also where a link leads from there to another disk.
  const paths = tree === treeAtHome() && tree !== HOME ? [tree, HOME] : [tree];
  for (const path of paths) {
    const { code, stdout } = await run(['dpkg-query', '--search', join(path, 'package.json')]).catch(() => ({
      code: 1,
      stdout: '',
    }));
    if (code === 0) return /^([^:,\s]+)/.exec(stdout)?.[1];
  }
  return undefined;
}

/**
 * For what changes the machine: alone, and not in the midst of a package's installation.
 * @param who the command, as others are told
 * @throws OperatorError; nothing is changed then
 */
export async function beAlone(who: string, output: Output): Promise<void> {
  putOffInterrupts(() => output.note('A stop was asked for: it ends where nothing is left half done.'));
  await holdLock(who, new Date());
  // Whatever root's own is: the web server, systemd and the service's user read what is made.
  process.umask(0o022);
  const { stdout } = await run([
    'dpkg-query',
    '--show',
    '--showformat',
    '${db:Status-Abbrev}',
    PACKAGE,
  ]).catch(() => ({ stdout: '' }));
  // Wanted, as it is, and an error: "ii " of one that is there, "rc " of one that was removed.
  if (!/^(?:.[nciWt] ?)?$/.test(stdout))
    throw new OperatorError(
      `The package ${PACKAGE} is not installed to its end (dpkg says "${stdout.trim()}"). Nothing was changed. Let dpkg finish it first: dpkg --configure -a`,
    );
}

/** @param left what was done, and how to go on @throws OperatorError when a stop was asked for */
export function stopHere(left: string): void {
  if (isAskedToStop()) throw new OperatorError(`Stopped. ${left}`);
}

/** The unit that a package brought; undefined: setup writes its own. */
export function packagedUnit(): string | undefined {
  return PACKAGED_UNITS.find((path) => existsSync(path));
}

/** The settings file of the service: where its unit says, else `.env` in its folder. */
export async function settingsOfUnit(unitText: string): Promise<string> {
  const known = await unitVariable('licensing@1', 'LICENSING_ENV_FILE').catch(() => undefined);
  const written = /^Environment="?LICENSING_ENV_FILE=([^"\s]+)/m.exec(unitText)?.[1];
  return known ?? written ?? join(HOME, '.env');
}
