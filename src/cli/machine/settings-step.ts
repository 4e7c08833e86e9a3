import { existsSync, realpathSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buildConfig, readEnvFile, withSecretFiles, type Config, type Settings } from '../../settings/config';
import { groupName } from '../../doctor/nginx-user';
import { OperatorError } from '../../licensing/operator-error';
import { lookAt } from '../../packages/replace-file';
import { isWithin } from '../../process/units';
import { giveRights, hasRights, idOf, ownerIds } from '../../setup/files';
import { asUser, runLine, runOrThrow, exitsWithZero } from '../../setup/machine';
import { groupsToJoin } from '../../setup/readers';
import { databaseFiles } from '../../setup/database';
import { DATA, CURRENT, commandLineOf, runningTree, SETTINGS, USER } from './place';
import type { PlannedChange, Setup } from './step';
import { isLink } from './trees';

/** Steps of setup: the service's user, its settings and tables, and the permissions that this user needs. */

export function planServiceUser(): Promise<PlannedChange[]> {
  if (idOf(USER, '/etc/passwd') !== undefined) return Promise.resolve([]);
  return Promise.resolve([
    {
      words: `the system user ${USER}, which cannot log in, and a group of the same name`,
      make: async () => {
        await runOrThrow([
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

/** Returns the settings file to read before the program's link exists. */
export function currentSettingsFile({ envFile }: Setup): string {
  if (existsSync(envFile) || !isWithin(envFile, [CURRENT])) return envFile;
  return [join(runningTree, '.env'), SETTINGS].find((path) => existsSync(path)) ?? envFile;
}

/** Returns the settings that `init` must add. Existing settings remain unchanged. */
function wanted(setup: Setup): NodeJS.ProcessEnv {
  const { webServer, url } = setup;
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LICENSING_ENV_FILE: currentSettingsFile(setup),
    LICENSING_PACKAGES_DIR: join(DATA, 'packages'),
    LICENSING_PUBLIC_URL: url.href.replace(/\/$/, ''),
    ...(webServer.kind === 'nginx' && { LICENSING_ACCEL_LOCATION: '/_licensing_packages/' }),
  };
}

/** Returns the configuration as it is, or as it will be after `init` has written it. @throws ConfigError */
export function configOf(setup: Setup): Config {
  const { PATH: _, LICENSING_ENV_FILE: file = '', ...planned } = wanted(setup);
  const kept = withSecretFiles(readEnvFile(file)?.settings ?? {}, dirname(file), file);
  const xml = { LICENSING_XML_DIR: join(DATA, 'xml'), LICENSING_JOOMLA_ROOT: setup.joomlaRoot };
  return buildConfig({ ...xml, ...(planned as Settings), ...kept }, dirname(file), file);
}

export async function planSettings(setup: Setup): Promise<PlannedChange[]> {
  const line = commandLineOf(runningTree, ['init', '--joomla-root', setup.joomlaRoot, '--json']);
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
  const { code, stdout, stderr } = await runLine(line, { env });
  if (code === 0) return stdout;
  const { error } = JSON.parse(stdout || '{}') as { error?: { message: string } };
  throw new OperatorError(error?.message ?? stderr.trim());
}

export async function planPermissions(setup: Setup): Promise<PlannedChange[]> {
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
  const changes = wantedRights.flatMap(([path, user, group, mode]): PlannedChange[] => {
    // Leave a link alone: it leads to another disk, whose permissions the administrator sets.
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

/** Returns SQLite's files. `init` may have created them as root, but the service's user must own them. */
function sqliteFiles(setup: Setup): string[] {
  const paths = databaseFiles(configOf(setup).database).map(({ path }) => path);
  return [...paths, ...paths.slice(0, 1).map((path) => `${path}.migrate-lock`)];
}

function isRoots(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.uid === 0;
}

export async function siteReader(setup: Setup): Promise<PlannedChange[]> {
  const file = join(realpathSync(setup.joomlaRoot), 'configuration.php');
  const { group } = setup.webServer;
  const isThere = idOf(USER, '/etc/passwd') !== undefined;
  const mayRead = (as: string) => exitsWithZero(asUser(USER, as, ['test', '-r', file]));
  // Check as "sudo -u licensing", which runs the command without the unit's group.
  if (isThere && (await mayRead(USER))) return [];
  const uid = isThere ? idOf(USER, '/etc/passwd') : undefined;
  const own = isThere ? (await runOrThrow(['id', '--groups', USER])).trim().split(' ').map(Number) : [];
  const { groups, closed } = groupsToJoin(file, uid, own);
  // Access control lists may allow more than the modes show.
  if (closed !== undefined && isThere && (await mayRead(group))) return [];
  if (closed !== undefined)
    throw new OperatorError(
      `The service's user cannot read ${file}: ${closed.path} allows only its owner to enter. ` +
        (closed.isFolder
          ? `Give access to the site's group: chgrp ${group} ${closed.path} && chmod g+x ${closed.path}`
          : `Give access to the site's group, which PHP uses: chgrp ${group} ${closed.path} && chmod 640 ${closed.path}`),
    );
  const names = await Promise.all(groups.map(groupName));
  if (names.length > 0) setup.stale.instances = true;
  return names.map((name) => ({
    words: `${USER} joins the group ${name}, which may read ${file}`,
    make: async () => {
      await runOrThrow(['usermod', '--append', '--groups', name, USER]);
      return { kind: 'member', user: USER, group: name };
    },
  }));
}
