import { withAdvice } from '../licensing/changelog';
import { listFollowers } from '../licensing/activations';
import { readCatalogue } from '../licensing/bundles';
import { isCursorId, readCursor, toPage, type Page, type PageRequest } from '../licensing/cursors';
import { normalizedForms } from '../licensing/core/identifiers';
import { lookUp, type LicenseMatch } from '../licensing/core/lookup';
import { decideDownload, type DownloadFinders } from '../licensing/download';
import { isSealedWith } from '../licensing/sealing';
import {
  listNewestActivations,
  searchActivations,
  type SiteOrder,
  type SiteSearch,
  type StoredActivation,
} from '../store/licenses/activations';
import { listPlans } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import { countSlotsByKeys, listOpenKeys, type LicenseKey } from '../store/licenses/license-keys';
import { findCustomerLicenseIds, findCustomerLicenses } from '../store/licenses/customer-licenses';
import { findLicense, readLicenses, type License } from '../store/licenses/licenses';
import { listPublishedReleases } from '../store/releases';
import { inSnapshot } from '../store/engine/transaction';
import type { Attention, Removals } from '../texts/customers/standing';
import { findRemovals, removalQuotaOf } from './removals';
import { endsSoon, isFine, licenseStandingOf, upgradeOffer, SOON_MS, type LicenseStanding } from './standing';
import { coveredBy, findersAmong } from './versions';

/** A licence as its customer sees it after opening a link in a mail to the licence's address (docs/customers.md). */
export interface MyLicense extends LicenseStanding {
  id: number;
  product: { id: number; name: string };
  plan: string;
  activationType: string;
  reference: string | null;
  attention: Attention | null;
  /** the keys that have not ended, the main key first */
  keys: MyKey[];
  sites: { newest: MySite[]; total: number };
  removals: Removals;
  /** the versions that can be downloaded now, of all covered products, its own first */
  downloads: MyDownload[];
  renewUrl: string | null;
  supportUrl: string | null;
  /** the last months with security updates of the covered products that state one */
  supported: { product: string; until: string }[];
  /** the upgrade address of its plan, if a larger licence would help */
  upgradeUrl: string | null;
}

export interface MyDownload {
  productId: number;
  product: string;
  version: string;
  security: boolean;
  /** the names of the holes that it closes, and the advice, as lines of a changelog */
  advice?: string | undefined;
}

export interface MyKey {
  id: number;
  keyHint: string | null;
  label: string | null;
  isMain: boolean;
  /** null for the licence's limit */
  limit: number | null;
  used: number;
  /** null if it ends with the licence */
  endsAt: Date | null;
  canBeShown: boolean;
  /** whether a new key can replace it; false if it was already replaced */
  canBeReplaced: boolean;
}

export interface MySite {
  id: number;
  identifier: string;
  /** the type of the licence's plan */
  activationType: string;
  name: string | null;
  activatedAt: Date;
  /** true if it takes no slot */
  free: boolean;
  /** the time until which it cannot be removed, because of an offline file; null without one */
  heldUntil: Date | null;
}

/** The maximum number of a customer's licences that the pages read. */
const MAX_LICENSES = 1_000;
const NEWEST_SITES = 5;
/** The maximum number of sites that a search returns. */
const MAX_FOUND = 50;

export interface MyLicenses {
  /** the licences on this page */
  licenses: MyLicense[];
  /** the counts of the whole list */
  total: { licenses: number; sites: number; attention: number };
  /** the start of the next page; null on the last page */
  next: number | null;
  /** whether the address has more licences than the list */
  more: boolean;
}

/**
 * Returns a page of the licences of an address, sorted by how much they need attention: `limit` licences, beginning at
 * `from`. The number of statements does not depend on the number of licences, keys and sites, and only this page's
 * licences are read.
 * @param email in the form that `findEmail` returns
 */
