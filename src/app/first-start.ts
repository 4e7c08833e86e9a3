import { randomBytes } from 'node:crypto';
import {
  existsSync,
  linkSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  buildConfig,
  envFilePath,
  environment,
  PASSENGER,
  readConfig,
  readEnvFile,
  readPublicUrl,
  withoutEmpty,
  mergeSettings,
  type Config,
  type Settings,
} from '../settings/config';
import { ConfigError } from '../base/errors';
import { XML_PATH } from '../joomla/update-xml/location';
import { addFirstSigningKey } from '../licensing/signing-keys';
import { isSetting, SECRET_FILES, settingLine } from '../settings/names';
import { migrate, readMigrations, withDatabase } from '../setup/database';
import { driverCodeOf } from '../store/engine/errors';
import { readSchemaState, refuseOtherPrefix } from '../store/engine/migrate';
import { holdsSealed } from '../store/sealed';

/**
 * The first start on shared hosting, where no user types a command. It makes the settings file, the folders, the tables
 * and the first signing key. Later starts find them, and migrate the tables.
 */

const PACKAGES_FOLDER = 'licensing-packages';
/** The time to wait for another process that makes the settings file, which takes milliseconds. */
const CLAIM_TIMEOUT_MS = 5_000;
const ASK_AGAIN_MS = 50;
const SECRET = 'LICENSING_KEY_SECRET';
const SECRET_FILE = `${SECRET}_FILE` as const;

/**
 * Prepares the installation, and returns its settings. @throws Error with a message for the seller
 * @param base the application's address from the panel, such as `/licensing-app`; empty if unknown
 */
export async function prepareHosted(now: Date, base = ''): Promise<Config> {
  const file = envFilePath();
  refuseFolderInSite(file, given(file));
  refuseOwnAddress(base, given(file));
  // Write a missing file even if the panel has the secret: the next version must find the default folders in it.
  if (readEnvFile(file) === undefined || given(file)[SECRET] === undefined) await makeSettings(file);
  const config = readConfig({ ...environment(), LICENSING_LISTEN: PASSENGER });
  await makeFolders(config);
  await withDatabase(config, async (db) => {
    const { pending, completed } = await readSchemaState(db);
    // If there is more than one step, the service's start reports them.
    if (pending.length === 0 || (completed.length > 0 && pending.length > 1)) return;
    // Refuse this after a restore with another prefix: the service would begin with an empty shop.
    if (completed.length === 0 && !config.tablePrefixChosen) await refuseOtherPrefix(db);
    await migrate(db, config.database).catch((error: unknown) => {
      throw withRights(error, config);
    });
    if (config.keySecret !== undefined)
      await addFirstSigningKey(db, config.keySecret, { actor: 'operator:first-start', now });
  });
  return config;
}

/** Refuses a program folder inside the site, because the web server would send the settings file to any visitor. */
function refuseFolderInSite(file: string, { LICENSING_JOOMLA_ROOT: root }: Settings): void {
  if (root === undefined) return;
  const [folder, site] = [realPath(dirname(file)), realPath(resolve(dirname(file), root))];
  if (isWithin(folder, site))
    throw new ConfigError(
      `This program is in ${folder}, inside the site, where anyone could download its secret. Move it to a folder outside of ${site}, and enter that folder in the form of this application.`,
    );
}

/** Refuses the application's own address as the site's: the update XML below it would not be served. */
function refuseOwnAddress(base: string, { LICENSING_PUBLIC_URL: url }: Settings): void {
  const known = url === undefined ? undefined : readPublicUrl(url.trim());
  if (base === '' || !known?.endsWith(base)) return;
  throw new ConfigError(
    `LICENSING_PUBLIC_URL is the address of this application, ${known}. Set it to the site's address, ${known.slice(0, -base.length)}, and restart the application.`,
  );
}

/** Returns a path without links. A missing folder is reported later. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** Returns the settings of the file and of the panel's variables, with the secrets from the files that they name. */
function given(file: string): Settings {
  const base = dirname(file);
  return {
    ...mergeSettings(readEnvFile(file)?.settings ?? {}, withoutEmpty(environment()), base, file),
  };
}

/** Writes the settings that the file lacks, even the panel's variables, which cron jobs of the panel do not get. */
async function makeSettings(file: string): Promise<void> {
  const settings = given(file);
  const made = withDefaults(settings);
  const config = buildConfig({ ...made, LICENSING_LISTEN: PASSENGER }, dirname(file), file);
  if (config.publicUrl === undefined)
    throw new ConfigError(
      "In the panel, add to the variables of this application: LICENSING_PUBLIC_URL (the site's address, such as https://shop.example). Then restart it.",
    );
  await withDatabase(config, async (db) => {
    const state = await readMigrations(db, config);
    const isNew = settings[SECRET] === undefined;
    // Another process may have begun in the meantime, and made both.
    if (isNew && state.completed.length > 0 && (await holdsSealed(db)) && !isMade(file))
      throw new ConfigError(
        `The tables in the database belong to an existing installation, but ${file} ${
          readEnvFile(file) === undefined ? 'is missing' : `has no line ${SECRET}`
        }. Copy the file .env from the folder of the previous version, or from its backup, into ${dirname(file)}. Without its ${SECRET} the keys in the tables cannot be opened. Nothing was changed.`,
      );
  });
  // Do this before writing, because settings that cannot be used would stay after the panel's form is corrected.
  await makeFolders(config);
  await addSettings(file, made);
}

