import { readPerson, type Recipient } from '../mail/customer-profile';
import { OperatorError } from '../licensing/operator-error';
import { accessJson, activationJson, eventJson, keyJson, licenseJson } from '../licensing/views';
import { listAccesses, type LoggedAccess } from '../store/access-log';
import { listActivations, type StoredActivation } from '../store/licenses/activations';
import { customerDigest } from '../store/customer-digest';
import type { Db } from '../store/engine/database';
import { listLatestEvents, type RecordedEvent } from '../store/events';
import { listKeys, type LicenseKey } from '../store/licenses/license-keys';
import type { License } from '../store/licenses/licenses';
import { inSnapshot } from '../store/engine/transaction';
import { fromRow, type RecordOf } from '../transfer/records';
import {
  customerLicenses,
  readCustomerAddress,
  rowsNaming,
  withLicenses,
  type CustomerAddress,
} from './customer-address';
import { listPersonalRecords, MAX_LISTED_RECORDS, SECTION_NAMES, type PersonalLists } from './stored-data';

export interface CustomerLicenses {
  licenses: License[];
  /** seats on other customers' licences */
  seats: RecordOf<'activation'>[];
  /** the cursor of the next page; undefined on the last page */
  last: number | undefined;
}

export interface CustomerData extends CustomerLicenses {
  /** the present address */
  customer: string;
  /** see CustomerAddress */
  formerAddresses: string[];
  person: Recipient;
  /** the activations of each licence, and its keys below */
  activations: StoredActivation[][];
  keys: LicenseKey[][];
  /** the latest events of each licence, newest first */
  events: RecordedEvent[][];
  /** the latest accesses with these licences, newest first */
  accesses: LoggedAccess[];
  /** the other data, on the first page only */
  stored: PersonalLists | null;
}

const LATEST_ACCESSES = 20;
/** The maximum number of events of a licence. */
const LATEST_EVENTS = 100;

/**
 * Returns a page of the data about a customer, from one snapshot; see `pageOfCustomer`.
 * @throws OperatorError if nothing is stored
 */
export async function readStoredCustomer(
  db: Db,
  text: string,
  { after, limit }: { after?: number; limit: number },
): Promise<CustomerData> {
  const customer = await readCustomerAddress(db, text);
  return inSnapshot(db, async (trx) => {
    const page = await pageOfCustomer(trx, customer, after ?? 0, limit);
    const stored = after === undefined ? await readPersonalRecords(trx, customer) : null;
    if (page.licenses.length + page.seats.length === 0 && (stored === null || isEmpty(stored)))
      throw new OperatorError(
        after === undefined
          ? 'Nothing is stored about this address.'
          : 'This customer has no more licences or seats.',
        { code: 'NOT_FOUND' },
      );
    const ids = page.licenses.map(({ id }) => id);
    return {
      ...page,
      customer: customer.address,
      formerAddresses: customer.addresses.slice(1),
      person: await readPerson(trx, customer.address),
      ...(await licenseParts(trx, ids)),
      accesses: await latestAccesses(trx, ids, MAX_LISTED_RECORDS),
      stored,
    };
  });
}

/** Returns all data except licences and their parts, even texts that only contain the address. It searches whole tables. */
export async function readPersonalRecords(db: Db, customer: CustomerAddress): Promise<PersonalLists> {
  const licenseIds: number[] = [];
  for await (const { id } of customerLicenses(db, customer)) licenseIds.push(id);
  return listPersonalRecords(db, { customer, licenseIds, searches: true });
}

export function isEmpty({ sections, mentions }: PersonalLists): boolean {
  return [...Object.values(sections), ...Object.values(mentions)].every((list) => list.length === 0);
}

/** Returns the parts of each licence. */
export async function licenseParts(db: Db, licenseIds: number[]) {
  const parts = { activations: [], keys: [], events: [] } as Pick<
    CustomerData,
    'activations' | 'keys' | 'events'
  >;
  for (const id of licenseIds) {
    parts.activations.push(await listActivations(db, id));
    parts.keys.push(await listKeys(db, id));
    parts.events.push(await listLatestEvents(db, id, { limit: LATEST_EVENTS }));
  }
  return parts;
}

/**
 * Returns a page of a customer's licences, and of the customer's seats on other licences, by licence id above `after`.
 * `limit` counts both, but the seats of one licence are never split.
 */
async function pageOfCustomer(
  db: Db,
  customer: CustomerAddress,
  after: number,
  limit: number,
): Promise<CustomerLicenses> {
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

/** Lists the seats on other customers' licences whose identifier or label contains the address, by licence. */
async function listCustomerSeats(db: Db, customer: CustomerAddress): Promise<RecordOf<'activation'>[]> {
  const seats: RecordOf<'activation'>[] = [];
  for await (const { row, license } of withLicenses(db, rowsNaming(db, 'activations', customer)))
    if (license !== undefined && !customer.isIn(license.customer)) {
      const seat = fromRow('activation', row);
      seats.push({ ...seat, key_id: seat.key_id ?? license.mainKeyId });
    }
  return seats.sort((a, b) => a.license_id - b.license_id);
}

/** Lists the latest accesses, newest first. */
export async function latestAccesses(
  db: Db,
  licenseIds: number[],
  limit = LATEST_ACCESSES,
): Promise<LoggedAccess[]> {
  const newestFirst = (a: LoggedAccess, b: LoggedAccess) => b.at.getTime() - a.at.getTime() || b.id - a.id;
  let accesses: LoggedAccess[] = [];
  for (const licenseId of licenseIds)
    accesses = [...accesses, ...(await listAccesses(db, { licenseId }, limit))]
      .sort(newestFirst)
      .slice(0, limit);
  return accesses;
}

/** Returns the data about a customer as JSON, for the command and the API. */
export function customerJson(
  {
    customer,
    formerAddresses,
    person,
    licenses,
    activations,
    keys,
    events,
    seats,
    accesses,
    stored,
  }: Omit<CustomerData, 'last'>,
  next: number | null,
  now: Date,
) {
  return {
    id: customerDigest(customer),
    customer,
    former_addresses: formerAddresses,
    name: person.name,
    language: person.language,
    licenses: licenses.map((license, i) => ({
      ...licenseJson(license, now),
      keys: (keys[i] ?? []).map(keyJson),
      activations: (activations[i] ?? []).map((one) => activationJson(one, license)),
      events: (events[i] ?? []).map(eventJson),
    })),
    seats,
    accesses: accesses.map(accessJson),
    ...(stored?.sections ?? emptySections()),
    mentions: stored?.mentions ?? {},
    /** the names of lists that are longer in an export */
    shortened: [
      ...(events.some((list) => list.length === LATEST_EVENTS) ? ['events'] : []),
      ...(accesses.length === MAX_LISTED_RECORDS ? ['accesses'] : []),
      ...(stored?.shortened ?? []),
    ],
    next,
  };
}

function emptySections(): PersonalLists['sections'] {
  return Object.fromEntries(SECTION_NAMES.map((name) => [name, []])) as unknown as PersonalLists['sections'];
}
