import { formatTimestampOrNull } from '../base/days';
import { findEmail } from '../licensing/customer-email';
import { isCursorText, readCursor, toPage, type Page, type PageRequest } from '../licensing/cursors';
import { readSearch } from '../licensing/license-filter';
import { OperatorError } from '../licensing/operator-error';
import { columnOf, readSort } from '../licensing/sorting';
import { personOf, readPerson } from '../mail/customer-profile';
import { customerDigest, isCustomerDigest } from '../store/customer-digest';
import { findProfileByDigest, findProfiles } from '../store/customer-profiles';
import {
  findBuyerByDigest,
  findCustomerByDigest,
  findLicenseIdsOf,
  findSeatRows,
  listCustomerSums,
  sumCustomers,
  type CustomerFilter,
} from '../store/customers';
import type { Db } from '../store/engine/database';
import { listLicenses } from '../store/licenses/licenses';
import { inSnapshot } from '../store/engine/transaction';
import { fromRow } from '../transfer/records';
import { customerJson, isEmpty, latestAccesses, licenseParts, readPersonalRecords } from './customer';
import { readCustomerAddress, type CustomerAddress } from './customer-address';
import { eraseCustomer, type Erased } from './erase-customer';
import { listPersonalRecords, MAX_LISTED_RECORDS, type PersonalLists } from './stored-data';

/** Customers in the operator's API, which names them by an id that reveals nothing about the person, or by their address. */

export interface CustomerSummary {
  id: string;
  customer: string;
  name: string | null;
  /** the number of the customer's licences */
  licenses: number;
  /** the earliest end of the active licences */
  next_end: string | null;
}

export const CUSTOMER_SORTS = ['customer', '-customer'] as const;

/** Lists a page of customers. `q` finds what it finds among licences; `sort` is A to Z by default. */
export async function listCustomerPage(
  db: Db,
  { q, sort }: { q: string | undefined; sort: string | undefined },
  { after, limit }: PageRequest,
  now: Date,
): Promise<Page<CustomerSummary>> {
  const { isDown } = columnOf(readSort(CUSTOMER_SORTS, sort) ?? 'customer');
  const [address] = readCursor<[string]>(after, [isCursorText]) ?? [];
  const filter = {
    search: q === undefined ? undefined : readSearch(q),
    after: address,
    isDown,
    limit: limit + 1,
  };
  return toPage(await listCustomers(db, filter, now), limit, ({ customer }) => [customer]);
}

/** Lists customers by address. */
export async function listCustomers(db: Db, filter: CustomerFilter, now: Date): Promise<CustomerSummary[]> {
  return summarize(db, await listCustomerSums(db, filter, now));
}

/** Finds the summary of one customer; undefined without a licence. */
export async function findCustomer(db: Db, address: string, now: Date): Promise<CustomerSummary | undefined> {
  return (await summarize(db, await sumCustomers(db, [address], now)))[0];
}

async function summarize(db: Db, sums: Awaited<ReturnType<typeof sumCustomers>>): Promise<CustomerSummary[]> {
  const profiles = await findProfiles(
    db,
    sums.map(({ customer }) => customer),
  );
  return sums.map(({ customer, licenses, nextEnd }) => ({
    id: customerDigest(customer),
    customer,
    name: personOf(profiles.get(customer)).name,
    licenses,
    next_end: formatTimestampOrNull(nextEnd),
  }));
}

/** Returns the address of a customer from an id or an address. @throws OperatorError (NOT_FOUND) for anything else */
export async function resolveCustomer(db: Db, idOrAddress: string): Promise<string> {
  const address = isCustomerDigest(idOrAddress)
    ? ((await findCustomerByDigest(db, idOrAddress)) ??
      (await findBuyerByDigest(db, idOrAddress)) ??
      (await findProfileByDigest(db, idOrAddress))?.address)
    : findEmail(idOrAddress);
  return address ?? throwCustomerNotFound();
}

export function throwCustomerNotFound(): never {
  throw new OperatorError('There is no such customer.', { code: 'NOT_FOUND' });
}

