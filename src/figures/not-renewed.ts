import type { Db } from '../store/engine/database';
import { readLicenses, type License } from '../store/licenses/licenses';
import {
  findCustomersSince,
  findTriedDownloads,
  listNotRenewed,
  type NotRenewedPlace,
} from '../store/renewals';
import { paidUntil } from '../licensing/core/states';
import {
  isCursorId,
  isCursorTime,
  isAscii,
  readCursor,
  toPage,
  type Page,
  type PageRequest,
} from '../licensing/cursors';
import { OperatorError } from '../licensing/operator-error';
import { matchingPlans } from '../licensing/license-filter';
import { nextMonth, type RenewalsQuery } from './renewals';

/** A licence that expired and was not renewed, with the facts for a seller who writes to the customer. */
export interface LapsedLicense {
  license: License;
  /** its paid-through date */
  endedAt: Date;
  /** the start of the customer's first licence of any kind; null: it has no customer */
  customerSince: Date | null;
  /** whether another licence of the customer works */
  hasActive: boolean;
  /** the latest granted download in the access log */
  lastDownloadAt: Date | null;
  /** downloads refused since the end, in the access log */
  refused: number;
  /** the latest refused request since the end, for any reason; null: none */
  refusedAt: Date | null;
}

export interface NotRenewedQuery extends RenewalsQuery {
  /** the month of the paid-through date, such as `2026-11` */
  month?: string | undefined;
}

/**
 * Lists licences that were not renewed: first those refused since their end, latest first, because they still want
 * updates, then the others, latest end first. Suspended, revoked and cancelled licences are not listed.
 * @throws OperatorError for an invalid month, and if the product or plan does not exist
 */
export async function listLapsed(
  db: Db,
  { month, ...query }: NotRenewedQuery,
  { limit, after }: PageRequest,
  now: Date,
): Promise<Page<LapsedLicense>> {
  const within = month === undefined ? undefined : monthOf(month);
  const filter = { planIds: await matchingPlans(db, query), within };
  const rows = await listNotRenewed(db, filter, { after: placeOf(after), limit: limit + 1 }, now);
  const { items, next } = toPage(rows, limit, ({ place }) =>
    'refusedAt' in place
      ? ['refused', place.refusedAt, 0, place.id, place.since]
      : ['quiet', place.expiresAt, place.renewsItself, place.id, place.since],
  );
  const refusedAt = new Map(items.map((one) => [one.id, one.refusedAt]));
  const licenses = await readLicenses(
    db,
    items.map(({ id }) => id),
  );
  const customers = [...new Set(licenses.flatMap(({ customer }) => customer ?? []))];
  const since = await findCustomersSince(db, customers, now);
  const tried = await findTriedDownloads(
    db,
    licenses.map(({ id, expiresAt }) => ({ id, expiresAt: expiresAt as Date })),
    'LICENSE_EXPIRED',
  );
  return {
    items: licenses.map((license): LapsedLicense => {
      const known = license.customer === null ? undefined : since.get(license.customer);
      return {
        license,
        endedAt: paidUntil(license) as Date,
        customerSince: known?.since ?? null,
        hasActive: known?.hasActive ?? false,
        lastDownloadAt: tried.get(license.id)?.lastAt ?? null,
        refused: tried.get(license.id)?.refused ?? 0,
        refusedAt: refusedAt.get(license.id) ?? null,
      };
    }),
    next,
  };
}

function monthOf(month: string): { from: Date; until: Date } {
  const from = new Date(`${month}-01T00:00:00Z`);
  // Databases store no time after the year 9999.
  if (!/^[1-9]\d{3}-\d\d$/.test(month) || Number.isNaN(from.getTime()) || month === '9999-12')
    throw new OperatorError('It must be a month such as 2026-11.', {
      code: 'INVALID_REQUEST',
      field: 'month',
    });
  return { from, until: nextMonth(month) };
}

function placeOf(after: string | undefined): NotRenewedPlace | undefined {
  const cursor = readCursor<[string, string, number, number, string]>(after, [
    isAscii,
    isCursorTime,
    isCursorId,
    isCursorId,
    isCursorTime,
  ]);
  if (cursor === undefined) return undefined;
  const [part, at, renewsItself, id, since] = cursor;
  return part === 'refused' ? { since, refusedAt: at, id } : { since, expiresAt: at, renewsItself, id };
}
