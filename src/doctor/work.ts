import { HOUR_MS } from '../base/days';
import { countOverdue } from '../store/outbox';
import { readWebhookBacklog } from '../webhooks/backlog';
import { warning, type Check, type CheckFinding } from './finding';

/** Reports work that has been due for an hour, because no process ran: Passenger ends processes without requests. */
export const checkWork: Check = async ({ config, db, now }): Promise<CheckFinding[]> => {
  const { mail, publicUrl, keySecret, listen } = config;
  const before = new Date(now().getTime() - HOUR_MS);
  // Ignore work whose setting is missing, because other findings report that.
  const mails = mail === undefined || publicUrl === undefined ? 0 : await countOverdue(db, 'mail', before);
  const { lag } = keySecret === undefined ? { lag: 0 } : await readWebhookBacklog(db, now());
  const late = lag * 1000 > HOUR_MS;
  if (mails === 0 && !late) return [];
  return [warning('WORK_WAITS', (t) => t.workWaits(mails, late, 'passenger' in listen))];
};
