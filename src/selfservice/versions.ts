import { includedProducts, type Catalogue, type CatalogueProduct } from '../licensing/bundles';
import type { Branches } from '../licensing/core/branches';
import { decideDownload, type DownloadFinders } from '../licensing/download';
import type { LicenseMatch } from '../licensing/core/lookup';
import { shownChangelog, withAdvice } from '../licensing/changelog';
import type { RefusalCode } from '../licensing/core/verdict';
import { readBranches } from '../licensing/updates';
import { createPackageFinder } from '../packages/package-files';
import type { Db } from '../store/engine/database';
import type { Release } from '../store/releases';

export interface OfferedVersion {
  version: string;
  releasedAt: Date | null;
  /** in bytes */
  size: number;
  changelog: string;
  /** true if it closes a vulnerability */
  security: boolean;
  /** the reason that it may not be downloaded now; null if it may */
  code: RefusalCode | null;
}

export interface OfferedProduct {
  id: number;
  name: string;
  renewUrl: string | null;
  supportUrl: string | null;
  /** the last month with security updates; null: not stated */
  supportUntil: string | null;
  /** the version that a download without a version gets now; null if it is refused */
  latest: string | null;
  /** published versions, highest first, always including `latest` */
  versions: OfferedVersion[];
  /** whether there are more versions */
  more: boolean;
}

/** Lists the products that a licence of a product covers, its own first. */
export function coveredBy(catalogue: Catalogue, productId: number): CatalogueProduct[] {
  const own = catalogue.get(productId);
  return own === undefined ? [] : [own, ...includedProducts(catalogue, productId)];
}

/**
 * Returns finders that decide downloads like the API, from releases that are already read. Only the licences that need
 * the branches of a product read them. @param releases highest first
 */
export function findersAmong(db: Db, releases: Release[], packagesDir: string): DownloadFinders {
  const branches = new Map<number, Promise<Branches>>();
  const of = (productId: number) => releases.filter((one) => one.productId === productId);
  const find = (productId: number, version: string | undefined) =>
    Promise.resolve(of(productId).find((one) => one.version === version));
  return {
    releases: {
      find,
      choose: (productId, among) => find(productId, among(of(productId))?.version),
      branches(productId) {
        const known = branches.get(productId) ?? readBranches(db, productId);
        branches.set(productId, known);
        return known;
      },
    },
    findPackage: createPackageFinder(packagesDir),
  };
}

/** @param found looked up with this product @param options.most the number of versions; by default all */
export async function offerProduct(
  found: LicenseMatch,
  product: CatalogueProduct,
  releases: Release[],
  {
    finders,
    network,
    now,
    most,
  }: { finders: DownloadFinders; network: string; now: Date; most: number | undefined },
): Promise<OfferedProduct> {
  const { id, name, renewUrl, supportUrl, supportUntil } = product;
  const own = releases.filter(({ productId }) => productId === id);
  const decide = (version: string | undefined) =>
    decideDownload(found, finders, { productId: id, version, network, identifierGiven: false }, now);
  const given = await decide(undefined);
  const latest = given.refusal === undefined ? (given.release?.version ?? null) : null;
  const shown = own.filter(({ version }, i) => most === undefined || i < most || version === latest);
  const versions = await Promise.all(
    shown.map(async (release): Promise<OfferedVersion> => {
      const { version, publishedAt, fileSize, security } = release;
      const { refusal } = await decide(version);
      const code = refusal?.refused ?? null;
      const changelog = withAdvice(release, shownChangelog(release));
      return { version, releasedAt: publishedAt, size: fileSize, changelog, security, code };
    }),
  );
  return { id, name, renewUrl, supportUrl, supportUntil, latest, versions, more: shown.length < own.length };
}
