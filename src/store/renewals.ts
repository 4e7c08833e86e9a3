import { isSqlite, table, type Db, type Transaction } from './database';
import type { RecordedEvent } from './events';
import { parseEventJson } from './events';
import { fromSqlTime, toSqlTime } from './time';
import {
  forceIndex,
  licenseIndex,
  orderedJoin,
  placeholders,
  rawChange,
  rawRows,
  tableBy,
} from './statements';

/** What is kept of the ends of licences and of their states over time, and the licences that were not renewed. */

export interface EndSum {
  /** `2026-11-24`, in UTC */
  day: string;
  planId: number;
  /** see licensing/core/timeline.ts */
  outcome: string;
  licenses: number;
}

export interface StateSum {
  /** `2026-11` */
  month: string;
  planId: number;
  status: string;
  /** by so many there are more at the end of the month than at its beginning */
  licenses: number;
}

/** Adds to the sums of ends; each may be named once. */
export function addEndSums(trx: Transaction, sums: EndSum[]): Promise<void> {
  const rows = sums.map(({ day, planId, outcome, licenses }) => [day, planId, outcome, licenses]);
  return addTo(trx, 'end_sums', ['day', 'plan_id', 'outcome'], rows);
}

/** Adds to the sums of states; each may be named once. */
export function addStateSums(trx: Transaction, sums: StateSum[]): Promise<void> {
  const rows = sums.map(({ month, planId, status, licenses }) => [month, planId, status, licenses]);
  return addTo(trx, 'state_sums', ['month', 'plan_id', 'status'], rows);
}

/** SQLite allows 32,766 values. */
const ROWS_AT_ONCE = 1_000;

async function addTo(
  trx: Transaction,
  name: 'end_sums' | 'state_sums',
  key: string[],
  rows: (string | number)[][],
): Promise<void> {
  const [onKey, added] = isSqlite(trx)
    ? [`ON CONFLICT (${key.join(', ')}) DO UPDATE SET`, 'excluded.licenses']
    : ['ON DUPLICATE KEY UPDATE', 'VALUES(licenses)'];
  for (let i = 0; i < rows.length; i += ROWS_AT_ONCE) {
    const some = rows.slice(i, i + ROWS_AT_ONCE);
    await rawChange(
      trx,
      `INSERT INTO ${table(trx, name)} (${key.join(', ')}, licenses)
       VALUES (?, ?, ?, ?)${', (?, ?, ?, ?)'.repeat(some.length - 1)} ${onKey} licenses = licenses + ${added}`,
      some.flat(),
    );
  }
}

type SummedEvent = Pick<RecordedEvent, 'id' | 'licenseId' | 'at' | 'action' | 'before' | 'after'>;

/** MySQL plans every licence with every action; see store/import.ts. */
const LICENSES_AT_ONCE = 50;

/**
 * The events of licences, with certain actions, that were taken for the sums.
 * @param isLocked waits for whoever takes one of them now
 */
export async function listSummedEvents(
  trx: Transaction,
  licenseIds: number[],
  actions: readonly string[],
  { isLocked = false } = {},
): Promise<SummedEvent[]> {
  const found: SummedEvent[] = [];
  for (let i = 0; i < licenseIds.length; i += LICENSES_AT_ONCE) {
    const query = trx(tableBy(trx, 'events', ...licenseIndex('events')))
      .whereIn('license_id', licenseIds.slice(i, i + LICENSES_AT_ONCE))
      .whereIn('action', [...actions])
      .whereNotNull('unsummed')
      .select('id', 'license_id', 'at', 'action', 'before_json', 'after_json');
    if (isLocked) query.forUpdate();
    for (const row of await query)
      found.push({
        id: row.id,
        licenseId: row.license_id,
        at: fromSqlTime(row.at),
        action: row.action,
        before: parseEventJson(row.before_json),
        after: parseEventJson(row.after_json),
      });
  }
  return found;
}

interface Days {
  /** undefined: of all plans */
  planIds: number[] | undefined;
  /** UTC days, both included */
  from: string;
  to: string;
}

/** Ends by month, plan and outcome. */
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

