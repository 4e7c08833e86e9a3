import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { buildConfig, readEnvFile, withSecretFiles, type Config, type Settings } from '../../config';
import { groupName } from '../../doctor/nginx-user';
import { makeDoor } from '../../joomla/door';
import { OperatorError } from '../../licensing/operator-error';
import { lookAt } from '../../packages/replace-file';
import { HOMES, isWithin } from '../../process/units';
import { giveRights, hasRights, idOf, ownerIds, readText, writeText, type Rights } from '../../setup/files';
import { note, STATE, writtenBefore, type Made } from '../../setup/journal';
import { asUser, lastLines, run, runWell, succeeds } from '../../setup/machine';
import { whatToJoin } from '../../setup/readers';
import {
  readInstances,
  restartInTurns,
  unitProperty,
  unitVariable,
  waitUntilReady,
  type Instance,
} from '../../setup/units';
import { connectSite, describeEdits, requireSound } from '../../setup/web-server';
import { apacheFile } from '../apache-file';
import type { Output } from '../command';
import { databaseFiles } from '../database';
import { askReadiness } from '../health';
import { nginxFiles } from '../nginx';
import {
  COMMAND,
  commandIn,
  DATA,
  DROP_IN,
  hasOwnNode,
  HOME,
  lineIn,
  NGINX_FILES,
  NGINX_LOG,
  ownTree,
  packagedUnit,
  packageOwning,
  SERVICE_SCRIPT,
  SETTINGS,
  TREES,
  treeAtHome,
  UNIT,
  UNIT_FILE,
  USER,
  versionOf,
} from './place';
import type { WebServer } from './web-servers';

/** The steps of setup. Each looks what is to be changed now, so that a second run finds nothing. */

export interface Step {
  title: string;
  /** nothing: all is as it has to be. @throws OperatorError when it cannot be */
  look(): Promise<Change[]>;
}

export interface Change {
  /** what will be changed */
  words: string;
  /** @returns what the journal keeps of it; undefined: it is data, or nothing that is taken back */
  make(): Promise<Made | undefined>;
}

export interface Setup {
  joomlaRoot: string;
  url: URL;
  /** undefined: what runs already, else what the memory allows */
  instances: number | undefined;
  envFile: string;
  webServer: WebServer;
  output: Output;
  /** what is changed that running instances know nothing of */
  stale: { instances: boolean };
  /** what is left to a person */
  byHand: string[];
}

export function stepsOf(setup: Setup): Step[] {
  return [
    { title: 'program', look: () => program() },
    { title: `user ${USER}`, look: () => account() },
    { title: 'settings and tables', look: () => settings(setup) },
    { title: 'folders and rights', look: () => rights(setup) },
    { title: 'configuration.php', look: () => siteReader(setup) },
    { title: 'unit', look: () => unit(setup) },
    { title: 'instances', look: () => instances(setup) },
    { title: `files of ${setup.webServer.name}`, look: () => webFiles(setup) },
    { title: "the site's own file", look: () => siteFile(setup) },
    { title: 'the component for Joomla', look: () => door() },
  ];
}

/** Files for people and for the web server, root's own. */
const PUBLIC: Rights = { mode: 0o644, owner: [0, 0] };

async function program(): Promise<Change[]> {
  const there = treeAtHome();
  const changes: Change[] = [];
  if (there !== ownTree) {
    // A package that was removed leaves the settings.
    if (there !== undefined && versionOf(there) === undefined)
      throw new OperatorError(
        `${HOME} is there already, without the program. Keep its settings (.env), and move the folder away: mv ${HOME}/.env ${SETTINGS}; rmdir ${HOME}`,
      );
    if (there !== undefined)
      throw new OperatorError(
        `${HOME} is there already, and leads to version ${versionOf(there) ?? 'unknown'} in ${there}. This is version ${versionOf(ownTree) ?? ''} in ${ownTree}. ` +
          `To change the version: ${commandIn(ownTree)} upgrade ${ownTree}`,
      );
    const tree = isForAll(ownTree) ? ownTree : freeTree(versionOf(ownTree) ?? 'new');
    if (tree !== ownTree)
      changes.push({
        words: `copy ${ownTree}, where the service's user may not look, to ${tree}`,
        make: async () => {
          await copyTree(ownTree, tree);
          return { kind: 'tree', path: tree };
        },
      });
    changes.push(...settingsOutside(tree, packagedUnit() === undefined), link(HOME, tree));
  } else changes.push(...settingsOutside(HOME, false));
  requireNode();
  const command = join(HOME, relative(ownTree, commandIn(ownTree)));
  const isPackaged = await packageOwning(ownTree);
  if (isPackaged === undefined && !(isLink(COMMAND) && readlinkSync(COMMAND) === command)) {
    if (existsSync(COMMAND) && !isLink(COMMAND))
      throw new OperatorError(`${COMMAND} is there already, and is something else. Move it away.`);
    changes.push(link(COMMAND, command));
  }
  return changes;
}