/**
 * Returns a page of a customer's licences by id, with the latest accesses and the customer's seats on other licences.
 * It reads by indexes only: `readCustomerJson` and `exportCustomer` also find other texts that contain the address.
 * @throws OperatorError (NOT_FOUND) if nothing is stored
 */
export async function readOneCustomer(
  db: Db,
  idOrAddress: string,
  { after, limit }: { after?: number | undefined; limit: number },
  now: Date,
) {
  const customer = await resolveCustomer(db, idOrAddress);
  const only = { address: customer, addresses: [customer] };
  const page = await pageOfLicenses(db, only, { after, limit }, now);
  const ids = page.licenses.map(({ id }) => id);
  // Skip this on later pages, because the first page has shown it.
  const stored = after === undefined ? await listByIndexes(db, customer) : null;
  if (
    after === undefined &&
    page.licenses.length + page.seats.length === 0 &&
    isEmpty(stored as PersonalLists)
  )
    return throwCustomerNotFound();
  const { keys, events } = await licenseParts(db, ids);
  return {
    ...page,
    id: customerDigest(customer),
    customer,
    ...(await readPerson(db, customer)),
    keys,
    events,
    stored,
    accesses: await latestAccesses(db, ids),
  };
}

/** The maximum number of entries in a list on a page, which also links to the export. */
const SHOWN_ON_PAGE = 50;

async function listByIndexes(db: Db, address: string): Promise<PersonalLists> {
  const customer = {
    address,
    addresses: [address],
    patterns: [],
    isIn: () => false,
    without: (text: string) => text,
  };
  const licenseIds = await findLicenseIdsOf(db, address);
  return listPersonalRecords(db, { customer, licenseIds, searches: false }, SHOWN_ON_PAGE);
}

async function pageOfLicenses(
  db: Db,
  { address: customer, addresses }: Pick<CustomerAddress, 'address' | 'addresses'>,
  { after, limit }: { after?: number | undefined; limit: number },
  now: Date,
) {
  const found = await listLicenses(db, { customer, after, limit: limit + 1 }, now);
  const licenses = found.slice(0, limit);
  const rows: Awaited<ReturnType<typeof findSeatRows>> = [];
  if (after === undefined) for (const address of addresses) rows.push(...(await findSeatRows(db, address)));
  return {
    licenses,
    seats: rows.map((row) =>
      fromRow('activation', { ...row, key_id: row.key_id ?? row.main_key_id ?? null }),
    ),
    /** the licence after which the next page begins; null after the last page */
    next: found.length > limit ? (licenses.at(-1)?.id ?? null) : null,
  };
}

/** Returns all data about a customer as JSON. For the first page it searches whole tables. */
export async function readCustomerJson(
  db: Db,
  idOrAddress: string,
  { after, limit }: { after?: number | undefined; limit: number },
  now: Date,
) {
  const address = await resolveCustomer(db, idOrAddress);
  const customer = await readCustomerAddress(db, address);
  return inSnapshot(db, async (trx) => {
    const { next, ...page } = await pageOfLicenses(trx, customer, { after, limit }, now);
    const stored = after === undefined ? await readPersonalRecords(trx, customer) : null;
    if (stored !== null && page.licenses.length + page.seats.length === 0 && isEmpty(stored))
      return throwCustomerNotFound();
    const ids = page.licenses.map(({ id }) => id);
    const accesses = await latestAccesses(trx, ids, MAX_LISTED_RECORDS);
    return customerJson(
      {
        ...page,
        ...(await licenseParts(trx, ids)),
        customer: address,
        accesses,
        stored,
        person: await readPerson(trx, address),
        formerAddresses: customer.addresses.slice(1),
      },
      next,
      now,
    );
  });
}

/** Erases a customer, by id or address (`eraseCustomer`). @throws OperatorError (NOT_FOUND) if nothing is stored */
export async function deleteCustomer(
  db: Db,
  idOrAddress: string,
  context: { actor: string; now: Date },
  onProgress?: (done: number, total: number) => void,
): Promise<Erased> {
  const erased = await eraseCustomer(db, await resolveCustomer(db, idOrAddress), context, onProgress);
  return erased.licenses + erased.rows === 0 ? throwCustomerNotFound() : erased;
}
