import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { ConfigError } from '../../base/errors';
import { findEmail } from '../../licensing/customer-email';
import type { MysqlSettings } from '../../store/engine/mysql';
import { readTls, type ServerLocation, type TlsPart, type TlsSettings } from '../../store/engine/tls';

export interface JoomlaSite {
  database: MysqlSettings;
  /** `$dbprefix`, for example `jos_` */
  tablePrefix: string;
  /** `$live_site`, the site's address if its administrator fixed it */
  liveSite: string | undefined;
  /** `$sitename` */
  siteName: string | undefined;
  /** `$offset`, a name of the time zone database; undefined if missing or unknown on this machine */
  timeZone: string | undefined;
  mail: SiteMail;
}

/** The site's way of sending mail. */
export interface SiteMail {
  /** `$mailonline` */
  isOnline: boolean;
  mailer: 'smtp' | 'sendmail' | 'mail';
  host: string;
  port: number;
  secure: 'none' | 'ssl' | 'tls';
  login: { user: string; password: string } | undefined;
  /** the program's path, without arguments */
  sendmail: string;
  /** `$mailfrom`; undefined if it is not set or not an e-mail address */
  from: string | undefined;
  fromName: string | undefined;
}

export type ConfigurationValue = string | number | boolean | null;
type Configuration = Map<string, ConfigurationValue>;

/** The default socket paths of MySQL and MariaDB: Debian (two), Red Hat and SUSE, MySQL itself. */
const SOCKETS = [
  '/run/mysqld/mysqld.sock',
  '/var/run/mysqld/mysqld.sock',
  '/var/lib/mysql/mysql.sock',
  '/tmp/mysql.sock',
];
const MYSQL_PORT = 3306;
/** The maximum size of the file, which bounds the work; Joomla's own is about 3 kB. */
const MAX_LENGTH = 1_000_000;
const MAX_ARRAY_DEPTH = 50;

const REWRITE = `Save Joomla's Global Configuration once: Joomla then writes the file in the expected form.`;
const OTHER_DATABASE =
  'Instead of LICENSING_JOOMLA_ROOT, set LICENSING_DATABASE_URL (mysql://user:password@host:3306/database) ' +
  'and LICENSING_TABLE_PREFIX.';

/** Reads how a Joomla site (3.10 to 6) connects to its database. @throws ConfigError */
export function readJoomlaSite(root: string, sockets: readonly string[] = SOCKETS): JoomlaSite {
  const file = join(root, 'configuration.php');
  const values = readConfiguration(root, file);
  // The default is mysqli, as in Joomla 4's Service/Provider/Database.php.
  const type = (text(values, file, 'dbtype') || 'mysqli').toLowerCase();
  if (!['mysqli', 'mysql', 'pdomysql'].includes(type))
    throw new ConfigError(
      `${file}: $dbtype is not a MySQL driver (mysqli, mysql, pdomysql), and this service works on MySQL and ` +
        `MariaDB only. It needs a MySQL or MariaDB database of its own. ${OTHER_DATABASE}`,
    );
  const host = required(values, file, 'host');
  const location = locate(host, type === 'mysqli', sockets);
  if (location === undefined)
    throw new ConfigError(
      `${file}: $host must be a name or address, "host:port", ":port", "[IPv6]:port", ` +
        `"unix:/path" or "localhost:/path". ${OTHER_DATABASE}`,
    );
  const tls = readSiteTls(values, file, root);
  return {
    database: {
      kind: 'mysql',
      ...location,
      user: required(values, file, 'user'),
      password: text(values, file, 'password'),
      database: required(values, file, 'db'),
      ...(tls === undefined ? {} : { tls }),
    },
    tablePrefix: text(values, file, 'dbprefix'),
    liveSite: readText(values, 'live_site'),
    siteName: readText(values, 'sitename'),
    // Read it at its first use, because the first time zone of a process takes 15 ms.
    get timeZone() {
      return knownZone(readText(values, 'offset'));
    },
    mail: readMail(values),
  };
}