/**
 * The settings outlast the tree of a version, which the next one replaces.
 * @param isTree false: only those that are there already, such as of an archive before the package
 */
function settingsOutside(tree: string, isTree: boolean): Change[] {
  const path = join(tree, '.env');
  if (existsSync(path) || !(isTree || existsSync(SETTINGS))) return [];
  return [
    {
      words: `the link ${path}, to ${SETTINGS}, which every version uses`,
      make: async () => {
        await writeFile(SETTINGS, '', { mode: 0o600, flag: 'a' });
        await replaceLink(path, SETTINGS);
        return undefined;
      },
    },
  ];
}

/** A checkout is run by the machine's Node, which the service's user has to reach. */
function requireNode(): void {
  if (hasOwnNode(ownTree) || isForAll(process.execPath)) return;
  throw new OperatorError(
    `Node is in ${process.execPath}, where the service's user may not look. Install one for all users, such as /usr/bin/node (https://nodejs.org/en/download).`,
  );
}

export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function link(path: string, to: string): Change {
  const before = isLink(path) ? readlinkSync(path) : null;
  return {
    words: `the link ${path}, to ${to}`,
    make: async () => {
      await replaceLink(path, to);
      return { kind: 'link', path, to, before };
    },
  };
}

/** In one step, so that whoever looks finds the old or the new. */
export async function replaceLink(path: string, to: string): Promise<void> {
  const temporary = `${path}.${process.pid}.new`;
  await rm(temporary, { force: true });
  await symlink(to, temporary);
  await rename(temporary, path);
}

/** Whether every user may look there, and the unit too, which hides homes and has a /tmp of its own. */
function isForAll(path: string): boolean {
  if (isWithin(path, [...HOMES, '/tmp', '/var/tmp'])) return false;
  const { groups, closed } = whatToJoin(
    statSync(path).isDirectory() ? join(path, 'package.json') : path,
    undefined,
    [],
  );
  return groups.length === 0 && closed === undefined;
}

/** The folder of a version's tree; a version that is taken again gets another. */
export function freeTree(version: string): string {
  for (let number = 1; ; number++) {
    const path = join(TREES, `${basename(HOME)}-${version}${number === 1 ? '' : `.${number}`}`);
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
  }
}

/** Without a checkout's history and settings. */
export async function copyTree(from: string, to: string): Promise<void> {
  const left = ['.git', '.env', 'var', 'release'].map((name) => join(from, name));
  await cp(from, to, {
    recursive: true,
    preserveTimestamps: true,
    verbatimSymlinks: true,
    filter: (source) => !left.includes(source),
  });
  await runWell(['chown', '-R', 'root:root', to]);
  await runWell(['chmod', '-R', 'go=rX', to]);
}

function account(): Promise<Change[]> {
  if (idOf(USER, '/etc/passwd') !== undefined) return Promise.resolve([]);
  return Promise.resolve([
    {
      words: `the system's user ${USER}, who cannot log in, and a group of this name`,
      make: async () => {
        await runWell([
          'useradd',
          '--system',
          '--user-group',
          '--home-dir',
          DATA,
          '--no-create-home',
          '--shell',
          '/usr/sbin/nologin',
          USER,
        ]);
        return undefined;
      },
    },
  ]);
}

