import type { Db } from '../store/engine/database';
import { findOldestDue } from '../store/deliveries';
import { listWebhooks } from '../store/webhooks';
import { isAutoDisabled } from './receivers';

/** Returns the seconds for which the oldest delivery has been due, and the number of receivers disabled for failures. */
export async function readWebhookBacklog(db: Db, now: Date): Promise<{ lag: number; stopped: number }> {
  const webhooks = await listWebhooks(db);
  let lag = 0;
  for (const { id, disabledAt } of webhooks) {
    const due = disabledAt === null ? await findOldestDue(db, id, now) : undefined;
    if (due !== undefined) lag = Math.max(lag, (now.getTime() - due.getTime()) / 1000);
  }
  return { lag, stopped: webhooks.filter(isAutoDisabled).length };
}
