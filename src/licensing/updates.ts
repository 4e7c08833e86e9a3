import { findProduct, type Product } from '../store/catalogue';
import type { Db } from '../store/database';
import type { Release } from '../store/releases';
import { latestRelease } from './releases';

export interface Update {
  product: Product;
  release: Release;
}

/** A release published by another process is seen after this long at the latest. */
const REMEMBER_MS = 1_000;
/** Ids that nobody has are remembered too; somebody who tries them all must not fill the memory. */
const MAX_REMEMBERED = 10_000;

/**
 * The answer to an update check, remembered for a moment: every site of every customer asks the same question.
 * Requests that come while it is being looked up wait for the same answer; a failure is not remembered.
 */
export function createLatestUpdate(db: Db): (productId: number) => Promise<Update | undefined> {
  const remembered = new Map<number, { until: number; answer: Promise<Update | undefined> }>();
  return (productId) => {
    const known = remembered.get(productId);
    if (known && performance.now() < known.until) return known.answer;
    if (remembered.size >= MAX_REMEMBERED) remembered.clear();
    const answer = findUpdate(db, productId);
    remembered.set(productId, { until: performance.now() + REMEMBER_MS, answer });
    answer.catch(() => remembered.delete(productId));
    return answer;
  };
}

async function findUpdate(db: Db, productId: number): Promise<Update | undefined> {
  const [product, release] = await Promise.all([findProduct(db, productId), latestRelease(db, productId)]);
  return product && release && { product, release };
}
