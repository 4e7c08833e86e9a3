import { HOUR_MS } from '../base/days';
import { countDueBefore } from '../store/outbox';
import { readWebhookBacklog } from '../webhooks/backlog';
import { warning, type Check, type Finding } from './finding';

/** Tells of work that was due an hour ago, because no process has run since: Passenger ends those that nobody asks. */
export const checkWork: Check = async ({ config, db, now }): Promise<Finding[]> => {
  const { mail, publicUrl, keySecret, listen } = config;
  const before = new Date(now().getTime() - HOUR_MS);
  // Other findings tell of a setting that is missing.
  const mails = mail === undefined || publicUrl === undefined ? 0 : await countDueBefore(db, 'mail', before);
  const { lag } = keySecret === undefined ? { lag: 0 } : await readWebhookBacklog(db, now());
  const late = lag * 1000 > HOUR_MS;
  if (mails === 0 && !late) return [];
  return [warning('WORK_WAITS', (t) => t.workWaits(mails, late, 'passenger' in listen))];
};
