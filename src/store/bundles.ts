import { table, type Db } from './engine/database';
import { forceIndex, inListSql, orderedJoin, rawRows } from './engine/statements';

/**
 * Finds which of some products include which of others. It is one statement, so that a change of a bundle is seen
 * completely or not at all. Join order and indexes are pinned as for licences.
 *
 * @returns the included products by the product that includes them, which is not listed itself
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
      WHERE i.product_id ${inListSql(bundles.length)} AND i.included_id ${inListSql(products.length)}
     UNION ALL SELECT b.id, r.id
       FROM ${all} b${forceIndex(db, 'products')}
       ${orderedJoin(db)} ${all} r${forceIndex(db, 'products')} ON r.id ${inListSql(products.length)}
      WHERE b.id ${inListSql(bundles.length)} AND b.includes_all = 1 AND r.includes_all = 0
        AND NOT EXISTS (SELECT 1 FROM ${includes} i${forceIndex(db, 'product_includes')} WHERE i.product_id = r.id)`,
    [...bundles, ...products, ...products, ...bundles],
  );
  const included = new Map<number, Set<number>>();
  for (const row of rows) included.set(row.bundle, (included.get(row.bundle) ?? new Set()).add(row.included));
  return included;
}

/**
 * Returns the revisions of some licences and all products that some products include, read at one moment. A signed
 * token is made of these and its answer. Joins and indexes are pinned as above.
 */
export async function findCoverage(
  db: Db,
  licenseIds: number[],
  products: number[],
): Promise<{ revisions: Map<number, number>; included: Map<number, number[]> }> {
  const all = table(db, 'products');
  const includes = table(db, 'product_includes');
  const rows = await rawRows<{ is_license: number; id: number; value: number }>(
    db,
    `SELECT 1 AS is_license, l.id, l.revision AS value
       FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses')} WHERE l.id ${inListSql(licenseIds.length)}
     UNION ALL SELECT 0, i.product_id, i.included_id
       FROM ${includes} i${forceIndex(db, 'product_includes')} WHERE i.product_id ${inListSql(products.length)}
     UNION ALL SELECT 0, b.id, r.id
       FROM ${all} b${forceIndex(db, 'products')}
       ${orderedJoin(db)} ${all} r
      WHERE b.id ${inListSql(products.length)} AND b.includes_all = 1 AND r.includes_all = 0
        AND NOT EXISTS (SELECT 1 FROM ${includes} i${forceIndex(db, 'product_includes')} WHERE i.product_id = r.id)`,
    [...licenseIds, ...products, ...products],
  );
  const revisions = new Map<number, number>();
  const included = new Map<number, number[]>();
  for (const { is_license: isLicense, id, value } of rows)
    if (isLicense === 1) revisions.set(id, value);
    else included.set(id, [...(included.get(id) ?? []), value]);
  return { revisions, included };
}
