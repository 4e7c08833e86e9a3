import { DAY_MS, formatTimestamp } from '../base/days';
import type { Db } from '../store/engine/database';
import { findLicensesByIds, type License } from '../store/licenses/licenses';
import { findSecurityRelease, type Release } from '../store/releases';
import {
  countReportedVersions,
  listSitesWithVersion,
  listReportedSites,
  findReportedVersion,
  type ReportedSite,
} from '../store/reported-sites';
import {
  isAscii,
  isCursorId,
  isCursorTime,
  readCursor,
  toPage,
  type Page,
  type PageRequest,
} from './cursors';
import { lookUp } from './core/lookup';
import { isRefusal, judgeDownload, judgeRelease, needsBranches, type RefusalCode } from './core/verdict';
import { columnOf, readSort } from './sorting';
import { findOffered, readBranches } from './updates';
import { compareVersions } from './versions';

/** The versions of a product that customers' sites run, as they report with their downloads (docs/told-sites.md). */
export interface ProductSites {
  /** the version that sites are offered: during a rollout the previous one; null: none */
  newest: string | null;
  /** the part of the counted sites that reported it or a later one; null: no site is counted */
  share: number | null;
  /** the days from its publication until half of the counted sites had it; null: fewer have it */
  halfDays: number | null;
  /** the sites with a report in 180 days */
  counted: number;
  /** the most frequent first, at most MAX_VERSIONS, because sites may report anything */
  versions: { version: string; sites: number }[];
  /** sites with an older version, by their latest report; or sites with the requested version */
  behind: Page<OutdatedSite>;
}

export interface OutdatedSite extends ReportedSite {
  license: License;
  /** the reason why it cannot have the newest version now; null: it can */
  code: RefusalCode | null;
}

export { countReportedVersions };

type VersionCounts = Awaited<ReturnType<typeof countReportedVersions>>;

const MAX_VERSIONS = 100;
/** The maximum number of up-to-date versions that a list excludes: databases accept this many values in a statement. */
const MAX_LEFT_OUT = 1_000;

/** The orders of the sites that are behind. */
export const OUTDATED_SITE_SORTS = ['at', '-at'] as const;

/**
 * @param productId the id of an existing product
 * @param page.version only sites that reported it, latest report first; undefined: sites that are behind
 * @param page.sort one of OUTDATED_SITE_SORTS; undefined: latest report first
 * @param page.counts the product's `countReportedVersions`; undefined: they are counted
 */
export async function readProductSites(
  db: Db,
  productId: number,
  {
    version: wanted,
    sort,
    counts,
    ...page
  }: PageRequest & {
    version?: string | undefined;
    sort?: string | undefined;
    counts?: VersionCounts | undefined;
  },
  now: Date,
): Promise<ProductSites> {
  const { isDown } = columnOf(readSort(OUTDATED_SITE_SORTS, sort) ?? '-at');
  const newest = await findOffered(db, productId);
  const versions = (counts ?? (await countReportedVersions(db, productId)))
    .map(({ version, count }) => ({ version, sites: count }))
    .sort((a, b) => b.sites - a.sites || compareVersions(b.version, a.version));
  const upToDate = versions.filter(
    ({ version }) => newest !== undefined && compareVersions(version, newest.version) >= 0,
  );
  const counted = versions.reduce((sum, { sites }) => sum + sites, 0);
  const updated = upToDate.reduce((sum, { sites }) => sum + sites, 0);
  const without = upToDate.slice(0, MAX_LEFT_OUT).map(({ version }) => version);
  return {
    newest: newest?.version ?? null,
    share: counted === 0 || newest === undefined ? null : updated / counted,
    halfDays:
      newest?.publishedAt && 2 * updated >= counted && counted > 0
        ? daysUntil(
            newest.publishedAt,
            await findReportedVersion(db, productId, without, Math.ceil(counted / 2)),
          )
        : null,
    counted,
    versions: versions.slice(0, MAX_VERSIONS),
    behind: await listBehind(db, { productId, without, newest, wanted, isDown }, page, now),
  };
}

