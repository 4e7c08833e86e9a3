import { CUSTOMER_LANGUAGES, type CustomerLanguage } from '../texts/customers/languages';
import { accessSync, constants, existsSync, readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parse } from 'dotenv';
import { ConfigError } from '../base/errors';
import type { Listen } from '../process/listen';
import { isNetwork } from '../licensing/ip-addresses';
import { readPicture, type Picture } from '../packages/pictures';
import { readFormerlyList, type Formerly } from '../joomla/formerly/addresses';
import { readJoomlaSite } from '../joomla/site/configuration';
import { mailOfSite, parseMailUrl, STORED_MAIL, type MailSettings } from '../mail/settings';
import type { MailOff } from '../texts/operators/doctor';
import type { TextFolders } from '../mail/texts';
import { HOMES, isWithin } from '../process/units';
import {
  describeLines,
  describeUnknown,
  EDITABLE,
  isMeantForUs,
  NOTHING_STORED,
  SECRET_FILES,
  variableOf,
  type EditableName,
  type Settings,
  type StoredSettings,
  type Variable,
} from './names';
import { DEFAULT_POOL_SIZE, type DatabaseSettings } from '../store/engine/database';
import { parseDatabaseUrl } from '../store/engine/database-url';

export type { Settings, Variable };

export interface Config {
  database: DatabaseSettings;
  /** the source of the database settings, for users: a variable, or the path of the site's configuration file */
  databaseSource: string;
  /** the maximum number of connections of one service process */
  databaseConnections: number;
  /** the prefix before `licensing_` in every table's name */
  tablePrefix: string;
  /** true if LICENSING_TABLE_PREFIX is set, so that tables with another prefix are for other installations */
  tablePrefixChosen: boolean;
  joomlaRoot: string | undefined;
  /** one URL, or the URLs of a cluster's nodes; if empty, limits are counted in memory */
  redisUrls: string[];
  listen: Listen;
  /** undefined under Passenger, which gives a process only one address */
  adminListen: Listen | undefined;
  /** the trusted proxies, whose X-Forwarded-For counts, as written in the setting */
  trustedProxies: string[];
  packagesDir: string;
  /** nginx's internal location, with a slash at both ends */
  accelLocation: string | undefined;
  /** the folder for update XML, which the web server serves at /licensing-updates/ */
  xmlDir: string;
  /** the site's address without a slash at the end; undefined if neither a setting nor the site's live_site has it */
  publicUrl: string | undefined;
  /** the address in the site's live_site, in the same form */
  liveSite: string | undefined;
  /** the host name for the operator's pages and API only; undefined if they are on the site's host */
  pagesHost: string | undefined;
  /** the address of the operator's pages, without a slash at the end: on pagesHost, otherwise on publicUrl */
  operatorUrl: string | undefined;
  /** the seller's name, for customers; empty if unknown */
  shopName: string;
  /** the seller's picture, for customers */
  shopLogo: Picture | undefined;
  /** the time zone of the site, otherwise of the machine, such as `Europe/Berlin` */
  timeZone: string;
  /** undefined if mail is off, for the reason in `mailOff`. It is also off without `publicUrl`. */
  mail: MailSettings | undefined;
  mailOff: MailOff | undefined;
  /** the language of mails to customers */
  mailLanguage: CustomerLanguage;
  mailTexts: TextFolders;
  /** 32 bytes; undefined if not set */
  keySecret: Buffer | undefined;
  /** the days for which a signed answer is valid */
  tokenDays: number;
  /** the days for which an offline file is valid */
  offlineDays: number;
  /** the networks that webhooks may reach in addition to public addresses, as written in the setting */
  webhookNetworks: string[];
  /** not set by a variable: see ManageSettings */
  shopApiUrl?: string;
  rateLimit: number;
  /** in seconds */
  rateWindow: number;
  downloadRateLimit: number;
  /** the calls of one token to the operator's API in a minute */
  manageRateLimit: number;
  /** the ids of the Joomla groups whose API tokens may manage licences */
  operatorGroups: number[];
  /** the maximum size of an uploaded package in bytes */
  uploadLimit: number;
  /** the grace period for a subscription's renewal, for shops without their own */
  graceDays: number;
  logLevel: string;
  logDays: number;
  /** the number of networks in 30 days, as a multiple of a key's slots, above which the key counts as shared */
  spreadFactor: number;
  /** the factor for the timeouts of requests, the database and Redis, for a slow machine */
  timeoutFactor: number;
  /** the addresses of the former system, which the web server still answers */
  formerly: Formerly[];
  envFile: string | undefined;
  /** for the operator; they do not prevent the start */
  warnings: string[];
  /** the settings and remarks that it was built from, except those of the database */
  environment: { settings: Record<string, string | undefined>; base: string; remarks: string[] };
  /** the settings of the database; those of the environment win */
  stored: StoredSettings;
}

