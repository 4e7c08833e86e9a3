import type { Knex } from 'knex';
import { addIndex, dropIndex } from './schema';

/** Holds all that `license_counts` is counted from. */
const COLUMNS = ['plan_id', 'status', 'expires_at'];

export const up = (knex: Knex): Promise<void> => addIndex(knex, 'licenses', COLUMNS);

export const down = (knex: Knex): Promise<void> => dropIndex(knex, 'licenses', COLUMNS);
