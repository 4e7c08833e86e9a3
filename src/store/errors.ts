/** What a driver's error means to the caller. MySQL's numbers: the server's error reference; SQLite's: its result codes. */

/** What an error of a driver may have, or of the system beneath it. */
export interface DriverError {
  code?: string;
  /** SQLite's number for it */
  rawCode?: number;
  sql?: string;
  sqlMessage?: string;
  /** SQLSTATE: its first two characters are a class */
  sqlState?: string;
  errno?: number;
  fatal?: boolean;
  name?: string;
  message?: string;
  /** of the system's: what failed, and of which file or socket */
  syscall?: string;
  path?: string;
}

const DUPLICATE = new Set(['ER_DUP_ENTRY', 'SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY']);

const LOCK_CONFLICT = new Set(['ER_LOCK_DEADLOCK', 'ER_LOCK_WAIT_TIMEOUT', 'ER_CHECKREAD', 'SQLITE_BUSY']);

const OUT_OF_CONNECTIONS = new Set([
  'ER_CON_COUNT_ERROR',
  'ER_TOO_MANY_USER_CONNECTIONS',
  'ER_USER_LIMIT_REACHED',
]);

const UNAVAILABLE = new Set([
  // no connection, or none any more
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  ...OUT_OF_CONNECTIONS,
  // a connection, but the server cannot serve it
  'ER_HOST_IS_BLOCKED',
  'ER_HOST_NOT_PRIVILEGED',
  'ER_ACCESS_DENIED_NO_PASSWORD_ERROR',
  'ER_SECURE_TRANSPORT_REQUIRED',
  'ER_SERVER_SHUTDOWN',
  'ER_SERVER_OFFLINE_MODE',
  'ER_CLIENT_INTERACTION_TIMEOUT',
  'ER_STATEMENT_TIMEOUT',
  'ER_QUERY_INTERRUPTED',
  'ER_QUERY_TIMEOUT',
  // a cluster's node that has lost the others (Galera), or whose group refused the commit (Group Replication)
  'ER_UNKNOWN_COM_ERROR',
  'ER_RUN_HOOK_ERROR',
  'ER_TRANSACTION_ROLLBACK_DURING_COMMIT',
  'ER_CONNECTION_KILLED',
  'ER_NORMAL_SHUTDOWN',
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_READ_ONLY_MODE',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  'ER_DISK_FULL',
  'ER_RECORD_FILE_FULL',
  'ER_ACCESS_DENIED_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
  'ER_BAD_DB_ERROR',
  'ER_NO_SUCH_TABLE',
  'ER_BAD_FIELD_ERROR',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
]);

const REFERENCE = new Set([
  'ER_ROW_IS_REFERENCED_2',
  'ER_NO_REFERENCED_ROW_2',
  // to a user who may not see the other table
  'ER_ROW_IS_REFERENCED',
  'ER_NO_REFERENCED_ROW',
  'SQLITE_CONSTRAINT_FOREIGNKEY',
]);

/** A row was to be written with a value that may be there once, and is. */
export function isDuplicate(error: unknown): boolean {
  return DUPLICATE.has(codeOf(error));
}

/** A row was to be removed that others refer to, or to be written with a reference to none. */
export function isReferenceConflict(error: unknown): boolean {
  return REFERENCE.has(codeOf(error));
}

/**
 * Somebody else's lock was in the way. Of the transaction all is rolled back (deadlock) or the statement alone (the
 * other ones, unless the server has innodb_rollback_on_timeout): whoever rolls back the rest may try all of it again.
 */
export function isLockConflict(error: unknown): boolean {
  return LOCK_CONFLICT.has(codeOf(error));
}

