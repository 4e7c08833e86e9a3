import { findProduct, type Product } from '../store/catalogue';
import type { Db } from '../store/database';
import { findRelease, listPublishedVersions, type Release } from '../store/releases';
import { isPrerelease } from './versions';

/**
 * The highest published version in PHP's order. Pre-releases count only while there is no published final release.
 * @param by judges only among releases published no later than this
 */
export async function latestRelease(db: Db, productId: number, by?: Date): Promise<Release | undefined> {
  for (;;) {
    const latest = latestOf(await listPublishedVersions(db, productId, by), (version) => version);
    if (latest === undefined) return undefined;
    const release = await findRelease(db, productId, latest);
    // It was withdrawn between the two statements: look again.
    if (release?.state === 'published') return release;
  }
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

/** A release published by another process is seen after this time at the latest. */
const REMEMBER_MS = 1_000;
/** Unknown ids are remembered too; a client that tries them all must not fill the memory. */
const MAX_REMEMBERED = 10_000;

/** Answers update checks from a short memory, since every customer's site asks the same question. */
export function createLatestUpdate(db: Db): (productId: number) => Promise<Update | undefined> {
  return rememberBriefly((productId) => findUpdate(db, productId));
}

/** Remembers answers briefly. Requests during a lookup wait for the same answer; failures are not remembered. */
export function rememberBriefly<Answer>(
  lookUp: (id: number) => Promise<Answer>,
): (id: number) => Promise<Answer> {
  const remembered = new Map<number, { until: number; answer: Promise<Answer> }>();
  return (id) => {
    const known = remembered.get(id);
    if (known && performance.now() < known.until) return known.answer;
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    const answer = lookUp(id);
    const entry = { until: performance.now() + REMEMBER_MS, answer };
    remembered.set(id, entry);
    answer.catch(() => {
      // A slow failure may find a newer entry in its place.
      if (remembered.get(id) === entry) remembered.delete(id);
    });
    return answer;
  };
}

async function findUpdate(db: Db, productId: number): Promise<Update | undefined> {
  const [product, release] = await Promise.all([findProduct(db, productId), latestRelease(db, productId)]);
  return product && release && { product, release };
}
