import { formatTimestampOrNull } from '../base/days';
import { mailStateOf, type Mailing, type MailDetails } from '../mail/queue';
import type { Db, Transaction } from '../store/engine/database';
import { insertEvents } from '../store/events';
import type { Order } from '../store/orders/orders';
import { findMailsOfOrder, insertOutboxRowIfNew } from '../store/outbox';
import type { FailedPaymentNote } from './decision';
import { orderMail } from './key-mails';

/** Dunning: notes a failed payment in the history of licences, and mails the customer where to pay. */
export async function noteFailedPayment(
  trx: Transaction,
  order: Order,
  { licenses, failedAt, mail }: { licenses: number[]; failedAt: Date; mail: FailedPaymentNote | null },
  { actor, now, mailing }: { actor: string; now: Date; mailing?: Mailing | undefined },
): Promise<void> {
  const after = { failed_at: formatTimestampOrNull(failedAt), order: order.id, mailed: mail !== null };
  await insertEvents(
    trx,
    licenses.map((licenseId) => ({
      licenseId,
      at: now,
      actor,
      action: 'payment-failed',
      before: null,
      after,
    })),
  );
  if (mail === null || mailing === undefined) return;
  const details: MailDetails = { license_ids: licenses, end: formatTimestampOrNull(mail.end) };
  // Store no address, because it is taken from the order when the mail is sent.
  const row = orderMail(order, 'payment_failed', details, null, mailing, now);
  await insertOutboxRowIfNew(trx, { ...row, once: mail.once });
}

export interface FailedPaymentMail {
  state: 'queued' | 'sent' | 'failed';
  /** the time when the mail was sent, given up or queued */
  at: Date | null;
}

/** Returns the latest mail that notified the customer of a failed payment; undefined if none exists. */
export async function readFailedPaymentMail(
  db: Db,
  { id }: Pick<Order, 'id'>,
): Promise<FailedPaymentMail | undefined> {
  const [row] = await findMailsOfOrder(db, id, 'payment_failed', 1);
  return row && { state: mailStateOf(row), at: row.sentAt ?? row.failedAt ?? row.createdAt };
}
