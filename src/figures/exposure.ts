import { DAY_MS, formatTimestamp, formatTimestampOrNull, HOUR_MS } from '../base/days';
import { plansCovering } from '../licensing/bundles';
import type { Branches } from '../licensing/core/branches';
import { liveStatus } from '../licensing/core/states';
import { coversRelease } from '../licensing/core/verdict';
import { findEmail } from '../licensing/customer-email';
import { OperatorError } from '../licensing/operator-error';
import { lacksFix, withSameFix } from '../licensing/same-fix';
import { daysBefore, REPORTED_SITE_DAYS } from '../licensing/spreading';
import { readBranches } from '../licensing/updates';
import { compareVersions, isVersion } from '../licensing/versions';
import { findProduct, type Plan } from '../store/catalogue';
import { customerDigest } from '../store/customer-digest';
import type { Db } from '../store/engine/database';
import {
  askForExposure,
  countSitesOfPlan,
  deleteExposure,
  findExposure,
  hasMoreLicenses,
  listExposedLicenses,
  listExposures,
  setExposure,
  type ExposedLicense,
  type ExposurePlace,
  type ReportedSites,
} from '../store/exposures';
import { findRelease, listFixLinks, type Release } from '../store/releases';
import { findNoticeMails, sumNoticeMails } from '../store/security-notices';

/**
 * The exposure of a product to a hole: the licences whose customers run a version without the fix, as far as their sites
 * or their last download show it (docs/security-updates.md).
 */

/** The maximum number of fixed versions in a request: one for each branch that a seller maintains. */
export const MAX_FIXED_VERSIONS = 20;
/** The number of licences in one query: some 20 ms, and a few MB. */
const PORTION = 2_000;
/** Figures of more licences than this take too long to count for each request. A job counts them. */
const MAX_COUNTED_AT_ONCE = 5_000;
/** The age at which the job counts figures again. A million licences took 77 s on a busy machine. */
const FRESH_MS = HOUR_MS;
/** The time after the last request for which figures are kept, and for how many lists of versions. */
const KEPT_MS = 7 * DAY_MS;
const MAX_KEPT = 20;
/** The number of versions that are counted separately, because sites may report anything. */
const MAX_VERSIONS = 1_000;
/** The name under which the others are counted. */
const OTHER_VERSIONS = 'other';

/** Returns the versions in ascending order. @throws OperatorError if there are none, or one is not a version */
export function readFixedVersions(texts: string[]): string[] {
  const versions = [...new Set(texts.map((text) => text.trim()))];
  if (versions.length === 0 || versions.length > MAX_FIXED_VERSIONS || !versions.every(isVersion))
    throw new OperatorError(`Give 1 to ${MAX_FIXED_VERSIONS} versions such as 2.4.2.`, {
      code: 'INVALID_REQUEST',
      field: 'fixed_in',
    });
  return versions.sort(compareVersions);
}

/** Lists the fixed versions of a security release: its own, and those of published releases with the same fix. */
export async function listFixedVersions(db: Db, { id, productId, version }: Release): Promise<string[]> {
  const linked = withSameFix(await listFixLinks(db, productId), id);
  const others = linked.filter(({ state, security }) => state === 'published' && security);
  return readFixedVersions([version, ...others.map((one) => one.version)].slice(0, MAX_FIXED_VERSIONS));
}

/** A product and its fixed versions, in ascending order. */
export interface ExposureQuery {
  productId: number;
  fixedIn: string[];
}

/** The rules by which licences are judged. */
interface ExposureTerms extends ExposureQuery {
  plans: Plan[];
  branches: Branches;
  /** the fixed releases that a licence may be entitled to */
  releases: Pick<Release, 'version' | 'publishedAt' | 'security'>[];
  /** the security releases whose mails notified customers, with those that have the same fix */
  noticeIds: number[];
  now: Date;
}

