import type { Knex } from 'knex';
import { addColumns } from './steps';
import { columnTypes } from './tables';

/** Adds the audience of a security release's mails. */
export async function up(knex: Knex): Promise<void> {
  const t = columnTypes(knex);
  await addColumns(knex, 'security_notices', {
    // The audience whose mails are being queued, or were queued last: `entitled` or `everybody`.
    audience: `${t.ascii(16)} NOT NULL DEFAULT 'entitled'`,
    // The time at which the audience `everybody` was notified, which includes licences that do not cover the release.
    everybody_at: `${t.time} NULL`,
    // The number of mails that were queued before.
    earlier_mails: `${t.count} NOT NULL DEFAULT 0`,
  });
}
