import { OperatorError } from '../licensing/operator-error';
import type { Db, Transaction } from '../store/engine/database';
import { inTransaction } from '../store/engine/transaction';
import { findLicensesByIds } from '../store/licenses/licenses';
import { findOrder } from '../store/orders/orders';
import {
  findOutboxRow,
  insertOutboxRow,
  listOpenFailures,
  settleOutboxRow,
  takeDedupKey,
  type FailuresOf,
  type OutboxRow,
} from '../store/outbox';
import {
  mailOffError,
  reportMails,
  mailStateOf,
  type Mail,
  type Mailing,
  type MailReport,
  type MailType,
} from './queue';

declare module '../licensing/operator-error' {
  interface Refusals {
    failedMails: { reason: 'no-mail' | 'mail-not-failed' | 'mail-only-once'; mail: number };
  }
}

/** Mails that were given up. A seller sends them again to the present address, or dismisses them. */

/** Mails that cannot be sent again: a link is requested again by its owner, and the text of a reply is deleted. */
const ONLY_ONCE: readonly MailType[] = ['customer_link', 'operator_link', 'address_old', 'answer'];
/** Mails that have no address other than the row's own. */
const OWN_RECIPIENT: readonly MailType[] = ['address_new', 'webhook_disabled'];

export type { FailuresOf };

/** Reports whether a mail that was given up can be sent again. */
export function canSendAgain(type: string): boolean {
  return !ONLY_ONCE.includes(type as MailType);
}

/** Lists mails that were given up, unless the seller or a later mail of the same kind has settled them. */
export async function listFailedMails(db: Db, of: FailuresOf, limit = 20): Promise<MailReport[]> {
  return reportMails(db, await listOpenFailures(db, of, limit));
}

/**
 * Queues a mail again that was given up, to the present address of the order or licence, and settles the old one.
 * @throws OperatorError (NOT_FOUND, or CONFLICT if it cannot be sent)
 */
export async function sendMailAgain(
  db: Db,
  id: number,
  { mailing, now }: { mailing: Mailing | undefined; now: Date },
): Promise<Mail> {
  const row = await requireFailed(db, id);
  const { type, licenseId, orderId, language } = row;
  if (!canSendAgain(type))
    throw new OperatorError('A mail of this kind cannot be sent again.', {
      code: 'CONFLICT',
      facts: { reason: 'mail-only-once', mail: id },
    });
  if (mailing === undefined) throw mailOffError('no mail can be sent');
  const isOwn = OWN_RECIPIENT.includes(type as MailType);
  const address = isOwn ? row.recipient : await requireAddress(db, row);
  // Leave the recipient of other mails empty: it is looked up when they are sent.
  const recipient = isOwn || type === 'order_keys' ? address : null;
  const details = row.detailsJson === null ? null : (JSON.parse(row.detailsJson) as object);
  const queue = async (trx: Transaction) => {
    await settleOutboxRow(trx, id, now);
    return insertOutboxRow(trx, {
      kind: 'mail',
      type,
      licenseId,
      orderId: orderId ?? undefined,
      recipient,
      address,
      details,
      language,
      // So that a mail that is sent only once stays the only one.
      once: await takeDedupKey(trx, row),
      createdAt: now,
      nextAttemptAt: now,
    });
  };
  const newId = await inTransaction(db, queue);
  return { id: newId, type, state: 'queued', createdAt: now, sentAt: null };
}

/** Settles a mail that was given up, so that it no longer needs the seller. @throws OperatorError */
export async function dismissMail(db: Db, id: number, now: Date): Promise<MailReport> {
  const row = await requireFailed(db, id);
  await inTransaction(db, (trx) => settleOutboxRow(trx, id, now));
  return (await reportMails(db, [row]))[0] as MailReport;
}

async function requireFailed(db: Db, id: number): Promise<OutboxRow> {
  const row = await findOutboxRow(db, 'mail', id);
  if (row === undefined)
    throw new OperatorError('There is no such mail.', {
      code: 'NOT_FOUND',
      facts: { reason: 'no-mail', mail: id },
    });
  if (mailStateOf(row) !== 'failed')
    throw new OperatorError('This mail was not given up.', {
      code: 'CONFLICT',
      facts: { reason: 'mail-not-failed', mail: id },
    });
  return row;
}

/** Returns the present address for a mail about an order or licence. */
async function requireAddress(db: Db, { orderId, licenseId }: OutboxRow): Promise<string> {
  const order = orderId === null ? undefined : await findOrder(db, { id: orderId });
  const [license] = order || licenseId === null ? [] : await findLicensesByIds(db, [licenseId]);
  const address = (order ?? license)?.customer ?? null;
  if (address !== null) return address;
  const facts =
    order === undefined
      ? { reason: 'no-customer' as const, license: licenseId ?? 0 }
      : { reason: 'no-address' as const, order: order.id };
  throw new OperatorError('There is no address to which it could be sent.', { code: 'CONFLICT', facts });
}
