import type { Knex } from 'knex';
import { inChunks } from '../base/chunks';
import { PLAN, PRODUCT, PRODUCT_INSIDE } from './columns/catalogue';
import { typedColumns } from './columns/kinds';
import { customerDigest } from './customer-digest';
import { isSqlite, table, type Db, type TableName, type TableRow, type Transaction } from './engine/database';
import type { Row, SqlValue } from './export';
import { idIndex, licenseIndex, tableBy } from './engine/statements';
import { refreshWords, refreshWordsOf } from './search-words';

/** Every column that can hold typed text. */
export const TEXT_COLUMNS = {
  products: typedColumns({ ...PRODUCT, ...PRODUCT_INSIDE }),
  plans: typedColumns(PLAN),
  licenses: ['customer', 'reference', 'metadata'],
  license_keys: ['label'],
  activations: ['identifier', 'name'],
  releases: ['changelog', 'file_name', 'advisory'],
  access_log: ['identifier', 'user_agent', 'version', 'site', 'installed_version'],
  events: ['actor', 'before_json', 'after_json'],
  outbox: ['recipient', 'details_json', 'answer'],
  orders: ['number', 'owner', 'customer', 'customer_name'],
  order_events: ['event_id', 'payment', 'actor', 'lines_json', 'outcome_json'],
  order_lines: ['line', 'sku', 'renews_json'],
  shop_links: ['target'],
  customers: ['address', 'name', 'chosen_name', 'note'],
  shop_messages: ['reason', 'pending_json'],
  webhooks: ['description'],
} as const satisfies Partial<Record<TableName, readonly string[]>>;
export type TextTable = keyof typeof TEXT_COLUMNS;

/**
 * Tables that are not searched for a customer's address, with the reason. Every other table is in TEXT_COLUMNS: a new
 * table must be in one of the two.
 */
export const UNSEARCHED: Record<Exclude<TableName, TextTable>, string> = {
  product_includes: 'ids',
  license_refusals: "the time of a licence's latest refusal, which its accesses also show",
  refused_licenses: 'ids and counts',
  license_counts: 'counts',
  license_months: 'counts of a licence',
  refused_counts: 'counts',
  told_counts: 'versions and counts',
  end_sums: 'counts',
  state_sums: 'counts',
  money_sums: 'sums of amounts',
  order_licenses: 'ids and ends, which an order shows',
  daily_sums: 'counts',
  leases: 'names of work and of instances',
  imports: "the source's plans, counts, and the operator who moved in",
  imported: 'ids, and digests of imported records',
  migrations: 'names of migrations',
  search_words: 'words from other tables, found by licence',
  shop_skus: "the shop's own article numbers",
  shops: "the seller's settings",
  release_sboms: 'names and versions of software',
  security_notices: 'ids, counts, and the operator who notified the customers',
  told_sites: 'sites and versions, found by licence',
  license_downloads: 'versions and times, found by licence',
  exposures: 'versions and counts',
  key_networks: 'digests of networks, found by key',
  spreading_keys: 'ids and times',
  settings: "the seller's own name, addresses, limits and texts",
  shop_refusals: 'counts by day',
  unmatched: 'codes and ids; their orders and messages have the rest',
  signing_keys: 'keys, and the operators who made them',
  limit_counts: 'counts under digests of addresses; they last a minute, or LICENSING_RATE_WINDOW',
  idempotency: 'sealed answers under keyed digests, which cannot be found by person; they last a day',
  tokens: 'names without an address (access/tokens.ts)',
  sessions: 'found by the digest of an address, and by licence',
  one_time_codes: 'found by the digest of an address',
  link_requests: 'found by the digest of an address',
  operators: 'the address of a member of staff, found by the address itself',
};

/** A restriction to rows of certain licences; null: rows without a licence. */
export interface Only {
  licenseIds: number[] | null;
}

export interface TextSearch {
  only?: Only | undefined;
  /** the columns that are searched; by default all of TEXT_COLUMNS */
  columns?: readonly string[];
}

/** Returns the lowest and the highest id; undefined for an empty table. */
export async function idRange(db: Db, name: TextTable): Promise<{ first: number; last: number } | undefined> {
  // In one statement, MySQL would read the whole index.
  const [first] = await db(table(db, name)).orderBy('id').limit(1).pluck('id');
  const [last] = await db(table(db, name)).orderBy('id', 'desc').limit(1).pluck('id');
  return first === undefined || last === undefined ? undefined : { first, last };
}

/**
 * Scans the rows with these ids, by id.
 * @param patterns e-mail addresses for LIKE, in lower case, with `!` before literal characters
 */
