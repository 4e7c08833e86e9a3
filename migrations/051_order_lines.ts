import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/**
 * The lines of orders, and what each did to licences. `awaited` is set while a line waits, to the digest of the article
 * or order that it waits for, so that whatever arrives finds the lines that wait for it. `plans_json` keeps what the
 * line's article meant when it ran.
 */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'order_lines', {
    columns: {
      id: t.id,
      order_id: `${t.ref} NOT NULL`,
      line: `${t.text(100)} NOT NULL`,
      sku: `${t.text(190)} NULL`,
      plan_id: `${t.smallRef} NULL`,
      quantity: `${t.smallRef} NOT NULL`,
      renews_json: `${t.longText} NULL`,
      waits_for: `${t.ascii(32)} NULL`,
      awaited: `${t.digest} NULL`,
    },
    indexes: [['order_id'], ['awaited']],
  });
  await createTable(knex, 'order_licenses', {
    columns: {
      id: t.id,
      order_id: `${t.ref} NOT NULL`,
      line_id: `${t.ref} NOT NULL`,
      license_id: `${t.ref} NOT NULL`,
      role: `${t.ascii(16)} NOT NULL`,
      state: `${t.ascii(16)} NOT NULL`,
      base_ends_at: `${t.time} NULL`,
      plans_json: `${t.longText} NOT NULL`,
    },
    indexes: [['order_id'], ['license_id']],
  });
}

export async function down(knex: Knex): Promise<void> {
  await dropTable(knex, 'order_licenses');
  await dropTable(knex, 'order_lines');
}