export async function readByMail(
  db: Db,
  email: string,
  { from, limit }: { from: number; limit: number },
  {
    now,
    packagesDir,
    network,
    keySecret,
  }: { now: Date; packagesDir: string; network: string; keySecret: Buffer | undefined },
): Promise<MyLicenses> {
  const read = await inSnapshot(db, async (trx) => {
    const soon = new Date(now.getTime() + SOON_MS);
    const list = await findCustomerLicenses(trx, email, { from, limit, most: MAX_LICENSES, now, soon });
    const { ids, total, more } = list;
    const licenses = await withStanding(trx, await readLicenses(trx, ids), now);
    const catalogue = await readCatalogue(trx);
    const covered = licenses.map(({ product }) => coveredBy(catalogue, product.id));
    const wanted = licenses.flatMap(({ keyDigest }, i) =>
      (covered[i] ?? []).map(({ id: productId }) => ({ keyDigest, productId })),
    );
    return {
      licenses,
      total,
      next: total.licenses > from + limit ? from + limit : null,
      more,
      covered,
      products: catalogue.size,
      founds: wanted.length === 0 ? [] : await lookUp(trx, wanted),
      releases: await listPublishedReleases(trx, [...new Set(wanted.map(({ productId }) => productId))], {
        changelogs: false,
      }),
      plans: new Map((await listPlans(trx)).map((plan) => [plan.id, plan])),
      keys: await listOpenKeys(trx, ids, now),
      slots: await countSlotsByKeys(trx, ids),
      sites: await listNewestActivations(trx, ids, NEWEST_SITES),
      removed: await findRemovals(trx, ids, now),
    };
  });
  const { founds, keys, slots, sites, plans, removed, total, next, more } = read;
  const finders = findersAmong(db, read.releases, packagesDir);
  const licenses: MyLicense[] = [];
  let first = 0;
  for (const [i, license] of read.licenses.entries()) {
    const covered = read.covered[i] ?? [];
    const ofLicense = founds.slice(first, (first += covered.length)) as LicenseMatch[];
    const { id, plan, product, reference, attention, standing } = license;
    const { newest = [], total = 0 } = sites.get(id) ?? {};
    licenses.push({
      ...standing,
      id,
      product,
      plan: plan.name,
      activationType: plan.activationType,
      reference,
      attention,
      keys: keys
        .filter(({ licenseId }) => licenseId === id)
        .map((key) => toMyKey(key, license, slots.get(id), keySecret))
        .sort((a, b) => Number(b.isMain) - Number(a.isMain)),
      sites: { newest: newest.map((site) => toMySite(site, license)), total },
      removals: removalQuotaOf(plans.get(plan.id)?.selfServiceMoves ?? 0, removed.get(id) ?? []),
      downloads: await findDownloads(ofLicense, covered, finders, { network, now }),
      renewUrl: covered[0]?.renewUrl ?? null,
      supportUrl: covered[0]?.supportUrl ?? null,
      supported: covered.flatMap(({ name, supportUntil: until }) =>
        until === null ? [] : [{ product: name, until }],
      ),
      upgradeUrl: upgradeOffer(plans.get(plan.id), standing, covered.length === read.products),
    });
  }
  return { licenses, total, next, more };
}

type Listed = License & Pick<MyLicense, 'attention'> & { standing: LicenseStanding };

/** Adds the state of each licence, which its main key shows. */
async function withStanding(trx: Transaction, licenses: License[], now: Date): Promise<Listed[]> {
  const wanted = licenses.map(({ keyDigest, product }) => ({ keyDigest, productId: product.id }));
  const founds = wanted.length === 0 ? [] : await lookUp(trx, wanted);
  return licenses.map((license, i) => {
    const standing = licenseStandingOf(founds[i] as LicenseMatch, now);
    return { ...license, standing, attention: attentionTo(standing, now) };
  });
}

async function findDownloads(
  founds: LicenseMatch[],
  covered: { id: number; name: string }[],
  finders: DownloadFinders,
  { network, now }: { network: string; now: Date },
): Promise<MyLicense['downloads']> {
  const decided = await Promise.all(
    covered.map(async ({ id: productId, name: product }, i) => {
      const request = { productId, version: undefined, network, identifierGiven: false };
      const { refusal, release } = await decideDownload(founds[i], finders, request, now);
      if (refusal || !release) return [];
      const { version, security } = release;
      return [{ productId, product, version, security, advice: withAdvice(release, '') || undefined }];
    }),
  );
  return decided.flat();
}

function toMyKey(
  { id, keyHint, keySealed, label, activationLimit, endsAt, replacedBy }: LicenseKey,
  { mainKeyId }: License,
  slots: Map<number | null, number> | undefined,
  secret: Buffer | undefined,
): MyKey {
  const isMain = id === mainKeyId;
  return {
    id,
    keyHint,
    label,
    isMain,
    endsAt,
    limit: activationLimit,
    used: slots?.get(isMain ? null : id) ?? 0,
    canBeShown: keySealed !== null && secret !== undefined && isSealedWith(keySealed, secret),
    canBeReplaced: replacedBy === null,
  };
}

function toMySite(
  { id, identifier, name, activatedAt, free, heldUntil }: StoredActivation,
  { plan: { activationType } }: Pick<License, 'plan'>,
): MySite {
  return { id, identifier, activationType, name, activatedAt, free, heldUntil };
}

function attentionTo({ standing }: LicenseStanding, now: Date): Attention | null {
  if (standing.code === 'EXPIRED') return 'ENDED';
  if (endsSoon(standing, now)) return 'ENDS_SOON';
  return standing.code === 'FULL' && !isFine(standing) ? 'FULL' : null;
}

/** Returns a licence; undefined if it does not belong to the address. */
async function findTheirs(db: Db, email: string, licenseId: number): Promise<License | undefined> {
  const license = await findLicense(db, licenseId);
  return license?.customer === email ? license : undefined;
}

