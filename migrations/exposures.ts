import type { Knex } from 'knex';
import { columnTypes, createTable } from './tables';

/** The figures of a product's exposure to a hole, for a list of versions that have the fix. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'exposures', {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      // The versions, joined by blanks.
      fixed_in: `${t.ascii(1400)} NOT NULL`,
      // As JSON; null until they are counted.
      figures_json: `${t.longText} NULL`,
      computed_at: `${t.time} NULL`,
      // The time of the last request for them, in steps of an hour.
      asked_at: `${t.time} NOT NULL`,
    },
    primary: ['product_id', 'fixed_in'],
  });
}
