import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import {
  buildConfig,
  envFilePath,
  environment,
  loginName,
  mergeSettings,
  packageRoot,
  readEnvFile,
  withoutEmpty,
  withSecretFiles,
  type Config,
  type Settings,
  type Variable,
} from '../settings/config';
import { API_PATH } from '../licensing/api';
import { XML_PATH } from '../joomla/update-xml/location';
import { describeListen } from '../process/listen';
import { OperatorError } from '../licensing/operator-error';
import { addFirstSigningKey } from '../licensing/signing-keys';
import { lookAt, refuseProtected } from '../packages/replace-file';
import { isSetting, SECRET_FILES, settingLine } from '../settings/names';
import { fileName, folderName } from './arguments';
import { createOutput, type Output } from './command';
import {
  databaseFiles,
  emptySchemaState,
  migrate,
  readMigrations,
  refuseSecondSecret,
  requirePrivileges,
  withDatabase,
} from '../setup/database';
import { describeDatabase } from '../settings/stored';
import { changeFile } from './output-file';

interface Place {
  joomlaRoot?: string;
  /** the path of the file; true for the usual path */
  sqlite?: string | true;
}

interface InitOptions extends Place {
  dryRun?: boolean;
}

const SQLITE_FILE = 'var/licensing.sqlite';

export function addInitCommand(program: Command): void {
  program
    .command('init')
    .summary('set up the service, next to a Joomla site or on a database of its own')
    .description(
      'Reads the database settings of a Joomla site from its configuration.php (which is never executed, and stays the only place of the password), ' +
        "checks the connection, writes .env, makes the secret that seals keys, creates the tables with the site's prefix, and makes the first signing key. " +
        'Without --joomla-root, it does the same for the database that LICENSING_DATABASE_URL names or, with --sqlite, in a file. ' +
        'It also writes settings named LICENSING_... from the environment to .env. A second run changes nothing that is set.',
    )
    .option('--joomla-root <dir>', "the folder with the site's configuration.php", folderName)
    .option(
      '--sqlite [file]',
      `without Joomla and without a database server: keep the tables in a file; default: ${SQLITE_FILE}`,
      fileName,
    )
    .option('--dry-run', 'only print what would be done')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing init --joomla-root /var/www/shop\n  licensing init --sqlite\n  LICENSING_DATABASE_URL=mysql://user:password@127.0.0.1:3306/licensing licensing init' +
        "\n  LICENSING_DATABASE_URL='mysql://user:password@db.example/licensing?ssl=verify&sslca=/path/of/ca.pem' licensing init",
    )
    .action((options: InitOptions, command: Command) => init(options, createOutput(command)));
}

async function init({ dryRun = false, ...place }: InitOptions, output: Output): Promise<void> {
  const file = envFilePath();
  const { settings: kept = {}, warnings: remarks = [] } = readEnvFile(file) ?? {};
  const fromEnvironment = withoutEmpty(environment());
  const additions = newSettings(kept, fromEnvironment, place, file);
  const base = dirname(file);
  const settings = {
    ...mergeSettings(kept, fromEnvironment, base, file),
    ...withSecretFiles(additions, base),
  };
  const config = buildConfig(settings, base, file, remarks);
  for (const warning of [...config.warnings, ...describeDifferences(kept, fromEnvironment, file)])
    output.note(warning);
  await refuseProtected(await lookAt(file), databaseFiles(config.database));

  let signingKey: string | undefined;
  let { pending } = emptySchemaState();
  const isThere = config.database.kind !== 'sqlite' || existsSync(config.database.path);
  if (dryRun && !isThere) output.note(describePlan(config, file, additions, pending));
  else
    await withDatabase(config, async (db) => {
      const state = await readMigrations(db, config);
      if (additions.LICENSING_KEY_SECRET !== undefined) await refuseSecondSecret(db, state, file);
      pending = state.pending;
      output.note(describePlan(config, file, additions, pending));
      if (!dryRun) {
        await requirePrivileges(db, config);
        await mkdir(config.packagesDir, { recursive: true, mode: 0o750 });
        await mkdir(config.xmlDir, { recursive: true, mode: 0o755 });
        await migrate(db, config.database);
        await addToEnvFile(file, additions);
        if (config.keySecret !== undefined) {
          const context = { actor: `operator:${loginName()}`, now: new Date() };
          signingKey = await addFirstSigningKey(db, config.keySecret, context);
        }
      }
    });
  output.print(
    {
      env_file: file,
      added: Object.keys(additions),
      database: describeDatabase(config.database),
      table_prefix: config.tablePrefix,
      pending,
      migrated: !dryRun,
      signing_key: signingKey ?? null,
    },
    dryRun ? 'Nothing was changed.' : nextSteps(config),
  );
}