interface SiteSecret {
  /** `$secret`; empty if not set */
  secret: string;
  /** `$root_user`, an id or a login name; empty if not set */
  rootUser: string;
}

/**
 * Reads the secret with which the site's API tokens are verified. Call it at each use: `$secret` also protects the
 * site's sessions, so it must not be cached, logged or printed. @throws ConfigError
 */
export function readSiteSecret(root: string): SiteSecret {
  const file = join(root, 'configuration.php');
  const values = readConfiguration(root, file);
  return { secret: text(values, file, 'secret'), rootUser: text(values, file, 'root_user') };
}

/** Returns a text on one line. The database does not need it, so another type (`false` in old files) is not an error. */
function readText(values: Configuration, name: string): string | undefined {
  const value = values.get(name);
  return typeof value === 'string' ? value.replace(/[\p{Cc}\s]+/gu, ' ').trim() || undefined : undefined;
}

const SENDMAIL = '/usr/sbin/sendmail';

/** Reads the mail settings, with the defaults of Joomla's Factory::createMailer() and PHPMailer. No value stops the start. */
function readMail(values: Configuration): SiteMail {
  const word = (name: string) => String(values.get(name) ?? '').trim();
  const [mailer, secure] = [word('mailer').toLowerCase(), word('smtpsecure').toLowerCase()];
  const user = word('smtpuser');
  const password = values.get('smtppass');
  const server = readMailHost(word('smtphost'));
  return {
    // Joomla 3 before 3.2 had no such setting.
    isOnline: isTrue(values.get('mailonline') ?? 1),
    mailer: mailer === 'smtp' || mailer === 'sendmail' ? mailer : 'mail',
    host: server.host,
    port: server.port ?? (Number(word('smtpport')) || 25),
    secure: server.secure ?? (secure === 'ssl' || secure === 'tls' ? secure : 'none'),
    login:
      isTrue(values.get('smtpauth')) && user !== ''
        ? { user, password: typeof password === 'number' ? String(password) : (readRaw(password) ?? '') }
        : undefined,
    // Remove arguments, as in "/usr/sbin/sendmail -t -i", which is PHP's own form.
    sendmail: word('sendmail').split(/\s/)[0] || SENDMAIL,
    from: findEmail(word('mailfrom')),
    fromName: readText(values, 'fromname'),
  };
}

/** Parses PHPMailer's forms, such as `ssl://mail.example:465`, and the first of several servers separated by ";". */
function readMailHost(text: string): { host: string; port?: number; secure?: 'ssl' | 'tls' } {
  const [first = ''] = text.split(';');
  const [, secure, host = first.trim(), port] =
    /^(?:(ssl|tls):\/\/)?([^:/]+|\[[^\]]+\])(?::(\d{1,5}))?$/.exec(first.trim()) ?? [];
  return {
    host: host.replace(/^\[(.*)\]$/, '$1'),
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(secure === undefined ? {} : { secure: secure as 'ssl' | 'tls' }),
  };
}

