import type { Knex } from 'knex';
import { addColumns, addIndex, columnTypes, dropColumns, dropIndex, tableName } from './schema';
import { fillMainKeys } from './015_main_keys';
import { fillSites } from './016_activation_slots';

/** Drops the key columns of licences. A process of an earlier version would fail, so this runs after its restart. */

export const config = { transaction: false };

const COLUMNS = ['key_digest', 'key_hint', 'key_sealed'];
const INDEXES = [['key_digest'], ['key_hint']];

export async function up(knex: Knex): Promise<void> {
  // What processes of the earlier version have added since.
  if (await knex.schema.hasColumn(tableName(knex, 'licenses'), 'key_digest')) await fillMainKeys(knex);
  await fillSites(knex);
  for (const columns of INDEXES) await dropIndex(knex, 'licenses', columns);
  await dropColumns(knex, 'licenses', COLUMNS);
}

/** Licences keep their main keys; the others have no place in the earlier columns. */
export async function down(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  const [licenses, keys] = [tableName(knex, 'licenses'), tableName(knex, 'license_keys')];
  await addColumns(knex, 'licenses', {
    key_digest: `${t.digest} NULL`,
    key_hint: `${t.text(16)} NULL`,
    key_sealed: `${t.ascii(512)} NULL`,
  });
  for (const column of COLUMNS)
    await knex.raw(
      `UPDATE ${licenses} SET ${column} = (SELECT k.${column} FROM ${keys} k WHERE k.id = ${licenses}.main_key_id)`,
    );
  await addIndex(knex, 'licenses', ['key_digest'], { unique: true });
  await addIndex(knex, 'licenses', ['key_hint']);
}
