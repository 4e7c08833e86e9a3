import { listRequests, type LoggedAccess, type RequestFilter } from '../store/access-log';
import {
  listActivationsAfter,
  searchActivations,
  type StoredActivation,
} from '../store/licenses/activations';
import { listIncludes, listPlans, listProducts, type Plan } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { listLatestEvents, type RecordedEvent } from '../store/events';
import { listKeys, type LicenseKey } from '../store/licenses/license-keys';
import {
  countFewLicenses,
  listLicensePositions,
  listSortedPositions,
  type LicenseSort,
} from '../store/licenses/license-lists';
import type { LicenseFilter } from '../store/licenses/license-filters';
import { countEnding, listLicenseCounts } from '../store/sums';
import { readLicenses, type License } from '../store/licenses/licenses';
import { listReleasesSorted, UNPUBLISHED, type Release } from '../store/releases';
import { toSqlTime } from '../store/engine/time';
import { withIncludes, type CatalogueProduct } from './bundles';
import {
  isAscii,
  isCursorId,
  isCursorText,
  isCursorTime,
  readCursor,
  toPage,
  type Page,
  type PageRequest,
} from './cursors';
import { requireProduct } from './find-or-throw';
import { canonicalAddress } from './ip-addresses';
import { parseKeyHint } from './core/keys';
import { SORTS, toLicenseFilter, type LicenseQuery } from './license-filter';
import { columnOf, readSort, sortRows } from './sorting';

/**
 * Pages of all lists for operators. Each page continues after the last row of the previous one, so that added or
 * deleted rows neither repeat nor hide others. A cursor of another list is refused (`readCursor`).
 */

export type { LicenseQuery, Page, PageRequest };

/** Lists licences by `sort`; by default newest, with `expiring` soonest end first. @throws OperatorError with the field */
export async function listLicensePage(
  db: Db,
  query: LicenseQuery,
  { limit, after }: PageRequest,
  now: Date,
): Promise<Page<License>> {
  const sort = readSort(SORTS, query.sort);
  if (sort !== undefined && sort !== 'id' && sort !== '-id')
    return sortedPage(db, await toLicenseFilter(db, query, now), columnOf(sort), { limit, after }, now);
  const isSoonest = query.expiring !== undefined && sort === undefined;
  const place = isSoonest
    ? readCursor<[number, string]>(after, [isCursorId, isCursorTime])
    : readCursor<[number]>(after, [isCursorId]);
  const positions = await listLicensePositions(
    db,
    await toLicenseFilter(db, query, now),
    {
      order: isSoonest ? 'soonest' : sort === 'id' ? 'oldest' : 'newest',
      after: place && { id: place[0], expiresAt: place[1] ?? null },
      limit: limit + 1,
    },
    now,
  );
  const { items, next } = toPage(positions, limit, ({ id, expiresAt }) =>
    expiresAt === null ? [id] : [id, expiresAt],
  );
  const licenses = await readLicenses(
    db,
    items.map(({ id }) => id),
  );
  return { items: licenses, next };
}

async function sortedPage(
  db: Db,
  filter: LicenseFilter,
  sort: LicenseSort,
  { limit, after }: PageRequest,
  now: Date,
): Promise<Page<License>> {
  const isValue = sort.column === 'expires_at' ? isCursorTime : isCursorText;
  const isPlace = (value: unknown): value is string => value === NO_VALUE || isValue(value);
  const place = readCursor<[number, string]>(after, [isCursorId, isPlace]);
  const positions = await listSortedPositions(
    db,
    filter,
    {
      sort,
      after: place && { id: place[0], value: place[1] === NO_VALUE ? null : place[1] },
      limit: limit + 1,
    },
    now,
  );
  const { items, next } = toPage(positions, limit, ({ id, value }) => [id, value ?? NO_VALUE]);
  return {
    items: await readLicenses(
      db,
      items.map(({ id }) => id),
    ),
    next,
  };
}

/** The value in a cursor for a row without one: no address and no time is empty. */
const NO_VALUE = '';

/**
 * Counts the licences of a list: from stored figures that are at most a minute old, or by reading if they are few.
 * @returns undefined if there are too many to count for a page
 */
export async function countLicenses(db: Db, query: LicenseQuery, now: Date): Promise<number | undefined> {
  const { planIds, status, expiringBefore, ...filter } = await toLicenseFilter(db, query, now);
  if (Object.values(filter).some((part) => part !== undefined))
    return countFewLicenses(db, { planIds, status, expiringBefore, ...filter }, now);
  if (expiringBefore !== undefined) {
    if ((status ?? 'active') !== 'active') return 0;
    return countEnding(db, planIds ?? (await listPlans(db)).map(({ id }) => id), now, expiringBefore);
  }
  return (await listLicenseCounts(db, undefined))
    .filter((one) => status === undefined || one.status === status)
    .filter((one) => planIds?.includes(one.planId) ?? true)
    .reduce((sum, { licenses }) => sum + licenses, 0);
}

/** Lists a licence's history, newest first. */
export async function listEventPage(
  db: Db,
  licenseId: number,
  page: PageRequest,
): Promise<Page<RecordedEvent>> {
  const events = await listLatestEvents(db, licenseId, byTime(page));
  return toPage(events, page.limit, timePlace);
}

export interface RequestQuery extends Omit<RequestFilter, 'keyHint'> {
  /** the end of a key */
  hint?: string | undefined;
}