/** The folder with package.json, in which `.env` and relative paths begin, regardless of where the build is. */
export const packageRoot = findPackageRoot(__dirname);

/** The value of LICENSING_LISTEN on shared hosting (docs/shared-hosting.md). */
export const PASSENGER = 'passenger';

const MEGABYTE = 1_048_576;

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Reads the settings of LICENSING_ENV_FILE, by default the package's `.env`. The environment overrides them.
 * @param defaults apply if neither source sets a value @throws ConfigError
 */
export function readConfig(env: NodeJS.ProcessEnv = environment(), defaults: Settings = {}): Config {
  const file = envFilePath(env);
  const read = readEnvFile(file);
  if (read === undefined && env.LICENSING_ENV_FILE?.trim())
    throw new ConfigError(
      `LICENSING_ENV_FILE names ${file}, which does not exist. "licensing init" makes it.`,
    );
  const base = read === undefined ? packageRoot : dirname(file);
  const merged = {
    ...defaults,
    ...mergeSettings(read?.settings ?? {}, withoutEmpty(env), base, file),
  };
  return read === undefined ? buildConfig(merged, base) : buildConfig(merged, base, file, read.warnings);
}

/** The maximum size of a file with a secret, which is more than any secret has. */
const LARGEST_SECRET_FILE = 65_536;

/**
 * Merges a file's settings with those of the environment, which win. If the environment has a secret, the file with
 * this secret may be missing: containers often mount the secrets of one start only. @throws ConfigError
 */
export function mergeSettings(kept: Settings, given: Settings, base: string, file: string): Settings {
  const used = { ...kept };
  for (const names of SECRET_FILES)
    if (given[names.secret] ?? given[names.file])
      Object.assign(used, { [names.secret]: undefined, [names.file]: undefined });
  return { ...withSecretFiles(used, base, file), ...withSecretFiles(given, base) };
}

/**
 * Returns the settings of one source, with the contents of the files that LICENSING_..._FILE name. Relative paths begin
 * at `base`.
 * @param from the settings file that they come from @throws ConfigError
 */
export function withSecretFiles(settings: Settings, base: string, from?: string): Settings {
  const of = from === undefined ? '' : `${from}: `;
  const all = { ...settings };
  for (const { secret, file } of SECRET_FILES) {
    const named = settings[file]?.trim();
    if (!named) continue;
    if (settings[secret]?.trim())
      throw new ConfigError(`${of}${secret} and ${file} are both set in the same place. Remove one of them.`);
    all[file] = resolve(base, named);
    all[secret] = readSecretFile(file, all[file], of);
  }
  return all;
}

