import type { Db } from '../store/engine/database';
import { listOrderEvents, listUnmapped, type OrderEvent, type OrderLine } from '../store/orders/orders';
import { skuDigest } from './names';

/** Returns the article that a line waits for: that of an upgrade, if the upgrade waits. */
export function awaitedSku(
  shop: string,
  { sku, awaited }: Pick<OrderLine, 'sku' | 'awaited'>,
  events: Pick<OrderEvent, 'linesJson'>[],
): string | null {
  const isAwaited = (one: string | null | undefined): one is string =>
    typeof one === 'string' && skuDigest(shop, one) === awaited;
  if (awaited === null || isAwaited(sku)) return sku;
  const lines = events.flatMap(({ linesJson }) => JSON.parse(linesJson ?? '[]') as { sku?: string }[]);
  return lines.map((line) => line.sku).find(isAwaited) ?? sku;
}

/** Lists the articles that orders wait for, and how many do. */
export async function listUnmappedArticles(
  db: Db,
  limit: number,
): Promise<{ shop: string; sku: string; orders: number }[]> {
  const articles = [];
  for (const { shop, sku, awaited, orderId, orders } of await listUnmapped(db, limit)) {
    const events = skuDigest(shop, sku) === awaited ? [] : await listOrderEvents(db, orderId);
    articles.push({ shop, sku: awaitedSku(shop, { sku, awaited }, events) ?? sku, orders });
  }
  return articles;
}
