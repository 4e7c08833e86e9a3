import { randomBytes } from 'node:crypto';
import { chunksOf } from '../base/chunks';
import { shortDigest } from '../base/digest';
import { requireEmail } from '../licensing/customer-email';
import { MAX_METADATA_TEXT, readMetadata, storedMetadata, type Metadata } from '../licensing/metadata';
import { OperatorError } from '../licensing/operator-error';
import { enqueueErasureWebhook, recordEvents, type WebhookData } from '../licensing/webhook-events';
import { MAX_IDENTIFIER_LENGTH, MAX_LABEL_LENGTH } from '../licensing/core/columns';
import type { Db, Transaction } from '../store/engine/database';
import { lastAccessId } from '../store/access-log';
import { deleteProfile, findProfile } from '../store/customer-profiles';
import { listDeliveriesOfLicenses, setDeliveryTexts } from '../store/deliveries';
import type { Row, SqlValue } from '../store/export';
import { deleteImported, replaceBrought } from '../store/imports';
import { lockLicenses, incrementRevisions } from '../store/licenses/licenses';
import { deleteOutboxOf } from '../store/outbox';
import {
  countPersonalRows,
  deleteVisits,
  findMetadataEvents,
  findSessionTraces,
  removeIps,
  removeKeyLabels,
  setTexts,
  TEXT_COLUMNS,
  type Only,
  type TextTable,
} from '../store/personal-data';
import { deleteReportedSites } from '../store/reported-sites';
import { inTransaction } from '../store/engine/transaction';
import {
  customerLicenses,
  findFormer,
  inPages,
  matchAddresses,
  PAGE,
  readCustomerAddress,
  rowsNaming,
  type CustomerAddress,
} from './customer-address';
import { requestDigests } from './stored-data';

const ERASED = 'erased';

export interface Erased {
  /** the number of licences in which data were erased */
  licenses: number;
  /** the number of rows of other tables in which data were erased */
  rows: number;
}

/** The maximum number of rounds. Each round erases what was written during the one before. */
const MAX_ROUNDS = 5;

/**
 * The number of the latest rows of the access log that every round searches, because an earlier id may be committed later.
 * The older rows get no further text, unlike the history's.
 */
const LATE_ACCESSES = 20_000;

/** The licences in one transaction, which blocks their clients for about 0.1 s. */
const BATCH_SIZE = 100;

/**
 * The GDPR erasure: erases a customer's addresses everywhere, and the IP addresses that used the customer's licences.
 * Licences, slots and counts stay. Each licence is changed completely or not at all; a repeated call continues after an
 * interruption.
 */
export async function eraseCustomer(
  db: Db,
  text: string,
  context: { actor: string; now: Date },
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<Erased> {
  const erased: Erased = { licenses: 0, rows: 0 };
  const address = requireEmail(text);
  // Find the former addresses now, because the first round erases the history that contains them.
  const { own, passedOn } = await findFormer(db, address);
  const before = passedOn.length === 0 ? undefined : await matchAddresses(db, passedOn);
  let searched = 0;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const last = await lastAccessId(db);
    const customer = await matchAddresses(db, [address, ...own]);
    // Erase from licences last: after an interruption, their history is needed to find the former addresses again.
    const elsewhere = await eraseElsewhere(db, customer);
    if (elsewhere > 0) await inTransaction(db, (trx) => announceErasures(trx, customer, context.now));
    erased.rows += elsewhere;
    const ids = await licensesNaming(db, customer, { access_log: searched });
    searched = last - LATE_ACCESSES;
    let done = 0;
    for (const some of chunksOf(ids, BATCH_SIZE)) {
      erased.rows += await inTransaction(db, (trx) =>
        eraseFromLicenses(trx, some, { customer, before }, context),
      );
      erased.licenses += some.length;
      done += some.length;
      onProgress(done, ids.length);
    }
    if (ids.length + elsewhere === 0) return erased;
  }
  throw new OperatorError(
    'New records with this address keep appearing: is it still in use? Run this again later.',
  );
}

/** Counts the rows that contain the address, for the confirmation before erasing. */
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
  /** the number of the customer's own licences */
  licenses: number;
  /** the entries of the access log and of histories that lose the e-mail address or an IP address */
  requests: number;
  changes: number;
}

/** Counts what `eraseCustomer` would change, for the confirmation before it. It scans tables, like the erasure. */
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

/** @param after ids of tables that an earlier round has searched */
async function licensesNaming(
  db: Db,
  customer: CustomerAddress,
  after: Partial<Record<TextTable, number>>,
): Promise<number[]> {
  const ids = new Set<number>();
  for await (const row of rowsNaming(db, 'licenses', customer)) ids.add(row.id as number);
  for (const name of ['license_keys', 'activations', 'events', 'access_log'] as const)
    for await (const row of rowsNaming(db, name, customer, undefined, after[name]))
      if (row.license_id !== null) ids.add(row.license_id as number);
  return [...ids].sort((a, b) => a - b);
}

async function eraseFromLicenses(
  trx: Transaction,
  ids: number[],
  { customer, before }: { customer: CustomerAddress; before: CustomerAddress | undefined },
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
    if (before !== undefined) rows += await eraseRows(trx, 'events', before, { licenseIds: [...theirs] });
    await removeIps(trx, [...theirs]);
    rows += await deleteReportedSites(trx, [...theirs]);
    // Delete the import baseline, whose digest can be found from the address. A repeated import keeps these licences.
    rows += await deleteImported(trx, 'license', [...theirs]);
    rows += await eraseMetadataHistory(trx, [...theirs]);
    await removeKeyLabels(trx, [...theirs]);
    rows += await deleteOutboxOf(trx, { licenseIds: [...theirs] });
    await eraseDeliveries(trx, [...theirs], customer);
    rows += await deleteVisits(trx, await findSessionTraces(trx, customer.addresses, [...theirs], []));
  }
  await incrementRevisions(trx, new Map(licenses.map(({ id }) => [id, 1])));
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
  if (licenses.length > 0) await announceErasures(trx, customer, now);
  return rows;
}

