import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../settings/config';
import { OperatorError } from '../../licensing/operator-error';
import { readText } from '../../setup/files';
import { isStopRequested, deferSignals } from '../../process/interrupts';
import { holdLock } from '../../setup/lock';
import { runLine } from '../../setup/machine';
import { unitVariable } from '../../setup/units';
import type { Output } from '../command';

/** The paths of an installation, which are those of docs/production.md for an installation by hand. */

/** The program: a folder, or a link to the tree of the running version. The unit names this path. */
export const CURRENT = '/opt/licensing-gateway';
/** The folder next to it, for the trees of other versions. */
export const TREES_DIR = '/opt';
/** The settings of an installation that has a tree for each version. */
export const SETTINGS = '/etc/licensing-gateway.env';
export const DATA = '/var/lib/licensing';
export const USER = 'licensing';
export const UNIT = 'licensing@.service';
export const UNIT_FILE = `/etc/systemd/system/${UNIT}`;
/** The differences between this machine and the shipped unit. */
export const DROP_IN = `${UNIT_FILE}.d/setup.conf`;
export const NGINX_FILES = '/etc/nginx/licensing';
export const NGINX_LOG = '/var/log/nginx/licensing.log';
export const COMMAND = '/usr/local/bin/licensing';
const PACKAGE = 'licensing-gateway';
const PACKAGED_UNITS = ['/usr/lib/systemd/system', '/lib/systemd/system'].map((folder) => join(folder, UNIT));

/** The script that runs the service. A release has its own Node next to it, a checkout uses the machine's. */
export const SERVICE_SCRIPT = 'bin/licensing-service';
const COMMAND_SCRIPT = 'bin/licensing';
const COMMAND_FILE = 'dist/src/cli.js';

/** Returns the command's file in a tree, at HOME or elsewhere. */
export function commandIn(tree: string): string {
  return join(tree, existsSync(join(tree, COMMAND_SCRIPT)) ? COMMAND_SCRIPT : COMMAND_FILE);
}

export function hasOwnNode(tree: string): boolean {
  return existsSync(join(tree, 'node'));
}

/** Returns a command line that runs the command of a tree. */
export function commandLineOf(tree: string, args: string[]): string[] {
  return hasOwnNode(tree)
    ? [join(tree, COMMAND_SCRIPT), ...args]
    : [process.execPath, join(tree, COMMAND_FILE), ...args];
}

/** Requires root. @throws OperatorError */
export function requireRoot(command: string): void {
  if (process.getuid?.() !== 0)
    throw new OperatorError(
      `Run this as root: sudo licensing ${command}. It changes users, systemd units and files of the web server.`,
    );
}

/** The tree that runs now, with links resolved. */
export const runningTree = realpathSync(packageRoot);

/** Returns the tree that HOME leads to; undefined if nothing exists there. */
export function currentTree(): string | undefined {
  return existsSync(CURRENT) ? realpathSync(CURRENT) : undefined;
}

export function versionOfTree(tree: string): string | undefined {
  const text = readText(join(tree, 'package.json'));
  const { name, version } = JSON.parse(text ?? '{}') as { name?: string; version?: string };
  return name === 'licensing-gateway' ? version : undefined;
}

/** Returns the name of the .deb package that owns a tree; undefined without one, or without dpkg. */
export async function packageOwning(tree: string): Promise<string | undefined> {
  // Search by the package's own path too, because a link may lead from there to another disk.
  const paths = tree === currentTree() && tree !== CURRENT ? [tree, CURRENT] : [tree];
  for (const path of paths) {
    const { code, stdout } = await runLine(['dpkg-query', '--search', join(path, 'package.json')]).catch(
      () => ({
        code: 1,
        stdout: '',
      }),
    );
    if (code === 0) return /^([^:,\s]+)/.exec(stdout)?.[1];
  }
  return undefined;
}

/**
 * Locks the machine for a command that changes it, and refuses to run during a package's installation.
 * @param who the command's name in the message to other commands
 * @throws OperatorError; nothing is changed then
 */
export async function lockMachineChanges(who: string, output: Output): Promise<void> {
  deferSignals(() => output.note('Stopping after the current step, so that nothing is left half done.'));
  await holdLock(who, new Date());
  // Ignore root's umask, because the web server, systemd and the service's user read the new files.
  process.umask(0o022);
  const { stdout } = await runLine([
    'dpkg-query',
    '--show',
    '--showformat',
    '${db:Status-Abbrev}',
    PACKAGE,
  ]).catch(() => ({ stdout: '' }));
  // The states are the wanted action, the status and an error: "ii " if installed, "rc " if removed.
  if (!/^(?:.[nciWt] ?)?$/.test(stdout))
    throw new OperatorError(
      `The package ${PACKAGE} is not completely installed (dpkg says "${stdout.trim()}"). Nothing was changed. Let dpkg finish first: dpkg --configure -a`,
    );
}

/** Ends the command if a stop was requested. @param left the text about the work so far @throws OperatorError */
export function throwIfStopped(left: string): void {
  if (isStopRequested()) throw new OperatorError(`Stopped. ${left}`);
}

/** Returns the unit that a package installed; undefined if setup writes its own. */
export function packagedUnit(): string | undefined {
  return PACKAGED_UNITS.find((path) => existsSync(path));
}

/** Returns the settings file of the service: the unit's, otherwise `.env` in its folder. */
export async function settingsOfUnit(unitText: string): Promise<string> {
  const known = await unitVariable('licensing@1', 'LICENSING_ENV_FILE').catch(() => undefined);
  const written = /^Environment="?LICENSING_ENV_FILE=([^"\s]+)/m.exec(unitText)?.[1];
  return known ?? written ?? join(CURRENT, '.env');
}
