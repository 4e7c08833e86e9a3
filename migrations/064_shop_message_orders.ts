import type { Knex } from 'knex';
import { addIndex, dropIndex } from './schema';

/** Finds what receivers took about a customer's orders. */
export const up = (knex: Knex): Promise<void> => addIndex(knex, 'shop_messages', ['order_id']);

export const down = (knex: Knex): Promise<void> => dropIndex(knex, 'shop_messages', ['order_id']);