function readRaw(value: ConfigurationValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * Parses `class JConfig { public $name = value; ... }` without running PHP. It accepts the output of Joomla's registry
 * and common edits by hand, and refuses anything else. @throws ConfigError with the line
 */
export function parseConfigurationPhp(source: string): Configuration {
  const cursor: Cursor = { source, at: 0 };
  if (source.length > MAX_LENGTH) fail(cursor, `the file is too long for a Joomla configuration. ${REWRITE}`);
  if (take(cursor, /\uFEFF?[ \t\r\n]*<\?php(?=[ \t\r\n])/iy) === undefined)
    fail(cursor, 'the file must begin with <?php.');
  if (!takeWord(cursor, 'class') || !takeWord(cursor, 'jconfig') || !takeSymbol(cursor, '{'))
    fail(cursor, `"class JConfig {" is expected here and nothing else. ${REWRITE}`);

  const values: Configuration = new Map();
  const names = new Set<string>();
  while (!takeSymbol(cursor, '}')) {
    const name = takePropertyName(cursor);
    if (names.has(name)) fail(cursor, `$${name} is set a second time. Remove one of the two.`);
    names.add(name);
    if (!takeSymbol(cursor, '=')) fail(cursor, `"=" and a value are expected after $${name}.`);
    const value = takeValue(cursor, name);
    if (!takeSymbol(cursor, ';'))
      fail(
        cursor,
        `";" is expected after the value of $${name}, but here is ${describe(cursor)}. ${REWRITE}`,
      );
    if (value !== undefined) values.set(name, value);
  }
  skipBlanks(cursor);
  take(cursor, /\?>[ \t\r\n]*/y);
  if (cursor.at < source.length)
    fail(cursor, `nothing may follow the class, but here is ${describe(cursor)}. ${REWRITE}`);
  return values;
}

function readConfiguration(root: string, file: string): Configuration {
  if (!existsSync(file)) {
    const elsewhere = existsSync(join(root, 'defines.php'))
      ? ' The defines.php there may set JPATH_CONFIGURATION: name that folder instead.'
      : '';
    throw new ConfigError(
      `There is no ${file}, or this user cannot open its folder. Name the folder with the site's ` +
        `configuration.php.${elsewhere}`,
    );
  }
  // Refuse other files, because reading a pipe could block.
  if (!statSync(file).isFile()) throw new ConfigError(`${file} is not a file.`);
  const bytes = readBytes(
    file,
    `Give the user that runs this service read access, for example through the web server's group.`,
  );
  if (bytes.length === 0) throw new ConfigError(`${file} is empty. Finish the installation of Joomla first.`);
  if (!isUtf8(bytes)) throw new ConfigError(`${file} is not in UTF-8. Save it in UTF-8.`);
  try {
    return parseConfigurationPhp(bytes.toString('utf8'));
  } catch (error) {
    if (error instanceof ConfigError) throw new ConfigError(`${file}, ${error.message}`, { cause: error });
    throw error;
  }
}

function readBytes(file: string, remedy: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new ConfigError(`${file} cannot be read (${code}). ${remedy}`, { cause: error });
  }
}

/** Returns a property as text: Joomla before 4 wrote numbers as strings, and edits by hand use either form. */
function text(values: Configuration, file: string, name: string): string {
  const value = values.get(name) ?? '';
  if (typeof value === 'string') return value;
  if (Number.isSafeInteger(value)) return String(value);
  throw new ConfigError(`${file}: $${name} must be a string in single quotes.`);
}

function required(values: Configuration, file: string, name: string): string {
  const value = text(values, file, name);
  if (value === '')
    throw new ConfigError(
      `${file}: $${name} is missing or empty. Set it in Joomla's Global Configuration (Server, Database). ${OTHER_DATABASE}`,
    );
  return value;
}

/** Parses `$host` like Joomla's Mysqli and Pdo drivers and PHP's mysqlnd (`localhost` was tested on PHP 8.2). */
function locate(host: string, mysqli: boolean, sockets: readonly string[]): ServerLocation | undefined {
  const unix = /^unix:([^:]+)$/.exec(host)?.[1];
  if (unix !== undefined) return bySocket(unix);
  if (isIP(host) === 6) return { host, port: MYSQL_PORT };
  const match = /^(?:\[([^[\]]+)\]|([\w.-]*))(?::(?:(\d{1,5})|(\/[^/:][^:]*)))?$/.exec(host);
  if (match === null) return undefined;
  const [, address, named, digits, path] = match;
  const port = Number(digits ?? MYSQL_PORT);
  if (port < 1 || port > 65_535) return undefined;
  if (address !== undefined) return isIP(address) === 6 ? { host: address, port } : undefined;
  const name = named === '' || named === undefined ? 'localhost' : named;
  // mysqlnd uses a socket only for localhost; for other hosts it uses TCP, even if a socket is given.
  if (name.toLowerCase() !== 'localhost') return { host: name, port };
  if (path !== undefined) return bySocket(path);
  // mysqlnd ignores localhost's port. PDO passes "localhost:3307" unchanged, which means TCP.
  if (digits !== undefined && !mysqli) return { host: 'localhost', port };
  const socket = sockets.find((candidate) => existsSync(candidate));
  if (socket !== undefined) return bySocket(socket);
  return { host: 'localhost', port, ...(sockets.length > 0 && { missingSockets: sockets }) };
}

