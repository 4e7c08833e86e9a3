import { table, type Db } from './database';
import { forceIndex, isOneOf, orderedJoin, rawRows } from './statements';

/**
 * Which of some products include which of others. In one statement, so that a change of a bundle is seen whole, and with
 * join order and indexes pinned as for licences.
 *
 * @returns the included products by the product that includes them, itself not among them
 */
export async function findIncluded(
  db: Db,
  bundles: number[],
  products: number[],
): Promise<Map<number, Set<number>>> {
  const all = table(db, 'products');
  const includes = table(db, 'product_includes');
  const rows = await rawRows<{ bundle: number; included: number }>(
    db,
    `SELECT i.product_id AS bundle, i.included_id AS included
       FROM ${includes} i${forceIndex(db, 'product_includes')}
      WHERE i.product_id ${isOneOf(bundles.length)} AND i.included_id ${isOneOf(products.length)}
     UNION ALL SELECT b.id, r.id
       FROM ${all} b${forceIndex(db, 'products')}
       ${orderedJoin(db)} ${all} r${forceIndex(db, 'products')} ON r.id ${isOneOf(products.length)}
      WHERE b.id ${isOneOf(bundles.length)} AND b.includes_all = 1 AND r.includes_all = 0
        AND NOT EXISTS (SELECT 1 FROM ${includes} i${forceIndex(db, 'product_includes')} WHERE i.product_id = r.id)`,
    [...bundles, ...products, ...products, ...bundles],
  );
  const included = new Map<number, Set<number>>();
  for (const row of rows) included.set(row.bundle, (included.get(row.bundle) ?? new Set()).add(row.included));
  return included;
}
