import { requireEmail } from '../licensing/customer-email';
import { findProfile } from '../store/customer-profiles';
import { findLicenseIdsOf } from '../store/customers';
import type { Db } from '../store/engine/database';
import { parseEventJson } from '../store/events';
import type { Row, SqlValue } from '../store/export';
import { findLicensesByIds, type License } from '../store/licenses/licenses';
import { findOrderIdsOf } from '../store/orders/orders';
import {
  findTextKeys,
  findTextRows,
  idRange,
  TEXT_COLUMNS,
  type Only,
  type TextSearch,
  type TextTable,
} from '../store/personal-data';
import { likePattern } from '../store/engine/statements';

/** The number of rows that are read at once. */
export const PAGE = 500;
/** The number of ids in one search of a whole table, which must finish within a service's statement timeout. */
const SCAN_BATCH_SIZE = 20_000;

/** Finds a customer's e-mail addresses in texts, but not `mary-jane@example.com` for `jane@example.com`. */
export interface CustomerAddress {
  address: string;
  /** the present address first, then the former ones that no customer has now */
  addresses: string[];
  /** LIKE patterns for the database, which may also match other texts */
  patterns: string[];
  isIn(text: SqlValue | undefined): boolean;
  /** returns the text with each of the addresses replaced */
  without(text: string, replacement: string): string;
}

/** Returns the matcher for a customer. @throws OperatorError if `text` is not an e-mail address */
export async function readCustomerAddress(db: Db, text: string): Promise<CustomerAddress> {
  const address = requireEmail(text);
  return matchAddresses(db, [address, ...(await findFormer(db, address)).own]);
}

/** Returns the matcher for addresses. @param addresses one customer's, beginning with the present one */
export async function matchAddresses(db: Db, addresses: string[]): Promise<CustomerAddress> {
  const own = new Set(addresses.flatMap(spellings));
  const patterns = [...own].map(likePattern);
  const others = await otherAddresses(db, addresses, patterns);
  // Try longer addresses first, so that they win at the same position.
  const known = [...others, ...addresses].sort((a, b) => b.length - a.length).flatMap(spellings);
  const finder = new RegExp(known.map(escapeRegExp).join('|'), 'giu');
  const isOwn = (found: string) => own.has(found.toLowerCase());
  return {
    address: addresses[0] as string,
    addresses,
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

/** Lists the addresses of other customers and seats that contain one of these. */
async function otherAddresses(db: Db, addresses: string[], patterns: string[]): Promise<Set<string>> {
  const others = new Set<string>();
  const look = (value: SqlValue | undefined) => {
    const other = typeof value === 'string' ? value.toLowerCase() : '';
    const contains = addresses.some((address) => other.includes(address));
    if (contains && !addresses.includes(other) && /^[^\s@<>()",;:]+@[^\s@<>()",;:]+$/.test(other))
      others.add(other);
  };
  for await (const row of textRows(db, 'licenses', patterns, { columns: ['customer'] })) look(row.customer);
  for await (const row of textRows(db, 'customers', patterns, { columns: ['address'] })) look(row.address);
  const seats = textRows(db, 'activations', patterns, { columns: ['identifier'] });
  for await (const { row, license } of withLicenses(db, seats))
    if (license?.plan.activationType === 'seat') look(row.identifier);
  return others;
}

/** Reports whether an address belongs to a customer now: it has licences, orders, a name or a note. */
export async function isKnown(db: Db, address: string): Promise<boolean> {
  return (
    (await findProfile(db, address)) !== undefined ||
    (await findLicenseIdsOf(db, address)).length > 0 ||
    (await findOrderIdsOf(db, address)).length > 0
  );
}

/** The former addresses of a customer. */
export interface Former {
  /** addresses that no customer has now */
  own: string[];
  /** addresses that another customer has or had later; they are this customer's only in the history of the licences */
  passedOn: string[];
}

/** A customer's move to another address, with all data (change-customer.ts). */
interface Move {
  from: string;
  to: string;
}

/**
 * Returns a customer's former addresses, from the history of all licences. A licence that moved without its customer
 * may have been sold, even if it was the customer's only one, so it is not evidence.
 */
export async function findFormer(db: Db, address: string): Promise<Former> {
  let found = [address];
  const moves: Move[] = [];
  for (const to of found) {
    moves.push(...(await movesNaming(db, to)));
    for (const { from, to: end } of moves) if (end === to && !found.includes(from)) found.push(from);
  }
  for (;;) {
    const own: string[] = [];
    const passedOn: string[] = [];
    for (const from of found.slice(1)) {
      const all = moves.filter((move) => move.from === from);
      const leadsHere = ({ to }: Move) => found.includes(to);
      if (all.every(leadsHere) && !(await isKnown(db, from))) own.push(from);
      else if (all.some(leadsHere)) passedOn.push(from);
    }
    if (own.length + passedOn.length === found.length - 1) return { own, passedOn };
    found = [address, ...own, ...passedOn];
  }
}

async function movesNaming(db: Db, address: string): Promise<Move[]> {
  const moves: Move[] = [];
  for await (const { action, before_json, after_json } of textRows(
    db,
    'events',
    spellings(address).map(likePattern),
    { columns: ['before_json', 'after_json'] },
  )) {
    if (action !== 'set-customer') continue;
    const from = parseEventJson(before_json as string | null)?.customer;
    const { customer: to, moved } = parseEventJson(after_json as string | null) ?? {};
    if (moved === true && typeof from === 'string' && typeof to === 'string') moves.push({ from, to });
  }
  return moves;
}

/** Yields the rows of a table that contain the customer's address in any text column. */
export async function* rowsNaming(
  db: Db,
  name: TextTable,
  customer: CustomerAddress,
  only?: Only,
  after?: number,
): AsyncGenerator<Row> {
  for await (const row of textRows(db, name, customer.patterns, { only, after }))
    if (TEXT_COLUMNS[name].some((column) => customer.isIn(row[column]))) yield row;
}

async function* textRows(
  db: Db,
  name: TextTable,
  patterns: string[],
  search: TextSearch & { after?: number | undefined } = {},
): AsyncGenerator<Row> {
  const { after: from = 0 } = search;
  if (search.only) {
    yield* matchingRows(db, name, patterns, { after: from }, search);
    return;
  }
  if (name === 'license_keys') {
    yield* await findTextKeys(db, patterns);
    return;
  }
  const { first, last } = (await idRange(db, name)) ?? { first: 1, last: 0 };
  for (let after = Math.max(from, first - 1); after < last; after += SCAN_BATCH_SIZE)
    yield* matchingRows(db, name, patterns, { after, upTo: after + SCAN_BATCH_SIZE }, search);
}

async function* matchingRows(
  db: Db,
  name: TextTable,
  patterns: string[],
  ids: { after: number; upTo?: number },
  search: TextSearch,
): AsyncGenerator<Row> {
  for (let { after } = ids; ;) {
    const rows = await findTextRows(db, name, patterns, { ...ids, after }, PAGE, search);
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.id as number;
  }
}

/** Yields the customer's own licences, by id. */
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

/** Adds its licence to each row with a `license_id`. */
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

/** Yields the same items in lists of at most `size`. */
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
