import type { Knex } from 'knex';
import { fillCustomerDigests } from '../src/store/customers';
import { table } from '../src/store/database';
import { addColumns, addIndex, columnTypes, dropColumns, dropIndex } from './schema';

/**
 * The digest of a licence's customer, by which a customer is found without naming the address. The service may run
 * meanwhile; what it writes without the digest is mended by the next version (`sumUp` in src/licensing/statistics.ts).
 */

const PIECE = 500;

export const config = { transaction: false };

export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'licenses', { customer_digest: `${t.ascii(32)} NULL` });
  await addIndex(knex, 'licenses', ['customer_digest']);
  for (let after = 0; ;) {
    const ids = await knex(table(knex, 'licenses'))
      .where('id', '>', after)
      .orderBy('id')
      .limit(PIECE)
      .pluck<number[]>('id');
    await fillCustomerDigests(knex, ids);
    if (ids.length < PIECE) return;
    after = ids.at(-1) as number;
  }
}

export async function down(knex: Knex): Promise<void> {
  await dropIndex(knex, 'licenses', ['customer_digest']);
  await dropColumns(knex, 'licenses', ['customer_digest']);
}