/** Returns the settings that .env lacks. Existing settings are never changed. */
function newSettings(kept: Settings, fromEnvironment: Settings, place: Place, file: string): Settings {
  const given = { ...fromEnvironment, ...placeSettings(kept, fromEnvironment, place, file) };
  const packages = given.LICENSING_PACKAGES_DIR || kept.LICENSING_PACKAGES_DIR;
  // Use the folder next to a production machine's packages: the service may write there, not to the program's folder.
  if (!given.LICENSING_XML_DIR && packages !== undefined && basename(packages) === 'packages')
    given.LICENSING_XML_DIR = join(dirname(packages), 'xml');
  if (!given.LICENSING_KEY_SECRET && !given.LICENSING_KEY_SECRET_FILE)
    given.LICENSING_KEY_SECRET = randomBytes(32).toString('base64');
  return Object.fromEntries(
    Object.entries(given).filter(([name]) => isSetting(name) && !kept[name] && !kept[otherForm(name)]),
  );
}

/** Returns the other variable of a secret, which is set by its value or by the name of its file. */
function otherForm(name: Variable): Variable {
  const pair = SECRET_FILES.find(({ secret, file }) => secret === name || file === name);
  return pair === undefined ? name : pair.secret === name ? pair.file : pair.secret;
}

/** Returns the settings of the Joomla site or separate database, from the command line or the environment. */
function placeSettings(
  kept: Settings,
  fromEnvironment: Settings,
  { joomlaRoot, sqlite }: Place,
  file: string,
): Settings {
  const root = joomlaRoot === undefined ? undefined : resolve(joomlaRoot);
  const named = kept.LICENSING_JOOMLA_ROOT || fromEnvironment.LICENSING_JOOMLA_ROOT;
  const known = named === undefined ? undefined : resolve(dirname(file), named);
  if (root !== undefined && known !== undefined && known !== root)
    throw new OperatorError(
      `This service is already set up next to ${known}. To move it next to ${root}, change LICENSING_JOOMLA_ROOT in .env by hand.`,
    );
  const site = root ?? known;
  const base = dirname(file);
  const url = mergeSettings(kept, fromEnvironment, base, file).LICENSING_DATABASE_URL;
  if (sqlite !== undefined) {
    const path = sqlite === true ? join(packageRoot, SQLITE_FILE) : resolve(sqlite);
    if (site !== undefined || (url !== undefined && !leadsTo(url, path, file)))
      throw new OperatorError(
        `--sqlite is for a new service, and this one already has its tables elsewhere (${site === undefined ? 'LICENSING_DATABASE_URL' : `LICENSING_JOOMLA_ROOT=${site}`}).`,
      );
    return { LICENSING_DATABASE_URL: `sqlite:${path}` };
  }
  if (site === undefined && url === undefined)
    throw new OperatorError(
      'Name the Joomla site with --joomla-root DIR, or a database of its own with LICENSING_DATABASE_URL ' +
        '(mysql://user:password@127.0.0.1:3306/database) in the environment. For a trial without either: licensing init --sqlite.',
    );
  return site === undefined ? {} : { LICENSING_JOOMLA_ROOT: site };
}

