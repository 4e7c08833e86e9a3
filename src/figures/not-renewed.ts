import type { Db } from '../store/engine/database';
import { readLicenses, type License } from '../store/licenses/licenses';
import {
  findCustomersSince,
  findTriedDownloads,
  listNotRenewed,
  type NotRenewedPlace,
} from '../store/renewals';
import { paidEnd } from '../licensing/core/states';
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
import { plansOf } from '../licensing/license-filter';
import { nextMonth, type RenewalsQuery } from './renewals';

/** A licence that stopped working at its end and was not renewed, with what a seller who writes to the customer wants to know. */
export interface LapsedLicense {
  license: License;
  /** until when it was paid */
  endedAt: Date;
  /** since when the customer has a licence, whichever; null: it has no customer */
  customerSince: Date | null;
  /** the customer has another licence that works */
  hasActive: boolean;
  /** the latest download that was given, as far as the access log goes back */
  lastDownloadAt: Date | null;
  /** downloads refused since the end, as far as the access log goes back */
  refused: number;
  /** the latest refused request of any kind since the end; null: none */
  refusedAt: Date | null;
}

export interface NotRenewedQuery extends RenewalsQuery {
  /** `2026-11`, in which the paid end fell */
  month?: string | undefined;
}

/**
 * First those that were refused since their end, the latest first: they still want updates. Then the others, the latest
 * end first. A licence that is suspended, revoked or cancelled is not among them.
 * @throws OperatorError for a month that is none, and when there is no such product or plan
 */
export async function listLapsed(
  db: Db,
  { month, ...query }: NotRenewedQuery,
  { limit, after }: PageRequest,
  now: Date,
): Promise<Page<LapsedLicense>> {
  const within = month === undefined ? undefined : monthOf(month);
  const filter = { planIds: await plansOf(db, query), within };
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
        endedAt: paidEnd(license) as Date,
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
  // Databases hold no later time than the year 9999.
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