/** Reads a file with a secret. Errors never repeat its contents. */
function readSecretFile(name: Variable, path: string, of: string): string {
  const refuse = (fault: string) => new ConfigError(`${of}${name} names ${path}, ${fault}.`);
  let text: string;
  try {
    const stats = statSync(path);
    // Refuse a device, which has no size and perhaps no end.
    if (stats.isCharacterDevice() || stats.isBlockDevice()) throw refuse('which is a device');
    if (stats.size > LARGEST_SECRET_FILE) throw refuse('which is too large for a secret');
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw refuse(`which cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
  if (text === '') throw refuse('which is empty');
  return text;
}

/** Builds the configuration, even for settings that are not written yet. Paths begin at `base`. @throws ConfigError */
export function buildConfig(
  settings: Record<string, string | undefined>,
  base: string,
  file?: string,
  remarks: string[] = [],
  stored: StoredSettings = NOTHING_STORED,
): Config {
  const kept: Record<string, string> = Object.fromEntries(
    Object.entries(stored.values).map(([name, value]) => [variableOf(name as EditableName), value]),
  );
  const get = (name: Variable): string | undefined => (settings[name]?.trim() || kept[name]) ?? undefined;

  const listenText = get('LICENSING_LISTEN') ?? '127.0.0.1:3080';
  const isHosted = listenText === PASSENGER;
  const joomlaRoot = optional(get('LICENSING_JOOMLA_ROOT'), (path) => resolve(base, path));
  const site = optional(joomlaRoot, (root) => readSite(root, isHosted));
  const database =
    optional(get('LICENSING_DATABASE_URL'), (url) => parseDatabaseUrl(url, base)) ?? site?.database;
  const warnings = [...remarks, ...describeUnknown(Object.keys(settings))];
  if (database === undefined)
    throw new ConfigError(
      [
        'No database is configured. Run "licensing init" for a Joomla site, or set LICENSING_DATABASE_URL ' +
          `(mysql://user:password@host:3306/database) in the environment or in ${file ?? '.env'}. ` +
          'For a trial without either: licensing init --sqlite.',
        // The setting may exist under a misspelled name, or in a line that sets nothing.
        ...warnings,
      ].join(' '),
    );
  const listen: Listen = isHosted ? { passenger: true } : parseListen('LICENSING_LISTEN', listenText, base);
  if (isHosted && database.kind === 'sqlite')
    throw new ConfigError(
      'Under Passenger, more than one process uses the database, but SQLite supports only one. Set LICENSING_JOOMLA_ROOT, and either do not set LICENSING_DATABASE_URL or let it name a MySQL or MariaDB database.',
    );
  const liveSite = optional(site?.liveSite, readPublicUrl);
  if (site?.liveSite !== undefined && liveSite === undefined && get('LICENSING_PUBLIC_URL') === undefined)
    warnings.push(
      "$live_site in the site's configuration.php is not an address such as https://shop.example, and is ignored. Set LICENSING_PUBLIC_URL.",
    );
  const publicUrl = optional(get('LICENSING_PUBLIC_URL'), parsePublicUrl) ?? liveSite;
  const pagesHost = optional(get('LICENSING_PAGES_HOST'), (text) => parsePagesHost(text, publicUrl));
  const logoFile = optional(get('LICENSING_SHOP_LOGO'), (path) => resolve(base, path));
  const mailUrl = get('LICENSING_MAIL_URL');
  const mailSource = settings.LICENSING_MAIL_URL?.trim() ? 'LICENSING_MAIL_URL' : STORED_MAIL;
  const mail =
    mailUrl === undefined ? mailOfSite(site?.mail) : parseMailUrl(mailUrl, base, site?.mail, mailSource);
  const number = (name: NumberName, fallback: number | undefined = EDITABLE[name].fallback): number =>
    integer(get, variableOf(name), fallback ?? 0, EDITABLE[name].min, EDITABLE[name].max);
  const rateLimit = number('rate_limit');
  const timeoutFactor = integer(get, 'LICENSING_TIMEOUT_FACTOR', 1, 1, 100);
  let timeZone: string | undefined;
  return {
    database: { ...database, timeoutFactor: timeoutFactor === 1 ? undefined : timeoutFactor },
    databaseSource:
      get('LICENSING_DATABASE_URL') === undefined
        ? join(joomlaRoot ?? '', 'configuration.php')
        : 'LICENSING_DATABASE_URL',
    // At least 2: a transaction holds one, and finding out what it waits for takes another.
    databaseConnections: integer(get, 'LICENSING_DATABASE_CONNECTIONS', DEFAULT_POOL_SIZE, 2, 1_000),
    tablePrefix: parsePrefix(get('LICENSING_TABLE_PREFIX') ?? site?.tablePrefix ?? '', database.kind),
    tablePrefixChosen: get('LICENSING_TABLE_PREFIX') !== undefined,
    joomlaRoot,
    redisUrls: optional(get('LICENSING_REDIS_URL'), parseRedisUrls) ?? [],
    listen,
    adminListen: isHosted
      ? undefined
      : parseListen('LICENSING_ADMIN_LISTEN', get('LICENSING_ADMIN_LISTEN') ?? '127.0.0.1:3081', base),
    trustedProxies: parseNetworks(
      'LICENSING_TRUSTED_PROXIES',
      // Passenger appends the client's address, which may be this machine.
      get('LICENSING_TRUSTED_PROXIES') ?? (isHosted ? '' : '127.0.0.0/8,::1'),
    ),
    packagesDir: resolve(base, get('LICENSING_PACKAGES_DIR') ?? join(packageRoot, 'var/packages')),
    accelLocation: optional(get('LICENSING_ACCEL_LOCATION'), parseAccelLocation),
    xmlDir: resolve(base, get('LICENSING_XML_DIR') ?? join(packageRoot, 'var/xml')),
    publicUrl,
    liveSite,
    pagesHost,
    operatorUrl: pagesHost === undefined ? publicUrl : operatorUrlOn(pagesHost, publicUrl),
    shopName: optional(get('LICENSING_SHOP_NAME'), parseShopName) ?? site?.siteName ?? '',
    shopLogo: logoFile === undefined ? stored.picture : readLogo(logoFile, warnings),
    // Read it at its first use, because the first time zone of a process takes 15 ms.
    get timeZone() {
      return (timeZone ??= site?.timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone);
    },
    mail: typeof mail === 'string' ? undefined : mail,
    mailOff: typeof mail === 'string' ? mail : undefined,
    mailLanguage: oneOf(
      'LICENSING_MAIL_LANGUAGE',
      get('LICENSING_MAIL_LANGUAGE') ?? 'en',
      CUSTOMER_LANGUAGES,
    ),
    mailTexts: {
      builtIn: join(packageRoot, 'mails'),
      own: optional(get('LICENSING_MAIL_TEXTS_DIR'), (path) => resolve(base, path)),
      stored: stored.mailTexts,
    },
    keySecret: optional(get('LICENSING_KEY_SECRET'), parseKeySecret),
    tokenDays: number('token_days'),
    offlineDays: number('offline_days'),
    webhookNetworks: parseNetworks('LICENSING_WEBHOOK_NETWORKS', get('LICENSING_WEBHOOK_NETWORKS') ?? ''),
    rateLimit,
    rateWindow: number('rate_window'),
    downloadRateLimit: number('download_rate_limit', rateLimit),
    manageRateLimit: number('manage_rate_limit'),
    operatorGroups: parseGroups(get('LICENSING_OPERATOR_GROUPS') ?? '8'),
    uploadLimit: MEGABYTE * integer(get, 'LICENSING_UPLOAD_LIMIT', 256, 1, 10_000),
    logLevel: oneOf('LICENSING_LOG_LEVEL', get('LICENSING_LOG_LEVEL') ?? 'info', LOG_LEVELS),
    graceDays: number('grace_days'),
    logDays: number('log_days'),
    spreadFactor: integer(get, 'LICENSING_SPREAD_FACTOR', 3, 1, 1_000),
    timeoutFactor,
    formerly: parseFormerly(get('LICENSING_FORMERLY') ?? ''),
    envFile: file,
    warnings,
    environment: { settings, base, remarks },
    stored,
  };
}

type NumberName = {
  [Name in EditableName]: (typeof EDITABLE)[Name] extends { kind: 'number' } ? Name : never;
}[EditableName];

/** Copies the configuration without reading the time zone, which a spread would read. */
export function copyConfig(config: Config): Config {
  return Object.defineProperties({}, Object.getOwnPropertyDescriptors(config)) as Config;
}

/** Returns the same configuration with the settings of the database. @throws ConfigError for a value that cannot be used */
export function withStored({ environment: from, envFile }: Config, stored: StoredSettings): Config {
  return buildConfig(from.settings, from.base, envFile, from.remarks, stored);
}

/** Does the same, but skips a stored value that cannot be used, with a warning. @throws ConfigError of the environment */
export function withUsable(config: Config, stored: StoredSettings): Config {
  try {
    return withStored(config, stored);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
  }
  const faults: string[] = [];
  let usable: StoredSettings = { ...stored, values: {} };
  for (const [name, value] of Object.entries(stored.values)) {
    const more = { ...usable, values: { ...usable.values, [name]: value } };
    try {
      withStored(config, more);
      usable = more;
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      faults.push(`The stored setting ${name} is not used: ${error.message}`);
    }
  }
  const built = withStored(config, usable);
  // Do not copy it, which would read the time zone.
  return Object.assign(built, { warnings: [...built.warnings, ...faults] });
}

/** Reports whether the environment or the settings file sets a variable, which then wins over the stored value. */
export function isPreset(
  { environment: { settings } }: Pick<Config, 'environment'>,
  name: Variable,
): boolean {
  return Boolean(settings[name]?.trim());
}

/** Checks the shop's name, which is used in mail headers and page titles. @throws ConfigError */
function parseShopName(text: string): string {
  if (/[\p{Cc}\u2028\u2029]/u.test(text))
    throw new ConfigError('LICENSING_SHOP_NAME must be on one line, without control characters.');
  return text;
}

function readLogo(path: string, warnings: string[]): Picture | undefined {
  try {
    return readPicture(path);
  } catch (error) {
    warnings.push(`LICENSING_SHOP_LOGO: ${(error as Error).message} Pages show no picture.`);
    return undefined;
  }
}

/** Returns the path of the settings file: LICENSING_ENV_FILE, by default `.env` in the package's root. */
export function envFilePath(env: NodeJS.ProcessEnv = environment()): string {
  return resolve(packageRoot, env.LICENSING_ENV_FILE?.trim() || '.env');
}

/** Reads a settings file, with warnings about its lines. @returns undefined if it is missing @throws ConfigError */
export function readEnvFile(file: string): { settings: Settings; warnings: string[] } | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const text = readFileSync(file, 'utf8');
    return { settings: withoutEmpty(parse(text)), warnings: describeLines(text, file) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new ConfigError(
      code === 'EACCES'
        ? `No permission to read ${file}. Run this command as the user that the service runs as (sudo -u licensing ...).`
        : `The settings in ${file} cannot be read: ${message}`,
    );
  }
}

