import { isSqlite, table, type Db } from './engine/database';
import {
  forceIndex,
  insertRows,
  licenseIndex,
  likePattern,
  placeholders,
  rawChange,
  rawRows,
  tableBy,
} from './engine/statements';
import type { TimePlace } from './events';
import { rowToFields, type RowOf } from './engine/row-fields';
import { toSqlTime } from './engine/time';

/** A download, a refused activation or deactivation, or a client over its limit. Equal accesses share a row. */
export interface Access {
  at: Date;
  endpoint: 'activate' | 'deactivate' | 'validate' | 'token' | 'updates' | 'download' | 'check';
  /** `ok`, the code of the refusal, or OMITTED */
  outcome: string;
  licenseId: number | null;
  /** the key of the request; if a replaced key was used before its end, the key that replaced it */
  keyId: number | null;
  keyHint: string | null;
  productId: number | null;
  version: string | null;
  identifier: string | null;
  ip: string | null;
  userAgent: string | null;
  /** the site that a download reported as its own; nothing proves it */
  site: string | null;
  /** the version that this site reported as installed */
  installedVersion: string | null;
}

/** An access to insert. Most requests report nothing about their site. */
type InsertedAccess = Omit<Access, 'site' | 'installedVersion'> & Partial<LoggedAccess>;

export interface LoggedAccess extends Access {
  id: number;
  times: number;
  /** time of the latest access; null: only one access */
  lastAt: Date | null;
}

/** Returns the time of the latest access in a row. */
export function lastSeenAt({ at, lastAt }: Pick<LoggedAccess, 'at' | 'lastAt'>): Date {
  return lastAt ?? at;
}

interface AccessFilter {
  /** null: accesses answered as if they named no licence, because the key was unknown or had ended */
  licenseId?: number | null;
  keyHints?: string[];
  ips?: string[];
}

/** The outcome of refusals to a client with too many different ones to store each (licensing/access-log.ts). */
export const OMITTED = 'OMITTED';

/** Inserts accesses without the query builder, too slow for the thousands of rows a second that follow a release. */
export async function insertAccesses(db: Db, accesses: InsertedAccess[]): Promise<void> {
  await insertRows(
    db,
    'access_log',
    // Do not copy the row by spreading it, which takes longer than all the rest of this function.
    accesses.map((access) =>
      Object.assign(contentRow(access), {
        times: access.times ?? 1,
        last_at: access.lastAt ? toSqlTime(access.lastAt) : null,
      }),
    ),
  );
}

function contentRow(access: InsertedAccess) {
  return {
    at: toSqlTime(access.at),
    endpoint: access.endpoint,
    outcome: access.outcome,
    license_id: access.licenseId,
    key_id: access.keyId,
    key_hint: access.keyHint,
    product_id: access.productId,
    version: access.version,
    identifier: access.identifier,
    ip: access.ip,
    user_agent: access.userAgent,
    site: access.site ?? null,
    installed_version: access.installedVersion ?? null,
  };
}

/** Returns the id of an access's row; undefined if the row is deleted. */
export async function findAccessId(db: Db, access: Access): Promise<number | undefined> {
  const [id] = await db(table(db, 'access_log'))
    .where(contentRow(access))
    .orderBy('id', 'desc')
    .limit(1)
    .pluck('id');
  return id;
}

export interface Repeats {
  id: number;
  times: number;
  lastAt: Date;
}

/** Adds repeated accesses to their rows in one statement. The list names each row once. */
export async function countRepeats(db: Db, repeats: Repeats[]): Promise<void> {
  const each = (value: (one: Repeats) => number | string) => {
    const bindings = repeats.flatMap((one) => [one.id, value(one)]);
    return { sql: `CASE id ${'WHEN ? THEN ? '.repeat(repeats.length)}END`, bindings };
  };
  const times = each((one) => one.times);
  const lastAt = each((one) => toSqlTime(one.lastAt));
  await rawChange(
    db,
    `UPDATE ${table(db, 'access_log')}${forceIndex(db, 'access_log')} SET times = times + ${times.sql},
            unsummed = unsummed + ${times.sql}, last_at = ${lastAt.sql}
      WHERE id IN (${placeholders(repeats.length)})`,
    [...times.bindings, ...times.bindings, ...lastAt.bindings, ...repeats.map(({ id }) => id)],
  );
}

/** Lists accesses, newest first. */
export async function listAccesses(
  db: Db,
  { licenseId, keyHints, ips }: AccessFilter,
  limit: number,
): Promise<LoggedAccess[]> {
  if (keyHints?.length === 0 || ips?.length === 0) return [];
  const [filtered] = [
    ...(keyHints ? ['key_hint'] : []),
    ...(ips ? ['ip'] : []),
    ...(licenseId === undefined ? [] : ['license_id']),
  ];
  const query = db(tableBy(db, 'access_log', ...(filtered === undefined ? [] : [filtered]), 'at'))
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit);
  if (licenseId === null)
    query.where((unknown) => unknown.whereNull('license_id').orWhere('outcome', 'LICENSE_NOT_FOUND'));
  else if (licenseId !== undefined) query.where('license_id', licenseId);
  if (keyHints !== undefined) query.whereIn('key_hint', keyHints);
  if (ips !== undefined) query.whereIn('ip', ips);
  return (await query).map(rowToFields);
}