async function readTerms(db: Db, { productId, fixedIn }: ExposureQuery, now: Date): Promise<ExposureTerms> {
  const releases: ExposureTerms['releases'] = [];
  for (const version of fixedIn) {
    const found = await findRelease(db, productId, version);
    // The first report to the authorities is due before the fix. Judge licences as if it were published now.
    if (found === undefined || found.state === 'draft')
      releases.push({ version, publishedAt: now, security: true });
    else if (found.state === 'published') releases.push(found);
  }
  const [plans, branches] = [await plansCovering(db, productId), await readBranches(db, productId)];
  const links = await listFixLinks(db, productId);
  const own = links.filter(({ version, security }) => security && fixedIn.includes(version));
  const noticeIds = [...new Set(own.flatMap(({ id }) => withSameFix(links, id).map((one) => one.id)))];
  return { productId, fixedIn, plans, branches, releases, noticeIds, now };
}

/** A licence, and the version that its customer runs. */
export interface LicenseExposure {
  id: number;
  customer: string | null;
  state: 'active' | 'expired';
  /** whether it may have one of the fixed versions */
  covered: boolean;
  /** the affected versions of its sites */
  sites: ReportedSites[];
  /** the version that makes it count; null if it is not known to be affected */
  found: { basis: 'site' | 'download'; version: string; at: Date } | { basis: 'unknown' } | null;
}

/** Yields the active and expired licences of a product, a portion at a time. */
async function* readLicenses(db: Db, terms: ExposureTerms): AsyncGenerator<LicenseExposure[]> {
  const { productId, plans, branches, fixedIn, now } = terms;
  const isAffected = affectedBy(fixedIn, branches.rule);
  const since = daysBefore(now, REPORTED_SITE_DAYS);
  for (const plan of plans)
    for (let place: ExposurePlace | undefined = { planId: plan.id, licenseId: 0 }; place !== undefined;) {
      const licenses = await listExposedLicenses(db, productId, place, PORTION);
      const last = licenses.at(-1);
      if (last === undefined) break;
      const reported = new Map<number, ReportedSites[]>();
      for (const one of await countSitesOfPlan(db, productId, place, last.id, since)) {
        const own = reported.get(one.licenseId);
        if (own === undefined) reported.set(one.licenseId, [one]);
        else own.push(one);
      }
      yield licenses.map((license) =>
        judge(license, plan, reported.get(license.id) ?? [], terms, isAffected),
      );
      place = licenses.length < PORTION ? undefined : { planId: plan.id, licenseId: last.id };
    }
}

/** Returns the rule for affected versions, which remembers its answers: most licences have one of a few versions. */
function affectedBy(fixedIn: string[], rule: Branches['rule']): (version: string) => boolean {
  const known = new Map<string, boolean>();
  return (version) => {
    const isAffected = known.get(version) ?? lacksFix(version, fixedIn, rule);
    if (known.size < MAX_VERSIONS) known.set(version, isAffected);
    return isAffected;
  };
}

function judge(
  license: ExposedLicense,
  plan: Plan,
  reported: ReportedSites[],
  { releases, branches, now }: ExposureTerms,
  isAffected: (version: string) => boolean,
): LicenseExposure {
  const { id, customer, version, at } = license;
  const sites = reported.filter((one) => isAffected(one.version));
  const [first, ...others] = sites;
  const lowest =
    first && others.reduce((low, one) => (compareVersions(one.version, low.version) < 0 ? one : low), first);
  const terms = { ...license, plan };
  return {
    id,
    customer,
    state: liveStatus(license, now) === 'active' ? 'active' : 'expired',
    covered: releases.some((release) => coversRelease(terms, release, now, branches)),
    sites,
    found:
      lowest !== undefined
        ? { basis: 'site', version: lowest.version, at: lowest.at }
        : reported.length > 0
          ? null
          : version === null || at === null
            ? { basis: 'unknown' }
            : isAffected(version)
              ? { basis: 'download', version, at }
              : null,
  };
}

