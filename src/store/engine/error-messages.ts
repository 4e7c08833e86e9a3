import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { CodedError } from '../../base/errors';
import type { DatabaseSettings } from './database';
import { locationsOf, type MysqlSettings } from './mysql';
import { serverName } from './nodes';
import { driverCodeOf, driverReason, isLockConflict, isUnavailable, type DriverError } from './errors';

/** The reason for an error, as the end of a sentence, and a remedy. */
interface Explanation {
  reason: string;
  remedy: string;
}

/** Error codes, separated by spaces, with their reason and remedy. The code is shown after the reason. */
type Row = [codes: string, reason: string, remedy: string];

/** Names a database without its password: `shop as joomla at 127.0.0.1:3306`. */
export function describeDatabase(settings: DatabaseSettings, as = 'as', at = 'at'): string {
  if (settings.kind === 'sqlite') return `SQLite, ${settings.path}`;
  return `${settings.database} ${as} ${settings.user} ${at} ${addressesOf(settings)}`;
}

function addressesOf(settings: MysqlSettings): string {
  return locationsOf(settings).map(serverName).join(', ');
}

/**
 * Explains a database error to the operator. `source`: LICENSING_DATABASE_URL or a configuration.php. @returns or undefined
 */
export function toDatabaseUnusable(
  error: unknown,
  settings: DatabaseSettings,
  source: string,
): CodedError | undefined {
  if (!isAboutDatabase(error as DriverError, settings)) return undefined;
  const { reason, remedy } = explainDatabaseError(error, settings, source);
  return new CodedError(
    'DATABASE_UNUSABLE',
    `The database (${describeDatabase(settings)}) cannot be used: ${reason}. ${remedy}`,
    undefined,
    { cause: error },
  );
}

/** Explains an error that is known to come from the database. */
export function explainDatabaseError(
  error: unknown,
  settings: DatabaseSettings,
  source: string,
): Explanation {
  if (isLockConflict(error))
    return { reason: 'another process is changing the same rows', remedy: 'Try again in a moment.' };
  return settings.kind === 'sqlite'
    ? explainFile(error as DriverError, settings.path, source)
    : explainServer(error as DriverError, settings, source);
}

/** Explains why some cluster nodes refuse GET_LOCK. @returns undefined for other errors */
export function explainRefusedLock(error: unknown, settings: DatabaseSettings): CodedError | undefined {
  const said = readReason(error as DriverError);
  const remedy = said.includes('pxc_strict_mode')
    ? "As the database's administrator, on the node this service uses: SET GLOBAL pxc_strict_mode = MASTER; after the migration, it can be ENFORCING again."
    : driverCodeOf(error) === 'ER_NOT_SUPPORTED_YET'
      ? 'Update MariaDB: a few versions of 2023 refuse it in a cluster, and 10.6.14, 10.11.4 and later allow it again.'
      : undefined;
  if (remedy === undefined) return undefined;
  return new CodedError(
    'DATABASE_UNUSABLE',
    `The database (${describeDatabase(settings)}) refuses the lock that migrations take: ${said}. ${remedy}`,
    undefined,
    { cause: error },
  );
}

/** Reports whether an error is about the database. A file that the user named fails with the same codes as a socket. */
function isAboutDatabase(error: DriverError, settings: DatabaseSettings): boolean {
  const { message = '', syscall, path, fatal } = error;
  const code = driverCodeOf(error);
  if (settings.kind === 'mysql') return isUnavailable(error) && (syscall === undefined || fatal === true);
  if (syscall !== undefined) return path !== undefined && settings.path.startsWith(path);
  return (
    isUnavailable(error) || CANNOT_OPEN.test(message) || code === 'SQLITE_NOTADB' || code === 'SQLITE_CORRUPT'
  );
}

function find(rows: Row[], code: string): Explanation | undefined {
  const row = rows.find(([codes]) => codes.split(' ').includes(code));
  return row && { reason: `${row[1]} (${code})`, remedy: row[2] };
}

/** The message of libsql for a file that it cannot open, which has no code. */
const CANNOT_OPEN = /Unable to open connection to local database (.*): \d+/;

function explainFile(error: DriverError, path: string, source: string): Explanation {
  const rows: Row[] = [
    ['SQLITE_NOTADB', 'that file is not an SQLite database', `Correct the path in ${source}.`],
    ['SQLITE_CORRUPT', 'the file is damaged', 'Restore it from a backup.'],
    ['SQLITE_FULL', 'its disk is full', 'Make room. The change that failed was not stored.'],
    [
      'SQLITE_READONLY EACCES EPERM EROFS',
      `this user may not write to the file or its folder ${dirname(path)}`,
      'Run this as the user that runs the service.',
    ],
  ];
  const code = driverCodeOf(error);
  const known = find(rows, code);
  if (known) return known;
  const opened = CANNOT_OPEN.exec(error.message ?? '')?.[1];
  if (opened !== undefined && isClosed(opened))
    return {
      reason: `this user may not use ${opened}`,
      remedy: 'Run this as the user that runs the service, who must own it.',
    };
  const detail = code !== '' ? ` (${code})` : opened === undefined ? `: ${error.message}` : '';
  return {
    reason: `the file cannot be opened or created${detail}`,
    remedy: `It must be a file in a folder that this user may write to: see ${source}.`,
  };
}

function isClosed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES';
  }
}

