import { isSqlite, table, tablePrefix, type Db, type TableName } from './database';
import { rawRows } from './statements';

/** This program's tables as a whole: for a backup before an upgrade, and the way back to it. */

/** The names of those that are there, also of ones that only a newer version knows. */
export async function ownTables(db: Db): Promise<string[]> {
  const prefix = `${tablePrefix(db)}licensing_`;
  const rows = isSqlite(db)
    ? await rawRows<{ name: string }>(db, "SELECT name FROM sqlite_master WHERE type = 'table'", [])
    : await rawRows<{ name: string }>(
        db,
        "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'",
        [],
      );
  return rows
    .map(({ name }) => name)
    .filter((name) => name.startsWith(prefix))
    .sort();
}

/**
 * Drops them, no others: a table that only a newer version has would live again with the next upgrade. On one connection,
 * since the tables refer to each other.
 */
export async function dropOwnTables(db: Db): Promise<void> {
  const names = await ownTables(db);
  if (names.length === 0) return;
  await db.transaction(async (trx) => {
    await trx.raw('SET FOREIGN_KEY_CHECKS = 0');
    await trx.raw(`DROP TABLE ${names.map(() => '??').join(', ')}`, names);
    await trx.raw('SET FOREIGN_KEY_CHECKS = 1');
  });
}

/** Of these, people ask what a way back loses. */
export const COUNTED = ['licenses', 'orders', 'releases', 'events'] as const satisfies TableName[];
export type Extent = Record<(typeof COUNTED)[number], number>;

/** The highest id of each, at the time of a backup. */
export async function readExtent(db: Db): Promise<Extent> {
  const entries = await Promise.all(
    COUNTED.map(async (name) => {
      const [row] = await db(table(db, name)).max<{ highest: number | null }[]>({ highest: 'id' });
      return [name, row?.highest ?? 0] as const;
    }),
  );
  return Object.fromEntries(entries) as Extent;
}

/** How many rows were added since. */
export async function countSince(db: Db, before: Extent): Promise<Extent> {
  const entries = await Promise.all(
    COUNTED.map(async (name) => {
      const [row] = await db(table(db, name))
        .where('id', '>', before[name])
        .count<{ more: number | string }[]>({ more: '*' });
      return [name, Number(row?.more ?? 0)] as const;
    }),
  );
  return Object.fromEntries(entries) as Extent;
}

/** The whole file of an SQLite database, while others use it. @param file is not there yet */
export async function copySqlite(db: Db, file: string): Promise<void> {
  await db.raw('VACUUM INTO ?', [file]);
}
