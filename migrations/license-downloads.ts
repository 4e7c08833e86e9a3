import type { Knex } from 'knex';
import { fillInPieces } from './steps';
import { columnTypes, createTable, isSqlite, tableName } from './tables';

/** The last granted download of each licence and product, by which the exposure to a hole is counted. */

/** Each piece is a transaction of its own. */
export const config = { transaction: false };

/** A row: licence, product, version, and the time as the database stores it. */
export type DownloadRow = [licenseId: number, productId: number, version: string, at: string];

/**
 * Returns the INSERT for these rows, which keeps a later download that is stored. MySQL assigns from left to right: the
 * version is compared with the stored time.
 */
export function downloadsSql(isSqlite: boolean, table: string, count: number): string {
  const given = (column: string) => (isSqlite ? `excluded.${column}` : `VALUES(${column})`);
  const own = (column: string) => (isSqlite ? `${table}.${column}` : column);
  const isLater = `${given('at')} >= ${own('at')}`;
  return `INSERT INTO ${table} (license_id, product_id, version, at)
     VALUES (?, ?, ?, ?)${', (?, ?, ?, ?)'.repeat(count - 1)}
     ${isSqlite ? 'ON CONFLICT (license_id, product_id) DO UPDATE SET' : 'ON DUPLICATE KEY UPDATE'}
       version = CASE WHEN ${isLater} THEN ${given('version')} ELSE ${own('version')} END,
       at = CASE WHEN ${isLater} THEN ${given('at')} ELSE ${own('at')} END`;
}

/** Returns the last download of each licence and product, by their ids, so that writers do not deadlock. */
export function lastDownloads(rows: DownloadRow[]): DownloadRow[] {
  const last = new Map<string, DownloadRow>();
  for (const row of rows) {
    const name = `${row[0]} ${row[1]}`;
    if (row[3] >= (last.get(name)?.[3] ?? '')) last.set(name, row);
  }
  return [...last.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  const sqlite = isSqlite(knex);
  await createTable(knex, 'license_downloads', {
    columns: {
      license_id: `${t.ref} NOT NULL`,
      product_id: `${t.ref} NOT NULL`,
      // The type of the access log's column, because an import may bring any text.
      version: `${t.text(64)} NOT NULL`,
      at: `${t.time} NOT NULL`,
    },
    primary: ['license_id', 'product_id'],
    isClustered: true,
  });
  const log = tableName(knex, 'access_log');
  await fillInPieces(knex, 'access_log', async (trx, [after, upTo]) => {
    const found = await trx(log)
      .where('id', '>', after)
      .where('id', '<=', upTo)
      .where({ endpoint: 'download', outcome: 'ok' })
      .whereNotNull('license_id')
      .whereNotNull('product_id')
      .whereNotNull('version')
      .select<
        { license_id: number; product_id: number; version: string; at: string; last_at: string | null }[]
      >('license_id', 'product_id', 'version', 'at', 'last_at');
    const rows = lastDownloads(
      found.map((one) => [one.license_id, one.product_id, one.version, one.last_at ?? one.at]),
    );
    if (rows.length > 0)
      await trx.raw(downloadsSql(sqlite, tableName(knex, 'license_downloads'), rows.length), rows.flat());
  });
}
