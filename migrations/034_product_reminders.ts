import type { Knex } from 'knex';
import { addColumns, columnTypes, dropColumns } from './schema';

/** Whether customers of a product are reminded by mail before their licence ends. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'products', { reminders: `${t.flag} NOT NULL DEFAULT 0` });
}

export const down = (knex: Knex): Promise<void> => dropColumns(knex, 'products', ['reminders']);
