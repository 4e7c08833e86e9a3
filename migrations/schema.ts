import type { Knex } from 'knex';

/**
 * Creates a table with its columns, keys and indexes, in one statement where MySQL allows it, and with `IF NOT EXISTS`.
 * MySQL cannot roll back DDL, so an interrupted migration must be able to run again.
 */
export interface TableDefinition {
  columns: Record<string, string>;
  /** the primary key, where it is not a column of the type `id` or `smallId` */
  primary?: string[];
  unique?: string[][];
  indexes?: string[][];
  /** the table each column refers to, by its id */
  references?: Record<string, string>;
}

/** Column types that differ between the databases. Text compares byte by byte on both. */
export function columnTypes(knex: Knex) {
  const sqlite = isSqlite(knex);
  return {
    id: sqlite ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : 'BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY',
    smallId: sqlite
      ? 'INTEGER PRIMARY KEY AUTOINCREMENT'
      : 'INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY',
    smallRef: sqlite ? 'INTEGER' : 'INT UNSIGNED',
    ref: sqlite ? 'INTEGER' : 'BIGINT UNSIGNED',
    count: sqlite ? 'INTEGER' : 'INT UNSIGNED',
    bigCount: sqlite ? 'INTEGER' : 'BIGINT UNSIGNED',
    time: sqlite ? 'TEXT' : 'DATETIME',
    longText: sqlite ? 'TEXT' : 'MEDIUMTEXT',
    text: (length: number) => (sqlite ? 'TEXT' : `VARCHAR(${length})`),
    ascii: (length: number) => (sqlite ? 'TEXT' : `VARCHAR(${length}) CHARACTER SET ascii COLLATE ascii_bin`),
    flag: sqlite ? 'INTEGER' : 'TINYINT UNSIGNED',
    digest: sqlite ? 'TEXT' : 'CHAR(64) CHARACTER SET ascii COLLATE ascii_bin',
    digest96: sqlite ? 'TEXT' : 'CHAR(96) CHARACTER SET ascii COLLATE ascii_bin',
    digest128: sqlite ? 'TEXT' : 'CHAR(128) CHARACTER SET ascii COLLATE ascii_bin',
  };
}

export function tableName(knex: Knex, name: string): string {
  return `${(knex.userParams as { tablePrefix: string }).tablePrefix}licensing_${name}`;
}

export async function createTable(knex: Knex, name: string, definition: TableDefinition): Promise<void> {
  const full = tableName(knex, name);
  const { columns, primary, unique = [], indexes = [], references = {} } = definition;
  const sqlite = isSqlite(knex);
  const parts = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  if (primary !== undefined) parts.push(`PRIMARY KEY (${primary.join(', ')})`);
  for (const [column, target] of Object.entries(references))
    parts.push(
      `CONSTRAINT ${full}_${column}_fk FOREIGN KEY (${column}) REFERENCES ${tableName(knex, target)} (id)`,
    );
  if (!sqlite) {
    for (const key of unique) parts.push(`UNIQUE KEY ${indexName(full, key)} (${key.join(', ')})`);
    for (const key of indexes) parts.push(`KEY ${indexName(full, key)} (${key.join(', ')})`);
  }
  // Independent of the database's default collation.
  const options = sqlite
    ? ''
    : ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC';
  await knex.raw(`CREATE TABLE IF NOT EXISTS ${full} (\n  ${parts.join(',\n  ')}\n)${options}`);
  if (!sqlite) return;
  for (const key of unique)
    await knex.raw(
      `CREATE UNIQUE INDEX IF NOT EXISTS ${indexName(full, key)} ON ${full} (${key.join(', ')})`,
    );
  for (const key of indexes)
    await knex.raw(`CREATE INDEX IF NOT EXISTS ${indexName(full, key)} ON ${full} (${key.join(', ')})`);
}

export async function dropTable(knex: Knex, name: string): Promise<void> {
  await knex.raw(`DROP TABLE IF EXISTS ${tableName(knex, name)}`);
}

/** Skips columns that are there, so that an interrupted migration can run again. */
export async function addColumns(knex: Knex, name: string, columns: Record<string, string>): Promise<void> {
  const full = tableName(knex, name);
  for (const [column, type] of Object.entries(columns))
    if (!(await knex.schema.hasColumn(full, column)))
      await knex.raw(`ALTER TABLE ${full} ADD COLUMN ${column} ${type}`);
}

export async function dropColumns(knex: Knex, name: string, columns: string[]): Promise<void> {
  const full = tableName(knex, name);
  for (const column of columns)
    if (await knex.schema.hasColumn(full, column))
      await knex.raw(`ALTER TABLE ${full} DROP COLUMN ${column}`);
}

/** Skips an index that is there. */
export async function addIndex(
  knex: Knex,
  name: string,
  columns: string[],
  { unique = false } = {},
): Promise<void> {
  const full = tableName(knex, name);
  if (await hasIndex(knex, full, indexName(full, columns))) return;
  await knex.raw(
    `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${indexName(full, columns)} ON ${full} (${columns.join(', ')})`,
  );
}

export async function dropIndex(knex: Knex, name: string, columns: string[]): Promise<void> {
  const full = tableName(knex, name);
  const index = indexName(full, columns);
  if (!(await hasIndex(knex, full, index))) return;
  await knex.raw(isSqlite(knex) ? `DROP INDEX ${index}` : `DROP INDEX ${index} ON ${full}`);
}

async function hasIndex(knex: Knex, full: string, index: string): Promise<boolean> {
  const rows = isSqlite(knex)
    ? ((await knex.raw(`SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = ?`, [
        index,
      ])) as unknown[])
    : ((await knex.raw(`SHOW INDEX FROM ${full} WHERE Key_name = ?`, [index])) as [unknown[]])[0];
  return rows.length > 0;
}

/** Such as `jos_licensing_licenses_customer`: at most 64 characters with Joomla's longest prefix of 15. */
function indexName(table: string, columns: string[]): string {
  return `${table}_${columns.join('_')}`;
}

export function isSqlite(knex: Knex): boolean {
  return (knex.client as { driverName: string }).driverName === 'better-sqlite3';
}