/** Lists the access log, newest first. */
export async function listRequestPage(
  db: Db,
  { hint, ip, ...others }: RequestQuery,
  page: PageRequest,
): Promise<Page<LoggedAccess>> {
  const filter: RequestFilter = {
    ...others,
    keyHint: hint === undefined ? undefined : (parseKeyHint(hint) ?? hint),
    ip: ip === undefined ? undefined : (canonicalAddress(ip) ?? ip),
  };
  // A column of ASCII cannot be compared with other text.
  if (![filter.outcome, filter.ip].every((text) => text === undefined || isAscii(text)))
    return { items: [], next: null };
  const requests = await listRequests(db, filter, byTime(page));
  return toPage(requests, page.limit, timePlace);
}

function byTime({ after, limit }: PageRequest) {
  const place = readCursor<[string, number]>(after, [isCursorTime, isCursorId]);
  return { after: place && { at: place[0], id: place[1] }, limit: limit + 1 };
}

function timePlace({ at, id }: { at: Date; id: number }): [string, number] {
  return [toSqlTime(at), id];
}

/** Lists activations in the order of identifiers. */
export async function listActivationPage(
  db: Db,
  licenseId: number,
  { after, limit }: PageRequest,
): Promise<Page<StoredActivation>> {
  const [place] = readCursor<[string]>(after, [isCursorText]) ?? [];
  const rows = await listActivationsAfter(db, licenseId, { after: place, limit: limit + 1 });
  return toPage(rows, limit, ({ identifier }) => [identifier]);
}

export const SITE_SORTS = ['id', '-id', 'identifier', '-identifier'] as const;

/**
 * Searches a licence's sites.
 * @param text a part of the identifier or the label; undefined: all sites
 * @param sort one of SITE_SORTS; undefined: newest first
 */
export async function searchSitePage(
  db: Db,
  licenseId: number,
  text: string | undefined,
  { after, limit }: PageRequest,
  sort?: string,
): Promise<Page<StoredActivation>> {
  const { column, isDown } = columnOf(readSort(SITE_SORTS, sort) ?? '-id');
  const place =
    column === 'id' ? readCursor<[number]>(after, [isCursorId]) : readCursor<[string]>(after, [isCursorText]);
  const order = { column, isDown, after: place?.[0] };
  const found = await searchActivations(db, [licenseId], { text, order, limit: limit + 1 });
  return toPage(found, limit, ({ id, identifier }) => [column === 'id' ? id : identifier]);
}

/** Lists keys, oldest first, including ended keys. */
export async function listKeyPage(
  db: Db,
  licenseId: number,
  { after, limit }: PageRequest,
): Promise<Page<LicenseKey>> {
  return byId(await listKeys(db, licenseId, part(after, limit)), limit);
}

/** The orders of products. `licenses` is the number of licences, from stored figures at most a minute old. */
export const PRODUCT_SORTS = ['id', '-id', 'name', '-name', 'licenses', '-licenses'] as const;

/** Counts the licences of each product, from stored figures that are at most a minute old. */
export async function countLicensesByProduct(db: Db): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for (const { productId, licenses } of await listLicenseCounts(db, undefined))
    counts.set(productId, (counts.get(productId) ?? 0) + licenses);
  return counts;
}

/** @param sort one of PRODUCT_SORTS; undefined: by id */
export async function listProductPage(
  db: Db,
  page: PageRequest,
  sort?: string,
): Promise<Page<CatalogueProduct>> {
  const { column, isDown } = columnOf(readSort(PRODUCT_SORTS, sort) ?? 'id');
  const counts = column === 'licenses' ? await countLicensesByProduct(db) : new Map<number, number>();
  const { items, next } = sortRows(
    await listProducts(db),
    ({ id, name }) => (column === 'licenses' ? (counts.get(id) ?? 0) : column === 'name' ? name : id),
    isDown,
    page,
  );
  const inclusions = await listIncludes(db);
  return { items: items.map((product) => withIncludes(product, inclusions)), next };
}

/** Lists plans by id. @param productId undefined: of all products @throws OperatorError if the product does not exist */
export async function listPlanPage(
  db: Db,
  productId: number | undefined,
  { after, limit }: PageRequest,
): Promise<Page<Plan>> {
  if (productId !== undefined) await requireProduct(db, productId);
  return byId(await listPlans(db, productId, part(after, limit)), limit);
}

export const RELEASE_SORTS = ['version', '-version', 'published_at', '-published_at'] as const;

/** @param sort one of RELEASE_SORTS; undefined: highest version first @throws OperatorError if the product does not exist */
export async function listReleasePage(
  db: Db,
  productId: number,
  { after, limit }: PageRequest,
  sort?: string,
): Promise<Page<Release>> {
  await requireProduct(db, productId);
  const { column, isDown } = columnOf(readSort(RELEASE_SORTS, sort) ?? '-version');
  const byTime = column === 'published_at';
  const place = byTime
    ? readCursor<[string, string]>(after, [isAscii, isCursorTime])
    : readCursor<[string]>(after, [isAscii]);
  const rows = await listReleasesSorted(db, productId, {
    byTime,
    isDown,
    limit: limit + 1,
    after: place && { versionOrder: place[0], publishedAt: place[1] },
  });
  return toPage(rows, limit, ({ versionOrder, publishedAt }) =>
    byTime ? [versionOrder, publishedAt === null ? UNPUBLISHED : toSqlTime(publishedAt)] : [versionOrder],
  );
}

function part(after: string | undefined, limit: number): { after: number | undefined; limit: number } {
  const [id] = readCursor<[number]>(after, [isCursorId]) ?? [];
  return { after: id, limit: limit + 1 };
}

function byId<Row extends { id: number }>(rows: Row[], limit: number): Page<Row> {
  return toPage(rows, limit, ({ id }) => [id]);
}
