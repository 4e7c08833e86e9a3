import { hash } from 'node:crypto';
import { chunksOf } from '../base/chunks';
import { formatTimestamp, formatTimestampOrNull } from '../base/days';
import { jsonOf } from '../base/json';
import { messageJson, orderDetailsJson, readOrder } from '../orders/views';
import { customerDigest } from '../store/customer-digest';
import { findProfile } from '../store/customer-profiles';
import type { Db } from '../store/engine/database';
import { readPages, withKeys, type Row } from '../store/export';
import { findRows } from '../store/import';
import { listDownloadsOf } from '../store/licenses/license-downloads';
import type { License } from '../store/licenses/licenses';
import type { OutboxRow } from '../store/outbox';
import { findOperatorByEmail } from '../store/operators';
import {
  findMessageIds,
  findOrderIds,
  findOutboxIds,
  findSessionTraces,
  type TextTable,
  type SessionTraces,
} from '../store/personal-data';
import { rowToFields, type RowOf } from '../store/engine/row-fields';
import { listWords } from '../store/search-words';
import type { ShopMessage } from '../store/orders/shop-messages';
import { listNetworksOf, listReportedSitesOf } from '../store/reported-sites';
import { fromRow, tableLayout, type KeyRecord, type RecordOf, type RecordType } from '../transfer/records';
import { PAGE, rowsNaming, type CustomerAddress } from './customer-address';

/** The data about a customer by kind, for the command, the API and the pages. */

export interface DataSubject {
  customer: CustomerAddress;
  /** the ids of the customer's own licences */
  licenseIds: number[];
  /** false to read by indexes only, and skip other texts that contain the address */
  searches: boolean;
}

/** The kinds of data in addition to licences and their parts. Each is a list in an export and in the API's response. */
export const SECTIONS = {
  profile: profileItems,
  told_sites: toldItems,
  downloads: downloadItems,
  networks: networkItems,
  orders: orderItems,
  messages: messageItems,
  links: linkItems,
  mails: mailItems,
  webhooks: deliveryItems,
  receivers: receiverItems,
  sessions: sessionItems,
  sign_in_links: codeItems,
  link_requests: requestItems,
  search_words: wordItems,
  operators: operatorItems,
} as const satisfies Record<string, (db: Db, whose: DataSubject) => AsyncGenerator<object>>;
export type Section = keyof typeof SECTIONS;
export const SECTION_NAMES = Object.keys(SECTIONS) as Section[];

/** The maximum number of entries in a list of a response; an export has all. */
export const MAX_LISTED_RECORDS = 500;

/** The lists of a response. `shortened` names the lists that are longer in an export. */
export interface PersonalLists {
  sections: Record<Section, object[]>;
  mentions: Record<MentionType, object[]>;
  shortened: string[];
}

/** Lists the first entries of each kind, and records elsewhere that contain the address if whole tables are searched. */
export async function listPersonalRecords(
  db: Db,
  whose: DataSubject,
  limit = MAX_LISTED_RECORDS,
): Promise<PersonalLists> {
  const listed = { sections: {}, mentions: {}, shortened: [] as string[] } as PersonalLists;
  for (const name of SECTION_NAMES)
    listed.sections[name] = await firstOf(SECTIONS[name](db, whose), limit, name, listed.shortened);
  for (const type of RECORDS_WITH_MENTIONS)
    listed.mentions[type] = whose.searches
      ? await firstOf(mentionItems(db, type, whose), limit, `mentions.${type}`, listed.shortened)
      : [];
  return listed;
}

async function firstOf(
  items: AsyncIterable<object>,
  limit: number,
  name: string,
  shortened: string[],
): Promise<object[]> {
  const first: object[] = [];
  for await (const item of items)
    if (first.push(item) > limit) {
      shortened.push(name);
      return first.slice(0, limit);
    }
  return first;
}

export const LICENSE_PARTS = [
  ['activations', 'activation'],
  ['events', 'event'],
  ['accesses', 'access'],
] as const;

/** Returns a licence as a record, with its keys, but not their digests and encrypted forms, which are not personal. */
export async function licenseRecord(db: Db, license: License) {
  const rows = await withKeys(db, await findRows(db, 'licenses', 'id', [license.id]));
  const record = fromRow('license', rows[0] as (typeof rows)[0]);
  return {
    ...record,
    keys: record.keys.map(personalKey),
    product: license.product.name,
    plan: license.plan.name,
  };
}

/** Yields the records of one kind that belong to a licence, by id. */
export async function* licenseItems(
  db: Db,
  type: (typeof LICENSE_PARTS)[number][1],
  licenseId: number,
): AsyncGenerator<object> {
  const layout = { ...tableLayout(type), order: ['id'] };
  for await (const rows of readPages(db, layout, PAGE, { license_id: licenseId }))
    for (const row of rows) yield fromRow(type, row);
}

