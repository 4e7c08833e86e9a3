import { createHash } from 'node:crypto';
import { findProduct, type Product } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import {
  findRelease,
  listEverPublished,
  listPublished,
  FULL_ROLLOUT,
  type PublishedVersion,
  type Release,
} from '../store/releases';
import { branchesOf, type Branches } from './core/branches';
import { coversRelease, entitledUntil, needsBranches, type EndTerms } from './core/verdict';
import { createCache } from './core/ttl-map';
import { latestRelease } from './versions';

/**
 * Staged rollout: which version of a product is offered, and to whom. The API, downloads, the update XML, pages and
 * commands use this file. Every list of versions begins with the highest.
 */

/**
 * Returns the bucket of an address, from 0 to 99: a version with a share of 25 percent is for the buckets below 25.
 * nginx makes other buckets for the update XML (nginx/upstream.conf), and the same share of addresses gets the version.
 *
 * @param network as `networkOfClient` returns it, so that a changing IPv6 address stays in its bucket
 */
export function rolloutBucket(network: string, productId: number): number {
  const digest = createHash('sha256').update(`${productId} ${network}`).digest();
  return digest.readUInt32BE() % FULL_ROLLOUT;
}

/** Returns the published versions that all buckets below a share are offered. @param share in percent */
export function reaching<T extends Pick<Release, 'rollout'>>(published: readonly T[], share: number): T[] {
  return published.filter(({ rollout }) => rollout >= share);
}

/**
 * Returns the version that all buckets below a share are offered: at 10, the 10 percent that get new versions first.
 * @param share by default all addresses, or the largest share that is offered any version
 */
export function releaseForShare<T extends Pick<Release, 'version' | 'rollout'>>(
  published: readonly T[],
  share = Math.max(1, ...published.map(({ rollout }) => rollout)),
): T | undefined {
  return latestRelease(reaching(published, share));
}

/** Returns the shares at which the offered version may change, in ascending order; the last one is 100. */
export function sharesOf(published: readonly Pick<Release, 'rollout'>[]): number[] {
  return [...new Set([...published.map(({ rollout }) => rollout), FULL_ROLLOUT])].sort((a, b) => a - b);
}

/**
 * Returns the version that a licence gets by a download without a version. If the licence is entitled to none of them,
 * this is the version that others are offered, which the refusal names.
 *
 * @param license undefined: a licence that is entitled to every version
 * @param product the downloaded product: a bundle's licence covers several; with its branches, if `needsBranches`
 * @param network the network of the requesting address (`networkOfClient`); undefined: decided as for most addresses
 */
export function offeredVersion<T extends PublishedVersion>(
  license: EndTerms | undefined,
  { id, published, branches }: { id: number; published: readonly T[]; branches?: Branches | undefined },
  network: string | undefined,
  now: Date,
): T | undefined {
  // Most products have no rollout, so a digest for each download would be wasted.
  const isStaged = network !== undefined && published.some(({ rollout }) => rollout < FULL_ROLLOUT);
  const share = isStaged ? rolloutBucket(network, id) + 1 : undefined;
  const isEnded = license !== undefined && entitledUntil(license, now) !== undefined;
  const entitled = isEnded
    ? published.filter((release) => coversRelease(license, release, now, branches))
    : [];
  return releaseForShare(entitled, share) ?? releaseForShare(published, share);
}

/** Reads the branches of a product's versions. */
export async function readBranches(db: Db, productId: number): Promise<Branches> {
  const product = await findProduct(db, productId);
  return branchesOf(product?.securityBranch ?? 'minor', await listEverPublished(db, productId));
}

/** Reads the branches of a product, if a licence covers security releases after its end. */
export function branchesFor(
  license: EndTerms,
  read: () => Promise<Branches>,
  now: Date,
): Promise<Branches> | undefined {
  return needsBranches(license, now) ? read() : undefined;
}

/** Returns the versions that only some addresses are offered, by the API and downloads. */
export function rolloutsOf<T extends Pick<Release, 'version' | 'rollout'>>(published: readonly T[]): T[] {
  return published.filter(
    (one) => one.rollout < FULL_ROLLOUT && releaseForShare(published, one.rollout) === one,
  );
}

/** Reads the release that is chosen from a product's published versions. */
export async function readChosen<T extends { version: string }>(
  list: () => Promise<T[]>,
  choose: (published: T[]) => T | undefined,
  find: (version: string) => Promise<Release | undefined>,
): Promise<Release | undefined> {
  for (let missing: string | undefined; ;) {
    const version = choose(await list())?.version;
    // A version that is listed again, but still not found, has a row that another program changed.
    if (version === undefined || version === missing) return undefined;
    const release = await find(version);
    if (release?.state === 'published') return release;
    // It was withdrawn between the two statements, so choose again.
    missing = version;
  }
}

/** Reads the version that addresses are offered (`releaseForShare`). */
export function findOffered(db: Db, productId: number, share?: number): Promise<Release | undefined> {
  return readChosen(
    () => listPublished(db, productId),
    (published) => releaseForShare(published, share),
    (version) => findRelease(db, productId, version),
  );
}

/** Reads the versions that only some addresses are offered (`rolloutsOf`). */
export async function findRollouts(db: Db, productId: number): Promise<PublishedVersion[]> {
  return rolloutsOf(await listPublished(db, productId));
}

export interface Update {
  product: Product;
  release: Release;
}

/** An update that a product's sites are offered, by the buckets of their addresses. */
interface StagedUpdate {
  /** the share: buckets below this number are offered the update; the last stage includes all buckets */
  below: number;
  update: Update | undefined;
}

/** The maximum time after which a release published by another process is seen. */
const REMEMBER_MS = 1_000;

/**
 * Answers update checks from a short-lived cache, because every customer's site asks the same question.
 * @returns a function of the product and of the requesting network
 */
export function createLatestUpdate(
  db: Db,
): (productId: number, network: string) => Promise<Update | undefined> {
  const stagesOf = cacheBriefly((productId) => findStages(db, productId));
  return async (productId, network) => {
    const stages = await stagesOf(productId);
    if (stages.length === 1) return stages[0]?.update;
    const bucket = rolloutBucket(network, productId);
    return stages.find(({ below }) => bucket < below)?.update;
  };
}

/** Caches answers briefly. Requests during a lookup wait for the same answer; failures are not cached. */
export function cacheBriefly<Answer>(
  lookUp: (id: number) => Promise<Answer>,
): (id: number) => Promise<Answer> {
  const remembered = createCache<Answer>(REMEMBER_MS);
  return (id) => remembered(id, () => lookUp(id));
}

async function findStages(db: Db, productId: number): Promise<StagedUpdate[]> {
  const product = await findProduct(db, productId);
  if (product === undefined) return [{ below: FULL_ROLLOUT, update: undefined }];
  const stages: StagedUpdate[] = [];
  for (const below of sharesOf(await listPublished(db, productId))) {
    const release = await findOffered(db, productId, below);
    stages.push({ below, update: release && { product, release } });
  }
  return stages;
}