/** The figures of an exposure. Licences are active or expired; others do not count. */
export interface ExposureFigures {
  /** sites with an affected version, by version */
  sites: Record<string, number>;
  /** licences that reported no site and whose last download is affected, by version */
  downloads: Record<string, number>;
  /** licences without a reported site and without a download */
  unknown: number;
  active: number;
  expiredCovered: number;
  expiredNotCovered: number;
  customers: number;
  /** customers who cannot be notified; a licence without a customer counts as one */
  customersWithoutAddress: number;
  /** customers whose mail about the fixed releases was sent */
  notified: number;
  notifiedFirstAt: string | null;
  notifiedLastAt: string | null;
  failed: number;
  computedAt: Date;
}

/** @returns undefined if `goesOn` stopped the count */
async function countExposure(
  db: Db,
  query: ExposureQuery,
  now: Date,
  goesOn: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<ExposureFigures | undefined> {
  const counts = { unknown: 0, active: 0, expiredCovered: 0, expiredNotCovered: 0 };
  const [sites, downloads] = [new Map<string, number>(), new Map<string, number>()];
  const customers = new Set<number>();
  const unreachable = new Set<number>();
  let nameless = 0;
  const terms = await readTerms(db, query, now);
  for await (const licenses of readLicenses(db, terms)) {
    for (const { customer, state, covered, sites: affected, found } of licenses) {
      counts[state === 'active' ? state : covered ? 'expiredCovered' : 'expiredNotCovered']++;
      for (const one of affected) add(sites, one.version, one.sites);
      if (found?.basis === 'unknown') counts.unknown++;
      if (found?.basis === 'download') add(downloads, found.version, 1);
      if (customer === null) nameless++;
      else {
        // 48 bits of the digest: a million customers take 40 MB, and two of them are rarely taken for one.
        const name = parseInt(customerDigest(customer).slice(0, 12), 16);
        customers.add(name);
        if (findEmail(customer) === undefined) unreachable.add(name);
      }
    }
    if (!(await goesOn())) return undefined;
  }
  return {
    sites: byVersion(sites),
    downloads: byVersion(downloads),
    ...counts,
    customers: customers.size,
    customersWithoutAddress: nameless + unreachable.size,
    ...(await readMailed(db, terms.noticeIds)),
    computedAt: now,
  };
}

async function readMailed(db: Db, noticeIds: number[]) {
  if (noticeIds.length === 0) return { notified: 0, notifiedFirstAt: null, notifiedLastAt: null, failed: 0 };
  const { sent, failed, firstAt, lastAt } = await sumNoticeMails(db, noticeIds);
  const [notifiedFirstAt, notifiedLastAt] = [formatTimestampOrNull(firstAt), formatTimestampOrNull(lastAt)];
  return { notified: sent, notifiedFirstAt, notifiedLastAt, failed };
}

function add(counts: Map<string, number>, version: string, count: number): void {
  const name = counts.has(version) || counts.size < MAX_VERSIONS ? version : OTHER_VERSIONS;
  counts.set(name, (counts.get(name) ?? 0) + count);
}

/** Returns the counts, lowest version first. */
function byVersion(counts: Map<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].sort(([a], [b]) => compareVersions(a, b)));
}

/**
 * Reads the figures. Up to MAX_COUNTED_AT_ONCE licences are counted now. The figures of more licences are stored, and the
 * job counts them again each hour while they are asked for.
 * @param waits true to count figures that are not stored yet, however long it takes
 * @returns undefined if the job has not counted them yet
 */
