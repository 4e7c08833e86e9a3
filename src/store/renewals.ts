import { chunksOf } from '../base/chunks';
import { DAY_MS } from '../base/days';
import { isSqlite, table, type Db, type Transaction } from './engine/database';
import { parseEventJson, type RecordedEvent } from './events';
import { fromSqlTime, toSqlTime } from './engine/time';
import {
  forceIndex,
  licenseIndex,
  orderedJoin,
  placeholders,
  rawChange,
  rawRows,
  tableBy,
} from './engine/statements';

/** Sums of the ends of licences and of their states over time, and the licences that were not renewed. */

export interface EndSum {
  /** `2026-11-24`, in UTC */
  day: string;
  planId: number;
  /** see figures/timeline.ts */
  outcome: string;
  licenses: number;
}

export interface StateSum {
  /** `2026-11` */
  month: string;
  planId: number;
  status: string;
  /** the licences at the end of the month minus those at its beginning */
  licenses: number;
}

/** Adds to the sums of ends. The list names each sum once. */
export function addEndSums(trx: Transaction, sums: EndSum[]): Promise<void> {
  const rows = sums.map(({ day, planId, outcome, licenses }) => [day, planId, outcome, licenses]);
  return addTo(trx, 'end_sums', ['day', 'plan_id', 'outcome'], rows);
}

/** Adds to the sums of states. The list names each sum once. */
export function addStateSums(trx: Transaction, sums: StateSum[]): Promise<void> {
  const rows = sums.map(({ month, planId, status, licenses }) => [month, planId, status, licenses]);
  return addTo(trx, 'state_sums', ['month', 'plan_id', 'status'], rows);
}

async function addTo(
  trx: Transaction,
  name: 'end_sums' | 'state_sums',
  key: string[],
  rows: (string | number)[][],
): Promise<void> {
  const [onKey, added] = isSqlite(trx)
    ? [`ON CONFLICT (${key.join(', ')}) DO UPDATE SET`, 'excluded.licenses']
    : ['ON DUPLICATE KEY UPDATE', 'VALUES(licenses)'];
  for (const some of chunksOf(rows))
    await rawChange(
      trx,
      `INSERT INTO ${table(trx, name)} (${key.join(', ')}, licenses)
       VALUES (?, ?, ?, ?)${', (?, ?, ?, ?)'.repeat(some.length - 1)} ${onKey} licenses = licenses + ${added}`,
      some.flat(),
    );
}

type SummedEvent = Pick<RecordedEvent, 'id' | 'licenseId' | 'at' | 'action' | 'before' | 'after'>;

/** The number of licences in a query: MySQL plans every combination of licence and action (store/import.ts). */
const BATCH_SIZE = 50;

/**
 * Lists the events of licences, with certain actions, that the sums include.
 * @param isLocked waits for a process that is summing one of them, and keeps the others from being summed
 */
export async function listSummedEvents(
  trx: Transaction,
  licenseIds: number[],
  actions: readonly string[],
  { isLocked = false } = {},
): Promise<SummedEvent[]> {
  const found: SummedEvent[] = [];
  for (const ids of chunksOf(licenseIds, BATCH_SIZE)) {
    const query = trx(tableBy(trx, 'events', ...licenseIndex('events')))
      .whereIn('license_id', ids)
      .whereIn('action', [...actions])
      .select('id', 'license_id', 'at', 'action', 'before_json', 'after_json', 'unsummed');
    // At READ COMMITTED, the lock on a row that a condition excludes is released.
    if (isLocked) query.forUpdate();
    else query.whereNotNull('unsummed');
    for (const row of await query) {
      if (row.unsummed === null) continue;
      found.push({
        id: row.id,
        licenseId: row.license_id,
        at: fromSqlTime(row.at),
        action: row.action,
        before: parseEventJson(row.before_json),
        after: parseEventJson(row.after_json),
      });
    }
  }
  return found;
}

interface Days {
  /** undefined: all plans */
  planIds: number[] | undefined;
  /** UTC days, both included */
  from: string;
  to: string;
}