export function environment(): NodeJS.ProcessEnv {
  // oxlint-disable-next-line no-restricted-properties -- the one place
  return process.env;
}

function readSite(root: string, isHosted: boolean): ReturnType<typeof readJoomlaSite> {
  try {
    return readJoomlaSite(root);
  } catch (error) {
    const hint = isHosted ? '' : hiddenBySystemd(root);
    throw new ConfigError(`LICENSING_JOOMLA_ROOT: ${(error as Error).message}${hint}`);
  }
}

/** Returns a hint for a folder that the systemd unit hides, which file permissions do not explain. */
function hiddenBySystemd(folder: string): string {
  return isWithin(folder, HOMES) && !mayRead(join(folder, 'configuration.php'))
    ? ' If this is the service, its unit hides that folder (ProtectHome). Set ProtectHome=read-only: systemctl edit licensing@.service'
    : '';
}

function mayRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function parseFormerly(text: string): Formerly[] {
  try {
    return readFormerlyList(text);
  } catch (error) {
    throw new ConfigError(`LICENSING_FORMERLY: ${(error as Error).message}`);
  }
}

function parseRedisUrls(text: string): string[] {
  const urls = text.split(',').map((part) => part.trim());
  for (const url of urls) {
    const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
    if (protocol !== 'redis:' && protocol !== 'rediss:')
      throw new ConfigError(
        'LICENSING_REDIS_URL must have the form redis://host:6379 or rediss://host:6379. For a cluster, list several, separated by commas.',
      );
  }
  return urls;
}

