import { updateSites, readCatalogue } from '../licensing/bundles';
import { decideDownload } from '../licensing/download';
import { canonicalKey, keyDigests } from '../licensing/core/keys';
import type { Licensing } from '../licensing/licensing';
import { lookUp } from '../licensing/core/lookup';
import type { RefusalCode } from '../licensing/core/verdict';
import { createPackageFinder, packagePath } from '../packages/package-files';
import { findPlan } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { findKeyByDigest, resolveKey } from '../store/licenses/license-keys';
import { findLicense } from '../store/licenses/licenses';
import { listPublishedReleases, type Release } from '../store/releases';
import { inSnapshot } from '../store/engine/transaction';
import { hasKeyEnded, licenseStandingOf, upgradeOffer, type LicenseStanding } from './standing';
import { coveredBy, findersAmong, offerProduct, type OfferedProduct } from './versions';

/**
 * The page for anyone with a key (docs/customers.md). It shows no site, e-mail address, order or request, because
 * agencies give keys to their clients.
 */
export interface KeyView extends LicenseStanding {
  keyHint: string | null;
  /** the time when this key ends; null if it ends with the licence */
  keyEndsAt: Date | null;
  product: { id: number; name: string };
  plan: string;
  activationType: string;
  /** all products that the licence covers, its own first */
  covers: { id: number; name: string }[];
  /** the update sites that Joomla lists for the licence */
  entries: { name: string }[];
  /** the covered products that have published versions */
  products: OfferedProduct[];
  /** the renewal address of the licence's own product */
  renewUrl: string | null;
  supportUrl: string | null;
  /** the upgrade address of its plan, if a larger licence would help */
  upgradeUrl: string | null;
}

/** The number of versions of a product that are shown at first. */
const VERSIONS_SHOWN = 10;

/**
 * @param allOf a product with all versions in the result
 * @returns only the end of a key that has ended; undefined if the licence has no such key
 */
export async function readByKey(
  db: Db,
  {
    licenseId,
    keyDigest,
    now,
    packagesDir,
    network,
    allOf,
  }: {
    licenseId: number;
    keyDigest: string;
    now: Date;
    packagesDir: string;
    /** the client's network (`Client.limitKey`) */
    network: string;
    allOf?: number | undefined;
  },
): Promise<KeyView | { endedAt: Date } | undefined> {
  const read = await inSnapshot(db, async (trx) => {
    const [found] = await lookUp(trx, [{ keyDigest }]);
    if (found?.license.id !== licenseId) return undefined;
    const catalogue = await readCatalogue(trx);
    const covered = coveredBy(catalogue, found.license.product.id);
    const ids = covered.map(({ id }) => id);
    return {
      found,
      covered,
      coversAll: covered.length === catalogue.size,
      planOf: await findPlan(trx, found.license.plan.id),
      entries: updateSites(catalogue, found.license.product.id),
      key: await findKeyByDigest(trx, keyDigest),
      founds: await lookUp(
        trx,
        ids.map((productId) => ({ keyDigest, productId })),
      ),
      releases: await listPublishedReleases(trx, ids, { changelogs: true }),
    };
  });
  if (read === undefined) return undefined;
  const { found, covered, coversAll, planOf, entries, key, founds, releases } = read;
  if (hasKeyEnded(found, now)) return { endedAt: found.key.endsAt as Date };
  const finders = findersAmong(db, releases, packagesDir);
  const products = await Promise.all(
    covered.map((product, i) =>
      offerProduct(founds[i] ?? found, product, releases, {
        finders,
        network,
        now,
        most: product.id === allOf ? undefined : VERSIONS_SHOWN,
      }),
    ),
  );
  const { product, plan } = found.license;
  const standing = licenseStandingOf(found, now);
  return {
    ...standing,
    keyHint: key?.keyHint ?? null,
    keyEndsAt: found.key.endsAt,
    product,
    plan: plan.name,
    activationType: plan.activationType,
    covers: covered.map(({ id, name }) => ({ id, name })),
    entries: offeredOf(entries, products).map(({ name }) => ({ name })),
    products: products.filter(({ versions }) => versions.length > 0),
    renewUrl: covered[0]?.renewUrl ?? null,
    supportUrl: covered[0]?.supportUrl ?? null,
    upgradeUrl: upgradeOffer(planOf, standing, coversAll),
  };
}