/** Sums ends by month, plan and outcome. */
export async function sumEndsByMonth(
  db: Db,
  { planIds, from, to }: Days,
): Promise<(Omit<EndSum, 'day'> & { month: string })[]> {
  const rows = await rawRows<{ month: string; plan_id: number; outcome: string; n: number | string }>(
    db,
    `SELECT SUBSTR(day, 1, 7) AS month, plan_id, outcome, SUM(licenses) AS n FROM ${table(db, 'end_sums')}
      WHERE day >= ? AND day <= ?${ofPlans(planIds)} GROUP BY 1, 2, 3`,
    [from, to, ...(planIds ?? [])],
  );
  return rows.map(({ month, plan_id, outcome, n }) => ({
    month,
    planId: plan_id,
    outcome,
    licenses: Number(n),
  }));
}

/** Sums ends by day and outcome, in the order of days. */
export async function sumEndsByDay(db: Db, { planIds, from, to }: Days): Promise<Omit<EndSum, 'planId'>[]> {
  const rows = await rawRows<{ day: string; outcome: string; n: number | string }>(
    db,
    `SELECT day, outcome, SUM(licenses) AS n FROM ${table(db, 'end_sums')}
      WHERE day >= ? AND day <= ?${ofPlans(planIds)} GROUP BY day, outcome ORDER BY day, outcome`,
    [from, to, ...(planIds ?? [])],
  );
  return rows.map(({ day, outcome, n }) => ({ day, outcome, licenses: Number(n) }));
}

/** Sums changes of states by month, up to a month, in the order of months. */
export async function sumStates(
  db: Db,
  planIds: number[] | undefined,
  upTo: string,
): Promise<Omit<StateSum, 'planId'>[]> {
  const rows = await rawRows<{ month: string; status: string; n: number | string }>(
    db,
    `SELECT month, status, SUM(licenses) AS n FROM ${table(db, 'state_sums')}
      WHERE month <= ?${ofPlans(planIds)} GROUP BY month, status ORDER BY month, status`,
    [upTo, ...(planIds ?? [])],
  );
  return rows.map(({ month, status, n }) => ({ month, status, licenses: Number(n) }));
}

function ofPlans(planIds: number[] | undefined): string {
  if (planIds === undefined) return '';
  return planIds.length === 0 ? ' AND 1 = 0' : ` AND plan_id IN (${placeholders(planIds.length)})`;
}

/** A licence that expired and was not renewed. */
export interface NotRenewed {
  id: number;
  /** its latest refused request since its end, for any reason; null: none */
  refusedAt: Date | null;
}

export interface NotRenewedFilter {
  /** undefined: all plans */
  planIds: number[] | undefined;
  /** the range of their paid-through date: from the first moment until before the second; undefined: any date */
  within: { from: Date; until: Date } | undefined;
}

/** The position at which a page of such licences ends: among the recently refused ones, or among the others. */
export type NotRenewedPlace = { since: string } & (
  | { refusedAt: string; id: number }
  | { expiresAt: string; renewsItself: number; id: number }
);

export interface PlacedNotRenewed extends NotRenewed {
  place: NotRenewedPlace;
}

/** The longest grace period of a shop. */
const MAX_GRACE_DAYS = 14;
/** The number of recently refused licences; each page reads all of them, with every filter. Tests set it lower. */
const LATELY = 5_000;
const EVER = '1000-01-01 00:00:00';

/**
 * Lists licences that were not renewed: first those refused since their end, latest refusal first, then the others,
 * latest end first. Only the latest `lately` refusals, for any reason, count.
 */
export async function listNotRenewed(
  db: Db,
  filter: NotRenewedFilter,
  { after, limit }: { after: NotRenewedPlace | undefined; limit: number },
  now: Date,
  lately = LATELY,
): Promise<PlacedNotRenewed[]> {
  if (filter.planIds?.length === 0) return [];
  const since = after?.since ?? (await findLately(db, lately));
  const [refused, quiet] =
    after === undefined || 'refusedAt' in after ? [after, undefined] : [undefined, after];
  const found =
    quiet === undefined ? await listRefused(db, filter, { since, after: refused, limit }, now) : [];
  const left = limit - found.length;
  return left === 0
    ? found
    : [...found, ...(await listQuiet(db, filter, { since, after: quiet, limit: left }, now))];
}

