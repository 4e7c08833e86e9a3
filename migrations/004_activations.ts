import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'activations', {
    columns: {
      id: t.id,
      license_id: `${t.ref} NOT NULL`,
      identifier: `${t.text(255)} NOT NULL`,
      name: `${t.text(190)} NULL`,
      ip: `${t.ascii(45)} NULL`,
      activated_at: `${t.time} NOT NULL`,
    },
    unique: [['license_id', 'identifier']],
    references: { license_id: 'licenses' },
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'activations');
