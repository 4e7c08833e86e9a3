import type { Knex } from 'knex';
import { columnTypes, createTable, type Tables } from '../tables';
import { accessLog } from './access-log';
import { activations } from './activations';
import { catalogue } from './catalogue';
import { customers } from './customers';
import { events } from './events';
import { imports } from './imports';
import { instances } from './instances';
import { licenseKeys } from './license-keys';
import { licenses } from './licenses';
import { orders } from './orders';
import { outbox } from './outbox';
import { releases } from './releases';
import { settings } from './settings';
import { shops } from './shops';
import { signIn } from './sign-in';
import { signingKeys } from './signing-keys';
import { sums } from './sums';
import { told } from './told';
import { webhooks } from './webhooks';

/** All tables, each after the tables that it references. */
export const schema: Tables = (t) =>
  Object.assign(
    {},
    ...[catalogue, licenses, licenseKeys, activations, releases, accessLog, told, events, sums].map((one) =>
      one(t),
    ),
    ...[signIn, signingKeys, outbox, webhooks, shops, orders, customers, instances, settings, imports].map(
      (one) => one(t),
    ),
  ) as ReturnType<Tables>;

/** Creates the tables that do not exist yet, so that it completes an interrupted call. */
export async function up(knex: Knex): Promise<void> {
  for (const [name, definition] of Object.entries(schema(columnTypes(knex))))
    await createTable(knex, name, definition);
}
