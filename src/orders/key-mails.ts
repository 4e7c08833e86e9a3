import { formatTimestampOrNull } from '../base/days';
import { findEmail } from '../licensing/customer-email';
import { openKey } from '../licensing/issue';
import type { License } from '../licensing/licenses';
import { OperatorError } from '../licensing/operator-error';
import { SealError } from '../licensing/sealing';
import { mailOffError, mailStateOf, type Mailing, type MailDetails } from '../mail/queue';
import { asCustomerLanguage } from '../texts/customers/languages';
import type { Db, Transaction } from '../store/engine/database';
import { findLicensesByIds } from '../store/licenses/licenses';
import { findOrder, listOrderLicenses, listOrderLines, type Order } from '../store/orders/orders';
import { findMailsOfOrder, insertOutboxRow, insertOutboxRowIfNew, type NewOutboxRow } from '../store/outbox';
import { inTransaction } from '../store/engine/transaction';
import type { NoMailReason } from '../texts/operators/failures';
import { orderDigest } from './names';

/**
 * Delivers an order's keys to the customer: by one mail each time the order issues, or in the reply to a sender that
 * shows it.
 */

/** Queues a mail with licences' keys, unless one was queued before for the same first licence. */
export async function queueKeys(
  trx: Transaction,
  order: Order,
  ids: number[],
  mailing: Mailing,
  now: Date,
): Promise<void> {
  const row = rowOf(order, ids, mailing, now);
  if (row !== undefined) await insertOutboxRowIfNew(trx, { ...row, once: `order:${order.id}:${ids[0]}` });
}

/** Returns the mail's row; undefined without licences or a valid address. */
function rowOf(order: Order, ids: number[], mailing: Mailing, now: Date): NewOutboxRow | undefined {
  const { customer: address } = order;
  if (ids.length === 0 || address === null || findEmail(address) === undefined) return undefined;
  return orderMail(order, 'order_keys', { license_ids: ids }, address, mailing, now);
}

/** Returns a mail about an order's licences, in the customer's language. @param address null: looked up when it is sent */
export function orderMail(
  order: Order,
  type: 'order_keys' | 'payment_failed',
  details: MailDetails,
  address: string | null,
  mailing: Mailing,
  now: Date,
): NewOutboxRow {
  return {
    kind: 'mail',
    type,
    orderId: order.id,
    licenseId: details.license_ids?.[0] ?? null,
    recipient: address,
    address,
    details,
    once: null,
    createdAt: now,
    nextAttemptAt: now,
    language: asCustomerLanguage(order.language) ?? mailing.language,
  };
}

export interface OrderMail {
  state: 'queued' | 'sent' | 'failed' | 'none';
  to: string | null;
  /** the time when it was sent, given up or queued */
  at: Date | null;
  /** a code for the reason that no mail exists, or that it was refused (mail/failures.ts) */
  reason: string | null;
}

/** The maximum number of mails to search: an order has one each time it issues, and one each time its keys are sent again. */
const MAX_MAILS = 100;

/**
 * Returns the state of the latest mail with an order's keys.
 * @param isOn whether mail is set up @param licenseId restricts it to mails with the key of this licence
 */
export async function readOrderMail(
  db: Db,
  order: Order,
  isOn: boolean,
  licenseId?: number,
): Promise<OrderMail> {
  const rows = await findMailsOfOrder(db, order.id, 'order_keys', licenseId === undefined ? 1 : MAX_MAILS);
  const row = rows.find((one) => licenseId === undefined || licensesIn(one.detailsJson).includes(licenseId));
  if (row !== undefined)
    return {
      state: mailStateOf(row),
      to: row.recipient,
      reason: row.lastError,
      at: row.sentAt ?? row.failedAt ?? row.createdAt,
    };
  const issued = (await listOrderLicenses(db, [order.id])).some(({ role }) => role === 'issued');
  return { state: 'none', to: order.customer, at: null, reason: whyNone(order, issued, isOn) };
}

function licensesIn(detailsJson: string | null): number[] {
  return (JSON.parse(detailsJson ?? '{}') as MailDetails).license_ids ?? [];
}

function whyNone(order: Order, hasIssued: boolean, isOn: boolean): NoMailReason {
  if (order.isTest) return 'test';
  if (!hasIssued) return 'nothing_issued';
  if (order.mail === 'none') return 'off';
  if (order.customer === null) return 'no_address';
  return isOn ? 'not_sent' : 'mail_off';
}

export function orderMailJson({ state, to, at, reason }: OrderMail) {
  return { state, to, at: formatTimestampOrNull(at), reason };
}

interface SendKeysContext {
  mailing: Mailing | undefined;
  secret: Buffer | undefined;
  now: Date;
}

/** Queues a mail with all keys of an order, even if they were sent before. @throws OperatorError (CONFLICT) or SealError */
export async function sendOrderKeys(
  db: Db,
  order: Order,
  { mailing, secret, now }: SendKeysContext,
): Promise<OrderMail> {
  const refused = (message: string, reason: 'no-keys' | 'no-address') =>
    new OperatorError(message, { code: 'CONFLICT', facts: { reason, order: order.id } });
  if (mailing === undefined) throw mailOffError();
  const ids = (await listOrderLicenses(db, [order.id]))
    .filter(({ role }) => role === 'issued')
    .map(({ licenseId }) => licenseId);
  if (ids.length === 0) throw refused('This order issued no licence, so there is no key to send.', 'no-keys');
  for (const license of await findLicensesByIds(db, ids)) openKey(license.id, license, secret);
  const row = rowOf(order, ids, mailing, now);
  if (row === undefined)
    throw refused('This order has no address to which its keys could be sent.', 'no-address');
  const queue = (trx: Transaction) => insertOutboxRow(trx, row);
  await (db.isTransaction ? queue(db as Transaction) : inTransaction(db, queue));
  return { state: 'queued', to: order.customer, at: now, reason: null };
}

/** Returns the keys of the active licences of an order's line, where they are stored and can be opened. */
export async function readItemKeys(
  db: Db,
  shop: string,
  { order: number, line }: { order: string; line: string },
  secret: Buffer | undefined,
): Promise<string[]> {
  const order = await findOrder(db, { digest: orderDigest(shop, number) });
  if (order === undefined) return [];
  const own = (await listOrderLines(db, [order.id])).find((one) => one.line === line);
  const licenses = (await listOrderLicenses(db, [order.id])).filter(({ lineId }) => lineId === own?.id);
  const found = await findLicensesByIds(db, [...new Set(licenses.map(({ licenseId }) => licenseId))]);
  return found
    .filter(({ status }) => status === 'active')
    .flatMap((license) => keptKey(license, secret) ?? []);
}

/** Returns a licence's key; undefined if it is not stored or cannot be opened. */
export function keptKey(license: License, secret: Buffer | undefined): string | undefined {
  try {
    return openKey(license.id, license, secret);
  } catch (error) {
    if (error instanceof OperatorError || error instanceof SealError) return undefined;
    throw error;
  }
}