function parseListen(name: Variable, text: string, base: string): Listen {
  if (text.startsWith('unix:') && text.length > 'unix:'.length)
    return { path: resolve(base, text.slice('unix:'.length)) };
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d+)$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535)
    throw new ConfigError(
      `${name} must have the form ADDRESS:PORT, such as 127.0.0.1:3080 or [::1]:3080, or unix:PATH; it is "${text}".`,
    );
  return { host, port: Number(port) };
}

function parseNetworks(name: Variable, text: string): string[] {
  const entries = text.split(/[\s,]+/).filter(Boolean);
  for (const entry of entries)
    if (!isNetwork(entry))
      throw new ConfigError(
        `${name} must list addresses or networks, such as 127.0.0.1,10.0.0.0/8,::1; "${entry}" is neither.`,
      );
  return entries;
}

function parseGroups(text: string): number[] {
  const ids = text.split(',').map((part) => part.trim());
  for (const id of ids)
    if (!/^[1-9]\d{0,9}$/.test(id))
      throw new ConfigError(
        `LICENSING_OPERATOR_GROUPS must list ids of Joomla's user groups, such as 8 or 7,8; it is "${text}".`,
      );
  return ids.map(Number);
}

function parseAccelLocation(text: string): string {
  if (!/^\/(?:[A-Za-z0-9_-]+\/)+$/.test(text))
    throw new ConfigError(
      `LICENSING_ACCEL_LOCATION must be the path of nginx's internal location, with a slash at both ends, such as /_licensing_packages/; it is "${text}".`,
    );
  return text;
}

