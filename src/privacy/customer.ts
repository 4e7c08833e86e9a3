import { OperatorError } from '../licensing/operator-error';
import { listAccesses, type LoggedAccess } from '../store/access-log';
import { listActivations, type StoredActivation } from '../store/activations';
import type { Db } from '../store/database';
import type { License } from '../store/licenses';
import { inSnapshot } from '../store/transaction';
import { fromRow, type RecordOf } from '../transfer/records';
import {
  customerLicenses,
  readCustomerAddress,
  rowsNaming,
  withLicenses,
  type CustomerAddress,
} from './customer-address';

export interface CustomerPage {
  licenses: License[];
  /** on other customers' licences */
  seats: RecordOf<'activation'>[];
  /** the cursor of the next page; undefined: this is the last page */
  last: number | undefined;
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

/** The newest first. */
export async function latestAccesses(db: Db, licenseIds: number[]): Promise<LoggedAccess[]> {
  const accesses: LoggedAccess[] = [];
  for (const licenseId of licenseIds)
    accesses.push(...(await listAccesses(db, { licenseId }, LATEST_ACCESSES)));
  return accesses.sort((a, b) => b.at.getTime() - a.at.getTime() || b.id - a.id).slice(0, LATEST_ACCESSES);
}