/** Ends by day and outcome, in the order of days. */
export async function sumEndsByDay(db: Db, { planIds, from, to }: Days): Promise<Omit<EndSum, 'planId'>[]> {
  const rows = await rawRows<{ day: string; outcome: string; n: number | string }>(
    db,
    `SELECT day, outcome, SUM(licenses) AS n FROM ${table(db, 'end_sums')}
      WHERE day >= ? AND day <= ?${ofPlans(planIds)} GROUP BY day, outcome ORDER BY day, outcome`,
    [from, to, ...(planIds ?? [])],
  );
  return rows.map(({ day, outcome, n }) => ({ day, outcome, licenses: Number(n) }));
}

/** Changes of states by month up to this one, in the order of months. */
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

/** A licence that stopped working at its end, and was not renewed. */
export interface NotRenewed {
  id: number;
  /** its latest refused request since its end, of whatever kind; null: none */
  refusedAt: Date | null;
}

export interface NotRenewedFilter {
  /** undefined: of all plans */
  planIds: number[] | undefined;
  /** in which their paid end fell: from the first of these moments until before the second; undefined: whenever */
  within: { from: Date; until: Date } | undefined;
}

/** Where a page of such licences ends: behind the latest refusal, or among those that nobody has tried since their end. */
export type NotRenewedPlace =
  { refusedAt: string; id: number } | { expiresAt: string; renewsItself: number; id: number };