/** The table in which records of a type are searched for the customer's address; null if they are not searched. */
const SEARCHED = {
  product: 'products',
  plan: 'plans',
  release: 'releases',
  license: 'licenses',
  activation: 'activations',
  event: 'events',
  access: 'access_log',
  key: 'license_keys',
  customer: 'customers',
  // These are sections of their own.
  order: null,
  shop_link: null,
  // These contain no customer: see UNSEARCHED (store/personal-data.ts).
  shop: null,
  sku: null,
  sbom: null,
  signing_key: null,
  setting: null,
} as const satisfies Record<RecordType | 'key', TextTable | null>;
type MentionType = {
  [Type in keyof typeof SEARCHED]: (typeof SEARCHED)[Type] extends null ? never : Type;
}[keyof typeof SEARCHED];

export const RECORDS_WITH_MENTIONS = (Object.keys(SEARCHED) as (keyof typeof SEARCHED)[]).filter(
  (type): type is MentionType => SEARCHED[type] !== null,
);

/** Yields the records elsewhere that contain the address. It searches whole tables. */
export async function* mentionItems(
  db: Db,
  type: MentionType,
  { customer, licenseIds }: Pick<DataSubject, 'customer' | 'licenseIds'>,
): AsyncGenerator<object> {
  const own = new Set(licenseIds);
  for await (const row of rowsNaming(db, SEARCHED[type], customer)) {
    const licenseId = (type === 'license' ? row.id : row.license_id) as number;
    if (own.has(licenseId)) continue;
    // Only show the note on another customer, because the other data belong to that customer.
    if (type === 'customer') {
      if (!customer.addresses.includes(row.address as string)) yield { id: row.id, note: row.note };
    } else if (type === 'key') yield { license_id: licenseId, ...personalKey(fromRow('key', row)) };
    else if (type === 'license') yield withoutKeys(fromRow('license', { ...row, keys: [], customer: null }));
    else yield fromRow(type, row);
  }
}

function personalKey({
  key_digest: _digest,
  key_sealed: _sealed,
  folded_digest: _folded,
  ...key
}: KeyRecord) {
  return key;
}

function withoutKeys({ keys: _keys, ...license }: RecordOf<'license'>) {
  return license;
}

/** Yields the name and language, as they were reported and as the seller chose them. */
async function* profileItems(db: Db, { customer }: DataSubject): AsyncGenerator<object> {
  const profile = await findProfile(db, customer.address);
  if (profile === undefined) return;
  const { name, language, toldAt, chosenName: chosen_name, chosenLanguage: chosen_language, note } = profile;
  yield { name, language, told_at: formatTimestampOrNull(toldAt), chosen_name, chosen_language, note };
}

/** Yields the site reports for the customer's licences. */
async function* toldItems(db: Db, { licenseIds }: DataSubject): AsyncGenerator<object> {
  for (const told of await listReportedSitesOf(db, licenseIds))
    yield {
      ...jsonOf(told, 'licenseId', 'productId', 'site', 'version'),
      version_at: formatTimestamp(told.firstAt),
      at: formatTimestamp(told.at),
    };
}

/** Yields the last download of each licence and product. */
async function* downloadItems(db: Db, { licenseIds }: DataSubject): AsyncGenerator<object> {
  for (const one of await listDownloadsOf(db, licenseIds))
    yield jsonOf(one, 'licenseId', 'productId', 'version', 'at');
}

/** Yields the networks that downloaded by a key, as digests. */
async function* networkItems(db: Db, { licenseIds }: DataSubject): AsyncGenerator<object> {
  for (const { keyId, network, at } of await listNetworksOf(db, licenseIds))
    yield { key_id: keyId, network, at: formatTimestamp(at) };
}

/** Yields orders that contain the address, and orders that issued or renewed the licences, with lines and events. */
async function* orderItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  const own = await ownOrderIds(db, whose);
  const digest = customerDigest(whose.customer.address);
  for (const id of [...own, ...(await namingOrderIds(db, whose, own))]) {
    const order = await readOrder(db, id);
    if (order === undefined) continue;
    const details = orderDetailsJson(order);
    // Hide another customer's name, even if the licence now belongs to this customer.
    yield details.customer !== null && customerDigest(details.customer) === digest
      ? details
      : { ...details, customer: null, customer_name: null };
  }
}

async function ownOrderIds(db: Db, { customer, licenseIds }: DataSubject): Promise<number[]> {
  return (await findOrderIds(db, customer.address, licenseIds)).sort((a, b) => a - b);
}

/** Lists other customers' orders that contain the address. */
async function namingOrderIds(db: Db, { customer, searches }: DataSubject, own: number[]): Promise<number[]> {
  const ids = new Set<number>();
  if (searches)
    for (const name of ['orders', 'order_events', 'order_lines'] as const)
      for await (const row of rowsNaming(db, name, customer))
        ids.add((name === 'orders' ? row.id : row.order_id) as number);
  return [...ids].filter((id) => !own.includes(id)).sort((a, b) => a - b);
}

/** Yields the receivers' messages about these orders. A waiting message contains an address and a name. */
async function* messageItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  const ids = await findMessageIds(db, await ownOrderIds(db, whose));
  for await (const row of rowsOf(db, 'shop_messages', ids, whose)) {
    const message = rowToFields(row as RowOf<ShopMessage>);
    yield {
      shop: message.shop,
      ...messageJson(message),
      pending: message.pendingJson === null ? null : (JSON.parse(message.pendingJson) as unknown),
    };
  }
}

