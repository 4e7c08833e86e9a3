import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSettings } from './database';
import type { MysqlSettings } from './mysql';
import { codeOf, driverReason, isLockConflict, isUnavailable, type DriverError } from './errors';

/** A database that cannot be used, explained for the operator. Never contains the password. */
export class DatabaseTrouble extends Error {}

/** The problem, as the end of a sentence, and the remedy. */
interface Explanation {
  reason: string;
  remedy: string;
}

/** Names the database without its password: `shop as joomla at 127.0.0.1:3306`. */
export function describeDatabase(settings: DatabaseSettings): string {
  if (settings.kind === 'sqlite') return `SQLite, ${settings.path}`;
  const { database, user, host, port, socketPath } = settings;
  return `${database} as ${user} at ${socketPath ?? `${host}:${port}`}`;
}

/**
 * Explains an error of the database as a whole, with the remedy.
 *
 * @param source where the settings come from: `LICENSING_DATABASE_URL` or the path of a configuration.php
 * @returns undefined when the error is about something else
 */
export function databaseTrouble(
  error: unknown,
  settings: DatabaseSettings,
  source: string,
): DatabaseTrouble | undefined {
  if (!isAboutDatabase(error as DriverError, settings)) return undefined;
  const { reason, remedy } = explainTrouble(error, settings, source);
  return new DatabaseTrouble(
    `The database (${describeDatabase(settings)}) cannot be used: ${reason}. ${remedy}`,
    { cause: error },
  );
}

/** The explanation in its two parts, for an error known to be the database's. */
export function explainTrouble(error: unknown, settings: DatabaseSettings, source: string): Explanation {
  if (isLockConflict(error))
    return { reason: 'somebody else works on the same rows', remedy: 'Try again in a moment.' };
  return settings.kind === 'sqlite'
    ? explainFile(error as DriverError, settings.path, source)
    : explainServer(error as DriverError, settings, source);
}

/**
 * Explains a server's refusal of GET_LOCK, which migrations use to take turns; some cluster nodes refuse it.
 *
 * @returns undefined when the error is about something else
 */
export function lockTrouble(error: unknown, settings: DatabaseSettings): DatabaseTrouble | undefined {
  const said = (driverReason(error) ?? '').replace(/\.+$/, '');
  const remedy = said.includes('pxc_strict_mode')
    ? "As the database's administrator, on the node this service uses: SET GLOBAL pxc_strict_mode = MASTER; the migration done, it can be ENFORCING again."
    : codeOf(error) === 'ER_NOT_SUPPORTED_YET'
      ? 'Update MariaDB: a few versions of 2023 refuse it in a cluster, and 10.6.14, 10.11.4 and later allow it again.'
      : undefined;
  if (remedy === undefined) return undefined;
  return new DatabaseTrouble(
    `The database (${describeDatabase(settings)}) refuses the lock that migrations take: ${said}. ${remedy}`,
    { cause: error },
  );
}

/** A file named by the user fails with the same codes as a socket or the database's own file. */
function isAboutDatabase(error: DriverError, settings: DatabaseSettings): boolean {
  const { message = '', syscall, path, fatal } = error;
  const code = codeOf(error);
  if (settings.kind === 'mysql') return isUnavailable(error) && (syscall === undefined || fatal === true);
  if (syscall !== undefined) return path !== undefined && settings.path.startsWith(path);
  return (
    isUnavailable(error) || CANNOT_OPEN.test(message) || code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT'
  );
}

/** libsql's message, which comes without a code, and the file in it. */
const CANNOT_OPEN = /Unable to open connection to local database (.*): \d+/;

function explainFile(error: DriverError, path: string, source: string): Explanation {
  const code = codeOf(error);
  const of = code === '' ? '' : ` (${code})`;
  switch (code) {
    case 'SQLITE_NOTADB':
      return { reason: `that file is no SQLite database${of}`, remedy: `Correct the path in ${source}.` };
    case 'SQLITE_CORRUPT':
      return { reason: `the file is damaged${of}`, remedy: 'Restore it from a backup.' };
    case 'SQLITE_FULL':
      return { reason: `its disk is full${of}`, remedy: 'Make room; what was under way was not stored.' };
    case 'SQLITE_READONLY':
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return {
        reason: `this user may not write to the file or its folder ${dirname(path)}${of}`,
        remedy: 'Run this as the user the service runs as.',
      };
  }
  const opened = CANNOT_OPEN.exec(error.message ?? '')?.[1];
  if (opened !== undefined && isClosed(opened))
    return {
      reason: `this user may not use ${opened}`,
      remedy: 'Run this as the user the service runs as, to whom it has to belong.',
    };
  return {
    reason: `the file cannot be opened or made${of === '' && opened === undefined ? `: ${error.message}` : of}`,
    remedy: `It must be a file in a folder that this user may write to: see ${source}.`,
  };
}

/** Whether the file exists but belongs to somebody else. */
function isClosed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