export async function readExposure(
  db: Db,
  query: ExposureQuery,
  { now, waits, gone }: { now: Date; waits: boolean; gone?: AbortSignal },
): Promise<ExposureFigures | undefined> {
  const { productId, fixedIn } = query;
  const plans = (await plansCovering(db, productId)).map(({ id }) => id);
  const goesOn = () => Promise.resolve(gone?.aborted !== true);
  if (!(await hasMoreLicenses(db, plans, MAX_COUNTED_AT_ONCE))) return countExposure(db, query, now, goesOn);
  const name = fixedIn.join(' ');
  const stored = await findExposure(db, productId, name);
  if (stored === undefined || now.getTime() - stored.askedAt.getTime() > HOUR_MS)
    await askForExposure(db, productId, name, now);
  if (stored && stored.figuresJson !== null && stored.computedAt !== null)
    return { ...(JSON.parse(stored.figuresJson) as ExposureFigures), computedAt: stored.computedAt };
  return waits ? countAndStore(db, query, now, goesOn) : undefined;
}

async function countAndStore(
  db: Db,
  query: ExposureQuery,
  now: Date,
  goesOn: () => Promise<boolean>,
): Promise<ExposureFigures | undefined> {
  const figures = await countExposure(db, query, now, goesOn);
  if (figures !== undefined)
    await setExposure(db, {
      productId: query.productId,
      fixedIn: query.fixedIn.join(' '),
      figuresJson: JSON.stringify(figures),
      computedAt: now,
    });
  return figures;
}

/** Counts the stored figures that are missing or old, and forgets those that no one asks for. */
export async function refreshExposures(
  db: Db,
  now: () => Date,
  goesOn: () => Promise<boolean>,
): Promise<void> {
  const ago = (at: Date) => now().getTime() - at.getTime();
  for (const [i, stored] of (await listExposures(db)).entries()) {
    const { productId, fixedIn, computedAt, askedAt } = stored;
    if (i >= MAX_KEPT || ago(askedAt) > KEPT_MS || (await findProduct(db, productId)) === undefined)
      await deleteExposure(db, stored);
    else if (computedAt === null || (ago(computedAt) > FRESH_MS && ago(askedAt) < DAY_MS))
      await countAndStore(db, { productId, fixedIn: fixedIn.split(' ') }, now(), goesOn);
    if (!(await goesOn())) return;
  }
}

/** The fields of a licence in the CSV, in their order. */
const FIELDS = 'customer license_id state version basis last_seen covered notified_at'.split(' ');

/** Yields the rows of the CSV: the names of the fields, and the licences that are affected or unknown. */
export async function* exposureRows(
  db: Db,
  query: ExposureQuery,
  now: Date,
): AsyncGenerator<(string | number | boolean | null)[]> {
  yield FIELDS;
  const terms = await readTerms(db, query, now);
  for await (const licenses of readLicenses(db, terms)) {
    const listed = licenses.flatMap(({ found, ...license }) =>
      found === null ? [] : [{ ...license, found }],
    );
    const mailed = await findNotified(db, terms.noticeIds, listed);
    for (const { id, customer, state, covered, found } of listed) {
      const [version, seen] =
        found.basis === 'unknown' ? [null, null] : [found.version, formatTimestamp(found.at)];
      yield [customer, id, state, version, found.basis, seen, covered, mailed.get(customer) ?? null];
    }
  }
}

/** Finds the times at which customers were notified, by customer. */
async function findNotified(
  db: Db,
  noticeIds: number[],
  licenses: { customer: string | null }[],
): Promise<Map<string | null, string>> {
  const digests = new Map<string, string>();
  for (const { customer } of noticeIds.length === 0 ? [] : licenses) {
    const address = customer === null ? undefined : findEmail(customer);
    if (customer !== null && address !== undefined) digests.set(customer, customerDigest(address));
  }
  const mails = await findNoticeMails(db, noticeIds, [...new Set(digests.values())]);
  return new Map(
    [...digests].flatMap(([customer, digest]) => {
      const sentAt = mails.get(digest)?.sentAt;
      return sentAt ? [[customer, formatTimestamp(sentAt)] as const] : [];
    }),
  );
}