/** Announces the erasure for all addresses, because a webhook receiver may know a former one. */
async function announceErasures(trx: Transaction, { addresses }: CustomerAddress, now: Date): Promise<void> {
  for (const address of addresses) await enqueueErasureWebhook(trx, address, now);
}

/** Erases the customer's data from webhooks about the licences. Waiting webhooks are still delivered. */
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
        // Other reasons may contain an operator's words.
        ...(type === 'download.refused' && reason !== undefined && { reason }),
      };
      // The deduplication key may contain a digest of the site.
      const name = type === 'activation.limit_reached' ? null : once;
      const texts = { detailsJson: JSON.stringify(erased), answer: null, once: name };
      if (texts.detailsJson === detailsJson && answer === null && name === once) continue;
      await setDeliveryTexts(trx, id, texts);
    }
    if (found.length < PAGE) return;
    after = found.at(-1)?.id as number;
  }
}

/** Erases the address from another customer's metadata, which otherwise stay. */
function erasedMetadata(stored: string, customer: CustomerAddress): string | null {
  const texts = Object.entries(readMetadata(stored)).map(([name, text]) => [
    name,
    Array.from(customer.without(text, ERASED)).slice(0, MAX_METADATA_TEXT).join(''),
  ]);
  return storedMetadata(Object.fromEntries(texts) as Metadata);
}

/** Erases metadata from the history of a customer's licences. @returns the number of events */
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
  let count = await deleteOutboxOf(db, { addresses: customer.addresses });
  const profile = await findProfile(db, customer.address);
  if (profile !== undefined) count += await deleteImported(db, 'customer', [profile.id]);
  count += await deleteProfile(db, customer.address);
  const visits = await findSessionTraces(db, customer.addresses, [], requestDigests(customer.addresses));
  count += await deleteVisits(db, visits);
  // Another customer may have the imported licence now. Rows of this customer's own licences are deleted below.
  for (const address of customer.addresses)
    count += await replaceBrought(db, shortDigest(address), shortDigest(randomBytes(32).toString('hex')));
  for (const name of ['orders', 'order_events', 'order_lines', 'shop_messages', 'shop_links'] as const)
    count += await eraseWithoutLock(db, name, customer);
  for (const name of ['products', 'plans', 'releases', 'outbox', 'webhooks', 'customers'] as const)
    count += await eraseWithoutLock(db, name, customer);
  return count + (await eraseWithoutLock(db, 'access_log', customer, { licenseIds: null }));
}

/**
 * Erases from rows that no licence's lock protects. They are read before the transaction that changes them: an SQLite
 * transaction that begins with a read cannot write after another connection has written.
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
    // Count unchanged rows too, so that another round checks for changes in the meantime.
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

/** Returns the changes of a row. Its IP address and its reported site are also erased, because the customer used them. */
function erasedTexts(name: TextTable, row: Row, customer: CustomerAddress): Record<string, SqlValue> {
  const changes: Record<string, SqlValue> = 'ip' in row ? { ip: null } : {};
  if (name === 'access_log') Object.assign(changes, { site: null, installed_version: null });
  if (name === 'events' && (row.actor as string).startsWith('customer:')) changes.actor = 'customer';
  if (name === 'orders') Object.assign(changes, erasedOrder(row, customer));
  // For the customer's next order, this column stores an address or nothing.
  if (name === 'shop_links') changes.target = null;
  if (name === 'shop_messages' && customer.isIn(row.pending_json))
    changes.pending_json = erasedPending(row.pending_json as string, customer);
  for (const column of TEXT_COLUMNS[name]) {
    const text = row[column];
    if (column in changes || !customer.isIn(text)) continue;
    if (name === 'activations' && column === 'identifier')
      changes[column] = withPlaceholder(text as string, customer, MAX_IDENTIFIER_LENGTH);
    else {
      const erased = customer.without(text as string, ERASED);
      // A replacement may be longer than its column. JSON columns have room, and cutting would break them.
      changes[column] = /_json$|_xml$|changelog/.test(column)
        ? erased
        : erased.slice(0, Math.max((text as string).length, ERASED.length));
    }
  }
  return changes;
}

/** Returns an order's changes. The name goes with the address, and an erased order number can no longer be looked up. */
function erasedOrder(row: Row, customer: CustomerAddress): Record<string, SqlValue> {
  return {
    ...(customer.isIn(row.customer) && { customer: null, customer_name: null }),
    // Its keys are no longer owed to a customer.
    ...(customer.isIn(row.customer) && row.mail === 'key' && { mail: 'none' }),
    ...(customer.isIn(row.number) && { digest: randomBytes(32).toString('hex') }),
  };
}

/** Erases the customer from a waiting message, which is still processed: without an address, its order has no customer. */
function erasedPending(json: string, customer: CustomerAddress): string {
  const pending = JSON.parse(json) as { event?: { customer?: { email?: string } } };
  if (pending.event !== undefined && customer.isIn(pending.event.customer?.email))
    delete pending.event.customer;
  return customer.without(JSON.stringify(pending), ERASED);
}

/** Replaces the address by a random placeholder, because a digest could be compared with guessed addresses. */
function withPlaceholder(text: string, customer: CustomerAddress, max: number): string {
  const placeholder = `${ERASED}-${randomBytes(8).toString('hex')}`;
  const erased = customer.without(text, placeholder);
  return Array.from(erased).length <= max ? erased : placeholder;
}