export async function findTextRows(
  db: Db,
  name: TextTable,
  patterns: string[],
  { after, upTo }: { after: number; upTo?: number },
  limit: number,
  { only, columns = TEXT_COLUMNS[name] }: TextSearch = {},
): Promise<Row[]> {
  const query = db<Row, Row[]>(tableBy(db, name, ...(only ? licenseIndex(name) : idIndex(name))))
    .where('id', '>', after)
    .where((any) => containsAny(any, db, columns, patterns))
    .orderBy('id')
    .limit(limit);
  if (upTo !== undefined) void query.where('id', '<=', upTo);
  if (only?.licenseIds === null) void query.whereNull('license_id');
  else if (only) void query.whereIn('license_id', only.licenseIds);
  return query;
}

/**
 * Scans the keys that have a label, by its index. In the order of ids, each row would be looked up on its own, because the
 * table is in the order of digests: a million took a third of the time of an erasure.
 */
export async function findTextKeys(db: Db, patterns: string[]): Promise<Row[]> {
  return db<Row, Row[]>(tableBy(db, 'license_keys', 'label'))
    .whereNotNull('label')
    .where((any) => containsAny(any, db, TEXT_COLUMNS.license_keys, patterns))
    .orderBy('id');
}

function containsAny(any: Knex.QueryBuilder, db: Db, columns: readonly string[], patterns: string[]): void {
  // Look for the @ first, in half the time of LOWER and LIKE: few texts have one.
  const hasAt = (column: string) =>
    isSqlite(db) ? `INSTR(${column}, '@') > 0` : `LOCATE('@', ${column}) > 0`;
  // MySQL cannot compare an ASCII column with other characters.
  const lower = (column: string) =>
    isSqlite(db) ? `LOWER(${column})` : `LOWER(CONVERT(${column} USING utf8mb4))`;
  for (const column of columns) {
    const isLike = patterns.map(() => `${lower(column)} LIKE ? ESCAPE '!'`).join(' OR ');
    void any.orWhereRaw(`${hasAt(column)} AND (${isLike})`, patterns);
  }
}

/** Finds events of licences that contain metadata, by id. Quotes inside JSON texts are escaped, so only fields match. */
export async function findMetadataEvents(
  trx: Transaction,
  licenseIds: number[],
  after: number,
  limit: number,
): Promise<Row[]> {
  const metadata = '%"metadata":%';
  return trx<Row, Row[]>(tableBy(trx, 'events', ...licenseIndex('events')))
    .whereIn('license_id', licenseIds)
    .where('id', '>', after)
    .where((any) => any.where('before_json', 'like', metadata).orWhere('after_json', 'like', metadata))
    .orderBy('id')
    .limit(limit);
}

/** Finds the orders of an address by its digest, and the orders that issued or renewed licences. It reads by indexes. */
export async function findOrderIds(db: Db, address: string, licenseIds: number[]): Promise<number[]> {
  const own = await db(tableBy(db, 'orders', 'customer_digest'))
    .where({ customer_digest: customerDigest(address) })
    .pluck('id');
  const ofLicenses = await inChunks(licenseIds, (ids) =>
    db(tableBy(db, 'order_licenses', 'license_id'))
      .whereIn('license_id', ids)
      .pluck('order_id'),
  );
  return ascending([...own, ...ofLicenses]);
}

/** Finds the shop messages through which these orders arrived. */
export async function findMessageIds(db: Db, orderIds: number[]): Promise<number[]> {
  return ascending(
    await inChunks(orderIds, (ids) =>
      db(tableBy(db, 'shop_messages', 'order_id'))
        .whereIn('order_id', ids)
        .pluck('id'),
    ),
  );
}

/** Finds mails about licences or to addresses, and webhook messages about the licences. */
export async function findOutboxIds(db: Db, addresses: string[], licenseIds: number[]): Promise<number[]> {
  const ofAddresses = await db(tableBy(db, 'outbox', 'recipient_digest', 'created_at'))
    .whereIn('recipient_digest', addresses.map(customerDigest))
    .pluck('id');
  const ofLicenses = await inChunks(licenseIds, (ids) =>
    db(tableBy(db, 'outbox', 'license_id'))
      .whereIn('license_id', ids)
      .pluck('id'),
  );
  return ascending([...ofAddresses, ...ofLicenses]);
}

/** The visits in a customer's name: sessions opened by a key or a link, and unused links. The tables are small. */
export interface SessionTraces {
  sessions: TableRow<'sessions'>[];
  codes: TableRow<'one_time_codes'>[];
  /** times of requests for a link, whether it was sent or not */
  requests: TableRow<'link_requests'>[];
}

/** @param requestDigests digests under which requests for links are stored (access/link-requests.ts) */
export async function findSessionTraces(
  db: Db,
  addresses: string[],
  licenseIds: number[],
  requestDigests: string[],
): Promise<SessionTraces> {
  const digests = addresses.map(customerDigest);
  const own = new Set(licenseIds);
  const sessions = await db(table(db, 'sessions')).where({ kind: 'customer' }).orderBy('id');
  return {
    sessions: sessions.filter(
      (row) => digests.includes(row.customer_digest) || own.has(row.license_id as number),
    ),
    codes: await db(table(db, 'one_time_codes')).whereIn('customer_digest', digests).orderBy('created_at'),
    requests: await db(table(db, 'link_requests'))
      .whereIn('address_digest', requestDigests)
      .orderBy('requested_at'),
  };
}

