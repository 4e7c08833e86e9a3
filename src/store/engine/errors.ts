/** Classifies driver errors by their meaning to callers. Sources: MySQL's server error reference, SQLite's result codes. */

export interface DriverError {
  code?: string;
  rawCode?: number;
  sql?: string;
  sqlMessage?: string;
  /** SQLSTATE, whose first two characters are the class */
  sqlState?: string;
  errno?: number;
  fatal?: boolean;
  name?: string;
  message?: string;
  /** true if the error came from a node of a Galera cluster */
  isGalera?: boolean;
  /** for a system error: the failed call, and its file or socket */
  syscall?: string;
  path?: string;
}

const CODES = {
  duplicate: ['ER_DUP_ENTRY SQLITE_CONSTRAINT_UNIQUE SQLITE_CONSTRAINT_PRIMARYKEY'],
  reference: [
    'ER_ROW_IS_REFERENCED_2 ER_NO_REFERENCED_ROW_2 SQLITE_CONSTRAINT_FOREIGNKEY',
    'ER_ROW_IS_REFERENCED ER_NO_REFERENCED_ROW',
  ],
  lockConflict: ['ER_LOCK_DEADLOCK ER_LOCK_WAIT_TIMEOUT ER_CHECKREAD SQLITE_BUSY'],
  outOfConnections: ['ER_CON_COUNT_ERROR ER_TOO_MANY_USER_CONNECTIONS ER_USER_LIMIT_REACHED'],
  unavailable: [
    // no connection, or a lost one
    'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT ENOENT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH',
    'PROTOCOL_CONNECTION_LOST PROTOCOL_SEQUENCE_TIMEOUT',
    // connected, but the server cannot serve
    'ER_HOST_IS_BLOCKED ER_HOST_NOT_PRIVILEGED ER_ACCESS_DENIED_NO_PASSWORD_ERROR',
    'ER_ACCOUNT_HAS_BEEN_LOCKED ER_MUST_CHANGE_PASSWORD ER_MUST_CHANGE_PASSWORD_LOGIN ER_SESSION_WAS_KILLED',
    'ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK ER_SERVER_ISNT_AVAILABLE',
    'ER_SECURE_TRANSPORT_REQUIRED ER_SERVER_SHUTDOWN ER_SERVER_OFFLINE_MODE ER_CLIENT_INTERACTION_TIMEOUT',
    'ER_STATEMENT_TIMEOUT ER_QUERY_INTERRUPTED ER_QUERY_TIMEOUT ER_CONNECTION_KILLED ER_NORMAL_SHUTDOWN',
    'ER_OPTION_PREVENTS_STATEMENT ER_READ_ONLY_MODE ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
    'ER_DISK_FULL ER_RECORD_FILE_FULL ER_ACCESS_DENIED_ERROR ER_DBACCESS_DENIED_ERROR ER_BAD_DB_ERROR',
    'ER_NO_SUCH_TABLE ER_BAD_FIELD_ERROR NO_WRITABLE_NODE',
    // a Galera node without the other nodes, or a commit that Group Replication refused
    'ER_UNKNOWN_COM_ERROR ER_ERROR_DURING_COMMIT ER_RUN_HOOK_ERROR ER_TRANSACTION_ROLLBACK_DURING_COMMIT',
    'SQLITE_FULL SQLITE_IOERR SQLITE_READONLY SQLITE_CANTOPEN',
  ],
  // errors with a general SQLSTATE, or without one
  wrongValue: [
    'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD ER_BAD_NULL_ERROR ER_CHECK_CONSTRAINT_VIOLATED',
    'SQLITE_TOOBIG SQLITE_MISMATCH SQLITE_CONSTRAINT_NOTNULL SQLITE_CONSTRAINT_CHECK',
  ],
};

const KINDS = new Map(
  Object.entries(CODES).flatMap(([kind, codes]) =>
    codes.flatMap((line) => line.split(' ')).map((code) => [code, kind]),
  ),
) as Map<string, keyof typeof CODES>;

function kindOf(error: unknown): keyof typeof CODES | undefined {
  return KINDS.get(driverCodeOf(error));
}

/** Reports whether a row with this unique value already exists. */
export function isDuplicate(error: unknown): boolean {
  return kindOf(error) === 'duplicate';
}

/** Reports whether other rows refer to the row to be deleted, or the row to be written refers to a missing one. */
export function isReferenceConflict(error: unknown): boolean {
  return kindOf(error) === 'reference';
}

/** Reports whether a value does not fit its column, so that the statement fails again each time. */
export function isWrongValue(error: unknown): boolean {
  return kindOf(error) === 'wrongValue' || (driverError(error).sqlState ?? '').startsWith(OF_VALUES);
}

/** Reports whether a retry may succeed after a rollback. Only a deadlock always rolls back the whole transaction. */
export function isLockConflict(error: unknown): boolean {
  return kindOf(error) === 'lockConflict';
}

