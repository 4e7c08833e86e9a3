/**
 * Makes the build that preloads this file (next-version.ts) a later version: with a third migration, which adds a
 * table, a column and an index, and fills both from the licences.
 */
const { migrations } = require('../../dist/migrations');
const { addColumns, addIndex, fillInPieces } = require('../../dist/migrations/steps');
const { columnTypes, createTable, tableName } = require('../../dist/migrations/tables');

migrations['999_notes'] = {
  config: { transaction: false },
  async up(knex) {
    const t = columnTypes(knex);
    const [licenses, notes] = [tableName(knex, 'licenses'), tableName(knex, 'notes')];
    await createTable(knex, 'notes', {
      columns: { id: t.id, license_id: `${t.ref} NOT NULL` },
      unique: [['license_id']],
    });
    await addColumns(knex, 'licenses', { noted_at: `${t.time} NULL` });
    await addIndex(knex, 'licenses', ['noted_at']);
    await fillInPieces(knex, 'licenses', async (trx, ids) => {
      const rows = `id > ? AND id <= ? AND noted_at IS NULL`;
      await trx.raw(`INSERT INTO ${notes} (license_id) SELECT id FROM ${licenses} WHERE ${rows}`, ids);
      await trx.raw(`UPDATE ${licenses} SET noted_at = created_at WHERE ${rows}`, ids);
    });
  },
};