function parsePublicUrl(text: string): string {
  const url = readPublicUrl(text);
  if (url === undefined)
    throw new ConfigError(
      `LICENSING_PUBLIC_URL must be the site's address, such as https://shop.example or https://shop.example/joomla, without "?" and "#"; it is "${text}".`,
    );
  return url;
}

/** Returns a site's address without slashes at the end; undefined if it is not one. */
export function readPublicUrl(text: string): string | undefined {
  if (!/^https?:\/\/[^\s?#@\\]+$/i.test(text) || !URL.canParse(text)) return undefined;
  const { origin, pathname } = new URL(text);
  return origin + pathname.replace(/\/+$/, '');
}

/** Checks the host of the operator's pages. The site has another host, so that customers' pages stay reachable. */
function parsePagesHost(text: string, publicUrl: string | undefined): string {
  const host = text.toLowerCase();
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(host))
    throw new ConfigError(
      `LICENSING_PAGES_HOST must be a host name without "https://" and a path, such as licences.shop.example; it is "${text}".`,
    );
  if (publicUrl !== undefined && new URL(publicUrl).hostname === host)
    throw new ConfigError(
      `LICENSING_PAGES_HOST is the site's own host name, ${host}. Name another one, or remove the setting.`,
    );
  return host;
}

function operatorUrlOn(pagesHost: string, publicUrl: string | undefined): string {
  const { protocol, pathname } = new URL(publicUrl ?? 'https://site');
  return `${protocol}//${pagesHost}${pathname.replace(/\/$/, '')}`;
}

function parseKeySecret(text: string): Buffer {
  const secret = Buffer.from(text, 'base64');
  if (secret.length !== 32 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text))
    throw new ConfigError(
      'LICENSING_KEY_SECRET must be 32 bytes in base64. "licensing init" or "openssl rand -base64 32" makes one.',
    );
  return secret;
}

function parsePrefix(text: string, kind: DatabaseSettings['kind']): string {
  if (!/^[A-Za-z0-9_]{0,15}$/.test(text))
    throw new ConfigError(
      `LICENSING_TABLE_PREFIX must be at most 15 letters, digits and underscores; it is "${text}".`,
    );
  if (kind === 'sqlite' && /^[0-9]/.test(text))
    throw new ConfigError(
      `LICENSING_TABLE_PREFIX must not begin with a digit, because SQLite does not allow such names; it is "${text}".`,
    );
  return text;
}

function integer(
  get: (name: Variable) => string | undefined,
  name: Variable,
  fallback: number,
  min = 1,
  max = 1_000_000_000,
): number {
  const text = get(name);
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new ConfigError(`${name} must be a whole number from ${min} to ${max}; it is "${text}".`);
  return value;
}

function oneOf<V extends string>(name: Variable, text: string, values: readonly V[]): V {
  const value = values.find((one) => one === text);
  if (value === undefined)
    throw new ConfigError(`${name} must be one of ${values.join(', ')}; it is "${text}".`);
  return value;
}

/** Returns the variables of this program that are not empty, including misspelled ones. */
export function withoutEmpty(values: NodeJS.ProcessEnv): Settings {
  const set: Record<string, string> = {};
  for (const [name, value] of Object.entries(values))
    if (isMeantForUs(name) && value?.trim()) set[name] = value;
  return set;
}

function optional<T, R>(value: T | undefined, read: (value: T) => R): R | undefined {
  return value === undefined ? undefined : read(value);
}

function findPackageRoot(from: string): string {
  return existsSync(join(from, 'package.json')) ? from : findPackageRoot(dirname(from));
}

/** Returns the name of the user who typed the command, even with sudo. */
export function loginName(env: NodeJS.ProcessEnv = environment()): string {
  if (env.SUDO_USER) return env.SUDO_USER;
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}

/** Reports whether a stream is a terminal that may have colours (https://no-color.org). */
export function wantsColor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = environment()): boolean {
  return stream.isTTY === true && !env.NO_COLOR;
}