/** The settings file as it can be looked at before the program's link is there. */
function settingsNow({ envFile }: Setup): string {
  if (existsSync(envFile) || !isWithin(envFile, [HOME])) return envFile;
  return [join(ownTree, '.env'), SETTINGS].find((path) => existsSync(path)) ?? envFile;
}

/** What `init` is to add to the settings file; what is set there stays. */
function wanted(setup: Setup): NodeJS.ProcessEnv {
  const { webServer, url } = setup;
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LICENSING_ENV_FILE: settingsNow(setup),
    LICENSING_PACKAGES_DIR: join(DATA, 'packages'),
    LICENSING_PUBLIC_URL: url.href.replace(/\/$/, ''),
    ...(webServer.kind === 'nginx' && { LICENSING_ACCEL_LOCATION: '/_licensing_packages/' }),
  };
}

async function settings(setup: Setup): Promise<Change[]> {
  const line = lineIn(ownTree, ['init', '--joomla-root', setup.joomlaRoot, '--json']);
  const env = wanted(setup);
  const { added, pending, database } = JSON.parse(await initWell([...line, '--dry-run'], env)) as {
    added: string[];
    pending: string[];
    database: string;
  };
  if (added.length === 0 && pending.length === 0) return [];
  setup.stale.instances = true;
  const tables = pending.length === 0 ? 'up to date' : `to be made or changed in ${database}`;
  return [
    {
      words: `${added.length === 0 ? 'nothing' : added.join(', ')} into ${setup.envFile}; tables: ${tables}`,
      make: async () => {
        await mkdir(dirname(setup.envFile), { recursive: true, mode: 0o755 });
        await initWell(line, wanted(setup));
        return undefined;
      },
    },
  ];
}

async function initWell(line: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const { code, stdout, stderr } = await run(line, { env });
  if (code === 0) return stdout;
  const { error } = JSON.parse(stdout || '{}') as { error?: { message: string } };
  throw new OperatorError(error?.message ?? stderr.trim());
}

async function rights(setup: Setup): Promise<Change[]> {
  const { envFile, webServer } = setup;
  if (existsSync(envFile)) await lookAt(envFile);
  const wantedRights: [string, string, string, number][] = [
    [envFile, USER, USER, 0o600],
    [DATA, USER, webServer.group, 0o750],
    [join(DATA, 'packages'), USER, webServer.group, 0o750],
    [join(DATA, 'xml'), USER, webServer.group, 0o750],
  ];
  const isNew = idOf(USER, '/etc/passwd') === undefined;
  for (const path of sqliteFiles(setup)) if (isRoots(path)) wantedRights.push([path, USER, USER, 0o600]);
  const changes = wantedRights.flatMap(([path, user, group, mode]): Change[] => {
    // A link is the administrator's: another disk, whose rights are theirs.
    if (path !== envFile && isLink(path)) return [];
    if (!isNew && existsSync(path) && hasRights(path, { mode, owner: ownerIds(user, group) })) return [];
    return [
      {
        words: `${path} belongs to ${user}:${group} with mode ${mode.toString(8)}`,
        make: async () => {
          if (path !== envFile) await mkdir(path, { recursive: true });
          await giveRights(path, { mode, owner: ownerIds(user, group) });
          return undefined;
        },
      },
    ];
  });
  return changes;
}

/** `init` makes them as root. */
function sqliteFiles(setup: Setup): string[] {
  const paths = databaseFiles(configOf(setup).database).map(({ path }) => path);
  return [...paths, ...paths.slice(0, 1).map((path) => `${path}.migrate-lock`)];
}

function isRoots(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.uid === 0;
}