function explainServer(error: DriverError, settings: MysqlSettings, source: string): Explanation {
  const { host, socketPath, missingSockets, user, database, tls } = settings;
  const names = tlsNames(source);
  const said = readReason(error);
  const rows: Row[] = [
    [
      'ECONNREFUSED',
      missingSockets === undefined
        ? 'no server listens there'
        : `no server listens there, and there is no socket ${missingSockets.join(' or ')}`,
      `Start the database server, or correct ${socketPath === undefined ? 'host and port' : 'the socket'} in ${source}.`,
    ],
    [
      'ENOENT ENOTDIR',
      `there is no such socket${missingFolder(socketPath)}`,
      `Start the database server, or correct the socket in ${source}.`,
    ],
    [
      'EACCES EPERM',
      'this user may not connect to that socket',
      'Give the user that runs the service access to the folder of the socket.',
    ],
    [
      'ENOTFOUND EAI_AGAIN',
      `the host ${host} cannot be resolved`,
      `Correct the host in ${source}, or the name resolution of this machine.`,
    ],
    [
      'ETIMEDOUT EHOSTUNREACH ENETUNREACH',
      'there is no answer',
      `Check that the server runs, the host and port in ${source}, and the firewalls in between.`,
    ],
    [
      'ER_ACCESS_DENIED_ERROR ER_ACCESS_DENIED_NO_PASSWORD_ERROR ER_HOST_NOT_PRIVILEGED ER_HOST_IS_BLOCKED',
      `the server refuses this user or this password: ${said}`,
      `Correct user and password in ${source}; that user must be allowed to connect from this machine` +
        (tls === undefined ? `, and may have to use TLS (${names.on}).` : '.'),
    ],
    [
      'ER_SECURE_TRANSPORT_REQUIRED',
      'the server accepts only TLS connections',
      `Turn TLS on in ${source}: ${names.on}.`,
    ],
    [
      'HANDSHAKE_NO_SSL_SUPPORT',
      'the server offers no TLS',
      `Turn TLS on in the server, or off in ${source}.`,
    ],
    ['HANDSHAKE_SSL_ERROR', `TLS with it fails: ${said}`, tlsRemedy(said, host, source)],
    [
      'ER_DBACCESS_DENIED_ERROR',
      said,
      `Correct the database's name in ${source}; or, as the database's administrator: GRANT ALL ON \`${database}\`.* TO '${user}'@'...';`,
    ],
    [
      'ER_BAD_DB_ERROR',
      'there is no database of that name',
      `Correct it in ${source}; or, as the database's administrator: CREATE DATABASE \`${database}\`;`,
    ],
    [
      'ER_CON_COUNT_ERROR ER_TOO_MANY_USER_CONNECTIONS ER_USER_LIMIT_REACHED',
      `no connection is free: ${said}`,
      'Raise max_connections or max_user_connections of the server, lower LICENSING_DATABASE_CONNECTIONS, or run fewer instances of the service.',
    ],
    [
      // The server seldom gives the reason: it closes the connection while the statement is still being sent.
      'ER_NET_PACKET_TOO_LARGE ECONNRESET EPIPE',
      'it ended the connection while a statement was sent to it',
      'It does this if a statement is larger than its max_allowed_packet, such as a long record of an import. ' +
        'Raise max_allowed_packet, for example to 64M, and try again. If that does not help, look into its log.',
    ],
    [
      'ER_NO_SUCH_TABLE ER_BAD_FIELD_ERROR',
      said,
      'Run "licensing doctor": the tables differ from those that the migrations create.',
    ],
    [
      'NO_WRITABLE_NODE',
      said,
      'Start the servers again, or make one of them writable. docs/cluster.md explains what to do with a cluster that lost its majority.',
    ],
  ];
  const code =
    error.name === 'KnexTimeoutError'
      ? // Replace Knex's own message about pools and transactions if no connection was free in time.
        'ETIMEDOUT'
      : // The driver has no code for a statement on a connection that has just ended.
        said.includes('closed state')
        ? 'EPIPE'
        : driverCodeOf(error);
  return (
    find(rows, code) ?? {
      reason: code === '' || said.includes(code) ? said : `${said} (${code})`,
      remedy: `Check that the server at ${addressesOf(settings)} works, and check ${source}.`,
    }
  );
}

function readReason(error: DriverError): string {
  return (driverReason(error) ?? error.message ?? '').replace(/\.+$/, '');
}

function missingFolder(socketPath = ''): string {
  const folder = dirname(socketPath);
  return existsSync(folder) ? '' : `, and no folder ${folder}`;
}

function tlsNames(source: string): { on: string; ca: string } {
  return source === 'LICENSING_DATABASE_URL'
    ? { on: 'ssl=require', ca: 'sslca=PATH' }
    : { on: '$dbencryption = 1', ca: '$dbsslca' };
}

/** Returns the remedy for a TLS error. The driver has one code for all of them, so the message decides. */
function tlsRemedy(said: string, host: string, source: string): string {
  if (said.includes('altnames'))
    return `Write a host that is in the certificate into ${source}, or give the server a certificate for ${host}.`;
  if (/self-signed|issuer|verify the first/.test(said))
    return `Name a file with the certificate of the server's authority in ${source}: ${tlsNames(source).ca}.`;
  return `Check the certificate and the TLS settings of the server, and those in ${source}.`;
}
