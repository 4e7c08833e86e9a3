import type { Knex } from 'knex';
import { columnTypes, createTable, dropTable } from './schema';

/** Calls with an Idempotency-Key: who is at it, and the sealed answer once it is done. Both digests are keyed. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await createTable(knex, 'idempotency', {
    columns: {
      key_digest: `${t.digest} NOT NULL PRIMARY KEY`,
      claim: `${t.ascii(32)} NOT NULL`,
      request_digest: `${t.digest} NULL`,
      lease_ends_at: `${t.time} NOT NULL`,
      answer: `${t.longText} NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    indexes: [['created_at']],
  });
}

export const down = (knex: Knex): Promise<void> => dropTable(knex, 'idempotency');