/** Ends these sessions and links, and deletes the requests. */
export async function deleteVisits(db: Db, { sessions, codes, requests }: SessionTraces): Promise<number> {
  for (const { id } of sessions) await db(table(db, 'sessions')).where({ id }).delete();
  for (const { code_digest } of codes) await db(table(db, 'one_time_codes')).where({ code_digest }).delete();
  for (const { address_digest, slot } of requests)
    await db(table(db, 'link_requests')).where({ address_digest, slot }).delete();
  return sessions.length + codes.length + requests.length;
}

function ascending(ids: number[]): number[] {
  return [...new Set(ids)].sort((a, b) => a - b);
}

/** Changes rows whose columns are unchanged since the caller read them; other rows are left alone. */
export async function setTexts(
  trx: Transaction,
  name: TextTable,
  ids: number[],
  seen: Row,
  changes: Record<string, SqlValue>,
): Promise<void> {
  const digest =
    'customer' in changes ? { customer_digest: customerDigest(changes.customer as string | null) } : {};
  await trx(tableBy(trx, name, ...idIndex(name)))
    .whereIn('id', ids)
    .where(seen)
    .update({ ...changes, ...digest });
  if (name === 'licenses') await refreshWords(trx, ids);
  else if (name === 'license_keys' || name === 'orders' || name === 'customers')
    await refreshWordsOf(trx, name, ids);
}

/** Removes IP addresses of licences from activations, checks, accesses and history, and the sites that accesses reported. */
export async function removeIps(trx: Transaction, licenseIds: number[]): Promise<void> {
  await trx(tableBy(trx, 'licenses')).whereIn('id', licenseIds).update({ last_check_ip: null });
  await trx(tableBy(trx, 'activations', ...licenseIndex('activations')))
    .whereIn('license_id', licenseIds)
    .whereNotNull('ip')
    .update({ ip: null });
  await trx(tableBy(trx, 'access_log', ...licenseIndex('access_log')))
    .whereIn('license_id', licenseIds)
    .where(isPersonalAccess)
    .update({ ip: null, site: null, installed_version: null });
  await trx(tableBy(trx, 'events', ...licenseIndex('events')))
    .whereIn('license_id', licenseIds)
    .where('actor', 'like', 'customer:%')
    .update({ actor: 'customer' });
}

function isPersonalAccess(any: Knex.QueryBuilder): void {
  void any.whereNotNull('ip').orWhereNotNull('site').orWhereNotNull('installed_version');
}

/** Counts the rows that `removeIps` would change: accesses, and changes by customers. */
export async function countPersonalRows(
  db: Db,
  licenseIds: number[],
): Promise<{ requests: number; changes: number }> {
  const counts = { requests: 0, changes: 0 };
  for (const id of licenseIds) {
    const [requests] = await db(tableBy(db, 'access_log', ...licenseIndex('access_log')))
      .where({ license_id: id })
      .where(isPersonalAccess)
      .count({ n: '*' });
    const [changes] = await db(tableBy(db, 'events', ...licenseIndex('events')))
      .where({ license_id: id })
      .where('actor', 'like', 'customer:%')
      .count({ n: '*' });
    counts.requests += Number(requests?.n);
    counts.changes += Number(changes?.n);
  }
  return counts;
}

/** Removes the labels of licences' keys, which may name people, including their history. */
export async function removeKeyLabels(trx: Transaction, licenseIds: number[]): Promise<void> {
  await trx(tableBy(trx, 'license_keys', 'license_id'))
    .whereIn('license_id', licenseIds)
    .whereNotNull('label')
    .update({ label: null });
  await refreshWords(trx, licenseIds);
  const events = await trx(tableBy(trx, 'events', ...licenseIndex('events')))
    .whereIn('license_id', licenseIds)
    .where((any) => any.where('before_json', 'like', LABEL).orWhere('after_json', 'like', LABEL))
    .select<{ id: number; before_json: Json; after_json: Json }[]>('id', 'before_json', 'after_json');
  for (const { id, before_json, after_json } of events)
    await trx(tableBy(trx, 'events'))
      .where({ id })
      .update({ before_json: withoutLabel(before_json), after_json: withoutLabel(after_json) });
}

const LABEL = '%"label":"%';
type Json = string | null;

function withoutLabel(json: Json): Json {
  if (json === null) return null;
  const value = JSON.parse(json) as Record<string, unknown>;
  return JSON.stringify('label' in value ? { ...value, label: null } : value);
}
