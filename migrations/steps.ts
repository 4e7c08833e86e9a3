import type { Knex } from 'knex';
import { indexName, isSqlite, tableName } from './tables';

/**
 * The steps of a migration of tables in use (decision 6). Each step skips work that is already done, because MySQL
 * cannot roll back a migration that was killed. A migration that fills rows needs `config = { transaction: false }`.
 */

/** The number of rows in a transaction: few enough for a cluster, and requests wait for their locks for only a few ms. */
const PIECE = 1_000;

export async function addColumns(knex: Knex, name: string, columns: Record<string, string>): Promise<void> {
  const full = tableName(knex, name);
  for (const [column, type] of Object.entries(columns))
    if (!(await knex.schema.hasColumn(full, column)))
      await knex.raw(`ALTER TABLE ${full} ADD COLUMN ${column} ${type}`);
}

export async function addIndex(knex: Knex, name: string, columns: string[]): Promise<void> {
  const full = tableName(knex, name);
  const index = indexName(full, columns);
  const there = isSqlite(knex)
    ? ((await knex.raw(`SELECT 1 FROM sqlite_master WHERE name = ?`, [index])) as unknown[])
    : ((await knex.raw(`SHOW INDEX FROM ${full} WHERE Key_name = ?`, [index])) as [unknown[]])[0];
  if (there.length === 0) await knex.raw(`CREATE INDEX ${index} ON ${full} (${columns.join(', ')})`);
}

/** Calls `fill` for each range of ids, above the first and up to the second number. `fill` skips rows that it has filled. */
export async function fillInPieces(
  knex: Knex,
  name: string,
  fill: (trx: Knex.Transaction, ids: [after: number, upTo: number]) => Promise<unknown>,
): Promise<void> {
  const full = tableName(knex, name);
  const { inTransaction, onProgress } = knex.userParams as {
    inTransaction: Knex['transaction'];
    onProgress?: (done: number, all: number) => void;
  };
  // The first ids of a log that is pruned are far from 0.
  const [range] = (await knex(full).min({ first: 'id' }).max({ last: 'id' })) as [
    { first: number | null; last: number | null },
  ];
  const [before, last] = [(range.first ?? 1) - 1, range.last ?? 0];
  for (let after = before; after < last; after += PIECE) {
    const upTo = after + PIECE;
    await inTransaction(async (trx) => {
      // INSERT ... SELECT would lock the rows only against writers, so a later UPDATE could deadlock with a request's
      // UPDATE.
      await trx(full).where('id', '>', after).where('id', '<=', upTo).orderBy('id').forUpdate().pluck('id');
      await fill(trx, [after, upTo]);
    });
    onProgress?.(Math.min(upTo, last) - before, last - before);
  }
}