/** A product's newest security release, and the sites that reported their version. */
export interface SecurityAdoption {
  release: Release;
  counted: number;
  /** the sites with an older version */
  behind: number;
}

/** @returns undefined without a security release, or if a later version is offered and no site reported an older one */
export async function readSecurityAdoption(db: Db, productId: number): Promise<SecurityAdoption | undefined> {
  const release = await findSecurityRelease(db, productId);
  if (release === undefined) return undefined;
  const versions = await countReportedVersions(db, productId);
  const sum = (some: typeof versions) => some.reduce((all, { count }) => all + count, 0);
  const behind = sum(versions.filter(({ version }) => compareVersions(version, release.version) < 0));
  const offered = await findOffered(db, productId, release.rollout);
  if (behind === 0 && offered?.id !== release.id) return undefined;
  return { release, counted: sum(versions), behind };
}

/** Returns days in tenths. A site may report a version before its publication if it was installed for a trial. */
function daysUntil(from: Date, until: Date | undefined): number | null {
  if (until === undefined) return null;
  return Math.max(0, Math.round((10 * (until.getTime() - from.getTime())) / DAY_MS) / 10);
}

async function listBehind(
  db: Db,
  {
    productId,
    without,
    newest,
    wanted,
    isDown,
  }: {
    productId: number;
    without: string[];
    newest: Release | undefined;
    wanted: string | undefined;
    isDown: boolean;
  },
  { limit, after }: PageRequest,
  now: Date,
): Promise<Page<OutdatedSite>> {
  const place = readCursor<[string, number, string]>(after, [isCursorTime, isCursorId, isAscii]);
  const part = {
    after: place && { at: place[0], licenseId: place[1], site: place[2] },
    limit: limit + 1,
  };
  const sites =
    wanted === undefined
      ? await listReportedSites(db, productId, { ...part, without, isDown })
      : // A column of ASCII cannot be compared with other text.
        isAscii(wanted)
        ? await listSitesWithVersion(db, productId, { ...part, version: wanted })
        : [];
  const { items, next } = toPage(sites, limit, ({ at, firstAt, licenseId, site }) => [
    formatTimestamp(wanted === undefined ? at : firstAt)
      .replace('T', ' ')
      .replace('Z', ''),
    licenseId,
    site,
  ]);
  const ids = [...new Set(items.map(({ licenseId }) => licenseId))];
  const licenses = new Map((await findLicensesByIds(db, ids)).map((one) => [one.id, one]));
  const codes = await refusalsOf(db, [...licenses.values()], productId, newest, now);
  return {
    items: items.flatMap((site) => {
      const license = licenses.get(site.licenseId);
      return license === undefined ? [] : [{ ...site, license, code: codes.get(license.id) ?? null }];
    }),
    next,
  };
}

/** Finds why licences cannot have the newest version of a product, by licence id. Other licences are left out. */
async function refusalsOf(
  db: Db,
  licenses: License[],
  productId: number,
  newest: Release | undefined,
  now: Date,
): Promise<Map<number, RefusalCode>> {
  if (licenses.length === 0) return new Map();
  const found = await lookUp(
    db,
    licenses.map(({ keyDigest }) => ({ keyDigest, productId })),
  );
  const codes = new Map<number, RefusalCode>();
  const needs = licenses.some((license) => needsBranches(license, now));
  const branches = needs ? await readBranches(db, productId) : undefined;
  for (const [i, { id }] of licenses.entries()) {
    const match = found[i];
    const refusal = judgeDownload(match, { identifierGiven: false }, now);
    const verdict =
      refusal ?? judgeRelease((match as NonNullable<typeof match>).license, newest, now, branches);
    if (isRefusal(verdict)) codes.set(id, verdict.refused);
  }
  return codes;
}
