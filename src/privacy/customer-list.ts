import { findEmail } from '../licensing/customer-email';
import { OperatorError } from '../licensing/operator-error';
import { formatTimestampOrNull } from '../licensing/timestamps';
import { accessJson, activationJson, licenseJson } from '../licensing/views';
import { listActivations } from '../store/activations';
import { customerDigest, isCustomerDigest } from '../store/customer-digest';
import {
  findCustomerByDigest,
  findSeatRows,
  listCustomerSums,
  type CustomerFilter,
} from '../store/customers';
import type { Db } from '../store/database';
import { listLicenses } from '../store/licenses';
import { fromRow } from '../transfer/records';
import { latestAccesses } from './customer';
import { eraseCustomer, type Erased } from './erase-customer';

/** Customers as the operator's API names them: by an id that says nothing about the person, or by the address. */

export interface CustomerSummary {
  id: string;
  customer: string;
  /** how many they have */
  licenses: number;
  /** the first end among the active ones */
  next_end: string | null;
}

/** By address. `beginning` is what was typed of an address. */
export async function listCustomers(db: Db, filter: CustomerFilter, now: Date): Promise<CustomerSummary[]> {
  const beginning = filter.beginning?.trim().toLowerCase();
  return (await listCustomerSums(db, { ...filter, beginning }, now)).map(
    ({ customer, licenses, nextEnd }) => ({
      id: customerDigest(customer),
      customer,
      licenses,
      next_end: formatTimestampOrNull(nextEnd),
    }),
  );
}

/** The address of a customer named by id or address. @throws OperatorError (NOT_FOUND) for anything else */
export async function resolveCustomer(db: Db, idOrAddress: string): Promise<string> {
  const address = isCustomerDigest(idOrAddress)
    ? await findCustomerByDigest(db, idOrAddress)
    : findEmail(idOrAddress);
  return address ?? noCustomer();
}

function noCustomer(): never {
  throw new OperatorError('There is no such customer.', { code: 'NOT_FOUND' });
}

/**
 * A page of a customer's licences by id, with the latest accesses, and the seats that the customer has on licences of
 * others. Reads by indexes only: what else names the customer is found by `exportCustomer`.
 *
 * @throws OperatorError (NOT_FOUND) when there is nothing
 */
export async function readOneCustomer(
  db: Db,
  idOrAddress: string,
  { after, limit }: { after?: number | undefined; limit: number },
  now: Date,
) {
  const customer = await resolveCustomer(db, idOrAddress);
  const found = await listLicenses(db, { customer, after, limit: limit + 1 }, now);
  const licenses = found.slice(0, limit);
  const seats = after === undefined ? await findSeatRows(db, customer) : [];
  if (after === undefined && licenses.length + seats.length === 0) return noCustomer();
  const accesses = await latestAccesses(
    db,
    licenses.map(({ id }) => id),
  );
  return {
    id: customerDigest(customer),
    customer,
    licenses,
    seats: seats.map((row) =>
      fromRow('activation', { ...row, key_id: row.key_id ?? row.main_key_id ?? null }),
    ),
    accesses,
    /** the licence after which the next page begins; null: there are no more */
    next: found.length > limit ? (licenses.at(-1)?.id ?? null) : null,
  };
}

/** `readOneCustomer` as JSON, with the licences' activations. */
export async function readCustomerJson(
  db: Db,
  idOrAddress: string,
  page: { after?: number | undefined; limit: number },
  now: Date,
) {
  const { licenses, seats, accesses, next, ...who } = await readOneCustomer(db, idOrAddress, page, now);
  const activations = await Promise.all(licenses.map(({ id }) => listActivations(db, id)));
  return {
    ...who,
    licenses: licenses.map((license, i) => ({
      ...licenseJson(license, now),
      activations: (activations[i] ?? []).map((one) => activationJson(one, license)),
    })),
    seats,
    accesses: accesses.map(accessJson),
    next,
  };
}

/** `eraseCustomer`, by id or address. @throws OperatorError (NOT_FOUND) when nothing is stored about the customer */
export async function deleteCustomer(
  db: Db,
  idOrAddress: string,
  context: { actor: string; now: Date },
): Promise<Erased> {
  const erased = await eraseCustomer(db, await resolveCustomer(db, idOrAddress), context);
  return erased.licenses + erased.rows === 0 ? noCustomer() : erased;
}
