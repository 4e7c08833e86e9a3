import { DAY_MS } from '../base/days';
import type { Db } from '../store/engine/database';
import { lockLease, type Lease } from '../store/leases';
import { findByDedupKeys } from '../store/outbox';
import { listEnds, listPlansToRemind, type EndingLicense } from '../store/reminders';
import { inTransaction } from '../store/engine/transaction';
import { queueMail, REMINDER_DAYS, reminderDedupKey, type DaysBefore, type Mailing } from './queue';

/** The time in which a reminder must be queued. Later ones are skipped, so that switching reminders on causes no flood. */
const WINDOW_MS = DAY_MS;
const BATCH_SIZE = 100;
/** The time between two reminders. A thousand at once would delay customers' links, and look like spam to the mail server. */
const APART_MS = 1_000;

interface ReminderContext {
  lease: Lease;
  mailing: Mailing;
  now: Date;
  /** reports between portions whether to continue */
  goesOn: () => Promise<boolean>;
}

/**
 * Queues the reminders that have become due, once for each licence, end and step. The licence must be active, have a
 * customer, and have existed before the step, and its product must have reminders on. If all payments of a licence were
 * given back, no reminder follows its end.
 * @returns the number of queued reminders
 */
export async function queueReminders(db: Db, context: ReminderContext): Promise<number> {
  const planIds = await listPlansToRemind(db);
  if (planIds.length === 0) return 0;
  let queued = 0;
  for (const daysBefore of REMINDER_DAYS) {
    const upTo = new Date(context.now.getTime() + daysBefore * DAY_MS);
    const window = { after: new Date(upTo.getTime() - WINDOW_MS), upTo };
    for (let ends: EndingLicense[] = []; ;) {
      ends = await listEnds(db, planIds, window, ends.at(-1), BATCH_SIZE);
      const queuedNow = await queuePortion(db, ends, daysBefore, queued, context);
      if (queuedNow === undefined) return queued;
      queued += queuedNow;
      if (ends.length < BATCH_SIZE) break;
      if (!(await context.goesOn())) return queued;
    }
  }
  return queued;
}

/** @param earlier the number that was queued before @returns the number; undefined if another instance has the lease */
async function queuePortion(
  db: Db,
  ends: EndingLicense[],
  daysBefore: DaysBefore,
  earlier: number,
  { lease, mailing: { language }, now }: ReminderContext,
): Promise<number | undefined> {
  const known = ends.filter(
    ({ expiresAt, createdAt, allReturned }) =>
      +createdAt < +expiresAt - daysBefore * DAY_MS && (daysBefore > 0 || !allReturned),
  );
  const done = await findByDedupKeys(
    db,
    known.map((end) => reminderDedupKey(end, daysBefore)),
  );
  const open = known.filter((end) => !done.has(reminderDedupKey(end, daysBefore)));
  if (open.length === 0) return 0;
  return inTransaction(db, async (trx) => {
    if (!(await lockLease(trx, lease, now))) return undefined;
    for (const [i, { id }] of open.entries()) {
      const dueAt = new Date(now.getTime() + (earlier + i) * APART_MS);
      await queueMail(trx, { type: 'reminder', licenseId: id, daysBefore }, { now, language, dueAt });
    }
    return open.length;
  });
}
