import { table } from '../../src/store/engine/database';
import { fieldsToRow } from '../../src/store/engine/row-fields';
import { toSqlTime } from '../../src/store/engine/time';
import { later, type Shop } from './shop';

const NEWS = 'release.published';

/**
 * Records the outcome of queued mails and webhooks, as the senders would have: nearly all arrived. Nothing is left that
 * would be sent at once.
 */

export async function settleMails({ db, now, sold }: Shop): Promise<void> {
  const mails = () => db(table(db, 'outbox')).where({ kind: 'mail' });
  const ids: number[] = await mails().orderBy(['created_at', 'id']).pluck('id');
  const created = db.ref('created_at');
  await mails().update({ next_attempt_at: null, attempts: 1, attempted_at: created, sent_at: created });
  await mails().where({ type: 'answer' }).update({ details_json: null });
  // Let two addresses not exist, and a mailbox be full.
  for (const ago of [3, 14]) {
    const id = ids[ids.length - ago];
    if (id !== undefined)
      await mails()
        .where({ id })
        .update({ sent_at: null, failed_at: created, last_error: 'ADDRESS_REFUSED 550' });
  }
  const [last] = ids.slice(-1);
  if (last !== undefined && sold.length > 0)
    await mails()
      .where({ id: last })
      .update(
        fieldsToRow({ sentAt: null, attempts: 4, lastError: 'LATER 452', nextAttemptAt: later(now, 0.08) }),
      );
}

/** Records the outcome of deliveries: news of releases still arrive; the licences' receiver stopped five days ago. */
export async function settleDeliveries({ db, now }: Shop): Promise<void> {
  const rows = () => db(table(db, 'outbox')).where({ kind: 'webhook' });
  const late = () =>
    rows()
      .whereNot({ type: NEWS })
      .where('created_at', '>', toSqlTime(later(now, -5)));
  const created = db.ref('created_at');
  const failed = later(now, -1.1);
  const lateIds: number[] = await late().pluck('id');
  await rows()
    .whereNotIn('id', lateIds)
    .update({
      ...{ next_attempt_at: null, attempts: 1, attempted_at: created, sent_at: created, lane: null },
      ...{ answer_status: 200, answer: 'ok' },
    });
  await late().update(
    fieldsToRow({
      ...{
        attempts: 9,
        failures: 9,
        answerStatus: 503,
        answer: 'Service Unavailable',
        lastError: 'STATUS 503',
      },
      ...{ attemptedAt: failed, nextAttemptAt: failed },
    }),
  );
  // Add a delivery that was given up.
  const [, refused] = await rows().where({ type: NEWS }).orderBy('id', 'desc').limit(2).pluck('id');
  if (refused !== undefined)
    await rows()
      .where({ id: refused })
      .update({
        ...{ sent_at: null, failed_at: created, attempts: 10, failures: 10, last_error: 'STATUS 500' },
        ...{ answer_status: 500, answer: 'Internal Server Error' },
      });
}
