import type { Knex } from 'knex';
import { chunksOf, inChunks } from '../../base/chunks';
import { DAY_MS } from '../../base/days';
import type { Plan } from '../catalogue';
import { customerDigest } from '../customer-digest';
import { isSqlite, table, type Db, type TableName, type Transaction } from '../engine/database';
import type { LicenseFilter } from './license-filters';
import { listLicensePositions } from './license-lists';
import { resolveKey, insertMainKeys, type StoredKey, type KeyDigests } from './license-keys';
import {
  forceIndex,
  insertCounted,
  inListSql,
  likePattern,
  orderedJoin,
  placeholders,
  rawChange,
  rawRows,
  tableBy,
} from '../engine/statements';
import { fieldsToRow, rowToFields, type RowOf } from '../engine/row-fields';
import { refreshWords } from '../search-words';
import { deleteReportedSites } from '../reported-sites';
import { toSqlTime } from '../engine/time';

/** The part of a licence that decides requests, with its plan and product. */
export interface LicenseTerms {
  id: number;
  /** as stored; `liveStatus` gives the current status */
  status: string;
  /** 0: unlimited */
  activationLimit: number;
  activationsUsed: number;
  /** when it stops working, including the grace period; null: it does not end */
  expiresAt: Date | null;
  /** the unpaid days before this end, the grace period in which a subscription's renewal is awaited (`paidUntil`) */
  graceDays: number;
  /** whether a subscription renews it automatically */
  renewsItself: boolean;
  /** whether all its payments were given back, so that it has no paid end */
  allReturned: boolean;
  plan: Pick<Plan, 'id' | 'name' | 'afterExpiry' | 'freeStaging'> & { activationType: string };
  product: { id: number; name: string };
}

/** A licence with its main key. */
export interface License extends LicenseTerms, StoredKey {
  mainKeyId: number;
  customer: string | null;
  reference: string | null;
  lastCheckAt: Date | null;
  lastCheckIp: string | null;
  checkCount: number;
  createdAt: Date;
  /** JSON; null: no metadata (licensing/metadata.ts) */
  metadata: string | null;
  /** the name of the token that issued it; null: it was not issued with a token */
  issuedBy: string | null;
  /** the number of its latest change; 0: no change since revisions are counted. Checks do not raise it */
  revision: number;
}

/** The fields that cannot change while the licence's row is locked. */
export type LockedLicense = Omit<License, 'plan' | 'product' | keyof StoredKey> & { planId: number };

type Terms = Omit<
  LockedLicense,
  'id' | 'mainKeyId' | 'activationsUsed' | 'lastCheckAt' | 'lastCheckIp' | 'checkCount' | 'revision'
>;

/** The payment of a licence; by default, it has no grace period, and no payment was given back. */
type Renewing = Pick<LicenseTerms, 'graceDays' | 'renewsItself' | 'allReturned'>;

export type NewLicense = Omit<Terms, keyof Renewing> &
  Partial<Renewing> &
  StoredKey & { activationsUsed?: number };

/** A new licence's first event is its first change. */
const FIRST_REVISION = 1;

/** Validate calls to record on a licence; several calls for the same licence are merged. */
export interface LicenseCheck {
  licenseId: number;
  calls: number;
  at: Date;
  ip: string;
}

type JoinedFields = LockedLicense &
  StoredKey & {
    planName: string;
    activationType: string;
    afterExpiry: Plan['afterExpiry'];
    freeStaging: boolean;
    productId: number;
    productName: string;
  };

export async function findLicense(db: Db, id: number): Promise<License | undefined> {
  const row = await joined(db).where('l.id', id).first();
  return row && toLicense(row);
}

/** Reports whether a program has issued any licence: a shop, or a caller with a token. */
export async function isIssuedByProgram(db: Db): Promise<boolean> {
  return (await db(table(db, 'licenses')).where('issued_by', '>', '').first('id')) !== undefined;
}

export async function findLicenseByReference(db: Db, reference: string): Promise<License | undefined> {
  const row = await joined(db).where('l.reference', reference).first();
  return row && toLicense(row);
}

