import { createHash } from 'node:crypto';
import { findProduct, type Product } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import {
  findRelease,
  listPublished,
  WHOLE_ROLLOUT,
  type PublishedVersion,
  type Release,
} from '../store/releases';
import { createCache } from './memory';
import { isPrerelease } from './versions';

/**
 * The highest published version in PHP's order. Pre-releases count only while there is no published final release.
 * @param by judges only among releases published no later than this
 */
export async function latestRelease(db: Db, productId: number, by?: Date): Promise<Release | undefined> {
  for (;;) {
    const latest = latestOf(await listPublished(db, productId, by), ({ version }) => version)?.version;
    if (latest === undefined) return undefined;
    const release = await findRelease(db, productId, latest);
    // It was withdrawn between the two statements: look again.
    if (release?.state === 'published') return release;
  }
}

/**
 * Which of 100 groups an address is in: a version that is rolled out to 25 percent is for those below 25. nginx has
 * groups of its own for the update XML (nginx/upstream.conf), with the same share.
 *
 * @param network as `networkOfClient` has it, so that a changing IPv6 address stays in its group
 */
export function rolloutGroup(network: string, productId: number): number {
  const digest = createHash('sha256').update(`${productId} ${network}`).digest();
  return digest.readUInt32BE() % WHOLE_ROLLOUT;
}

/** What every address is offered, whatever is rolled out; or else what some are offered. */
export async function latestForAll(db: Db, productId: number): Promise<string | undefined> {
  const published = await listPublished(db, productId);
  const forAll = offeredTo(published, WHOLE_ROLLOUT - 1);
  return latestOf(forAll.length > 0 ? forAll : published, ({ version }) => version)?.version;
}

/** Those of some published versions that a group of addresses is offered. */
export function offeredTo<T extends PublishedVersion>(published: T[], group: number): T[] {
  return published.filter(({ rollout }) => group < rollout);
}

/**
 * The latest of a product's published releases: a pre-release only while there is no final one.
 *
 * @param published the highest version first
 */
export function latestOf<T>(published: T[], versionOf: (release: T) => string): T | undefined {
  return published.find((release) => !isPrerelease(versionOf(release))) ?? published[0];
}

export interface Update {
  product: Product;
  release: Release;
}

/** What a product's sites are offered, by their group of addresses. */
interface StagedUpdate {
  /** the groups below it are offered this; the last one has those of all */
  below: number;
  update: Update | undefined;
}

/** A release published by another process is seen after this time at the latest. */
const REMEMBER_MS = 1_000;

/**
 * Answers update checks from a short memory, since every customer's site asks the same question.
 * @returns a function of the product and of the asking network
 */
export function createLatestUpdate(
  db: Db,
): (productId: number, network: string) => Promise<Update | undefined> {
  const stagesOf = rememberBriefly((productId) => findStages(db, productId));
  return async (productId, network) => {
    const stages = await stagesOf(productId);
    if (stages.length === 1) return stages[0]?.update;
    const group = rolloutGroup(network, productId);
    return stages.find(({ below }) => group < below)?.update;
  };
}

/** Remembers answers briefly. Requests during a lookup wait for the same answer; failures are not remembered. */
export function rememberBriefly<Answer>(
  lookUp: (id: number) => Promise<Answer>,
): (id: number) => Promise<Answer> {
  const remembered = createCache<Answer>(REMEMBER_MS);
  return (id) => remembered(id, () => lookUp(id));
}

async function findStages(db: Db, productId: number): Promise<StagedUpdate[]> {
  const [product, published] = await Promise.all([findProduct(db, productId), listPublished(db, productId)]);
  if (product === undefined) return [{ below: WHOLE_ROLLOUT, update: undefined }];
  const shares = [...new Set([...published.map(({ rollout }) => rollout), WHOLE_ROLLOUT])].sort(
    (a, b) => a - b,
  );
  const stages: StagedUpdate[] = [];
  for (const below of shares) {
    const version = latestOf(offeredTo(published, below - 1), (one) => one.version)?.version;
    const release = version === undefined ? undefined : await findRelease(db, productId, version);
    // It was withdrawn between the two statements: look again.
    if (release !== undefined && release.state !== 'published') return findStages(db, productId);
    stages.push({ below, update: release && { product, release } });
  }
  return stages;
}
