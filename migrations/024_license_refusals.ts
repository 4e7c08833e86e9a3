import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable, isSqlite, tableName } from './schema';

/**
 * The time of each licence's latest refused request, by which licences are listed: the access log has it in millions of
 * rows. No foreign key, for the same reason as in 006_access_log. The service may run meanwhile.
 */

/** Licences in a statement, so that none runs for long. */
const PIECE = 1_000;

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  const sqlite = isSqlite(knex);
  await createTable(knex, 'license_refusals', {
    columns: {
      license_id: `${sqlite ? 'INTEGER' : `${t.ref} NOT NULL`} PRIMARY KEY`,
      at: `${t.time} NOT NULL`,
    },
    indexes: [['at']],
  });
  await fillRefusals(knex);
}

async function fillRefusals(knex: Knex): Promise<void> {
  const [refusals, log] = [tableName(knex, 'license_refusals'), tableName(knex, 'access_log')];
  const by = isSqlite(knex) ? '' : ` FORCE INDEX (${log}_license_id_at)`;
  const [{ last }] = (await knex(log).max({ last: 'license_id' })) as [{ last: number | null }];
  // The service may have recorded a later one already.
  const [verb, conflict] = isSqlite(knex)
    ? ['INSERT OR IGNORE INTO', '']
    : ['INSERT INTO', ` ON DUPLICATE KEY UPDATE ${refusals}.at = ${refusals}.at`];
  for (let after = 0; after < (last ?? 0); after += PIECE)
    await knex.raw(
      `${verb} ${refusals} (license_id, at)
       SELECT license_id, MAX(COALESCE(last_at, at)) FROM ${log}${by}
        WHERE license_id > ? AND license_id <= ? AND outcome <> 'ok' GROUP BY license_id${conflict}`,
      [after, after + PIECE],
    );
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'license_refusals');