async function findLately(db: Db, lately: number): Promise<string> {
  const [latest] = await rawRows<{ at: string }>(
    db,
    `SELECT at FROM ${table(db, 'license_refusals')}${forceIndex(db, 'license_refusals', 'at')} ORDER BY at DESC LIMIT 1 OFFSET ${lately}`,
    [],
  );
  return latest?.at ?? EVER;
}

interface PartPage<Place> {
  /** earlier refusals do not count */
  since: string;
  after: Place | undefined;
  limit: number;
}

async function listRefused(
  db: Db,
  filter: NotRenewedFilter,
  { since, after, limit }: PartPage<{ refusedAt: string; id: number }>,
  now: Date,
): Promise<PlacedNotRenewed[]> {
  const ended = hasEnded(filter, now);
  const place = after === undefined ? '' : ' AND r.at <= ? AND (r.at < ? OR r.license_id < ?)';
  const rows = await rawRows<{ id: number; at: string }>(
    db,
    `SELECT l.id, r.at FROM ${table(db, 'license_refusals')} r${forceIndex(db, 'license_refusals', 'at')}
       ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = r.license_id
      WHERE r.at >= ?${place} AND r.at >= l.expires_at AND ${ended.sql}
      ORDER BY r.at DESC, r.license_id DESC LIMIT ${limit}`,
    [since, ...(after === undefined ? [] : [after.refusedAt, after.refusedAt, after.id]), ...ended.bindings],
  );
  return rows.map(({ id, at }) => ({ id, refusedAt: fromSqlTime(at), place: { since, refusedAt: at, id } }));
}

/** Lists the other licences in the order of the index, which is read once for each plan. */
async function listQuiet(
  db: Db,
  filter: NotRenewedFilter,
  { since, after, limit }: PartPage<{ expiresAt: string; renewsItself: number; id: number }>,
  now: Date,
): Promise<PlacedNotRenewed[]> {
  const place =
    after === undefined
      ? ''
      : ' AND i.expires_at <= ? AND (i.expires_at < ? OR i.renews_itself < ? OR (i.renews_itself = ? AND i.id < ?))';
  const { expiresAt, renewsItself, id } = after ?? { expiresAt: '', renewsItself: 0, id: 0 };
  const places = after === undefined ? [] : [expiresAt, expiresAt, renewsItself, renewsItself, id];
  let rows: (Ended & { refused_at: string | null })[] = [];
  for (const planId of filter.planIds ?? [undefined]) {
    const one = { ...filter, planIds: planId === undefined ? undefined : [planId] };
    // Only columns of the index decide which rows are read; otherwise MariaDB reads each whole row of a backward scan.
    const ended = hasEnded(one, now, 'i');
    // A further plan adds only what ended no earlier than the page's last licence so far.
    const last = rows[limit - 1];
    const bound = last === undefined ? '' : ' AND i.expires_at >= ?';
    const index = [...(planId === undefined ? [] : ['plan_id']), 'status', 'expires_at', 'renews_itself'];
    const found = await rawRows<(typeof rows)[number]>(
      db,
      `SELECT i.id, i.expires_at, i.renews_itself, r.at AS refused_at
         FROM ${table(db, 'licenses')} i${forceIndex(db, 'licenses', ...index)}
         ${orderedJoin(db)} ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} ON l.id = i.id
         LEFT JOIN ${table(db, 'license_refusals')} r${forceIndex(db, 'license_refusals')} ON r.license_id = i.id
        WHERE ${ended.sql}${place}${bound} AND (r.at IS NULL OR r.at < i.expires_at OR r.at < ?)
        ORDER BY i.expires_at DESC, i.renews_itself DESC, i.id DESC LIMIT ${limit}`,
      [...ended.bindings, ...places, ...(last === undefined ? [] : [last.expires_at]), since],
    );
    rows = [...rows, ...found].sort(latestEndFirst).slice(0, limit);
  }
  return rows.map((row) => ({
    id: row.id,
    refusedAt: (row.refused_at ?? '') < row.expires_at ? null : fromSqlTime(row.refused_at as string),
    place: { since, expiresAt: row.expires_at, renewsItself: row.renews_itself, id: row.id },
  }));
}

interface Ended {
  id: number;
  expires_at: string;
  renews_itself: number;
}

function latestEndFirst(a: Ended, b: Ended): number {
  if (a.expires_at !== b.expires_at) return a.expires_at < b.expires_at ? 1 : -1;
  return b.renews_itself - a.renews_itself || b.id - a.id;
}