/**
 * Reports whether a Galera node rolled the transaction back because another node changed the same rows, even as the
 * response to COMMIT. A server without Galera also responds to COMMIT with 1213 in other cases (MySQL's Group
 * Replication, a storage engine), which do not guarantee a rollback.
 */
export function isCertificationConflict(error: unknown): boolean {
  return driverError(error).isGalera === true && driverCodeOf(error) === 'ER_LOCK_DEADLOCK';
}

/** Reports whether the database cannot respond now, but may later. This includes lock conflicts after all retries. */
export function isUnavailable(error: unknown): boolean {
  const { fatal, name, sqlState = '' } = driverError(error);
  return (
    fatal === true ||
    OF_CONNECTIONS.test(sqlState) ||
    (isNumbered(driverError(error)) && !OF_STATEMENTS.test(sqlState)) ||
    name === 'KnexTimeoutError' ||
    ['unavailable', 'outOfConnections', 'lockConflict'].includes(kindOf(error) ?? '') ||
    NO_CONNECTION.test(messageOf(error))
  );
}

/** Reports whether the server, or this user on it, has reached its limit of connections. */
export function isOutOfConnections(error: unknown): boolean {
  // A limit for each hour has the same code.
  return kindOf(error) === 'outOfConnections' && !messageOf(error).includes('_per_hour');
}

/**
 * Reports whether it is unknown if the server ran the last statement: the connection was lost or timed out, or a Galera
 * node lost its majority during a COMMIT, which the other nodes may have received.
 */
export function mayHaveBeenExecuted(error: unknown): boolean {
  return (
    driverError(error).fatal === true || isTimeout(error) || driverCodeOf(error) === 'ER_ERROR_DURING_COMMIT'
  );
}

/** Reports whether there was no response in time. */
export function isTimeout(error: unknown): boolean {
  return driverCodeOf(error) === 'ETIMEDOUT';
}

/** SQLSTATE classes of connection errors, failed logins and operators' interventions. */
const OF_CONNECTIONS = /^(?:08|28|70)/;
/** The SQLSTATE class of values that are out of range, too long or malformed. */
const OF_VALUES = '22';
/** SQLSTATE classes of wrong statements or values, which would fail again. */
const OF_STATEMENTS = /^(?:21|22|23|42)/;
/** The first number of the errors of MySQL and MariaDB; system errors are negative. */
const FIRST_OF_SERVERS = 1000;
/** The first number whose meaning differs. The driver only has MySQL's names: MariaDB's 4151 is a locked account. */
const FIRST_OF_EACH = 4000;

function isNumbered({ errno = 0, code = '' }: DriverError): boolean {
  return errno >= FIRST_OF_EACH || (errno >= FIRST_OF_SERVERS && code === '');
}

const NO_CONNECTION = /closed state|Connection is closed|Connection lost/i;

/** Returns a driver error's message without the statement and its values. @returns undefined for other errors */
export function driverReason(error: unknown): string | undefined {
  const { fatal, sql, sqlMessage } = driverError(error);
  if (sqlMessage !== undefined) return sqlMessage;
  const message = messageOf(error);
  const isDrivers =
    sql !== undefined ||
    fatal === true ||
    /^(?:ER|PROTOCOL|SQLITE)_/.test(driverCodeOf(error)) ||
    NO_CONNECTION.test(message);
  return isDrivers ? message.split(' - ').at(-1) : undefined;
}

function driverError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}

/** Returns the driver's name for an error, otherwise the server's number, otherwise an empty text. */
export function driverCodeOf(error: unknown): string {
  const { errno = 0, code = '', rawCode = 0 } = driverError(error);
  if (isNumbered({ errno, code })) return SERVER_CODES.get(errno) ?? `error ${errno}`;
  return code.startsWith('UNKNOWN_SQLITE_ERROR')
    ? (SQLITE_CODES.get(rawCode & 0xff) ?? 'SQLITE_ERROR')
    : code;
}

/** Returns an error as one word for logs: its code or type. The message may contain values of a statement. */
export function reasonCode(error: unknown): string {
  return driverCodeOf(error) || (driverError(error).name ?? 'unknown');
}

/** Errors that matter here, and that the driver cannot name for some servers. */
const SERVER_CODES = new Map([
  [1927, 'ER_CONNECTION_KILLED'],
  [1969, 'ER_STATEMENT_TIMEOUT'],
  [4031, 'ER_CLIENT_INTERACTION_TIMEOUT'],
]);

/** SQLite codes by low byte, because the driver does not name all extended codes (such as 1544, SQLITE_READONLY_DIRECTORY). */
const SQLITE_CODES = new Map([
  [5, 'SQLITE_BUSY'],
  [8, 'SQLITE_READONLY'],
  [10, 'SQLITE_IOERR'],
  [11, 'SQLITE_CORRUPT'],
  [13, 'SQLITE_FULL'],
  [14, 'SQLITE_CANTOPEN'],
  [26, 'SQLITE_NOTADB'],
]);

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
