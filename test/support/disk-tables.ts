import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ON_MYSQL } from './mysql/program';
import { table, type Db } from '../../src/store/engine/database';

/**
 * Finds statements for which MariaDB created an internal table on disk (`Created_tmp_disk_tables`), by its log of slow
 * statements. Such a statement is slow while others run, and MariaDB 10.11 crashes if one is killed.
 */

const LOG = 'disk-tables.log';

/**
 * Returns the options for this log. @param folder in which the server may write
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

/** Returns these statements on a database of the shared MariaDB, except queries about columns. */
export function diskTablesOf(db: Db): string[] {
  const database = (db.client as { database(): string }).database();
  return readFileSync(process.env.TEST_DISK_TABLES as string, 'utf8')
    .split(/^# User@Host.*$/m)
    .filter((entry) => entry.includes(`Schema: ${database} `))
    .map((entry) => entry.replace(/^(?:#.*|use .*|SET timestamp.*)$/gm, '').trim())
    .filter((statement) => !/^show |information_schema\.columns/i.test(statement));
}

/** Runs such a statement, so that a test sees that it is logged. */
export async function makeDiskTable(db: Db): Promise<void> {
  await db.raw(
    `SELECT * FROM (SELECT * FROM ${table(db, 'outbox')} LIMIT 1) AS one UNION SELECT * FROM ${table(db, 'outbox')}`,
  );
}