/** Yields a shop's own ids of the customer, which lead to the address. */
async function* linkItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  for await (const { id, shop, kind, target, created_at } of rowsOf(db, 'shop_links', [], whose))
    yield { id, shop, kind, target, created_at: timeOf(created_at) };
}

/** Yields mails about the customer's licences, and links that were requested for the address. */
async function* mailItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  for await (const row of outboxRows(db, whose))
    if (row.webhookId === null)
      yield {
        id: row.id,
        type: row.type,
        license_id: row.licenseId,
        recipient: row.recipient,
        details: row.detailsJson === null ? null : (JSON.parse(row.detailsJson) as unknown),
        created_at: formatTimestamp(row.createdAt),
        sent_at: formatTimestampOrNull(row.sentAt),
        failed_at: formatTimestampOrNull(row.failedAt),
      };
}

/** Yields the webhooks about the customer's licences. */
async function* deliveryItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  for await (const row of outboxRows(db, whose))
    if (row.webhookId !== null)
      yield {
        ...jsonOf(row, 'id', 'webhookId', 'type', 'licenseId'),
        data: JSON.parse(row.detailsJson ?? '{}') as unknown,
        ...jsonOf(row, 'answer', 'createdAt', 'sentAt'),
      };
}

async function* outboxRows(db: Db, whose: DataSubject): AsyncGenerator<OutboxEntry> {
  const ids = await findOutboxIds(db, whose.customer.addresses, whose.licenseIds);
  for await (const row of rowsOf(db, 'outbox', ids, whose))
    yield rowToFields(row as RowOf<Omit<OutboxEntry, 'attemptedBefore' | 'dueAt'>>);
}

/** A mail or a webhook. */
type OutboxEntry = OutboxRow & { webhookId: number | null; answer: string | null };

/** Yields webhook receivers whose description contains the address. */
async function* receiverItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  for await (const { id, description, created_at } of rowsOf(db, 'webhooks', [], whose))
    yield { id, description, created_at: timeOf(created_at) };
}

/** Yields sessions that were opened with a key of the customer's licences, or by a link to the address. */
async function* sessionItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  for (const row of (await visitsOf(db, whose)).sessions)
    yield {
      id: row.id,
      license_id: row.license_id,
      opened_by: row.license_id === null ? 'link' : 'key',
      created_at: timeOf(row.created_at),
      used_at: timeOf(row.used_at),
      expires_at: timeOf(row.expires_at),
      ended_at: timeOf(row.ended_at),
    };
}

/** Yields mailed links that have not been used. */
async function* codeItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  for (const { created_at, expires_at } of (await visitsOf(db, whose)).codes)
    yield { created_at: timeOf(created_at), expires_at: timeOf(expires_at) };
}

async function* requestItems(db: Db, whose: DataSubject): AsyncGenerator<object> {
  for (const { requested_at } of (await visitsOf(db, whose)).requests)
    yield { requested_at: timeOf(requested_at) };
}

/** Yields the words by which the search finds the customer's licences. */
async function* wordItems(db: Db, { licenseIds }: DataSubject): AsyncGenerator<object> {
  for (const some of chunksOf(licenseIds)) {
    const words = new Map<number, string[]>();
    for (const { licenseId, word } of await listWords(db, some))
      words.set(licenseId, [...(words.get(licenseId) ?? []), word]);
    for (const [license_id, own] of words) yield { license_id, words: own };
  }
}

function visitsOf(db: Db, { customer, licenseIds }: DataSubject): Promise<SessionTraces> {
  return findSessionTraces(db, customer.addresses, licenseIds, requestDigests(customer.addresses));
}

/** Returns the digests of link requests; see `countRequest` in access/link-requests.ts. */
export function requestDigests(addresses: string[]): string[] {
  return addresses.flatMap((address) =>
    ['customer', 'operator'].map((kind) => hash('sha256', `${kind} ${address}`)),
  );
}

/** Yields operators with the same address. */
async function* operatorItems(db: Db, { customer }: DataSubject): AsyncGenerator<object> {
  for (const address of customer.addresses) {
    const operator = await findOperatorByEmail(db, address);
    if (operator !== undefined)
      yield { email: operator.email, scope: operator.scope, created_at: formatTimestamp(operator.createdAt) };
  }
}

/** Yields the rows with these ids, and those that contain the address, by id. */
async function* rowsOf(
  db: Db,
  name: TextTable,
  ids: number[],
  { customer, searches }: DataSubject,
): AsyncGenerator<Row> {
  const all = new Set(ids);
  if (searches) for await (const row of rowsNaming(db, name, customer)) all.add(row.id as number);
  const ascending = [...all].sort((a, b) => a - b);
  for (const some of chunksOf(ascending, PAGE)) {
    const rows = await findRows(db, name, 'id', some);
    yield* rows.sort((a, b) => (a.id as number) - (b.id as number));
  }
}

function timeOf(value: Row[string] | undefined): string | null {
  return typeof value === 'string' ? `${value.replace(' ', 'T')}Z` : null;
}