/** The database cannot answer now; a later try may succeed. Lock conflicts that outlasted their retries count too. */
export function isUnavailable(error: unknown): boolean {
  const { fatal, name, sqlState = '' } = driverError(error);
  return (
    fatal === true ||
    OF_CONNECTIONS.test(sqlState) ||
    (isNumbered(driverError(error)) && !OF_STATEMENTS.test(sqlState)) ||
    name === 'KnexTimeoutError' ||
    UNAVAILABLE.has(codeOf(error)) ||
    isLockConflict(error) ||
    NO_CONNECTION.test(messageOf(error))
  );
}

/** The server has as many connections as it may, or as this user may have. */
export function isOutOfConnections(error: unknown): boolean {
  return OUT_OF_CONNECTIONS.has(codeOf(error));
}

/** The connection went away, or nothing came by it: whether the server did what it was asked last, nobody knows. */
export function isConnectionLost(error: unknown): boolean {
  return driverError(error).fatal === true || codeOf(error) === 'ETIMEDOUT';
}

/** SQLSTATE's classes for a connection, for who may have one, and for an operator who ended it. */
const OF_CONNECTIONS = /^(?:08|28|70)/;
/** Its classes for a statement that is wrong or writes what cannot be: a later try fails alike. */
const OF_STATEMENTS = /^(?:21|22|23|42)/;
/** MySQL's and MariaDB's errors are numbered from here on; those of the system are negative. */
const FIRST_OF_SERVERS = 1000;
/** And from here on each by itself: 4151 is a locked account to MariaDB, and the driver knows MySQL's names alone. */
const FIRST_OF_EACH = 4000;

/** Whether a server's error has no name that can be relied on. */
function isNumbered({ errno = 0, code = '' }: DriverError): boolean {
  return errno >= FIRST_OF_EACH || (errno >= FIRST_OF_SERVERS && code === '');
}

const NO_CONNECTION = /closed state|Connection is closed|Connection lost/i;

/**
 * What a driver or its server says of a failure, without the statement and its values, which Knex puts before it.
 *
 * @returns undefined when the error is none of a driver's
 */
export function driverReason(error: unknown): string | undefined {
  const { fatal, sql, sqlMessage } = driverError(error);
  if (sqlMessage !== undefined) return sqlMessage;
  const message = messageOf(error);
  const isDrivers =
    sql !== undefined ||
    fatal === true ||
    /^(?:ER|PROTOCOL|SQLITE)_/.test(codeOf(error)) ||
    NO_CONNECTION.test(message);
  return isDrivers ? message.split(' - ').at(-1) : undefined;
}

function driverError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}

/** A driver's name for an error, else its number at the server; empty when it has neither. */
export function codeOf(error: unknown): string {
  const { errno = 0, code = '', rawCode = 0 } = driverError(error);
  if (isNumbered({ errno, code })) return SERVER_CODES.get(errno) ?? `error ${errno}`;
  return code.startsWith('UNKNOWN_SQLITE_ERROR')
    ? (SQLITE_CODES.get(rawCode & 0xff) ?? 'SQLITE_ERROR')
    : code;
}

/** An error in one word, for logs: its code, else its kind. What it says may hold values of a statement. */
export function reasonCode(error: unknown): string {
  return codeOf(error) || (driverError(error).name ?? 'unknown');
}

/** Numbers that mean something here, and for which the driver has no names, or not in all servers. */
const SERVER_CODES = new Map([
  [1927, 'ER_CONNECTION_KILLED'],
  [1969, 'ER_STATEMENT_TIMEOUT'],
  [4031, 'ER_CLIENT_INTERACTION_TIMEOUT'],
]);

/** The driver does not know all extended codes (SQLITE_READONLY_DIRECTORY is 1544); their low byte says what they are. */
const SQLITE_CODES = new Map([
  [5, 'SQLITE_BUSY'],
  [8, 'SQLITE_READONLY'],
  [10, 'SQLITE_IOERR'],
  [11, 'SQLITE_CORRUPT'],
  [13, 'SQLITE_FULL'],
  [14, 'SQLITE_CANTOPEN'],
  [26, 'SQLITE_NOTADB'],
]);

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
