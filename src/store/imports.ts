import { table, type Db, type Transaction } from './engine/database';
import { insertInChunks } from './import';
import { fieldsToRow, rowToFields } from './engine/row-fields';
import { forceIndex, orderedJoin, placeholders, rawRows, tableBy } from './engine/statements';
import { customerDigest } from './customer-digest';

/** An import run, which moves data from another system. */
export interface ImportRun {
  id: number;
  /** the name of the source (`--from`) */
  source: string;
  at: Date;
  actor: string;
  /** the plan map */
  plansJson: string;
  countsJson: string;
  undoneAt: Date | null;
}

/** `customer` is a customer's name (customer-profiles.ts) */
export type ImportedKind = 'license' | 'product' | 'plan' | 'customer';

/** A record that a run created. */
export interface ImportedItem {
  kind: ImportedKind;
  itemId: number;
  /** the run that created it */
  importId: number;
  /** for a licence, the import baseline: the values that the latest run brought (transfer/moving/import-baseline.ts) */
  broughtJson: string | null;
}

export async function insertImport(
  trx: Transaction,
  run: Omit<ImportRun, 'id' | 'undoneAt'>,
): Promise<number> {
  const [id] = await trx(table(trx, 'imports')).insert(fieldsToRow(run));
  return id as number;
}

export async function setImport(
  trx: Transaction,
  id: number,
  changes: Partial<Pick<ImportRun, 'plansJson' | 'countsJson' | 'undoneAt'>>,
): Promise<void> {
  await trx(table(trx, 'imports')).where({ id }).update(fieldsToRow(changes));
}

export async function findImport(db: Db, id: number): Promise<ImportRun | undefined> {
  const row = await db(table(db, 'imports')).where({ id }).first();
  return row && rowToFields(row);
}

export async function lockImport(trx: Transaction, id: number): Promise<ImportRun | undefined> {
  const row = await trx(table(trx, 'imports')).where({ id }).forUpdate().first();
  return row && rowToFields(row);
}

/** Lists the runs of one source, or of all, latest first. */
export async function listImports(
  db: Db,
  { source, before, limit }: { source?: string; before?: number | undefined; limit?: number },
): Promise<ImportRun[]> {
  const query = db(table(db, 'imports')).orderBy('id', 'desc');
  if (source !== undefined) query.where({ source });
  if (before !== undefined) query.where('id', '<', before);
  if (limit !== undefined) query.limit(limit);
  return (await query).map(rowToFields);
}

export async function insertImported(trx: Transaction, items: ImportedItem[]): Promise<void> {
  if (items.length > 0) await insertInChunks(trx, 'imported', items.map(fieldsToRow));
}

/** Finds which of these records a run created, by id. */
export async function findImported(
  db: Db,
  kind: ImportedKind,
  itemIds: number[],
): Promise<Map<number, ImportedItem>> {
  if (itemIds.length === 0) return new Map();
  const rows = await db(table(db, 'imported')).where({ kind }).whereIn('item_id', itemIds);
  return new Map(rows.map((row) => [row.item_id, rowToFields(row)]));
}

/** Lists the next records that a run created, by id. */
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

/** Assigns records to another run, as if that run had created them. */
export async function reassignImported(
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

/** Lists the next licences, by id, that an earlier run created and that this run was the latest to change. */
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

/** Finds the latest run that brought a licence of each of these customers, by address. */
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

export async function setBaseline(trx: Transaction, licenseId: number, broughtJson: string): Promise<void> {
  await trx(table(trx, 'imported'))
    .where({ kind: 'license', item_id: licenseId })
    .update({ brought_json: broughtJson });
}

/** Replaces a digest in the values that imports brought. @returns the number of records changed */
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
