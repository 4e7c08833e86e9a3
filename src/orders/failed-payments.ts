import { formatTimestampOrNull } from '../base/days';
import { findEmail } from '../licensing/customer-email';
import { isFinal, liveStatus, paidEnd } from '../licensing/core/states';
import { stateOf, type Mailing, type MailDetails } from '../mail/queue';
import { asCustomerLanguage } from '../texts/customers/languages';
import type { Db } from '../store/engine/database';
import { insertEvents } from '../store/events';
import { lockLicenses, type LockedLicense } from '../store/licenses/licenses';
import type { Order, OrderEvent } from '../store/orders/orders';
import { findMailsOfOrder, findQueuedOnce, insertOutboxRowOnce } from '../store/outbox';
import { byTime, type LineEvent } from './fold';
import { placeLines } from './same-lines';
import { concerning, type Work } from './work';

/**
 * A payment that failed changes no licence. It is noted in the history of those that it would have renewed, and the
 * customer is mailed where to pay, once for each period.
 */

/** @param failed the event, @param told the order's others */
export async function noteFailedPayment(
  work: Work,
  failed: OrderEvent,
  told: OrderEvent[],
  mailing: Mailing | undefined,
): Promise<void> {
  const { trx, order, shop, context } = work;
  // What was sold is not concerned by a test.
  if (failed.isTest && !order.isTest) return;
  const licenses = await findUnpaid(work, failed, told);
  const [first] = licenses;
  if (first === undefined) return;
  const isMailed = shop.billingUrl !== null && mailing !== undefined && !order.isTest && hasAddress(work);
  const end = earliest(licenses);
  const once = `payment_failed:${order.id}:${formatTimestampOrNull(end) ?? ''}`;
  const isNew = isMailed && (await findQueuedOnce(trx, [once])).size === 0;
  await insertEvents(
    trx,
    licenses.map(({ id: licenseId }) => ({
      ...{
        licenseId,
        at: context.now,
        actor: context.actor,
        action: 'payment-failed' as const,
        before: null,
      },
      after: { failed_at: formatTimestampOrNull(failed.at), order: order.id, mailed: isNew },
    })),
  );
  if (!isNew) return;
  const details: MailDetails = {
    license_ids: licenses.map(({ id }) => id),
    end: formatTimestampOrNull(end),
  };
  // The order says whose address it is when the mail is sent.
  await insertOutboxRowOnce(trx, {
    ...{ kind: 'mail', type: 'payment_failed', orderId: order.id, licenseId: first.id, details, once },
    ...{ recipient: null, address: null, createdAt: context.now, nextAttemptAt: context.now },
    language: asCustomerLanguage(order.language) ?? mailing.language,
  });
}

function hasAddress({ order: { customer } }: Work): boolean {
  return customer !== null && findEmail(customer) !== undefined;
}

/** The licences that a payment was for and that nothing newer has paid for or ended. */
async function findUnpaid(work: Work, failed: OrderEvent, told: OrderEvent[]): Promise<LockedLicense[]> {
  const { trx, lines, licenses, context } = work;
  const placed = placeLines([...told, failed], lines);
  const open = lines.filter((line) => {
    const [own] = placed.slice(-1).flatMap((event) => concerning(event, line));
    const others = placed.slice(0, -1).flatMap((event) => concerning(event, line));
    return own !== undefined && !others.some((one) => settles(one) && byTime(one, own) > 0);
  });
  const of = new Set(open.map(({ id }) => id));
  const ids = licenses
    .filter(({ lineId, state }) => of.has(lineId) && state !== 'cancelled')
    .map(({ licenseId }) => licenseId);
  return [...(await lockLicenses(trx, [...new Set(ids)])).values()]
    .filter((license) => !isFinal(liveStatus(license, context.now)) && license.status !== 'suspended')
    .sort((a, b) => a.id - b.id);
}

/** Whether an event ends the time in which a failed payment matters. */
function settles({ event, effect, renewsItself }: LineEvent): boolean {
  return effect === 'issue' || effect === 'renew' || event === 'subscription_ended' || renewsItself === false;
}

function earliest(licenses: LockedLicense[]): Date | null {
  const ends = licenses.flatMap((license) => paidEnd(license) ?? []);
  return ends.length === 0 ? null : new Date(Math.min(...ends.map((end) => end.getTime())));
}

export interface FailedPaymentMail {
  state: 'queued' | 'sent' | 'failed';
  /** when it was sent or given up, else queued */
  at: Date | null;
}

/** The latest mail that told the customer of a failed payment; undefined: there is none. */
export async function readFailedPaymentMail(
  db: Db,
  { id }: Pick<Order, 'id'>,
): Promise<FailedPaymentMail | undefined> {
  const [row] = await findMailsOfOrder(db, id, 'payment_failed', 1);
  return row && { state: stateOf(row), at: row.sentAt ?? row.failedAt ?? row.createdAt };
}
