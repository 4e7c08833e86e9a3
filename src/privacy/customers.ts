import { randomBytes } from 'node:crypto';
import { requireEmail } from '../licensing/customer-email';
import { MAX_METADATA_TEXT, readMetadata, storedMetadata, type Metadata } from '../licensing/metadata';
import { OperatorError } from '../licensing/operator-error';
import { formatTimestamp, formatTimestampOrNull } from '../licensing/timestamps';
import { announceErasure, recordEvents, type WebhookData } from '../licensing/webhook-events';
import { orderDetailsJson, readOrder } from '../orders/views';
import type { FileKind, Sink } from '../packages/replace-file';
import { listAccesses, type LoggedAccess } from '../store/access-log';
import { listActivations, type StoredActivation } from '../store/activations';
import { MAX_IDENTIFIER_LENGTH, MAX_LABEL_LENGTH } from '../store/columns';
import type { Db, Transaction } from '../store/database';
import { readPages, withKeys, type Row, type SqlValue } from '../store/export';
import { findRows } from '../store/import';
import { listDeliveriesOfLicenses, setDeliveryTexts } from '../store/deliveries';
import { deleteOutboxOf, listOutboxOf } from '../store/outbox';
import { findLicensesByIds, lockLicenses, raiseRevisions, type License } from '../store/licenses';
import {
  countPersonalRows,
  findMetadataEvents,
  findTextRows,
  idRange,
  removeIps,
  removeKeyLabels,
  setTexts,
  TEXT_COLUMNS,
  type Only,
  type TextTable,
} from '../store/personal-data';
import { likePattern } from '../store/statements';
import { inSnapshot, inTransaction } from '../store/transaction';
import {
  fromRow,
  RECORD_TYPES,
  RECORDS,
  tableLayout,
  type KeyRecord,
  type RecordOf,
  type RecordType,
} from '../transfer/records';

const PAGE = 500;
/** Ids in one search of a whole table, which must end before a service's statements time out. */
const SCANNED_AT_ONCE = 20_000;
const ERASED = 'erased';

/** Matches one customer's e-mail address, but not `mary-jane@example.com` for `jane@example.com`. */
export interface CustomerAddress {
  address: string;
  /** LIKE patterns for the database, which may find other texts too */
  patterns: string[];
  isIn(text: SqlValue | undefined): boolean;
  /** the text with each occurrence of the address replaced */
  without(text: string, replacement: string): string;
}

/** @throws OperatorError when `text` is not an e-mail address */
export async function readCustomerAddress(db: Db, text: string): Promise<CustomerAddress> {
  const address = requireEmail(text);
  const patterns = spellings(address).map(likePattern);
  const others = await otherAddresses(db, address, patterns);
  // Longer addresses first, so that they win at the same position.
  const known = [...others].sort((a, b) => b.length - a.length).flatMap(spellings);
  const finder = new RegExp([...known, ...spellings(address)].map(escapeRegExp).join('|'), 'giu');
  const own = new Set(spellings(address));
  const isOwn = (found: string) => own.has(found.toLowerCase());
  return {
    address,
    patterns,
    isIn: (value) => typeof value === 'string' && (value.match(finder) ?? []).some(isOwn),
    without: (value, replacement) => value.replace(finder, (found) => (isOwn(found) ? replacement : found)),
  };
}

function spellings(address: string): string[] {
  return [...new Set([address, JSON.stringify(address).slice(1, -1)])];
}

function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Addresses of other customers and seats that contain this one. */
async function otherAddresses(db: Db, address: string, patterns: string[]): Promise<Set<string>> {
  const others = new Set<string>();
  const look = (value: SqlValue | undefined) => {
    const other = typeof value === 'string' ? value.toLowerCase() : '';
    if (other !== address && other.includes(address) && /^[^\s@<>()",;:]+@[^\s@<>()",;:]+$/.test(other))
      others.add(other);
  };
  for await (const row of textRows(db, 'licenses', patterns)) look(row.customer);
  for await (const { row, license } of withLicenses(db, textRows(db, 'activations', patterns)))
    if (license?.plan.activationType === 'seat') look(row.identifier);
  return others;
}