function bySocket(socketPath: string): ServerLocation {
  return { host: 'localhost', port: MYSQL_PORT, socketPath };
}

/** Reads TLS settings: any `$dbencryption` except 0 turns TLS on. mysqlnd verifies both the chain and the name, or neither. */
function readSiteTls(values: Configuration, file: string, root: string): TlsSettings | undefined {
  if (!isTrue(values.get('dbencryption'))) return undefined;
  const written = (part: TlsPart) => text(values, file, TLS_PROPERTIES[part]).trim() || undefined;
  // Without verification, PHP does not open the file of authorities either.
  const verify = isTrue(values.get('dbsslverifyservercert'));
  return readTls({ verify, written, base: root }, (part) => `$${TLS_PROPERTIES[part]} of ${file}`);
}

const TLS_PROPERTIES: Record<TlsPart, string> = {
  ca: 'dbsslca',
  cert: 'dbsslcert',
  key: 'dbsslkey',
  ciphers: 'dbsslcipher',
};

/** Returns PHP's `(bool)` of a value: the string '0' is false. */
function isTrue(value: ConfigurationValue | undefined): boolean {
  return Boolean(value) && value !== '0';
}

interface Cursor {
  readonly source: string;
  at: number;
}

/** Matches a sticky pattern at the cursor and moves past it. @returns the first group, otherwise the whole match */
function take(cursor: Cursor, pattern: RegExp): string | undefined {
  pattern.lastIndex = cursor.at;
  const match = pattern.exec(cursor.source);
  if (match === null) return undefined;
  cursor.at = pattern.lastIndex;
  return match[1] ?? match[0];
}