async function siteReader(setup: Setup): Promise<Change[]> {
  const file = join(realpathSync(setup.joomlaRoot), 'configuration.php');
  const { group } = setup.webServer;
  const isThere = idOf(USER, '/etc/passwd') !== undefined;
  const mayRead = (as: string) => succeeds(asUser(USER, as, ['test', '-r', file]));
  // As "sudo -u licensing" runs the command, without the group of the unit.
  if (isThere && (await mayRead(USER))) return [];
  const uid = isThere ? idOf(USER, '/etc/passwd') : undefined;
  const own = isThere ? (await runWell(['id', '--groups', USER])).trim().split(' ').map(Number) : [];
  const { groups, closed } = whatToJoin(file, uid, own);
  // Access lists allow more than modes say.
  if (closed !== undefined && isThere && (await mayRead(group))) return [];
  if (closed !== undefined)
    throw new OperatorError(
      `The service's user cannot read ${file}: ${closed.path} lets only its owner in. ` +
        (closed.isFolder
          ? `Let the site's group in: chmod g+x ${closed.path}`
          : `Let the site's group read it, as PHP's group does: chgrp ${group} ${closed.path} && chmod 640 ${closed.path}`),
    );
  const names = await Promise.all(groups.map(groupName));
  if (names.length > 0) setup.stale.instances = true;
  return names.map((name) => ({
    words: `${USER} joins the group ${name}, which may read ${file}`,
    make: async () => {
      await runWell(['usermod', '--append', '--groups', name, USER]);
      return { kind: 'member', user: USER, group: name };
    },
  }));
}

async function unit(setup: Setup): Promise<Change[]> {
  const changes: Change[] = [];
  const shipped = readText(join(ownTree, 'deploy', UNIT));
  const packaged = packagedUnit();
  if (shipped === undefined) throw new OperatorError(`${ownTree}/deploy has no ${UNIT}.`);
  if (packaged === undefined) {
    const there = readText(UNIT_FILE);
    if (there !== undefined && there !== shipped && there !== writtenBefore(UNIT_FILE))
      setup.output.note(`${UNIT_FILE} differs from ${HOME}/deploy/${UNIT}, and stays as it is.`);
    else if (there !== shipped) changes.push(unitFile(setup, UNIT_FILE, shipped));
  }
  const text = packaged === undefined ? shipped : (readText(packaged) ?? '');
  const dropIn = await dropInFor(setup, text);
  const there = readText(DROP_IN);
  if (dropIn !== undefined && there !== dropIn) changes.push(unitFile(setup, DROP_IN, dropIn));
  return changes;
}

function unitFile(setup: Setup, path: string, text: string): Change {
  const said = text
    .split('\n')
    .filter((line) => /^[A-Z]\w*=./.test(line))
    .join(', ');
  setup.stale.instances = true;
  return {
    words: path === DROP_IN ? `${path}: ${said}` : path,
    make: async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o755 });
      await writeText(path, text, PUBLIC);
      await runWell(['systemctl', 'daemon-reload']);
      return { kind: 'unit-file', path, text };
    },
  };
}

/** In the PATH that systemd gives a unit. */
const FOUND_BY_SYSTEMD = ['/usr/local/sbin/node', '/usr/local/bin/node', '/usr/sbin/node', '/usr/bin/node'];

/** What the unit needs otherwise here; undefined: nothing. */
async function dropInFor({ joomlaRoot, webServer }: Setup, unitText: string): Promise<string | undefined> {
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unitText)?.[1] ?? '';
  const own = readText(DROP_IN) ?? '';
  const lines: string[] = [];
  if (value('Group') !== webServer.group) lines.push(`Group=${webServer.group}`);
  const script = join(HOME, SERVICE_SCRIPT);
  const hasScript = existsSync(join(ownTree, SERVICE_SCRIPT));
  const start = hasScript ? script : `${process.execPath} dist/src/main.js`;
  if (value('ExecStart') !== start) lines.push('ExecStart=', `ExecStart=${start}`);
  if (hasScript && !hasOwnNode(ownTree) && !FOUND_BY_SYSTEMD.includes(process.execPath))
    lines.push(`Environment=LICENSING_NODE=${process.execPath}`);
  if (isWithin(realpathSync(joomlaRoot), HOMES)) {
    // systemd says "no" of a unit that it does not know.
    const isKnown = (await unitProperty('licensing@1', 'LoadState')) === 'loaded';
    const now = isKnown ? await unitProperty('licensing@1', 'ProtectHome') : value('ProtectHome');
    if (own.includes('ProtectHome=') || !['no', 'read-only'].includes(now))
      lines.push('ProtectHome=read-only');
  }
  return lines.length === 0
    ? undefined
    : `# Written by "licensing setup", and anew when it is run again. Write your own lines into another file here.\n[Service]\n${lines.join('\n')}\n`;
}