/** Finds which of these references are used by licences. */
export function findUsedReferences(db: Db, references: string[]): Promise<string[]> {
  return inChunks(references, (some): Promise<string[]> =>
    db(tableBy(db, 'licenses', 'reference'))
      .whereIn('reference', some)
      .pluck<string[]>('reference'),
  );
}

/** Finds the ids of licences by the digests of any of their keys. Unknown digests are missing from the map. */
export async function findOwners(db: Db, digests: string[]): Promise<Map<string, number>> {
  const owners = new Map<string, number>();
  for (const some of chunksOf(digests)) {
    const rows = await db(tableBy(db, 'license_keys', ...(isSqlite(db) ? ['key_digest'] : [])))
      .whereIn('key_digest', some)
      .select('license_id', 'key_digest');
    for (const row of rows) owners.set(row.key_digest, row.license_id);
  }
  return owners;
}

/** Finds the licence of the key that is meant (license-keys.ts). */
export async function findLicenseByKey(db: Db, written: KeyDigests): Promise<License | undefined> {
  const key = await resolveKey(db, written);
  return key && (await findLicensesByIds(db, [key.licenseId]))[0];
}

export async function findLicensesByIds(db: Db, ids: number[]): Promise<License[]> {
  if (ids.length === 0) return [];
  return (await joined(db, readBy(db)).whereIn('l.id', ids)).map(toLicense);
}

/** Finds licences of customers. @param which in lower case: any of these e-mail addresses, or all that begin with a text */
export async function findLicensesOfCustomers(
  db: Db,
  which: { among: string[] } | { beginning: string },
  limit: number,
): Promise<License[]> {
  // The ids are read first, by the customer index: with the join, the server may scan all licences by id.
  const query = db(tableBy(db, 'licenses', 'customer'))
    .orderBy('customer')
    .limit(limit);
  if ('among' in which) query.whereIn('customer', which.among);
  else query.whereRaw("customer LIKE ? ESCAPE '!'", [likePattern(which.beginning).slice(1)]);
  return findLicensesByIds(db, await query.pluck('id'));
}