async function* withLicenses(
  db: Db,
  rows: AsyncIterable<Row>,
): AsyncGenerator<{ row: Row; license: License | undefined }> {
  for await (const page of inPages(rows, PAGE)) {
    const ids = new Set(page.map((row) => row.license_id as number));
    const licenses = await findLicensesByIds(db, [...ids]);
    const byId = new Map(licenses.map((license) => [license.id, license]));
    for (const row of page) yield { row, license: byId.get(row.license_id as number) };
  }
}

async function* inPages<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let page: T[] = [];
  for await (const item of items) {
    page.push(item);
    if (page.length < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

async function* textRows(
  db: Db,
  name: TextTable,
  patterns: string[],
  only?: Only,
  from = 0,
): AsyncGenerator<Row> {
  if (only) {
    yield* matchingRows(db, name, patterns, { after: from }, only);
    return;
  }
  const { first, last } = (await idRange(db, name)) ?? { first: 1, last: 0 };
  for (let after = Math.max(from, first - 1); after < last; after += SCANNED_AT_ONCE)
    yield* matchingRows(db, name, patterns, { after, upTo: after + SCANNED_AT_ONCE });
}

async function* matchingRows(
  db: Db,
  name: TextTable,
  patterns: string[],
  ids: { after: number; upTo?: number },
  only?: Only,
): AsyncGenerator<Row> {
  for (let { after } = ids; ;) {
    const rows = await findTextRows(db, name, patterns, { ...ids, after }, PAGE, only);
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id as number;
  }
}

async function* rowsNaming(
  db: Db,
  name: TextTable,
  customer: CustomerAddress,
  only?: Only,
  after?: number,
): AsyncGenerator<Row> {
  for await (const row of textRows(db, name, customer.patterns, only, after))
    if (TEXT_COLUMNS[name].some((column) => customer.isIn(row[column]))) yield row;
}

async function* customerLicenses(db: Db, customer: CustomerAddress, after = 0): AsyncGenerator<License> {
  for await (const rows of inPages(rowsNaming(db, 'licenses', customer, undefined, after), PAGE)) {
    const own = rows.filter((row) => customer.isIn(row.customer)).map((row) => row.id as number);
    yield* (await findLicensesByIds(db, own)).sort((a, b) => a.id - b.id);
  }
}

/** Activations on other customers' licences whose identifier or label names the customer, by licence. */
async function listCustomerSeats(db: Db, customer: CustomerAddress): Promise<RecordOf<'activation'>[]> {
  const seats: RecordOf<'activation'>[] = [];
  for await (const { row, license } of withLicenses(db, rowsNaming(db, 'activations', customer)))
    if (license !== undefined && !customer.isIn(license.customer)) {
      const seat = fromRow('activation', row);
      seats.push({ ...seat, key_id: seat.key_id ?? license.mainKeyId });
    }
  return seats.sort((a, b) => a.license_id - b.license_id);
}

export interface CustomerPage {
  licenses: License[];
  /** on other customers' licences */
  seats: RecordOf<'activation'>[];
  /** the cursor of the next page; undefined: this is the last page */
  last: number | undefined;
}

/**
 * A page of a customer's licences, and of their seats on other licences, by licence id above `after`. `limit` counts
 * both; a licence's seats are never split.
 */
async function pageOfCustomer(
  db: Db,
  customer: CustomerAddress,
  after: number,
  limit: number,
): Promise<CustomerPage> {
  const licenses: License[] = [];
  for await (const license of customerLicenses(db, customer, after)) {
    licenses.push(license);
    if (licenses.length > limit) break;
  }
  const seats = (await listCustomerSeats(db, customer)).filter((seat) => seat.license_id > after);
  const ids = [...licenses.map(({ id }) => id), ...seats.map((seat) => seat.license_id)].sort(
    (a, b) => a - b,
  );
  const end = ids[limit - 1] ?? Infinity;
  return {
    licenses: licenses.filter(({ id }) => id <= end),
    seats: seats.filter((seat) => seat.license_id <= end),
    last: ids.some((id) => id > end) ? end : undefined,
  };
}

export interface CustomerData extends CustomerPage {
  /** the address alone */
  customer: string;
  /** of each licence */
  activations: StoredActivation[][];
  /** the latest on these licences, the newest first */
  accesses: LoggedAccess[];
}

const LATEST_ACCESSES = 20;

/**
 * A page of what is stored about a customer, as it is at one moment; see `pageOfCustomer`.
 *
 * @throws OperatorError when there is nothing
 */
export async function readCustomer(
  db: Db,
  text: string,
  { after, limit }: { after?: number; limit: number },
): Promise<CustomerData> {
  const customer = await readCustomerAddress(db, text);
  return inSnapshot(db, async (trx) => {
    const page = await pageOfCustomer(trx, customer, after ?? 0, limit);
    if (page.licenses.length + page.seats.length === 0)
      throw new OperatorError(
        `There is no ${after === undefined ? '' : 'further '}licence of this customer, and no seat.`,
        { code: 'NOT_FOUND' },
      );
    const ids = page.licenses.map(({ id }) => id);
    return {
      ...page,
      customer: customer.address,
      activations: await Promise.all(ids.map((id) => listActivations(trx, id))),
      accesses: await latestAccesses(trx, ids),
    };
  });
}

export async function latestAccesses(db: Db, licenseIds: number[]): Promise<LoggedAccess[]> {
  const accesses: LoggedAccess[] = [];
  for (const licenseId of licenseIds)
    accesses.push(...(await listAccesses(db, { licenseId }, LATEST_ACCESSES)));
  return accesses.sort((a, b) => b.at.getTime() - a.at.getTime() || b.id - a.id).slice(0, LATEST_ACCESSES);
}

/** An export by `exportCustomer`, which a new export may overwrite, even one for another customer. */
export const CUSTOMER_FILE: FileKind = {
  name: "an earlier export of a customer's data",
  isOne: (beginning) => /^\{\n {2}"customer": ".*",\n {2}"exported_at": "/.test(beginning),
};

export interface CustomerCounts {
  licenses: number;
  mentions: number;
}

/** Writes everything stored about a customer as one JSON object (docs/export-format.md), from one snapshot. */
export function exportCustomer(db: Db, text: string, now: Date, sink: Sink): Promise<CustomerCounts> {
  return inSnapshot(db, async (trx) => {
    const customer = await readCustomerAddress(trx, text);
    const licenses: License[] = [];
    for await (const license of customerLicenses(trx, customer)) licenses.push(license);
    const own = new Set(licenses.map(({ id }) => id));
    if (licenses.length === 0 && !(await isMentioned(trx, customer)))
      throw new OperatorError('Nothing is stored about this address. No file was written.', {
        code: 'NOT_FOUND',
      });
    const head = { customer: customer.address, exported_at: formatTimestamp(now) };
    await sink(`${JSON.stringify(head, null, 2).slice(0, -2)},\n  "licenses": [`);
    for (const [index, license] of licenses.entries()) {
      await sink(
        `${index === 0 ? '' : ','}\n    ${JSON.stringify(await licenseRecord(trx, license)).slice(0, -1)}`,
      );
      for (const [name, type] of LICENSE_PARTS) {
        await sink(`,\n     "${name}": [`);
        await writeItems(sink, licenseItems(trx, type, license.id));
        await sink(']');
      }
      await sink('}');
    }
    await sink('],\n  "mentions": {');
    let mentions = 0;
    for (const [index, type] of MENTIONS.entries()) {
      await sink(`${index === 0 ? '' : ','}\n    "${type}": [`);
      mentions += await writeItems(sink, mentionItems(trx, type, customer, own));
      await sink(']');
    }
    await sink('},\n  "mails": [');
    await writeItems(sink, mailItems(trx, customer, own));
    await sink('],\n  "webhooks": [');
    await writeItems(sink, deliveryItems(trx, [...own]));
    await sink('],\n  "orders": [');
    await writeItems(sink, orderItems(trx, customer));
    await sink(']\n}\n');
    return { licenses: licenses.length, mentions };
  });
}

const LICENSE_PARTS = [
  ['activations', 'activation'],
  ['events', 'event'],
  ['accesses', 'access'],
] as const;

/** Mails about the customer's licences, and links that were asked for with the address. */
async function* mailItems(db: Db, customer: CustomerAddress, own: Set<number>): AsyncGenerator {
  for (const row of await listOutboxOf(db, { licenseIds: [...own], address: customer.address }))
    yield {
      ...{ id: row.id, type: row.type, license_id: row.licenseId, recipient: row.recipient },
      details: row.detailsJson === null ? null : (JSON.parse(row.detailsJson) as unknown),
      created_at: formatTimestamp(row.createdAt),
      sent_at: formatTimestampOrNull(row.sentAt),
    };
}

/** What receivers of webhooks are told of the customer's licences. */
async function* deliveryItems(db: Db, licenseIds: number[]): AsyncGenerator {
  for (let after = 0; ;) {
    const rows = await listDeliveriesOfLicenses(db, licenseIds, after, PAGE);
    for (const row of rows)
      yield {
        ...{ id: row.id, webhook_id: row.webhookId, type: row.type, license_id: row.licenseId },
        data: JSON.parse(row.detailsJson ?? '{}') as unknown,
        answer: row.answer,
        created_at: formatTimestamp(row.createdAt),
        sent_at: formatTimestampOrNull(row.sentAt),
      };
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id as number;
  }
}

/** Orders that name the customer, with their lines and events. */
async function* orderItems(db: Db, customer: CustomerAddress): AsyncGenerator {
  for await (const row of rowsNaming(db, 'orders', customer)) {
    const order = await readOrder(db, row.id as number);
    if (order !== undefined) yield orderDetailsJson(order);
  }
}

async function writeItems(sink: Sink, items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const item of items) await sink(`${count++ === 0 ? '' : ','}\n      ${JSON.stringify(item)}`);
  return count;
}

async function licenseRecord(db: Db, license: License) {
  const rows = await withKeys(db, await findRows(db, 'licenses', 'id', [license.id]));
  const record = fromRow('license', rows[0] as (typeof rows)[0]);
  return {
    ...record,
    keys: record.keys.map(personalKey),
    product: license.product.name,
    plan: license.plan.name,
  };
}

/** Leaves out a key's digest and sealed form, which say nothing about a person. */
function personalKey({ key_digest: _digest, key_sealed: _sealed, ...key }: KeyRecord) {
  return key;
}

function withoutKeys({ keys: _keys, ...license }: RecordOf<'license'>) {
  return license;
}

async function* licenseItems(
  db: Db,
  type: 'activation' | 'event' | 'access',
  licenseId: number,
): AsyncGenerator {
  const layout = { ...tableLayout(type), order: ['id'] };
  for await (const rows of readPages(db, layout, PAGE, { license_id: licenseId }))
    for (const row of rows) yield fromRow(type, row);
}

/** Types of records, and keys, which are parts of licences. */
const MENTIONS = [...RECORD_TYPES.filter(isOfLicenses), 'key'] as const;

/** Orders that name somebody are exported as orders; shops and articles name nobody, a shop's link but the address. */
function isOfLicenses(type: RecordType): type is Exclude<RecordType, 'shop' | 'sku' | 'order' | 'shop_link'> {
  return type !== 'shop' && type !== 'sku' && type !== 'order' && type !== 'shop_link';
}

async function* mentionItems(
  db: Db,
  type: (typeof MENTIONS)[number],
  customer: CustomerAddress,
  own: Set<number>,
): AsyncGenerator {
  const table = type === 'key' ? 'license_keys' : RECORDS[type].table;
  for await (const row of rowsNaming(db, table as TextTable, customer)) {
    const licenseId = (type === 'license' ? row.id : row.license_id) as number;
    if (own.has(licenseId)) continue;
    if (type === 'key') yield { license_id: licenseId, ...personalKey(fromRow('key', row)) };
    else if (type === 'license') yield withoutKeys(fromRow('license', { ...row, keys: [] }));
    else yield fromRow(type, row);
  }
}

/** Checked before writing starts, because output cannot be taken back. */
async function isMentioned(db: Db, customer: CustomerAddress): Promise<boolean> {
  for (const type of MENTIONS)
    if (!(await mentionItems(db, type, customer, new Set()).next()).done) return true;
  return !(await rowsNaming(db, 'orders', customer).next()).done;
}

export interface Erased {
  /** licences in which something was erased */
  licenses: number;
  /** rows of other tables in which something was erased */
  rows: number;
}

/** Each round erases what was written during the round before. */
const MAX_ROUNDS = 5;
/** Licences in one transaction, which blocks their clients for about 0.1 s. */
const LICENSES_AT_ONCE = 100;

/**
 * Erases a customer's address everywhere, and the network addresses that used their licences. Licences, slots and
 * counts stay. Each licence is changed completely or not at all; run again to continue after an interruption.
 */
export async function eraseCustomer(
  db: Db,
  text: string,
  context: { actor: string; now: Date },
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<Erased> {
  const erased: Erased = { licenses: 0, rows: 0 };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const customer = await readCustomerAddress(db, text);
    const ids = await licensesNaming(db, customer);
    for (let i = 0; i < ids.length; i += LICENSES_AT_ONCE) {
      const some = ids.slice(i, i + LICENSES_AT_ONCE);
      erased.rows += await inTransaction(db, (trx) => eraseFromLicenses(trx, some, customer, context));
      erased.licenses += some.length;
      onProgress(i + some.length, ids.length);
    }
    const elsewhere = await eraseElsewhere(db, customer);
    if (elsewhere > 0) await inTransaction(db, (trx) => announceErasure(trx, customer.address, context.now));
    erased.rows += elsewhere;
    if (ids.length + elsewhere === 0) return erased;
  }
  throw new OperatorError(
    'The address is being written again and again: is it in use? Run this again later.',
  );
}

/** Counts the rows that name the customer, for the question before erasing them. */
export async function countMentions(db: Db, customer: CustomerAddress): Promise<Record<TextTable, number>> {
  const counts = {} as Record<TextTable, number>;
  for (const name of Object.keys(TEXT_COLUMNS) as TextTable[]) {
    counts[name] = 0;
    const rows = rowsNaming(db, name, customer);
    while (!(await rows.next()).done) counts[name]++;
  }
  return counts;
}

export interface ErasureCounts {
  /** of the customer */
  licenses: number;
  /** entries of the access log and of histories that lose the e-mail address or a network address */
  requests: number;
  changes: number;
}

/** What `eraseCustomer` would change, for the question before it. Scans tables, as the erasure does. */
export async function countErasure(db: Db, text: string): Promise<ErasureCounts> {
  const customer = await readCustomerAddress(db, text);
  const own: number[] = [];
  for await (const { id } of customerLicenses(db, customer)) own.push(id);
  const counts = await countPersonalRows(db, own);
  const isOwn = new Set(own);
  for await (const { license_id, ip, site, installed_version: installed } of rowsNaming(
    db,
    'access_log',
    customer,
  ))
    if ((ip ?? site ?? installed) === null || !isOwn.has(license_id as number)) counts.requests++;
  for await (const { license_id, actor } of rowsNaming(db, 'events', customer))
    if (!(actor as string).startsWith('customer:') || !isOwn.has(license_id as number)) counts.changes++;
  return { licenses: own.length, ...counts };
}

async function licensesNaming(db: Db, customer: CustomerAddress): Promise<number[]> {
  const ids = new Set<number>();
  for await (const row of rowsNaming(db, 'licenses', customer)) ids.add(row.id as number);
  for (const name of ['license_keys', 'activations', 'events', 'access_log'] as const)
    for await (const row of rowsNaming(db, name, customer))
      if (row.license_id !== null) ids.add(row.license_id as number);
  return [...ids].sort((a, b) => a - b);
}

async function eraseFromLicenses(
  trx: Transaction,
  ids: number[],
  customer: CustomerAddress,
  { actor, now }: { actor: string; now: Date },
): Promise<number> {
  const licenses = [...(await lockLicenses(trx, ids)).values()];
  const theirs = new Set(licenses.filter((one) => customer.isIn(one.customer)).map(({ id }) => id));
  const named = licenses.filter(
    (one) => theirs.has(one.id) || customer.isIn(one.reference) || customer.isIn(one.metadata),
  );
  await changeTexts(
    trx,
    'licenses',
    named.map(({ id, customer: name, reference, metadata }) => ({
      seen: { id, customer: name, reference, metadata },
      changes: {
        ...(theirs.has(id) ? { customer: null } : {}),
        ...(customer.isIn(reference)
          ? { reference: withPlaceholder(reference as string, customer, MAX_LABEL_LENGTH) }
          : {}),
        ...(metadata === null
          ? {}
          : { metadata: theirs.has(id) ? null : erasedMetadata(metadata, customer) }),
      },
    })),
  );
  let rows = 0;
  for (const name of ['license_keys', 'activations', 'events', 'access_log'] as const)
    rows += await eraseRows(trx, name, customer, { licenseIds: ids });
  if (theirs.size > 0) {
    await removeIps(trx, [...theirs]);
    rows += await eraseMetadataHistory(trx, [...theirs]);
    await removeKeyLabels(trx, [...theirs]);
    rows += await deleteOutboxOf(trx, { licenseIds: [...theirs] });
    await eraseDeliveries(trx, [...theirs], customer);
  }
  await raiseRevisions(trx, new Map(licenses.map(({ id }) => [id, 1])));
  if (licenses.length > 0)
    await recordEvents(
      trx,
      licenses.map(({ id, metadata }) => ({
        licenseId: id,
        at: now,
        actor: customer.without(actor, ERASED),
        action: 'erase-customer',
        before: null,
        after: theirs.has(id) ? { customer: null, ...(metadata === null ? {} : { metadata: null }) } : null,
      })),
    );
  if (licenses.length > 0) await announceErasure(trx, customer.address, now);
  return rows;
}

/** Webhooks about a customer's licences lose all that is the customer's; what waits is still delivered. */
async function eraseDeliveries(
  trx: Transaction,
  licenseIds: number[],
  customer: CustomerAddress,
): Promise<void> {
  for (let after = 0; ;) {
    const found = await listDeliveriesOfLicenses(trx, licenseIds, after, PAGE);
    for (const { id, type, detailsJson, answer, once } of found) {
      const { activation: _site, reason, ...data } = JSON.parse(detailsJson ?? '{}') as WebhookData;
      const { license } = data;
      const reference = license && customer.isIn(license.reference) ? null : license?.reference;
      const erased: WebhookData = {
        ...data,
        ...(license && {
          license: { ...license, customer: null, reference: reference ?? null, metadata: {} },
        }),
        // The other reasons are an operator's own words.
        ...(type === 'download.refused' && reason !== undefined && { reason }),
      };
      // Its name may hold a digest of the site.
      const name = type === 'activation.limit_reached' ? null : once;
      const texts = { detailsJson: JSON.stringify(erased), answer: null, once: name };
      if (texts.detailsJson === detailsJson && answer === null && name === once) continue;
      await setDeliveryTexts(trx, id, texts);
    }
    if (found.length < PAGE) return;
    after = found.at(-1)?.id as number;
  }
}

/** Another customer's metadata: only the address goes. */
function erasedMetadata(stored: string, customer: CustomerAddress): string | null {
  const texts = Object.entries(readMetadata(stored)).map(([name, text]) => [
    name,
    Array.from(customer.without(text, ERASED)).slice(0, MAX_METADATA_TEXT).join(''),
  ]);
  return storedMetadata(Object.fromEntries(texts) as Metadata);
}

/** Removes names and texts of metadata from the history of a customer's licences. @returns the number of events */
async function eraseMetadataHistory(trx: Transaction, licenseIds: number[]): Promise<number> {
  const without = (json: SqlValue | undefined): SqlValue => {
    if (typeof json !== 'string') return null;
    const fields = JSON.parse(json) as Record<string, unknown>;
    delete fields.metadata;
    return Object.keys(fields).length === 0 ? null : JSON.stringify(fields);
  };
  let count = 0;
  for (let after = 0; ;) {
    const rows = await findMetadataEvents(trx, licenseIds, after, PAGE);
    await changeTexts(
      trx,
      'events',
      rows.map((row) => ({
        seen: row,
        changes: { before_json: without(row.before_json), after_json: without(row.after_json) },
      })),
    );
    count += rows.length;
    if (rows.length < PAGE) return count;
    after = rows.at(-1)?.id as number;
  }
}

async function changeTexts(
  trx: Transaction,
  name: TextTable,
  rows: { seen: Row; changes: Record<string, SqlValue> }[],
): Promise<void> {
  const groups = new Map<string, { ids: number[]; seen: Row; changes: Record<string, SqlValue> }>();
  for (const { seen, changes } of rows) {
    const before = Object.fromEntries(
      Object.keys(changes).map((column) => [column, seen[column] as SqlValue]),
    );
    const key = JSON.stringify([before, changes]);
    const group = groups.get(key) ?? { ids: [], seen: before, changes };
    groups.set(key, group);
    group.ids.push(seen.id as number);
  }
  for (const { ids, seen, changes } of groups.values()) await setTexts(trx, name, ids, seen, changes);
}

async function eraseElsewhere(db: Db, customer: CustomerAddress): Promise<number> {
  let count = await deleteOutboxOf(db, { address: customer.address });
  for (const name of ['orders', 'order_events', 'order_lines', 'shop_links'] as const)
    count += await eraseWithoutLock(db, name, customer);
  for (const name of ['products', 'plans', 'releases', 'outbox'] as const)
    count += await eraseWithoutLock(db, name, customer);
  return count + (await eraseWithoutLock(db, 'access_log', customer, { licenseIds: null }));
}

/**
 * For rows that no licence's lock protects. They are read before the transaction that changes them: a transaction of
 * SQLite that starts with a read cannot write once another connection has written.
 */
async function eraseWithoutLock(
  db: Db,
  name: TextTable,
  customer: CustomerAddress,
  only?: Only,
): Promise<number> {
  let count = 0;
  for await (const rows of inPages(rowsNaming(db, name, customer, only), PAGE)) {
    await inTransaction(db, (trx) => eraseTexts(trx, name, customer, rows));
    count += rows.length;
  }
  return count;
}

async function eraseRows(
  trx: Transaction,
  name: TextTable,
  customer: CustomerAddress,
  only: Only,
): Promise<number> {
  let count = 0;
  for await (const rows of inPages(rowsNaming(trx, name, customer, only), PAGE)) {
    await eraseTexts(trx, name, customer, rows);
    // Counts unchanged rows too, so that another round looks at what changed meanwhile.
    count += rows.length;
  }
  return count;
}

function eraseTexts(
  trx: Transaction,
  name: TextTable,
  customer: CustomerAddress,
  rows: Row[],
): Promise<void> {
  return changeTexts(
    trx,
    name,
    rows.map((row) => ({ seen: row, changes: erasedTexts(name, row, customer) })),
  );
}

/** A row's changes. Its network address and the site it told are erased too, because the named customer used them. */
function erasedTexts(name: TextTable, row: Row, customer: CustomerAddress): Record<string, SqlValue> {
  const changes: Record<string, SqlValue> = 'ip' in row ? { ip: null } : {};
  if (name === 'access_log') Object.assign(changes, { site: null, installed_version: null });
  if (name === 'events' && (row.actor as string).startsWith('customer:')) changes.actor = 'customer';
  if (name === 'orders') Object.assign(changes, erasedOrder(row, customer));
  // What is kept for a customer's next order is an address, or nothing.
  if (name === 'shop_links') changes.target = null;
  for (const column of TEXT_COLUMNS[name]) {
    const text = row[column];
    if (column in changes || !customer.isIn(text)) continue;
    if (name === 'activations' && column === 'identifier')
      changes[column] = withPlaceholder(text as string, customer, MAX_IDENTIFIER_LENGTH);
    else {
      const erased = customer.without(text as string, ERASED);
      // Replacing a short address may exceed a full column. JSON columns have room, and cutting would break them.
      changes[column] = /_json$|_xml$|changelog/.test(column)
        ? erased
        : erased.slice(0, Math.max((text as string).length, ERASED.length));
    }
  }
  return changes;
}

/** The name goes with the address. A number that holds the address cannot be looked for any more. */
function erasedOrder(row: Row, customer: CustomerAddress): Record<string, SqlValue> {
  return {
    ...(customer.isIn(row.customer) && { customer: null, customer_name: null }),
    ...(customer.isIn(row.number) && { digest: randomBytes(32).toString('hex') }),
  };
}

/** Random, because a digest could be checked against guessed addresses. */
function withPlaceholder(text: string, customer: CustomerAddress, max: number): string {
  const placeholder = `${ERASED}-${randomBytes(8).toString('hex')}`;
  const erased = customer.without(text, placeholder);
  return Array.from(erased).length <= max ? erased : placeholder;
}
