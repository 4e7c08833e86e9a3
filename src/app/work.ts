import type { Logger } from 'pino';
import type { Config } from '../settings/config';
import type { Worked } from '../cli/work';
import { startHousekeeping } from '../runner/housekeeping';
import { jobsOf, startMail, startWebhooks, type Clock } from './service';
import { openServiceDatabase, shareConnections, type Db } from '../store/engine/database';
import { withDatabaseHint } from '../setup/database';
import { requireCurrentSchema } from '../store/engine/migrate';
import { countProcesses } from '../store/leases';
import { watchSettings } from '../settings/stored';

/** The number of connections of a command; the service next to it needs the rest of a host's limit. */
const CONNECTIONS = 4;

/**
 * Does all due background work once, for cron. Jobs run first, because they queue mails and webhooks. Work that another
 * process is doing is left to it.
 * @throws DATABASE_UNUSABLE, SchemaError
 */
export async function runDueJobs(config: Config, log: Logger, now: Clock): Promise<Worked> {
  const db = openServiceDatabase(config.database, config.tablePrefix, CONNECTIONS);
  try {
    await requireCurrentSchema(db);
    shareConnections(db, 1 + (await countProcesses(db, now())));
    return await workOn(db, config, log, now);
  } catch (error) {
    throw withDatabaseHint(error, config);
  } finally {
    await db.destroy();
  }
}

async function workOn(db: Db, config: Config, log: Logger, now: Clock): Promise<Worked> {
  const live = await watchSettings(db, config, log);
  try {
    const stopJobs = startHousekeeping(db, () => live.config.logDays, log, now, jobsOf(live, db, log, now));
    await stopJobs.idle().finally(stopJobs);
    const mails = startMail(live, db, log, now);
    const webhooks = startWebhooks(live, db, log, now);
    try {
      await webhooks?.idle();
      // Send mails after the webhooks, because a disabled receiver is reported by mail.
      await mails.idle();
    } finally {
      await mails();
      await webhooks?.stop();
    }
    return { mails: mails.counts(), webhooks: webhooks?.counts() ?? { delivered: 0, failed: 0 } };
  } finally {
    await live.stop();
  }
}