/** The number of latest accesses read for each address: an address of a provider or proxy may have very many. */
const LATEST_OF_ADDRESS = 500;

/** Lists accesses without a licence (`AccessFilter`) among the latest accesses of each of these addresses, newest first. */
export async function listAccessesNearby(db: Db, ips: string[], limit: number): Promise<LoggedAccess[]> {
  if (ips.length === 0) return [];
  // The ids are read first, because whole rows of many addresses would make a large temporary table.
  const ofAddress = `SELECT id, at FROM (
      SELECT id, at, license_id, outcome FROM ${table(db, 'access_log')}${forceIndex(db, 'access_log', 'ip', 'at')}
       WHERE ip = ? ORDER BY at DESC, id DESC LIMIT ${LATEST_OF_ADDRESS}) latest
     WHERE license_id IS NULL OR outcome = 'LICENSE_NOT_FOUND'`;
  const latest = await rawRows<{ id: number }>(
    db,
    `${ips.map(() => ofAddress).join(' UNION ALL ')} ORDER BY at DESC, id DESC LIMIT ${limit}`,
    ips,
  );
  const rows = await db(tableBy(db, 'access_log'))
    .whereIn(
      'id',
      latest.map(({ id }) => id),
    )
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ]);
  return rows.map(rowToFields);
}

/** Conditions that must all hold. */
export interface RequestFilter {
  licenseId?: number | undefined;
  outcome?: string | undefined;
  productId?: number | undefined;
  keyHint?: string | undefined;
  ip?: string | undefined;
  /** only entries with an access since this time */
  since?: Date | undefined;
}

/** The longest time between the first and the last access of a row (licensing/access-log.ts). */
const ROW_LASTS_MS = 60 * 60 * 1000;
/** The number of matching rows above which the index of another filter is tried. */
const FEW = 2_000;

/** Lists log entries, newest first: by time, then id. */
export async function listRequests(
  db: Db,
  filter: RequestFilter,
  { after, limit }: { after?: TimePlace | undefined; limit: number },
): Promise<LoggedAccess[]> {
  const { licenseId, outcome, productId, keyHint, ip, since } = filter;
  const equal = Object.entries({
    license_id: licenseId,
    key_hint: keyHint,
    ip,
    product_id: productId,
    outcome,
  });
  const given = new Map(equal.flatMap(([column, value]) => (value === undefined ? [] : [[column, value]])));
  const query = db(tableBy(db, 'access_log', ...(await indexOf(db, given)), 'at'))
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit)
    .where(Object.fromEntries(given));
  if (since !== undefined)
    query
      .where('at', '>=', toSqlTime(new Date(since.getTime() - ROW_LASTS_MS)))
      .whereRaw('COALESCE(last_at, at) >= ?', [toSqlTime(since)]);
  if (after !== undefined)
    query.where('at', '<=', after.at).whereRaw('(at < ? OR id < ?)', [after.at, after.id]);
  return (await query).map(rowToFields);
}

/**
 * Returns the columns of the index to read by, without the time: those of the first condition that few entries meet,
 * otherwise those of the first condition.
 */
async function indexOf(db: Db, given: Map<string, string | number>): Promise<string[]> {
  const choices = [...given.keys()].map((column) => [column]);
  if (given.has('product_id') && given.has('outcome')) choices.splice(-2, 2, ['product_id', 'outcome']);
  if (choices.length < 2) return choices[0] ?? [];
  for (const columns of choices) {
    const values = Object.fromEntries(columns.map((column) => [column, given.get(column)]));
    const beyondFew = await db(tableBy(db, 'access_log', ...columns, 'at'))
      .where(values)
      .offset(FEW)
      .limit(1)
      .select('id');
    if (beyondFew.length === 0) return columns;
  }
  return choices[0] ?? [];
}

/**
 * Finds entries above the id `after` whose identifier contains one of these lower-case texts, or nearly (see
 * `likePattern`), newest first. It scans the log, because an index on the identifier would slow down every access.
 */
export async function findAccessesWith(
  db: Db,
  texts: string[],
  { after, limit }: { after: number; limit: number },
): Promise<LoggedAccess[]> {
  const query = db(table(db, 'access_log')).where('id', '>', after).orderBy('id', 'desc').limit(limit);
  query.where((any) => {
    for (const text of texts) any.orWhereRaw("LOWER(identifier) LIKE ? ESCAPE '!'", [likePattern(text)]);
  });
  return (await query).map(rowToFields);
}

/** The maximum number of requests of a licence that are counted, the latest ones. */
const MAX_COUNTED = 2_000;

/**
 * Counts the downloads of a licence with one outcome since a given time.
 * @returns `isMore` if the licence has more requests than are counted, so that `times` is a minimum
 */
