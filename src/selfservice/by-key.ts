import { joomlaEntries, readCatalogue } from '../licensing/bundles';
import { decideDownload } from '../licensing/download';
import { canonicalKey, writtenKey } from '../licensing/core/keys';
import type { Licensing } from '../licensing/licensing';
import { lookUp } from '../licensing/core/lookup';
import type { RefusalCode } from '../licensing/core/verdict';
import { createPackageFinder, packagePath } from '../packages/package-files';
import { findPlan } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { findKeyByDigest, findMeantKey } from '../store/licenses/license-keys';
import { findLicense } from '../store/licenses/licenses';
import { listPublishedReleases, type Release } from '../store/releases';
import { inSnapshot } from '../store/engine/transaction';
import { hasKeyEnded, standingOf, upgradeOffer, type LicenseStanding } from './standing';
import { coveredBy, findersAmong, offerProduct, type OfferedProduct } from './versions';

/**
 * What the customer's page shows to whoever has a key (docs/customers.md): no site, no e-mail, no order, no
 * request, since agencies give keys to their clients.
 */
export interface KeyView extends LicenseStanding {
  keyHint: string | null;
  /** when this key stops opening the licence; null: with the licence */
  keyEndsAt: Date | null;
  product: { id: number; name: string };
  plan: string;
  activationType: string;
  /** every product that the licence covers, its own first */
  covers: { id: number; name: string }[];
  /** the update sites that Joomla lists for it */
  entries: { name: string }[];
  /** those of them that have published versions */
  products: OfferedProduct[];
  /** of the licence's own product */
  renewUrl: string | null;
  supportUrl: string | null;
  /** of its plan, where a larger licence would help */
  upgradeUrl: string | null;
}

/** Versions of a product that are shown at first. */
const VERSIONS_SHOWN = 10;

/**
 * @param allOf the product of which all versions are read
 * @returns of a key that has ended, only when; undefined when the licence has no such key
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
    /** that asks (`Client.limitKey`) */
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
      entries: joomlaEntries(catalogue, found.license.product.id),
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
  const finders = findersAmong(releases, packagesDir);
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
  const standing = standingOf(found, now);
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

/** Without those that nothing was published for: no site has them. Where nothing is published at all, they are named all the same. */
function offeredOf(entries: { id: number; name: string }[], products: OfferedProduct[]): { name: string }[] {
  const offered = entries.filter(({ id }) =>
    products.some((one) => one.id === id && one.versions.length > 0),
  );
  return offered.length > 0 ? offered : entries;
}

type TypedKey =
  | { licenseId: number; keyDigest: string }
  /** `length`: the characters of the key as it was read. Which licence it comes near is never told */
  | { unknown: true; length: number };

/** The licence that a typed key opens; an ended key is unknown, as it is to clients. */
export async function findByTypedKey(db: Db, text: string, now: Date): Promise<TypedKey> {
  const key = canonicalKey(text);
  const meant = key === '' ? undefined : await findMeantKey(db, writtenKey(key));
  const [found] = meant ? await lookUp(db, [{ keyDigest: meant.keyDigest }]) : [];
  return meant === undefined || found === undefined || hasKeyEnded(found, now)
    ? { unknown: true, length: Array.from(key).length }
    : { licenseId: found.license.id, keyDigest: meant.keyDigest };
}

/** The address to which a licence's customer gets a link; empty: there is none. Whoever has the key is not told. */
export async function findKeysAddress(db: Db, licenseId: number): Promise<string> {
  return (await findLicense(db, licenseId))?.customer ?? '';
}

/** Who asks for a download on the customer's page. */
export type Opener =
  | { by: 'key'; licenseId: number; keyDigest: string }
  | { by: 'mail'; email: string; licenseId: number };

/** As in the access log. */
export interface Client {
  ip: string;
  /** the network that limits count as one client */
  limitKey: string;
  userAgent: string;
}

interface MyDownload {
  release: Release;
  /** the package's file */
  path: string;
  /** Logs the download once it is decided whether the package is sent. */
  record: (sent: boolean) => void;
}

/**
 * Decides a version's download and logs it, as for the customers' API.
 *
 * @returns undefined when the licence is not the opener's; a refusal is logged already
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