/** Reads licences in the order of these ids. Missing ones are left out. */
export async function readLicenses(db: Db, ids: number[]): Promise<License[]> {
  const found = await inChunks(ids, (some) => findLicensesByIds(db, some));
  const byId = new Map(found.map((license) => [license.id, license]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Lists the first licences after an id, by id, with the filter's states as of `now`. */
export async function listLicenses(
  db: Db,
  { limit, after, ...filter }: LicenseFilter & { limit: number; after?: number | undefined },
  now: Date,
): Promise<License[]> {
  const place = after === undefined ? undefined : { id: after, expiresAt: null };
  const page = { order: 'oldest', after: place, limit } as const;
  const positions = await listLicensePositions(db, filter, page, now);
  return readLicenses(
    db,
    positions.map(({ id }) => id),
  );
}

/** Locks one licence's row; see `lockLicenses`. */
export async function lockLicense(trx: Transaction, id: number): Promise<LockedLicense | undefined> {
  return (await lockLicenses(trx, [id])).get(id);
}

/**
 * Locks licences' rows in the order of ids, as all code does, to avoid deadlocks. Must be the first statement: under
 * REPEATABLE READ an earlier read would fix a snapshot, and later counts would be out of date. It locks by id and
 * without a join, so that no plan and no gap between keys is locked. SQLite ignores `skipLocked`: it has one write
 * lock.
 * @returns the rows by id; skipped and missing rows are not in the map
 */
export async function lockLicenses(
  trx: Transaction,
  ids: number[],
  { skipLocked = false } = {},
): Promise<Map<number, LockedLicense>> {
  if (ids.length === 0) return new Map();
  const licenses = table(trx, 'licenses');
  const isAnyOf = `WHERE id IN (${placeholders(ids.length)})`;
  // SQLite has no FOR UPDATE, and Knex starts deferred transactions: a write takes the write lock.
  if (isSqlite(trx)) await rawChange(trx, `UPDATE ${licenses} SET id = id ${isAnyOf}`, ids);
  const rows = await rawRows<RowOf<LockedLicense>>(
    trx,
    isSqlite(trx)
      ? `SELECT * FROM ${licenses} ${isAnyOf}`
      : // With a small table the server would prefer to read, and so lock, every row.
        `SELECT * FROM ${licenses}${forceIndex(trx, 'licenses')} ${isAnyOf} ORDER BY id FOR UPDATE${skipLocked ? ' SKIP LOCKED' : ''}`,
    ids,
  );
  return new Map(rows.map(rowToFields).map((license) => [license.id, license]));
}

/**
 * Inserts licences with their main keys.
 * @returns their ids, in the same order
 * @throws a duplicate (`isDuplicate`) if a key or reference already exists
 */
export function insertLicenses(trx: Transaction, licenses: NewLicense[]): Promise<number[]> {
  return inChunks(licenses, async (chunk) => {
    const rows = chunk.map(({ keyDigest, keyHint, keyStart, keySealed, foldedDigest, ...row }) => ({
      row: fieldsToRow({
        graceDays: 0,
        renewsItself: false,
        ...row,
        customerDigest: customerDigest(row.customer),
        revision: FIRST_REVISION,
      }),
      key: { keyDigest, keyHint, keyStart, keySealed, foldedDigest, createdAt: row.createdAt },
    }));
    const added = await insertCounted(
      trx,
      'licenses',
      rows.map(({ row }) => row),
    );
    await insertMainKeys(
      trx,
      rows.map(({ key }, k) => ({
        ...key,
        licenseId: added[k] as number,
        label: null,
        activationLimit: null,
        endsAt: null,
      })),
    );
    await refreshWords(trx, added);
    return added;
  });
}

export type LicenseChanges = Partial<Terms & Pick<License, 'mainKeyId'>>;

/** Changes a licence and raises its revision by one: undefined keeps a value, null clears it. */
export async function setLicense(trx: Transaction, id: number, changes: LicenseChanges): Promise<void> {
  const { customer } = changes;
  const digest = customer === undefined ? {} : { customerDigest: customerDigest(customer) };
  await trx(table(trx, 'licenses'))
    .where({ id })
    .increment('revision', 1)
    .update(fieldsToRow({ ...changes, ...digest }));
  if (customer !== undefined || changes.reference !== undefined) await refreshWords(trx, [id]);
}

/** Stores whether all payments of a locked licence were given back, which its orders show. */
export async function setAllReturned(trx: Transaction, id: number, allReturned: boolean): Promise<void> {
  await trx(table(trx, 'licenses')).where({ id }).update(fieldsToRow({ allReturned }));
}

/** Moves locked licences to another customer, and raises the revision of each by one. */
export async function moveLicenses(trx: Transaction, ids: number[], customer: string): Promise<void> {
  await trx(tableBy(trx, 'licenses'))
    .whereIn('id', ids)
    .increment('revision', 1)
    .update({ customer, customer_digest: customerDigest(customer) });
  await refreshWords(trx, ids);
}

/** Lists the next licences of a plan with exactly this limit, by id. */
export async function listIdsWithLimit(
  db: Db,
  planId: number,
  activationLimit: number,
  { after, limit }: { after: number; limit: number },
): Promise<number[]> {
  return db(tableBy(db, 'licenses', 'plan_id'))
    .where({ plan_id: planId, activation_limit: activationLimit })
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .pluck('id');
}

/** Counts the licences of each plan. @param activationLimit only those with exactly this limit */
export async function countLicensesOnPlans(
  db: Db,
  planIds: number[],
  activationLimit?: number,
): Promise<Map<number, number>> {
  const query = db(tableBy(db, 'licenses', 'plan_id'))
    .whereIn('plan_id', planIds)
    .groupBy('plan_id');
  if (activationLimit !== undefined) query.where({ activation_limit: activationLimit });
  const rows = await query.select<{ plan_id: number; licenses: number }[]>(
    'plan_id',
    db.raw('COUNT(*) AS licenses'),
  );
  return new Map(rows.map(({ plan_id: id, licenses }) => [id, licenses]));
}

/** Raises revisions by the numbers of changes, by licence id, after statements that do not raise them. */
export async function incrementRevisions(trx: Transaction, changes: Map<number, number>): Promise<void> {
  if (changes.size === 0) return;
  const bindings: (string | number)[] = [];
  await rawChange(
    trx,
    `UPDATE ${table(trx, 'licenses')}${forceIndex(trx, 'licenses')} SET revision = revision + ${byId([...changes], bindings)}
      WHERE id IN (${placeholders(changes.size)})`,
    [...bindings, ...changes.keys()],
  );
}

/**
 * Adds to the used slots, by licence id, and raises each revision by its number of changes, by default 1.
 * @throws if fewer slots are free; a last safeguard, since the caller has checked
 */
export async function takeFreeSlots(
  trx: Transaction,
  slots: Map<number, number>,
  changes = new Map<number, number>(),
): Promise<void> {
  if (slots.size === 0) return;
  const bindings: (string | number)[] = [];
  const wanted = (): string => byId([...slots], bindings);
  const changed = await rawChange(
    trx,
    `UPDATE ${table(trx, 'licenses')}${forceIndex(trx, 'licenses')}
        SET activations_used = activations_used + ${wanted()}, revision = revision + ${raised(slots, changes, bindings)}
      WHERE (activation_limit = 0 OR activations_used + ${wanted()} <= activation_limit)
        AND id IN (${placeholders(slots.size)})`,
    [...bindings, ...slots.keys()],
  );
  if (changed !== slots.size) throw new Error('A slot was taken that is not free.');
}

/**
 * Adds to the used slots, or with a negative number frees them, regardless of the limit. Counters never go below 0.
 * Raises the revisions as `takeFreeSlots` does.
 */
export async function adjustSlotCounts(
  trx: Transaction,
  slots: Map<number, number>,
  changes = new Map<number, number>(),
): Promise<void> {
  if (slots.size === 0) return;
  const bindings: (string | number)[] = [];
  // The column is unsigned on MySQL, which fails on a sum below 0.
  const moved = (): string => `CAST(activations_used AS SIGNED) + ${byId([...slots], bindings)}`;
  await rawChange(
    trx,
    `UPDATE ${table(trx, 'licenses')}${forceIndex(trx, 'licenses')}
        SET activations_used = CASE WHEN ${moved()} < 0 THEN 0 ELSE ${moved()} END,
            revision = revision + ${raised(slots, changes, bindings)}
      WHERE id IN (${placeholders(slots.size)})`,
    [...bindings, ...slots.keys()],
  );
}

function raised(
  slots: Map<number, number>,
  changes: Map<number, number>,
  bindings: (string | number)[],
): string {
  return byId(
    [...slots.keys()].map((id) => [id, changes.get(id) ?? 1]),
    bindings,
  );
}

/** A stored time further ahead comes from a wrong clock that has been corrected since. */
const MAX_CLOCK_SKEW_MS = DAY_MS;

/** Records one check for each licence, locking by id to avoid deadlocks. @throws a lock conflict: nothing was recorded */
export async function recordChecks(db: Db, checks: LicenseCheck[]): Promise<void> {
  if (checks.length === 0) return;
  const ordered = [...checks].sort((a, b) => a.licenseId - b.licenseId);
  const bindings: (string | number)[] = [];
  const each = (value: (check: LicenseCheck) => string | number): string =>
    byId(
      ordered.map((check) => [check.licenseId, value(check)]),
      bindings,
    );
  const at = (): string => each((check) => toSqlTime(check.at));
  const latest = Math.max(...ordered.map((check) => check.at.getTime()));
  const tooLate = toSqlTime(new Date(latest + MAX_CLOCK_SKEW_MS));
  // Another process may already have recorded a later call: the address of the latest call is kept.
  const isLater = (): string => {
    const later = `last_check_at > ${at()} AND last_check_at < ?`;
    bindings.push(tooLate);
    return later;
  };
  // MySQL assigns from left to right: the address is set while last_check_at still has its old value.
  const sql = `UPDATE ${table(db, 'licenses')}${forceIndex(db, 'licenses')} SET
       check_count = check_count + ${each((check) => check.calls)},
       last_check_ip = CASE WHEN ${isLater()} THEN last_check_ip ELSE ${each((check) => check.ip)} END,
       last_check_at = CASE WHEN ${isLater()} THEN last_check_at ELSE ${at()} END
     WHERE id ${inListSql(ordered.length)}`;
  for (const { licenseId } of ordered) bindings.push(licenseId);
  await rawChange(db, sql, bindings, { prepared: checks.length === 1 });
}

/** Deletes locked licences that an import created and that were never used, with all their stored data. */
export async function deleteLicenses(trx: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return;
  await deleteReportedSites(trx, ids);
  for (const name of [
    'activations',
    'license_refusals',
    'license_keys',
    'events',
    'access_log',
    'outbox',
    'license_months',
    'search_words',
  ] as const)
    await trx(table(trx, name)).whereIn('license_id', ids).delete();
  await trx(table(trx, 'licenses')).whereIn('id', ids).delete();
}

/** Deletes the licence of a simulated sale, and its entries in the access log. */
export async function deleteSimulationLicense(
  db: Db,
  keyDigest: string,
  userAgent: string,
  after: number,
): Promise<void> {
  const ids = [...(await findOwners(db, [keyDigest])).values()];
  await db(table(db, 'access_log')).where('id', '>', after).where({ user_agent: userAgent }).delete();
  for (const name of ['license_refusals', 'license_downloads', 'license_months', 'search_words'] as const)
    await db(table(db, name)).whereIn('license_id', ids).delete();
  await db(table(db, 'license_keys')).whereIn('license_id', ids).delete();
  await db(table(db, 'licenses')).whereIn('id', ids).delete();
}

/** Returns an SQL expression for each row's value by id, or a single value if all are equal, as they usually are. */
function byId(values: [id: number, value: string | number][], bindings: (string | number)[]): string {
  const [[, first] = [0, 0]] = values;
  if (values.every(([, value]) => value === first)) {
    bindings.push(first);
    return '?';
  }
  let cases = '';
  for (const [id, value] of values) {
    cases += `WHEN ${id} THEN ? `;
    bindings.push(value);
  }
  return `CASE id ${cases}END`;
}

function readBy(db: Db, ...columns: string[]): Knex.Raw {
  return db.raw(`${table(db, 'licenses')} l${forceIndex(db, 'licenses', ...columns)}`);
}

/** Joins licences with their plans, products and main keys. @param licenses the table as `l`, or a selection of its rows */
function joined(db: Db, licenses: Knex.Raw | Knex.QueryBuilder = db.raw(`${table(db, 'licenses')} l`)) {
  const join = (name: TableName, alias: string, ...index: string[]) =>
    `${orderedJoin(db)} ${table(db, name)} ${alias}${forceIndex(db, name, ...index)}`;
  return db(licenses as Knex.Raw)
    .joinRaw(`${join('plans', 'p')} ON p.id = l.plan_id`)
    .joinRaw(`${join('products', 'r')} ON r.id = p.product_id`)
    .joinRaw(`${join('license_keys', 'k', 'id')} ON k.id = l.main_key_id`)
    .select<RowOf<JoinedFields>[]>('l.*', {
      key_digest: 'k.key_digest',
      key_hint: 'k.key_hint',
      key_sealed: 'k.key_sealed',
      plan_name: 'p.name',
      activation_type: 'p.activation_type',
      after_expiry: 'p.after_expiry',
      free_staging: 'p.free_staging',
      product_id: 'r.id',
      product_name: 'r.name',
    });
}

function toLicense(row: RowOf<JoinedFields>): License {
  const { planId, planName, activationType, afterExpiry, freeStaging, productId, productName, ...license } =
    rowToFields(row);
  return {
    ...license,
    plan: { id: planId, name: planName, activationType, afterExpiry, freeStaging },
    product: { id: productId, name: productName },
  };
}
