import { requireEmail } from '../licensing/customer-email';
import type { Db } from '../store/database';
import type { Row, SqlValue } from '../store/export';
import { findLicensesByIds, type License } from '../store/licenses';
import { findTextRows, idRange, TEXT_COLUMNS, type Only, type TextTable } from '../store/personal-data';
import { likePattern } from '../store/statements';

/** Rows read at once. */
export const PAGE = 500;
/** Ids in one search of a whole table, which must end before a service's statements time out. */
const SCANNED_AT_ONCE = 20_000;

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
  for await (const row of textRows(db, 'customers', patterns)) look(row.address);
  for await (const { row, license } of withLicenses(db, textRows(db, 'activations', patterns)))
    if (license?.plan.activationType === 'seat') look(row.identifier);
  return others;
}

/** A table's rows that name the customer in any text. */
export async function* rowsNaming(
  db: Db,
  name: TextTable,
  customer: CustomerAddress,
  only?: Only,
  after?: number,
): AsyncGenerator<Row> {
  for await (const row of textRows(db, name, customer.patterns, only, after))
    if (TEXT_COLUMNS[name].some((column) => customer.isIn(row[column]))) yield row;
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

/** The customer's own licences, by id. */
export async function* customerLicenses(
  db: Db,
  customer: CustomerAddress,
  after = 0,
): AsyncGenerator<License> {
  for await (const rows of inPages(rowsNaming(db, 'licenses', customer, undefined, after), PAGE)) {
    const own = rows.filter((row) => customer.isIn(row.customer)).map((row) => row.id as number);
    yield* (await findLicensesByIds(db, own)).sort((a, b) => a.id - b.id);
  }
}

/** Rows that have a `license_id`, each with its licence. */
export async function* withLicenses(
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

/** The same items in lists of at most `size`. */
export async function* inPages<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let page: T[] = [];
  for await (const item of items) {
    page.push(item);
    if (page.length < size) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