/** Returns the condition that licence `l` is past its end. @param by the alias whose index has the columns of the end */
function hasEnded({ planIds, within }: NotRenewedFilter, now: Date, by: 'l' | 'i' = 'l') {
  const plans = planIds === undefined ? '' : `${by}.plan_id IN (${placeholders(planIds.length)}) AND `;
  const sql = `${plans}${by}.status = 'active' AND ${by}.expires_at <= ?`;
  const bindings: (string | number)[] = [...(planIds ?? []), toSqlTime(now)];
  if (within === undefined) return { sql, bindings };
  const shifted = (date: Date, days: number) => toSqlTime(new Date(date.getTime() + days * DAY_MS));
  // The paid-through date is the stored end minus the grace period, which only automatic renewals have.
  const graces = Array.from({ length: MAX_GRACE_DAYS + 1 }, (_, days) => days);
  const isWithin = graces.map(() => '(l.grace_days = ? AND l.expires_at >= ? AND l.expires_at < ?)');
  return {
    sql: `${sql} AND ${by}.expires_at >= ? AND ${by}.expires_at < ?
      AND (${by}.renews_itself = 1 OR ${by}.expires_at < ?)
      AND (${by}.renews_itself = 0 OR ${isWithin.join(' OR ')})`,
    bindings: [
      ...bindings,
      ...[shifted(within.from, 0), shifted(within.until, MAX_GRACE_DAYS), shifted(within.until, 0)],
      ...graces.flatMap((days) => [days, shifted(within.from, days), shifted(within.until, days)]),
    ],
  };
}

/** The customer's history, by the address as stored. */
export interface CustomerSince {
  since: Date;
  /** whether another of the customer's licences works */
  hasActive: boolean;
}

export async function findCustomersSince(
  db: Db,
  customers: string[],
  now: Date,
): Promise<Map<string, CustomerSince>> {
  if (customers.length === 0) return new Map();
  const rows = await rawRows<{ customer: string; since: string; working: number | string }>(
    db,
    `SELECT customer, MIN(created_at) AS since,
            SUM(CASE WHEN status = 'active' AND (expires_at IS NULL OR expires_at > ?) THEN 1 ELSE 0 END) AS working
       FROM ${table(db, 'licenses')}${forceIndex(db, 'licenses', 'customer')}
      WHERE customer IN (${placeholders(customers.length)}) GROUP BY customer`,
    [toSqlTime(now), ...customers],
  );
  return new Map(
    rows.map(({ customer, since, working }) => [
      customer,
      { since: fromSqlTime(since), hasActive: Number(working) > 0 },
    ]),
  );
}

/** The access log's count of a licence's downloads. */
export interface TriedDownloads {
  /** the latest permitted download; null: no entry is left */
  lastAt: Date | null;
  /** refused downloads since the licence's end */
  refused: number;
}

/** Counts the downloads of ended licences, by id. @param code the refusal's code for an ended licence */
export async function findTriedDownloads(
  db: Db,
  licenses: { id: number; expiresAt: Date }[],
  code: string,
): Promise<Map<number, TriedDownloads>> {
  const found = new Map<number, TriedDownloads>();
  for (const some of chunksOf(licenses, BATCH_SIZE)) {
    const rows = await rawRows<{ id: number; last: string | null; refused: number | string }>(
      db,
      `SELECT license_id AS id, MAX(CASE WHEN outcome = 'ok' THEN COALESCE(last_at, at) END) AS last,
              SUM(CASE WHEN outcome = ? AND at >= CASE license_id ${'WHEN ? THEN ? '.repeat(some.length)}END THEN times ELSE 0 END) AS refused
         FROM ${table(db, 'access_log')}${forceIndex(db, 'access_log', ...licenseIndex('access_log'))}
        WHERE license_id IN (${placeholders(some.length)}) AND endpoint = 'download' GROUP BY license_id`,
      [code, ...some.flatMap(({ id, expiresAt }) => [id, toSqlTime(expiresAt)]), ...some.map(({ id }) => id)],
    );
    for (const { id, last, refused } of rows)
      found.set(id, { lastAt: last === null ? null : fromSqlTime(last), refused: Number(refused) });
  }
  return found;
}