function skipBlanks(cursor: Cursor): void {
  // A line comment also ends at ?>, and #[ starts an attribute since PHP 8.
  while (
    take(cursor, /[ \t\r\n]+/y) !== undefined ||
    take(cursor, /(?:\/\/|#(?!\[))(?:(?!\?>)[^\r\n])*/y) !== undefined ||
    take(cursor, /\/\*[^]*?\*\//y) !== undefined
  );
}

function takeSymbol(cursor: Cursor, symbol: string): boolean {
  skipBlanks(cursor);
  if (cursor.source[cursor.at] !== symbol) return false;
  cursor.at += 1;
  return true;
}

/** @param words in lower case, because PHP's keywords and class names ignore case */
function takeWord(cursor: Cursor, ...words: string[]): boolean {
  skipBlanks(cursor);
  const start = cursor.at;
  const found = take(cursor, /\w+/y);
  if (found !== undefined && words.includes(found.toLowerCase())) return true;
  cursor.at = start;
  return false;
}

function takePropertyName(cursor: Cursor): string {
  if (takeWord(cursor, 'public', 'var')) {
    skipBlanks(cursor);
    const name = take(cursor, /\$([a-z_\u0080-\uffff][\w\u0080-\uffff]*)/iy);
    if (name !== undefined) return name;
  }
  return fail(
    cursor,
    `"public $name = value;" is expected here, but here is ${describe(cursor)}. ${REWRITE}`,
  );
}

function takeValue(cursor: Cursor, name: string, depth = 0): ConfigurationValue | undefined {
  skipBlanks(cursor);
  const single = take(cursor, /'([^'\\]*(?:\\[^][^'\\]*)*)'/y);
  if (single !== undefined) return single.replace(/\\([\\'])/g, '$1');
  const quoted = take(cursor, /"([^"\\]*(?:\\[^][^"\\]*)*)"/y);
  if (quoted !== undefined) return plainDoubleQuoted(cursor, name, quoted, depth > 0);
  const number = take(cursor, /[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?(?![\w.])/iy);
  if (number !== undefined) return toNumber(cursor, name, number);
  if (takeWord(cursor, 'true')) return true;
  if (takeWord(cursor, 'false')) return false;
  if (takeWord(cursor, 'null')) return null;
  const arrayEnd = takeArrayStart(cursor);
  if (arrayEnd === undefined)
    fail(
      cursor,
      `the value of $${name} must be a string, a number, true, false, null or an array of these, but here is ` +
        `${describe(cursor)}. ${REWRITE}`,
    );
  skipArray(cursor, name, arrayEnd, depth + 1);
  return undefined;
}

/** Ignores escapes in arrays, whose values are not used: Joomla 3 wrote their strings with addslashes(). */
function plainDoubleQuoted(cursor: Cursor, name: string, raw: string, inArray: boolean): string {
  const escapes = /\\(?:[nrtvef$"\\0-7]|[xX][\da-fA-F]|u\{)/;
  const interpolation = /\$[a-z_{\u0080-\uffff]|\{\$/i;
  if (interpolation.test(raw.replace(/\\[^]/g, ' ')) || (!inArray && escapes.test(raw)))
    fail(cursor, `$${name} has a string in double quotes with a $ or a \\ in it. Write it in single quotes.`);
  return raw;
}

function toNumber(cursor: Cursor, name: string, digits: string): number {
  const value = Number(digits);
  const whole = /^[+-]?\d+$/.test(digits);
  // In PHP 010 is 8, and an integer above 64 bits becomes a float.
  if (whole && (/^[+-]?0\d/.test(digits) || !Number.isSafeInteger(value)))
    fail(
      cursor,
      `the number of $${name} has a leading zero or is too large. Write it as a string in single quotes.`,
    );
  // PHP's integers have no -0.
  return whole && value === 0 ? 0 : value;
}

function takeArrayStart(cursor: Cursor): string | undefined {
  const start = cursor.at;
  if (takeSymbol(cursor, '[')) return ']';
  if (takeWord(cursor, 'array') && takeSymbol(cursor, '(')) return ')';
  cursor.at = start;
  return undefined;
}

function skipArray(cursor: Cursor, name: string, end: string, depth: number): void {
  if (depth > MAX_ARRAY_DEPTH) fail(cursor, `the array of $${name} is nested too deep.`);
  while (!takeSymbol(cursor, end)) {
    const key = takeValue(cursor, name, depth);
    if (takeArrow(cursor)) {
      if (key === undefined) fail(cursor, `the array of $${name} has an array as a key.`);
      takeValue(cursor, name, depth);
    }
    if (takeSymbol(cursor, ',')) continue;
    if (takeSymbol(cursor, end)) return;
    fail(cursor, `"," is expected in the array of $${name}, but here is ${describe(cursor)}. ${REWRITE}`);
  }
}

function takeArrow(cursor: Cursor): boolean {
  skipBlanks(cursor);
  return take(cursor, /=>/y) !== undefined;
}

/** Describes the text at the cursor without repeating it, because it may be part of a password. */
function describe(cursor: Cursor): string {
  const is = (pattern: RegExp): boolean => {
    pattern.lastIndex = cursor.at;
    return pattern.test(cursor.source);
  };
  if (cursor.at >= cursor.source.length) return 'the end of the file';
  if (is(/<<</y)) return 'a heredoc';
  if (is(/['"]/y)) return 'a quotation mark too many or a string without an end';
  if (is(/\/\*/y)) return 'a comment without an end';
  if (is(/\?>/y)) return 'the closing tag';
  if (is(/[\w\\]+[ \t\r\n]*\(/y)) return 'a function call';
  if (is(/[+-]?\.?\d/y)) return 'a number in a form Joomla does not write';
  if (is(/[a-z_\\\u0080-\uffff]/iy)) return 'a constant or another word of PHP';
  return 'an expression or other code';
}

function fail(cursor: Cursor, message: string): never {
  const line = cursor.source.slice(0, cursor.at).split(/\r\n|\r|\n/).length;
  throw new ConfigError(`line ${line}: ${message}`);
}

function knownZone(name: string | undefined): string | undefined {
  try {
    return name === undefined
      ? undefined
      : new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
