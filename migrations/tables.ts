import type { Knex } from 'knex';

/** Tables and their columns, in the SQL of MySQL and SQLite. */

export interface TableDefinition {
  columns: Record<string, string>;
  /** the primary key, unless a column's type defines it */
  primary?: string[];
  /** on SQLite too, rows lie in the order of the primary key, and no other copy of them exists */
  isClustered?: true;
  unique?: string[][];
  indexes?: string[][];
  /** the table that each column references, by its id */
  references?: Record<string, string>;
}

/** Tables by name, each after the tables that it references. */
export type Tables = (t: ColumnTypes) => Record<string, TableDefinition>;

export type ColumnTypes = ReturnType<typeof typesFor>;

export const columnTypes = (knex: Knex): ColumnTypes => typesFor(isSqlite(knex));

/** Column types that differ between the databases. Text compares byte by byte on both. */
export function typesFor(sqlite: boolean) {
  const number = (type: string) => (sqlite ? 'INTEGER' : type);
  const text = (type: string) => (sqlite ? 'TEXT' : type);
  const ascii = (type: string) => text(`${type} CHARACTER SET ascii COLLATE ascii_bin`);
  const counted = (type: string) =>
    sqlite ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : `${type} NOT NULL AUTO_INCREMENT PRIMARY KEY`;
  return {
    sqlite,
    id: counted('BIGINT UNSIGNED'),
    smallId: counted('INT UNSIGNED'),
    ref: number('BIGINT UNSIGNED'),
    smallRef: number('INT UNSIGNED'),
    count: number('INT UNSIGNED'),
    bigCount: number('BIGINT UNSIGNED'),
    /** the type of a sum that is increased and decreased, in either order */
    sum: number('BIGINT'),
    signedCount: number('INT'),
    flag: number('TINYINT UNSIGNED'),
    time: text('DATETIME'),
    longText: text('MEDIUMTEXT'),
    text: (length: number) => text(`VARCHAR(${length})`),
    ascii: (length: number) => ascii(`VARCHAR(${length})`),
    /** a digest in hex */
    hex: (length: number) => ascii(`CHAR(${length})`),
    digest: ascii('CHAR(64)'),
  };
}

export function isSqlite(knex: Knex): boolean {
  return (knex.client as { driverName: string }).driverName === 'better-sqlite3';
}

export function tableName(knex: Knex, name: string): string {
  return `${(knex.userParams as { tablePrefix: string }).tablePrefix}licensing_${name}`;
}

/** The maximum length of an index name in MySQL. */
const MAX_NAME = 64;

/** Returns a name such as `jos_licensing_licenses_customer`, or with the columns' initials if that is too long for MySQL. */
export function indexName(table: string, columns: string[]): string {
  const name = `${table}_${columns.join('_')}`;
  return name.length <= MAX_NAME
    ? name
    : `${table}_${columns.map((column) => column.replace(/([a-z])[a-z0-9]*_?/g, '$1')).join('_')}`;
}

/**
 * Creates a table with its keys and indexes, in one statement if MySQL allows it, and with `IF NOT EXISTS`: MySQL
 * cannot roll back DDL, so an interrupted migration must be able to run again.
 */
export async function createTable(knex: Knex, name: string, definition: TableDefinition): Promise<void> {
  const full = tableName(knex, name);
  const { columns, primary, isClustered, unique = [], indexes = [], references = {} } = definition;
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
  // These options make the table independent of the database's default collation.
  const options = sqlite
    ? isClustered
      ? ' WITHOUT ROWID'
      : ''
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
