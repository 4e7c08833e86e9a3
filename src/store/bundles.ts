import { table, type Db } from './database';
import { forceIndex, isOneOf, rawRows } from './statements';

/** Which bundles include some products. */
export interface Inclusions {
  /** by product: the products that list it */
  listedBy: Map<number, Set<number>>;
  /** products that include none: every bundle of all products includes them */
  plain: Set<number>;
}

/** In one statement, with the join order and indexes pinned as for licences. */
export async function findInclusions(db: Db, productIds: number[]): Promise<Inclusions> {
  const includes = table(db, 'product_includes');
  const rows = await rawRows<{ id: number; bundle: number }>(
    db,
    `SELECT i.included_id AS id, i.product_id AS bundle
       FROM ${includes} i${forceIndex(db, 'product_includes', 'included_id')}
      WHERE i.included_id ${isOneOf(productIds.length)}
     UNION ALL SELECT r.id, r.id
       FROM ${table(db, 'products')} r${forceIndex(db, 'products')}
      WHERE r.id ${isOneOf(productIds.length)} AND r.includes_all = 0
        AND NOT EXISTS (SELECT 1 FROM ${includes} i${forceIndex(db, 'product_includes')} WHERE i.product_id = r.id)`,
    [...productIds, ...productIds],
  );
  const inclusions: Inclusions = { listedBy: new Map(), plain: new Set() };
  // No product lists itself; a constant here would make MariaDB answer with texts.
  for (const { id, bundle } of rows)
    if (bundle === id) inclusions.plain.add(id);
    else inclusions.listedBy.set(id, (inclusions.listedBy.get(id) ?? new Set()).add(bundle));
  return inclusions;
}
