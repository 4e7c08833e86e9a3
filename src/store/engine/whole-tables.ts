import { isSqlite, table, tablePrefix, type Db, type TableName } from './database';
import { rawRows } from './statements';

/** Operations on all tables of this program: for a backup before an upgrade, and for the way back. */

/** Lists the existing tables, including those that only a newer version knows. */
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
 * Drops all tables of this program, including those of a newer version, which would otherwise return with the next
 * upgrade. It uses one connection, because the tables refer to each other.
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

/** The tables for which users ask what a way back loses. */
export const COUNTED = ['licenses', 'orders', 'releases', 'events'] as const satisfies TableName[];
export type HighestIds = Record<(typeof COUNTED)[number], number>;

/** Returns the highest id of each of these tables, at the time of a backup. */
export async function readHighestIds(db: Db): Promise<HighestIds> {
  const entries = await Promise.all(
    COUNTED.map(async (name) => {
      const [row] = await db(table(db, name)).max<{ highest: number | null }[]>({ highest: 'id' });
      return [name, row?.highest ?? 0] as const;
    }),
  );
  return Object.fromEntries(entries) as HighestIds;
}

/** Counts the rows that were added after a backup. */
export async function countRowsSince(db: Db, before: HighestIds): Promise<HighestIds> {
  const entries = await Promise.all(
    COUNTED.map(async (name) => {
      const [row] = await db(table(db, name))
        .where('id', '>', before[name])
        .count<{ more: number | string }[]>({ more: '*' });
      return [name, Number(row?.more ?? 0)] as const;
    }),
  );
  return Object.fromEntries(entries) as HighestIds;
}

/** Copies an SQLite database that is in use. @param file must not exist */
export async function copySqlite(db: Db, file: string): Promise<void> {
  await db.raw('VACUUM INTO ?', [file]);
}
