import { table, type Db, type Transaction } from './engine/database';
import { insertInChunks } from './import';
import { toColumns, toFields } from './engine/row-fields';
import { forceIndex, orderedJoin, placeholders, rawRows, tableBy } from './engine/statements';
import { customerDigest } from './customer-digest';

/** A move from another system. */
export interface ImportRun {
  id: number;
  /** its name, as `--from` takes it */
  source: string;
  at: Date;
  actor: string;
  /** the plan map */
  plansJson: string;
  countsJson: string;
  undoneAt: Date | null;
}

/** `customer`: a name (customer-profiles.ts) */
export type ImportedKind = 'license' | 'product' | 'plan' | 'customer';

/** What a run made. */
export interface ImportedItem {
  kind: ImportedKind;
  itemId: number;
  /** the run that made it */
  importId: number;
  /** of a licence: what the latest run brought (transfer/moving/brought.ts) */
  broughtJson: string | null;
}

export async function insertImport(
  trx: Transaction,
  run: Omit<ImportRun, 'id' | 'undoneAt'>,
): Promise<number> {
  const [id] = await trx(table(trx, 'imports')).insert(toColumns(run));
  return id as number;
}

export async function setImport(
  trx: Transaction,
  id: number,
  changes: Partial<Pick<ImportRun, 'plansJson' | 'countsJson' | 'undoneAt'>>,
): Promise<void> {
  await trx(table(trx, 'imports')).where({ id }).update(toColumns(changes));
}

export async function findImport(db: Db, id: number): Promise<ImportRun | undefined> {
  const row = await db(table(db, 'imports')).where({ id }).first();
  return row && toFields(row);
}

export async function lockImport(trx: Transaction, id: number): Promise<ImportRun | undefined> {
  const row = await trx(table(trx, 'imports')).where({ id }).forUpdate().first();
  return row && toFields(row);
}

/** The latest first; of one source, or of all. */
export async function listImports(
  db: Db,
  { source, before, limit }: { source?: string; before?: number | undefined; limit?: number },
): Promise<ImportRun[]> {
  const query = db(table(db, 'imports')).orderBy('id', 'desc');
  if (source !== undefined) query.where({ source });
  if (before !== undefined) query.where('id', '<', before);
  if (limit !== undefined) query.limit(limit);
  return (await query).map(toFields);
}

export async function insertImported(trx: Transaction, items: ImportedItem[]): Promise<void> {
  if (items.length > 0) await insertInChunks(trx, 'imported', items.map(toColumns));
}

/** Which of these things a run made, by id. */
export async function findImported(
  db: Db,
  kind: ImportedKind,
  itemIds: number[],
): Promise<Map<number, ImportedItem>> {
  if (itemIds.length === 0) return new Map();
  const rows = await db(table(db, 'imported')).where({ kind }).whereIn('item_id', itemIds);
  return new Map(rows.map((row) => [row.item_id, toFields(row)]));
}

/** The next things that a run made, by id. */
export async function listImported(
  db: Db,
  importId: number,
  kind: ImportedKind,
  { after, limit }: { after: number; limit: number },
): Promise<number[]> {
  return db(tableBy(db, 'imported', 'import_id', 'kind', 'item_id'))
    .where({ import_id: importId, kind })
    .where('item_id', '>', after)
    .orderBy('item_id')
    .limit(limit)
    .pluck('item_id');
}

/** Makes them what another run made. */
export async function handOverImported(
  trx: Transaction,
  kind: ImportedKind,
  itemIds: number[],
  importId: number,
): Promise<void> {
  if (itemIds.length > 0)
    await trx(table(trx, 'imported'))
      .where({ kind })
      .whereIn('item_id', itemIds)
      .update({ import_id: importId });
}

/** The next licences whose latest change by a move is that of a run, and that an earlier one made, by id. */
export async function listChangedByRun(
  db: Db,
  importId: number,
  { after, limit }: { after: number; limit: number },
): Promise<number[]> {
  return db(table(db, 'imported'))
    .where({ kind: 'license' })
    .where('item_id', '>', after)
    .where('import_id', '<', importId)
    .where('brought_json', 'like', `{"run":${importId},%`)
    .orderBy('item_id')
    .limit(limit)
    .pluck('item_id');
}

/** The latest run that brought a licence of each of these customers, by address. */
export async function findRunsOfCustomers(db: Db, addresses: string[]): Promise<Map<string, number>> {
  if (addresses.length === 0) return new Map();
  const rows = await rawRows<{ customer: string; run: number }>(
    db,
    `SELECT l.customer, MAX(i.import_id) AS run
       FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses', 'customer_digest')}
       ${orderedJoin(db)} ${table(db, 'imported')} i ON i.kind = 'license' AND i.item_id = l.id
      WHERE l.customer_digest IN (${placeholders(addresses.length)}) GROUP BY l.customer`,
    addresses.map(customerDigest),
  );
  return new Map(rows.map(({ customer, run }) => [customer, run]));
}

export async function setBrought(trx: Transaction, licenseId: number, broughtJson: string): Promise<void> {
  await trx(table(trx, 'imported'))
    .where({ kind: 'license', item_id: licenseId })
    .update({ brought_json: broughtJson });
}

/** Replaces a digest in what imports brought. @returns in how many things */
export async function replaceBrought(db: Db, digest: string, replacement: string): Promise<number> {
  const found = await db(table(db, 'imported')).where('brought_json', 'like', `%${digest}%`);
  for (const { kind, item_id, brought_json } of found)
    await db(table(db, 'imported'))
      .where({ kind, item_id, brought_json })
      .update({ brought_json: (brought_json as string).replaceAll(digest, replacement) });
  return found.length;
}

export async function deleteImported(db: Db, kind: ImportedKind, itemIds: number[]): Promise<number> {
  return itemIds.length === 0
    ? 0
    : db(table(db, 'imported')).where({ kind }).whereIn('item_id', itemIds).delete();
}