export async function countDownloads(
  db: Db,
  licenseId: number,
  outcome: string,
  since: Date,
): Promise<{ times: number; isMore: boolean }> {
  const log = `${table(db, 'access_log')}${forceIndex(db, 'access_log', ...licenseIndex('access_log'))}`;
  const [counted] = await rawRows<{ looked: number; n: number | string | null }>(
    db,
    `SELECT COUNT(*) AS looked, SUM(CASE WHEN endpoint = 'download' AND outcome = ? THEN times END) AS n FROM (
       SELECT endpoint, outcome, times FROM ${log} WHERE license_id = ? AND at >= ?
        ORDER BY at DESC, id DESC LIMIT ${MAX_COUNTED}) latest`,
    [outcome, licenseId, toSqlTime(since)],
  );
  // MySQL's SUM is a decimal, which the driver returns as text.
  return { times: Number(counted?.n), isMore: counted?.looked === MAX_COUNTED };
}

/** Counts the downloads of some versions of a product since a given time, by version and outcome. */
export async function countDownloadsOf(
  db: Db,
  productId: number,
  versions: string[],
  since: Date,
): Promise<{ version: string; outcome: string; times: number }[]> {
  const rows = await db(table(db, 'access_log'))
    .where({ product_id: productId, endpoint: 'download' })
    .where('at', '>=', toSqlTime(since))
    .whereIn('version', versions)
    .groupBy('version', 'outcome')
    .select('version', 'outcome')
    .sum<{ version: string; outcome: string; n: number | string }[]>({ n: 'times' });
  // MySQL's SUM is a decimal, which the driver returns as text.
  return rows.map(({ version, outcome, n }) => ({ version, outcome, times: Number(n) }));
}

/** Returns the newest id in the access log; 0 if the log is empty. */
export async function lastAccessId(db: Db): Promise<number> {
  const row = (await db(table(db, 'access_log')).max({ id: 'id' }).first()) as { id: number | null };
  return row.id ?? 0;
}

/** The columns of an access that distinguish sites and versions. */
export type SiteAccess = Pick<
  LoggedAccess,
  | 'id'
  | 'at'
  | 'lastAt'
  | 'outcome'
  | 'endpoint'
  | 'licenseId'
  | 'productId'
  | 'version'
  | 'keyHint'
  | 'identifier'
  | 'ip'
  | 'site'
  | 'times'
>;

const SITE_ACCESS_PAGE = 5_000;

/** Yields all accesses since a given time, a few thousand rows at once, roughly in the order in which they arrived. */
export async function* readSiteAccesses(db: Db, since: Date): AsyncGenerator<SiteAccess[]> {
  const [first] = await db(tableBy(db, 'access_log', 'at'))
    .where('at', '>=', toSqlTime(new Date(since.getTime() - ROW_LASTS_MS)))
    .orderBy([{ column: 'at' }, { column: 'id' }])
    .limit(1)
    .pluck('id');
  for (let next = first; next !== undefined;) {
    const rows = await rawRows<RowOf<SiteAccess>>(
      db,
      `SELECT id, at, last_at, outcome, endpoint, license_id, product_id, version, key_hint, identifier, ip, site, times
         FROM ${table(db, 'access_log')}${forceIndex(db, 'access_log')}
        WHERE id >= ? ORDER BY id LIMIT ${SITE_ACCESS_PAGE}`,
      [next],
    );
    const last = rows.at(-1);
    next = rows.length < SITE_ACCESS_PAGE || last === undefined ? undefined : last.id + 1;
    yield rows.map(rowToFields).filter((one) => lastSeenAt(one) >= since);
  }
}

/** Returns the address of a User-Agent's first access among ids above `after`. */
export async function findAccessAddress(
  db: Db,
  after: number,
  userAgent: string,
): Promise<string | undefined> {
  const [ip] = await db(table(db, 'access_log'))
    .where('id', '>', after)
    .where({ user_agent: userAgent })
    .orderBy('id')
    .limit(1)
    .pluck('ip');
  return ip ?? undefined;
}

/** Deletes a few entries older than `before` that the daily sums include. @returns how many it found; others may delete too */
export async function pruneAccesses(db: Db, before: Date, limit: number): Promise<number> {
  const ids = await db(tableBy(db, 'access_log', 'at'))
    .where('at', '<', toSqlTime(before))
    .where('unsummed', 0)
    .orderBy('at')
    .limit(limit)
    .pluck('id');
  if (ids.length > 0) await deleteAccesses(db, ids);
  return ids.length;
}

/** Deletes rows by id. MySQL has no FORCE INDEX in a DELETE and may scan; ORDER BY and LIMIT make it use the primary key. */
async function deleteAccesses(db: Db, ids: number[]): Promise<void> {
  const first = isSqlite(db) ? '' : ` ORDER BY id LIMIT ${ids.length}`;
  const sql = `DELETE FROM ${table(db, 'access_log')} WHERE id IN (${placeholders(ids.length)})${first}`;
  await db.raw(sql, ids);
}