interface PlacedNotRenewed extends NotRenewed {
  place: NotRenewedPlace;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** The longest grace of a shop. */
const MAX_GRACE_DAYS = 14;
/** So many licences of a filter are looked at one by one, and refusals in the order of their time beyond. */
const FEW = 5_000;

/** First those that were refused since their end, the latest refusal first; then the others, the latest end first. */
export async function listNotRenewed(
  db: Db,
  filter: NotRenewedFilter,
  { after, limit }: { after: NotRenewedPlace | undefined; limit: number },
  now: Date,
): Promise<PlacedNotRenewed[]> {
  if (filter.planIds?.length === 0) return [];
  const found =
    after !== undefined && 'expiresAt' in after ? [] : await listRefused(db, filter, after, limit, now);
  const left = limit - found.length;
  const behind = after !== undefined && 'expiresAt' in after ? after : undefined;
  return left === 0 ? found : [...found, ...(await listQuiet(db, filter, behind, left, now))];
}

async function listRefused(
  db: Db,
  filter: NotRenewedFilter,
  after: { refusedAt: string; id: number } | undefined,
  limit: number,
  now: Date,
): Promise<PlacedNotRenewed[]> {
  const isFew = await areFew(db, filter, now);
  const [refusals, licenses] = [table(db, 'license_refusals'), table(db, 'licenses')];
  const from = isFew
    ? `${licenses} l${endsIndex(db, filter)} ${orderedJoin(db)} ${refusals} r${forceIndex(db, 'license_refusals')} ON r.license_id = l.id`
    : `${refusals} r${forceIndex(db, 'license_refusals', 'at')} ${orderedJoin(db)} ${licenses} l${forceIndex(db, 'licenses')} ON l.id = r.license_id`;
  const ended = hasEnded(filter, now);
  const place = after === undefined ? '' : ' AND r.at <= ? AND (r.at < ? OR r.license_id < ?)';
  const rows = await rawRows<{ id: number; at: string }>(
    db,
    `SELECT l.id, r.at FROM ${from} WHERE ${ended.sql} AND r.at >= l.expires_at${place}
      ORDER BY r.at DESC, r.license_id DESC LIMIT ${limit}`,
    [...ended.bindings, ...(after === undefined ? [] : [after.refusedAt, after.refusedAt, after.id])],
  );
  return rows.map(({ id, at }) => ({ id, refusedAt: fromSqlTime(at), place: { refusedAt: at, id } }));
}

/** In the index's order, a part for each plan. */
async function listQuiet(
  db: Db,
  filter: NotRenewedFilter,
  after: { expiresAt: string; renewsItself: number; id: number } | undefined,
  limit: number,
  now: Date,
): Promise<PlacedNotRenewed[]> {
  const columns = ['expires_at', 'renews_itself', 'id'] as const;
  const behind = after && [after.expiresAt, after.renewsItself, after.id];
  const place =
    behind === undefined
      ? ''
      : ' AND l.expires_at <= ? AND (l.expires_at < ? OR l.renews_itself < ? OR (l.renews_itself = ? AND l.id < ?))';
  const places = after && [
    after.expiresAt,
    after.expiresAt,
    after.renewsItself,
    after.renewsItself,
    after.id,
  ];
  const rows: { id: number; expires_at: string; renews_itself: number }[] = [];
  for (const planId of filter.planIds ?? [undefined]) {
    const one = { ...filter, planIds: planId === undefined ? undefined : [planId] };
    const ended = hasEnded(one, now);
    rows.push(
      ...(await rawRows<(typeof rows)[number]>(
        db,
        `SELECT l.id, l.expires_at, l.renews_itself FROM ${table(db, 'licenses')} l${endsIndex(db, one)}
          WHERE ${ended.sql}${place}
            AND COALESCE((SELECT r.at FROM ${table(db, 'license_refusals')} r WHERE r.license_id = l.id), '') < l.expires_at
          ORDER BY ${columns.map((column) => `l.${column} DESC`).join(', ')} LIMIT ${limit}`,
        [...ended.bindings, ...(places ?? [])],
      )),
    );
  }
  rows.sort(
    (a, b) =>
      (a.expires_at < b.expires_at ? 1 : a.expires_at > b.expires_at ? -1 : 0) ||
      b.renews_itself - a.renews_itself ||
      b.id - a.id,
  );
  return rows.slice(0, limit).map(({ id, expires_at, renews_itself }) => ({
    id,
    refusedAt: null,
    place: { expiresAt: expires_at, renewsItself: renews_itself, id },
  }));
}

function endsIndex(db: Db, { planIds }: NotRenewedFilter): string {
  const columns = ['status', 'expires_at', 'renews_itself'];
  return forceIndex(db, 'licenses', ...(planIds === undefined ? [] : ['plan_id']), ...columns);
}

async function areFew(db: Db, filter: NotRenewedFilter, now: Date): Promise<boolean> {
  const ended = hasEnded(filter, now);
  const [counted] = await rawRows<{ n: number }>(
    db,
    `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ${table(db, 'licenses')} l${endsIndex(db, filter)}
      WHERE ${ended.range} LIMIT ${FEW + 1}) counted`,
    ended.rangeBindings,
  );
  return (counted?.n ?? 0) <= FEW;
}

/** What is past its end. @returns `range`: what an index serves, with more than the rest of the condition leaves */
function hasEnded({ planIds, within }: NotRenewedFilter, now: Date) {
  const plans = planIds === undefined ? '' : `l.plan_id IN (${placeholders(planIds.length)}) AND `;
  const bindings: (string | number)[] = [...(planIds ?? []), toSqlTime(now)];
  let range = `${plans}l.status = 'active' AND l.expires_at <= ?`;
  if (within === undefined) return { sql: range, bindings, range, rangeBindings: bindings };
  const shifted = (date: Date, days: number) => toSqlTime(new Date(date.getTime() + days * DAY_MS));
  range += ' AND l.expires_at >= ? AND l.expires_at < ?';
  bindings.push(shifted(within.from, 0), shifted(within.until, MAX_GRACE_DAYS));
  // A paid end is earlier than the stored one by the grace.
  const graces = Array.from({ length: MAX_GRACE_DAYS + 1 }, (_, days) => days);
  const isWithin = graces
    .map(() => '(l.grace_days = ? AND l.expires_at >= ? AND l.expires_at < ?)')
    .join(' OR ');
  return {
    sql: `${range} AND (${isWithin})`,
    bindings: [
      ...bindings,
      ...graces.flatMap((days) => [days, shifted(within.from, days), shifted(within.until, days)]),
    ],
    range,
    rangeBindings: bindings,
  };
}

/** What is known of customers, by their addresses as stored. */
export interface CustomerSince {
  since: Date;
  /** another licence of theirs works */
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

/** What the access log has of a licence's downloads. */
export interface TriedDownloads {
  /** the latest that was given; null: none that is kept */
  lastAt: Date | null;
  /** refused ones since the licence ended */
  refused: number;
}

/** Of licences that have ended, by id. @param code of a refusal for that */
export async function findTriedDownloads(
  db: Db,
  licenses: { id: number; expiresAt: Date }[],
  code: string,
): Promise<Map<number, TriedDownloads>> {
  const found = new Map<number, TriedDownloads>();
  for (let i = 0; i < licenses.length; i += LICENSES_AT_ONCE) {
    const some = licenses.slice(i, i + LICENSES_AT_ONCE);
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
