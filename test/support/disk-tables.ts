import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ON_MYSQL } from './mysql/program';
import { table, type Db } from '../../src/store/engine/database';

/**
 * Statements for which MariaDB made an internal table on disk (`Created_tmp_disk_tables`), as its log of slow statements
 * names them. Such a statement is slow beside others, and MariaDB 10.11 ends when one is killed.
 */

const LOG = 'disk-tables.log';

/**
 * @param folder where the server may write
 * @returns none for MySQL, which has no such filter
 */
export function diskTableOptions(folder: string): string[] {
  if (ON_MYSQL) return [];
  process.env.TEST_DISK_TABLES = join(folder, LOG);
  return [
    '--slow-query-log=1',
    `--slow-query-log-file=${process.env.TEST_DISK_TABLES}`,
    '--long-query-time=0',
    '--log-slow-filter=tmp_table_on_disk',
  ];
}

/** Those on a database of the shared MariaDB, without what tests and migrations ask about columns. */
export function diskTablesOf(db: Db): string[] {
  const database = (db.client as { database(): string }).database();
  return readFileSync(process.env.TEST_DISK_TABLES as string, 'utf8')
    .split(/^# User@Host.*$/m)
    .filter((entry) => entry.includes(`Schema: ${database} `))
    .map((entry) => entry.replace(/^(?:#.*|use .*|SET timestamp.*)$/gm, '').trim())
    .filter((statement) => !/^show |information_schema\.columns/i.test(statement));
}

/** Makes such a statement, so that a test sees that they are noted. */
export async function makeDiskTable(db: Db): Promise<void> {
  await db.raw(
    `SELECT * FROM (SELECT * FROM ${table(db, 'outbox')} LIMIT 1) AS one UNION SELECT * FROM ${table(db, 'outbox')}`,
  );
}
