import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable, isSqlite } from './schema';

/** The keys of licences, in the order of their digests, by which calls look them up. SQLite can only count a primary key. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  const sqlite = isSqlite(knex);
  await createTable(knex, 'license_keys', {
    columns: {
      id: sqlite ? t.id : 'BIGINT UNSIGNED NOT NULL AUTO_INCREMENT',
      key_digest: `${t.digest} NOT NULL${sqlite ? '' : ' PRIMARY KEY'}`,
      license_id: `${t.ref} NOT NULL`,
      key_hint: `${t.text(16)} NULL`,
      key_sealed: `${t.ascii(512)} NULL`,
      label: `${t.text(190)} NULL`,
      activation_limit: `${t.count} NULL`,
      ends_at: `${t.time} NULL`,
      replaced_by: `${t.ref} NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [[sqlite ? 'key_digest' : 'id']],
    indexes: [['license_id'], ['key_hint']],
    references: { license_id: 'licenses' },
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'license_keys');