/** Omits products without a published version, because they are on no site. If all would be omitted, all are listed. */
function offeredOf(entries: { id: number; name: string }[], products: OfferedProduct[]): { name: string }[] {
  const offered = entries.filter(({ id }) =>
    products.some((one) => one.id === id && one.versions.length > 0),
  );
  return offered.length > 0 ? offered : entries;
}

type TypedKey =
  | { licenseId: number; keyDigest: string }
  /** `length`: the number of characters of the canonical key. It is never revealed which licence has a similar key. */
  | { unknown: true; length: number };

/** Returns the licence that a typed key opens. An ended key is unknown, as it is to clients. */
export async function findByTypedKey(db: Db, text: string, now: Date): Promise<TypedKey> {
  const key = canonicalKey(text);
  const meant = key === '' ? undefined : await resolveKey(db, keyDigests(key));
  const [found] = meant ? await lookUp(db, [{ keyDigest: meant.keyDigest }]) : [];
  return meant === undefined || found === undefined || hasKeyEnded(found, now)
    ? { unknown: true, length: Array.from(key).length }
    : { licenseId: found.license.id, keyDigest: meant.keyDigest };
}

/** Returns the address to which a licence's customer gets a link, or an empty text. The owner of the key must not see it. */
export async function findKeysAddress(db: Db, licenseId: number): Promise<string> {
  return (await findLicense(db, licenseId))?.customer ?? '';
}

/** The customer who requests a download on the page. */
export type Opener =
  | { by: 'key'; licenseId: number; keyDigest: string }
  | { by: 'mail'; email: string; licenseId: number };

/** The client's data for the access log. */
export interface Client {
  ip: string;
  /** the network that limits count as one client */
  limitKey: string;
  userAgent: string;
}

interface MyDownload {
  release: Release;
  /** the path of the package */
  path: string;
  /** logs the download, once it is known whether the package is sent */
  record: (sent: boolean) => void;
}

/**
 * Decides about a download and logs it, like the customers' API.
 * @returns undefined if the licence does not belong to the customer; a refusal is already logged
 */
export async function openMyDownload(
  { db, lookUp, releases, now, accessLog }: Licensing,
  packagesDir: string,
  opener: Opener,
  { productId, version }: { productId: number; version: string | undefined },
  client: Client,
): Promise<MyDownload | { refused: RefusalCode } | undefined> {
  const at = now();
  const keyDigest = opener.by === 'key' ? opener.keyDigest : await findMainDigest(db, opener);
  if (keyDigest === undefined) return undefined;
  const found = await lookUp({ keyDigest, productId });
  if (found && found.license.id !== opener.licenseId) return undefined;
  const finders = { releases, findPackage: createPackageFinder(packagesDir) };
  const request = { productId, version, network: client.limitKey, identifierGiven: false };
  const { refusal, release, known } = await decideDownload(found, finders, request, at);
  const keyHint = found && (await findKeyByDigest(db, keyDigest))?.keyHint;
  const record = (outcome: RefusalCode | 'ok') =>
    accessLog.record({
      at,
      endpoint: 'download',
      outcome,
      keyHint,
      license: known.license,
      keyId: known.keyId,
      productId,
      version: outcome === 'ok' ? release?.version : version,
      ip: client.ip,
      client: client.limitKey,
      userAgent: client.userAgent,
    });
  if (refusal === undefined && release !== undefined)
    return {
      release,
      path: packagePath(packagesDir, release.sha256),
      record: (sent) => record(sent ? 'ok' : 'FILE_NOT_FOUND'),
    };
  const refused = refusal?.refused ?? 'DOWNLOAD_NOT_FOUND';
  record(refused);
  return { refused };
}

async function findMainDigest(
  db: Db,
  { email, licenseId }: { email: string; licenseId: number },
): Promise<string | undefined> {
  const license = await findLicense(db, licenseId);
  return license?.customer === email ? license.keyDigest : undefined;
}