function explainServer(error: DriverError, settings: MysqlSettings, source: string): Explanation {
  const { host, port, socketPath, user, database, tls } = settings;
  const names = tlsNames(source);
  const said = (driverReason(error) ?? error.message ?? '').replace(/\.+$/, '');
  const code =
    error.name === 'KnexTimeoutError'
      ? // Knex's own message is about pools and transactions when no connection came in time.
        'ETIMEDOUT'
      : // The driver has no code for a statement to a connection that has just ended.
        said.includes('closed state')
        ? 'EPIPE'
        : codeOf(error);
  switch (code) {
    case 'ECONNREFUSED':
      return {
        reason: `nobody listens there (${code})`,
        remedy: `Start the database server, or correct ${socketPath === undefined ? 'host and port' : 'the socket'} in ${source}.`,
      };
    case 'ENOENT':
    case 'ENOTDIR': {
      const folder = dirname(socketPath ?? '');
      return {
        reason: existsSync(folder)
          ? `there is no such socket (${code})`
          : `there is no such socket, and no folder ${folder} (${code})`,
        remedy: `Start the database server, or correct the socket in ${source}.`,
      };
    }
    case 'EACCES':
    case 'EPERM':
      return {
        reason: `this user may not connect to that socket (${code})`,
        remedy: 'Let the user the service runs as into the folder of the socket.',
      };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return {
        reason: `no address is known for the host ${host} (${code})`,
        remedy: `Correct the host in ${source}, or the name resolution of this machine.`,
      };
    case 'ETIMEDOUT':
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return {
        reason: `there is no answer (${code})`,
        remedy: `Check that the server runs, host and port in ${source}, and the firewall between.`,
      };
    case 'ER_ACCESS_DENIED_ERROR':
    case 'ER_ACCESS_DENIED_NO_PASSWORD_ERROR':
    case 'ER_HOST_NOT_PRIVILEGED':
    case 'ER_HOST_IS_BLOCKED':
      return {
        reason: `the server refuses this user or this password: ${said} (${code})`,
        remedy:
          `Correct user and password in ${source}; that user must be allowed to come from this machine` +
          (tls === undefined ? `, and may have to come by TLS (${names.on}).` : '.'),
      };
    case 'ER_SECURE_TRANSPORT_REQUIRED':
      return {
        reason: `the server takes connections by TLS alone (${code})`,
        remedy: `Turn TLS on in ${source}: ${names.on}.`,
      };
    case 'HANDSHAKE_NO_SSL_SUPPORT':
      return {
        reason: `the server offers no TLS (${code})`,
        remedy: `Turn TLS on in the server, or off in ${source}.`,
      };
    case 'HANDSHAKE_SSL_ERROR':
      return { reason: `TLS with it fails: ${said} (${code})`, remedy: tlsRemedy(said, host, source) };
    case 'ER_DBACCESS_DENIED_ERROR':
      return {
        reason: `${said} (${code})`,
        remedy: `Correct the database's name in ${source}; or, as the database's administrator: GRANT ALL ON \`${database}\`.* TO '${user}'@'...';`,
      };
    case 'ER_BAD_DB_ERROR':
      return {
        reason: `there is no database of that name (${code})`,
        remedy: `Correct it in ${source}; or, as the database's administrator: CREATE DATABASE \`${database}\`;`,
      };
    case 'ER_CON_COUNT_ERROR':
    case 'ER_TOO_MANY_USER_CONNECTIONS':
    case 'ER_USER_LIMIT_REACHED':
      return {
        reason: `no connection is free: ${said} (${code})`,
        remedy:
          'Raise max_connections or max_user_connections of the server, lower LICENSING_DATABASE_CONNECTIONS, or run fewer instances of the service.',
      };
    case 'ER_NET_PACKET_TOO_LARGE':
    case 'ECONNRESET':
    case 'EPIPE':
      return {
        // A server seldom gets to say why: it closes the connection while the rest is still on its way.
        reason: `it ended the connection while a statement was sent to it (${code})`,
        remedy:
          'It does so to one larger than its max_allowed_packet, as with a long entry of an import. ' +
          'Raise max_allowed_packet, for example to 64M, and try again; else look into its log.',
      };
    case 'ER_NO_SUCH_TABLE':
    case 'ER_BAD_FIELD_ERROR':
      return {
        reason: `${said} (${code})`,
        remedy: 'Run "licensing doctor": the tables are not as they were made.',
      };
    default:
      return {
        reason: code === '' || said.includes(code) ? said : `${said} (${code})`,
        remedy: `Check that the server at ${socketPath ?? `${host}:${port}`} is well, and ${source}.`,
      };
  }
}

/** The names of the TLS settings in the source of the settings. */
function tlsNames(source: string): { on: string; ca: string } {
  return source === 'LICENSING_DATABASE_URL'
    ? { on: 'ssl=require', ca: 'sslca=PATH' }
    : { on: '$dbencryption = 1', ca: '$dbsslca' };
}

/** The driver uses one code for all of Node's TLS errors; only the message tells them apart. */
function tlsRemedy(said: string, host: string, source: string): string {
  if (said.includes('altnames'))
    return `Write a host that is in the certificate into ${source}, or give the server a certificate for ${host}.`;
  if (/self-signed|issuer|verify the first/.test(said))
    return `Name a file with the certificate of the server's authority in ${source}: ${tlsNames(source).ca}.`;
  return `Check the certificate and the TLS settings of the server, and those in ${source}.`;
}