const ENOUGH_MEMORY = 0.95 * 1024 ** 3;

async function wantedInstances(setup: Setup): Promise<{ count: number; there: Instance[] }> {
  const { instances: given } = setup;
  const there = await readInstances();
  const isAlone = configOf(setup).database.kind === 'sqlite';
  if (isAlone && (given ?? 1) > 1)
    throw new OperatorError(
      'The tables are in an SQLite file, which one instance serves: --instances 1. For more, let LICENSING_DATABASE_URL lead to MySQL or MariaDB.',
      { code: 'INVALID_REQUEST', field: 'instances' },
    );
  const byDefault = totalmem() >= ENOUGH_MEMORY && !isAlone ? 2 : 1;
  return { count: given ?? (there.length || byDefault), there };
}

/** Whether the instance's own address says that it can do its work. */
export async function isReady(name: string): Promise<boolean> {
  const address = await unitVariable(name, 'LICENSING_ADMIN_LISTEN');
  const [, host = '127.0.0.1', port] = /^(.*):(\d+)$/.exec(address ?? '') ?? [];
  const listen = address?.startsWith('unix:')
    ? { path: address.slice(5) }
    : { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  return askReadiness(listen, 2_000).then(
    ({ ready }) => ready,
    () => false,
  );
}

async function instances(setup: Setup): Promise<Change[]> {
  const { count, there } = await wantedInstances(setup);
  const wantedNames = Array.from({ length: count }, (_, i) => `licensing@${i + 1}`);
  const names = wantedNames.filter(
    (name) => !there.some((one) => one.name === name && one.isEnabled && one.isRunning),
  );
  const tooMany = there.map(({ name }) => name).filter((name) => !wantedNames.includes(name));
  const old = there
    .filter(({ name, isRunning }) => isRunning && !names.includes(name))
    .map(({ name }) => name);
  return [
    ...(setup.stale.instances && old.length > 0
      ? [
          {
            words: `${old.join(', ')} restart in turns`,
            make: async () => {
              await restartInTurns(old, isReady);
              setup.stale.instances = false;
              return undefined;
            },
          },
        ]
      : []),
    ...(names.length === 0
      ? []
      : [
          {
            words: `${names.join(', ')}: start now and with the machine`,
            make: async (): Promise<Made> => {
              // Not those that were there before setup.
              const made: Made = { kind: 'instances', names };
              await note(made);
              for (const name of names) {
                await runWell(['systemctl', 'enable', '--now', '--quiet', name]);
                await waitUntilReady(name, isReady);
              }
              return made;
            },
          },
        ]),
    ...(tooMany.length === 0
      ? []
      : [
          {
            words: `${tooMany.join(', ')}: stop, and no longer start with the machine`,
            make: async () => {
              await runWell(['systemctl', 'disable', '--now', '--quiet', ...tooMany]);
              return undefined;
            },
          },
        ]),
  ];
}

/** As the settings are, or will be when `init` has written them. @throws ConfigError */
function configOf(setup: Setup): Config {
  const { PATH: _, LICENSING_ENV_FILE: file = '', ...planned } = wanted(setup);
  const kept = withSecretFiles(readEnvFile(file)?.settings ?? {}, dirname(file));
  const xml = { LICENSING_XML_DIR: join(DATA, 'xml'), LICENSING_JOOMLA_ROOT: setup.joomlaRoot };
  return buildConfig({ ...xml, ...(planned as Settings), ...kept }, dirname(file), file);
}

async function webFiles(setup: Setup): Promise<Change[]> {
  const { webServer, url, output } = setup;
  const { count } = await wantedInstances(setup);
  const config = configOf(setup);
  const files =
    webServer.kind === 'nginx'
      ? (
          await nginxFiles(
            existsSync(settingsNow(setup)) ? config : { ...config, formerly: [] },
            { serverName: url.hostname, folder: NGINX_FILES, instances: count, formerly: undefined },
            output,
          )
        ).map(({ name, text }) => ({ path: join(NGINX_FILES, name), text }))
      : [{ path: webServer.file, text: await apacheFile(config, count) }];
  const changes = files.flatMap(({ path, text }): Change[] => {
    const there = readText(path);
    if (there === text) return [];
    if (there !== undefined && there !== writtenBefore(path)) {
      if (readText(`${path}.new`) === text) return [];
      return [
        {
          words: `${path} was changed by hand and stays; the new one beside it: ${path}.new`,
          make: async () => {
            await writeText(`${path}.new`, text, PUBLIC);
            return undefined;
          },
        },
      ];
    }
    return [
      {
        words: path,
        make: async () => {
          await mkdir(dirname(path), { recursive: true, mode: 0o755 });
          await writeText(path, text, PUBLIC);
          return { kind: 'file', path, text };
        },
      },
    ];
  });
  // Those that setup wrote: what was changed by hand stays as it is.
  const before = files.flatMap(({ path }) => {
    const text = readText(path);
    return text === undefined || text !== writtenBefore(path) ? [] : [{ path, text }];
  });
  const replaced = before.length > 0 && changes.length > 0;
  return [
    ...modules(webServer),
    ...accessLog(webServer),
    ...changes,
    ...(replaced ? [reload(webServer, before)] : []),
  ];
}

/** @param before the files as they were, for when the web server refuses the new ones */
function reload(webServer: WebServer, before: { path: string; text: string }[]): Change {
  return {
    words: `${webServer.name} tries its files, and reads them again`,
    make: async () => {
      const { code, stderr } = await run(webServer.test);
      if (code !== 0) {
        for (const { path, text } of before) {
          await writeText(path, text, PUBLIC);
          await note({ kind: 'file', path, text });
        }
        throw new OperatorError(
          `"${webServer.test.join(' ')}" refused the new files, so those from before were put back:\n${lastLines(stderr)}`,
        );
      }
      await runWell(webServer.reload);
      return undefined;
    },
  };
}

function modules({ modules: { missing, enable }, name }: WebServer): Change[] {
  if (missing.length === 0) return [];
  if (enable === undefined)
    throw new OperatorError(
      `${name} lacks modules that the service needs: ${missing.join(', ')}. Load them, and run this again.`,
    );
  return [
    {
      words: `modules of Apache: ${missing.join(', ')}`,
      make: async () => {
        await runWell([enable, '--quiet', ...missing]);
        return { kind: 'modules', names: missing };
      },
    },
  ];
}

/** Made before nginx makes it, which would let every user of the machine read it. */
function accessLog({ kind, user }: WebServer): Change[] {
  if (kind !== 'nginx' || existsSync(NGINX_LOG)) return [];
  return [
    {
      words: `${NGINX_LOG}, which nginx and the group adm may read`,
      make: async () => {
        const group = idOf('adm', '/etc/group') === undefined ? 'root' : 'adm';
        await writeFile(NGINX_LOG, '', { mode: 0o640, flag: 'ax' });
        await giveRights(NGINX_LOG, { mode: 0o640, owner: ownerIds(user, group) });
        return undefined;
      },
    },
  ];
}

async function siteFile(setup: Setup): Promise<Change[]> {
  const { webServer } = setup;
  const edits = await webServer.plan();
  setup.byHand = edits.byHand;
  const words = describeEdits(edits);
  if (words.length === 0) return [];
  await requireSound(webServer.test);
  return [
    {
      words: `${words.join('\n')}\n(a copy is kept in ${STATE}/copies; ${webServer.name} tries it, and reads it)`,
      make: async () => {
        const site = await connectSite(edits, webServer.test, join(STATE, 'copies'));
        const made: Made = { kind: 'site', site, reload: webServer.reload };
        // Before what may fail, so that it can be taken back.
        await note(made);
        await runWell(webServer.reload);
        return made;
      },
    },
  ];
}

export const DOOR = join(DATA, 'com_licensing.zip');

async function door(): Promise<Change[]> {
  const { zip } = await makeDoor(ownTree);
  const there = existsSync(DOOR) ? await readFile(DOOR) : undefined;
  if (there?.equals(zip)) return [];
  return [
    {
      words: DOOR,
      make: async () => {
        await runWell(lineIn(ownTree, ['joomla-door', '--out', DOOR]));
        return { kind: 'door', path: DOOR };
      },
    },
  ];
}
