import type { Knex } from 'knex';
import { inTransaction } from '../src/store/transaction';
import { addColumns, columnTypes, dropColumns, tableName } from './schema';

/** Gives each licence a row in license_keys, its main key. The service may run meanwhile. */

/** Licences in a transaction: few enough for a cluster, and calls wait for their locks for some ms only. */
const PIECE = 1_000;

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  await addColumns(knex, 'licenses', { main_key_id: `${columnTypes(knex).ref} NULL` });
  await fillMainKeys(knex);
}

/** For licences without a main key. Can be run again at any time. */
export async function fillMainKeys(knex: Knex): Promise<void> {
  const [licenses, keys] = [tableName(knex, 'licenses'), tableName(knex, 'license_keys')];
  const [{ last }] = (await knex(licenses).max({ last: 'id' })) as [{ last: number | null }];
  for (let after = 0; after < (last ?? 0); after += PIECE) {
    const piece = [after, after + PIECE];
    await inTransaction(knex, async (trx) => {
      // The INSERT would lock them too, but only against writers: the UPDATE could then meet one in a deadlock.
      await trx(licenses)
        .where('id', '>', after)
        .where('id', '<=', after + PIECE)
        .orderBy('id')
        .forUpdate()
        .pluck('id');
      await trx.raw(
        `INSERT INTO ${keys} (key_digest, license_id, key_hint, key_sealed, created_at)
         SELECT l.key_digest, l.id, l.key_hint, l.key_sealed, l.created_at FROM ${licenses} l
          WHERE l.id > ? AND l.id <= ? AND l.main_key_id IS NULL`,
        piece,
      );
      await trx.raw(
        `UPDATE ${licenses} SET main_key_id = (SELECT k.id FROM ${keys} k WHERE k.key_digest = ${licenses}.key_digest)
          WHERE id > ? AND id <= ? AND main_key_id IS NULL`,
        piece,
      );
    });
  }
}

export const down = (knex: Knex): Promise<void> => dropColumns(knex, 'licenses', ['main_key_id']);