function leadsTo(url: string, path: string, file: string): boolean {
  return url.startsWith('sqlite:') && resolve(dirname(file), url.slice('sqlite:'.length)) === path;
}

/** Describes settings that differ from .env, without their values, which may be secret. */
function describeDifferences(kept: Settings, fromEnvironment: Settings, file: string): string[] {
  return Object.entries(fromEnvironment)
    .filter(([name, value]) => isSetting(name) && kept[name] && kept[name] !== value)
    .map(
      ([name]) =>
        `${name} has another value in ${file}, which is not changed: a service that is started without this environment uses that value.`,
    );
}

function describePlan(config: Config, file: string, additions: Settings, pending: string[]): string {
  const added = Object.keys(additions);
  return [
    `Database: ${describeDatabase(config.database)}, tables named ${config.tablePrefix}licensing_...`,
    `Tables: ${pending.length === 0 ? 'up to date' : `to be made or changed (${pending.join(', ')}); tables of other programs are not touched`}.`,
    `Settings: ${added.length === 0 ? `nothing to add to ${file}` : `${added.join(', ')} to be added to ${file}`}.`,
    `Packages: ${config.packagesDir}`,
    `Update XMLs: ${config.xmlDir}`,
  ].join('\n');
}

/** Appends lines, so that existing lines and comments remain unchanged. */
async function addToEnvFile(file: string, additions: Settings): Promise<void> {
  const lines = Object.entries(additions).map(([name, value]) => settingLine(name, value));
  if (lines.length === 0) return;
  await changeFile(file, (before) => {
    const separator = before === '' || before.endsWith('\n') ? '' : '\n';
    return before + separator + lines.join('');
  });
}

function nextSteps({ listen, adminListen, publicUrl, xmlDir }: Config): string {
  const site = publicUrl ?? 'https://YOUR.SITE';
  if (adminListen === undefined)
    return 'The service is set up, for Passenger to start (docs/shared-hosting.md). Next, restart it in the panel, and put the lines of "licensing apache --passenger" into the site\'s .htaccess.';
  const ready =
    'path' in adminListen
      ? `--unix-socket ${adminListen.path} http://localhost/readyz`
      : `${describeListen(adminListen)}/readyz`;
  return `The service is set up. The next steps follow docs/joomla-site.md and docs/production.md. If you installed it that way, write
"sudo -u licensing" before each "licensing", except in the first line of step 2:

1. Start it, with deploy/licensing@.service copied to /etc/systemd/system:
                                       systemctl enable --now licensing@1
   Or, for a trial in this terminal:   npm start       (it listens on ${describeListen(listen)})
   Is it ready?                        curl -sS ${ready}
2. Put it behind the site's nginx:     licensing nginx --server-name YOUR.SITE --instances 1 --out /etc/nginx/licensing
   Does it reach the service?          licensing doctor --url https://YOUR.SITE
   Open its pages in a browser:        licensing sign-in
3. Enter what you sell:
     licensing product add --name "Your extension" --id 42 --element pkg_yours
     licensing plan add --product 42 --name Single --activation-type domain --activation-limit 1 --duration 1y
     licensing license issue --plan 1 --customer you@YOUR.SITE
4. Build the extension with the lines that the first command prints, and publish it for Joomla's updater:
     licensing manifest --product 42 --update-xml-url ${site}${XML_PATH}pkg_yours.xml
     licensing release publish --product 42 --version 1.0.0 --file /tmp/pkg_yours.zip
   ${publicUrl === undefined ? 'Write LICENSING_PUBLIC_URL=https://YOUR.SITE into .env first: publishing' : 'Publishing'} then writes the update XML to ${xmlDir}.

Keep a copy of .env, apart from the database's backups (docs/backup.md): without LICENSING_KEY_SECRET, "license reveal"
cannot show a key again, and no answer can be signed (docs/signed-answers.md).
From then on, the service answers at https://YOUR.SITE${API_PATH}/.`;
}