/** Returns a site of a licence of this address, for the confirmation before it is removed. */
export async function readMySite(
  db: Db,
  email: string,
  licenseId: number,
  activationId: number,
  now: Date,
): Promise<{ license: License; site: MySite; removals: Removals; followers: string[] } | undefined> {
  const license = await findTheirs(db, email, licenseId);
  const [site] = license ? await searchActivations(db, [licenseId], { id: activationId, limit: 1 }) : [];
  if (!license || !site) return undefined;
  const allowed = (await listPlans(db)).find(({ id }) => id === license.plan.id)?.selfServiceMoves ?? 0;
  const removed = (await findRemovals(db, [licenseId], now)).get(licenseId) ?? [];
  const followers = await listFollowers(db, site);
  return { license, site: toMySite(site, license), removals: removalQuotaOf(allowed, removed), followers };
}

/** Returns an open key of a licence of this address, for the confirmation before it is replaced. */
export async function readMyKey(
  db: Db,
  email: string,
  licenseId: number,
  keyId: number,
  { now, keySecret }: { now: Date; keySecret: Buffer | undefined },
): Promise<{ license: License; key: MyKey } | undefined> {
  const license = await findTheirs(db, email, licenseId);
  const key = license && (await listOpenKeys(db, [licenseId], now)).find(({ id }) => id === keyId);
  if (!license || !key) return undefined;
  const slots = (await countSlotsByKeys(db, [licenseId])).get(licenseId);
  return { license, key: toMyKey(key, license, slots, keySecret) };
}

export interface MySites extends Page<MySite> {
  product: string;
  plan: string;
}

/**
 * Lists the sites of a licence, newest first. @param page `q` is a part of the site or its label
 * @returns undefined if the licence does not belong to the address
 */
export async function listMySites(
  db: Db,
  email: string,
  licenseId: number,
  { q, after, limit }: PageRequest & { q?: string | undefined },
): Promise<MySites | undefined> {
  const license = await findTheirs(db, email, licenseId);
  if (license === undefined) return undefined;
  const [before] = readCursor<[number]>(after, [isCursorId]) ?? [];
  const rows = await searchActivations(db, [licenseId], {
    ...searchFor(q),
    order: newestBefore(before),
    limit: limit + 1,
  });
  const { items, next } = toPage(rows, limit, ({ id }) => [id]);
  return {
    items: items.map((site) => toMySite(site, license)),
    next,
    product: license.product.name,
    plan: license.plan.name,
  };
}

function newestBefore(id: number | undefined): SiteOrder {
  return { column: 'id', isDown: true, after: id };
}

function searchFor(q: string | undefined): Pick<SiteSearch, 'text' | 'identifiers'> {
  const text = q?.trim();
  if (!text) return {};
  const identifiers = [...new Set(Object.values(normalizedForms(text)))].filter((one) => one !== undefined);
  return { text, identifiers };
}

export interface FoundSite {
  licenseId: number;
  product: string;
  plan: string;
  site: MySite;
}

/** Searches all licences of an address for a site, newest first. */
export async function findMySite(
  db: Db,
  email: string,
  text: string,
): Promise<{ items: FoundSite[]; more: boolean }> {
  const search = searchFor(text);
  if (search.text === undefined) return { items: [], more: false };
  const mine = await findCustomerLicenseIds(db, email, MAX_LICENSES);
  const found = await searchActivations(db, mine, { ...search, limit: MAX_FOUND + 1 });
  const shown = found.slice(0, MAX_FOUND);
  const licenses = await readLicenses(db, [...new Set(shown.map(({ licenseId }) => licenseId))]);
  const byId = new Map(licenses.map((license) => [license.id, license]));
  return {
    items: shown.map((activation) => {
      const license = byId.get(activation.licenseId) as License;
      return {
        licenseId: activation.licenseId,
        product: license.product.name,
        plan: license.plan.name,
        site: toMySite(activation, license),
      };
    }),
    more: found.length > MAX_FOUND,
  };
}

const CSV_PAGE = 500;

/** Yields all sites of a licence for a CSV file, newest first. @returns undefined if it does not belong to the address */
export async function mySiteRows(
  db: Db,
  email: string,
  licenseId: number,
): Promise<AsyncGenerator<MySite> | undefined> {
  const license = await findTheirs(db, email, licenseId);
  return license && siteRows(db, license);
}

async function* siteRows(db: Db, license: License): AsyncGenerator<MySite> {
  for (let before: number | undefined; ;) {
    const rows = await searchActivations(db, [license.id], {
      order: newestBefore(before),
      limit: CSV_PAGE,
    });
    yield* rows.map((site) => toMySite(site, license));
    if (rows.length < CSV_PAGE) return;
    before = rows.at(-1)?.id;
  }
}