function withDefaults(settings: Settings): Settings {
  const { LICENSING_JOOMLA_ROOT: root, LICENSING_PUBLIC_URL: url } = settings;
  const missing = [
    ...(root === undefined && settings.LICENSING_DATABASE_URL === undefined
      ? [
          "LICENSING_JOOMLA_ROOT (the folder with the site's configuration.php, such as /home/YOU/public_html)",
        ]
      : []),
    ...(url === undefined && root === undefined
      ? ["LICENSING_PUBLIC_URL (the site's address, such as https://shop.example)"]
      : []),
  ];
  if (missing.length > 0)
    throw new ConfigError(
      `In the panel, add to the variables of this application: ${missing.join(' and ')}. Then restart it.`,
    );
  const site = root === undefined ? undefined : resolve(dirname(envFilePath()), root);
  const packages = join(homedir(), PACKAGES_FOLDER);
  if (settings.LICENSING_PACKAGES_DIR === undefined && site !== undefined && isWithin(packages, site))
    throw new ConfigError(
      `The packages would be in ${packages}, inside the site, where anyone could download them. Set the variable LICENSING_PACKAGES_DIR to a folder outside of ${site}.`,
    );
  return {
    LICENSING_LISTEN: PASSENGER,
    LICENSING_PACKAGES_DIR: packages,
    ...(site !== undefined && { LICENSING_XML_DIR: resolve(site, `.${XML_PATH}`) }),
    [SECRET]: randomBytes(32).toString('base64'),
    ...settings,
  };
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || !(way === '..' || way.startsWith('../'));
}

/**
 * Adds the settings that the file lacks. If several processes do this, the first one's secret counts. The file is
 * replaced as a whole, so that it is never incomplete.
 */
async function addSettings(file: string, settings: Settings): Promise<void> {
  const claim = `${file}.new`;
  const own = `${claim}.${process.pid}.${randomBytes(4).toString('hex')}`;
  let until = performance.now() + CLAIM_TIMEOUT_MS;
  try {
    writeFileSync(own, '', { mode: 0o600 });
    while (!isMade(file)) {
      if (isClaimed(own, claim)) {
        writeFileSync(own, textWith(file, settings));
        // A process that was delayed for longer than the others wait is no longer the first.
        if (isMade(file) || !isSameFile(own, claim)) continue;
        renameSync(own, file);
        rmSync(claim, { force: true });
        return;
      }
      if (performance.now() > until) {
        rmSync(claim, { force: true });
        until = performance.now() + CLAIM_TIMEOUT_MS;
      }
      await sleep(ASK_AGAIN_MS);
    }
  } catch (error) {
    throw asWritten(error, file);
  } finally {
    if (isSameFile(own, claim)) rmSync(claim, { force: true });
    rmSync(own, { force: true });
  }
}

/** Reports whether the file has a secret, or names a file with it. */
function isMade(file: string): boolean {
  const kept = readEnvFile(file)?.settings ?? {};
  return kept[SECRET] !== undefined || kept[SECRET_FILE] !== undefined;
}

/** Returns the file's text with the missing settings added. A secret stays in its own file. */
function textWith(file: string, settings: Settings): string {
  const kept = readEnvFile(file)?.settings ?? {};
  const isElsewhere = (name: string) =>
    SECRET_FILES.some(
      (pair) =>
        (name === pair.secret && (kept[pair.file] ?? settings[pair.file]) !== undefined) ||
        (name === pair.file && kept[pair.secret] !== undefined),
    );
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const separator = before === '' || before.endsWith('\n') ? '' : '\n';
  const lines = Object.entries(settings)
    .filter(([name]) => isSetting(name) && kept[name as keyof Settings] === undefined && !isElsewhere(name))
    .map(([name, value]) => settingLine(name, value));
  return before + separator + lines.join('');
}

function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}

/** Takes the claim: only one process can create a link with this name. */
function isClaimed(own: string, claim: string): boolean {
  try {
    linkSync(own, claim);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function makeFolders({ packagesDir, xmlDir }: Config): Promise<void> {
  for (const [folder, mode] of [
    [packagesDir, 0o750],
    [xmlDir, 0o755],
  ] as const)
    await makeFolder(folder, mode).catch((error: unknown) => {
      throw asWritten(error, folder);
    });
}

async function makeFolder(folder: string, mode: number): Promise<void> {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  await mkdir(dirname(folder), { recursive: true, mode });
  // Do not use the option `recursive`, with which Node reports ENOENT for a full disk.
  await mkdir(folder, { mode }).catch((error: unknown) => {
    // Another process was faster.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(folder).isDirectory()) throw error;
  });
}

const FULL = new Set(['ENOSPC', 'EDQUOT']);

function asWritten(error: unknown, path: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined || error instanceof ConfigError) return error;
  if (FULL.has(code))
    return new ConfigError(
      `${path} cannot be made (${code}): the disk or your quota is full. Delete files that you no longer need.`,
    );
  if (code === 'EEXIST' || code === 'ENOTDIR')
    return new ConfigError(`${path} is a file, or is inside one. It must be a folder.`);
  return new ConfigError(
    `${path} cannot be made (${code}). The user that the panel runs this application as must be allowed to write to ${dirname(path)}.`,
  );
}

/** The errors of servers if the user may not create or change tables. */
const REFUSED = new Set([
  'ER_DBACCESS_DENIED_ERROR',
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_SPECIFIC_ACCESS_DENIED_ERROR',
]);

function withRights(error: unknown, { database }: Config): unknown {
  if (!REFUSED.has(driverCodeOf(error)) || database.kind !== 'mysql') return error;
  return new ConfigError(
    `The site's database user ${database.user} may not create the service's tables. In the panel, give it all rights on the database ${database.database}.`,
    { cause: error },
  );
}
