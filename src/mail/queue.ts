import { formatTimestampOrNull } from '../base/days';
import { findEmail, requireEmail } from '../licensing/customer-email';
import { readCursor, isCursorId, toPage, type Page, type PageRequest } from '../licensing/cursors';
import { throwLicenseNotFound } from '../licensing/find-or-throw';
import { issueLicenses, openKey, type IssueResult, type IssueRequest } from '../licensing/issue';
import { rekey, type Rekeying } from '../licensing/license-keys';
import { findLicense, type License } from '../licensing/licenses';
import type { ChangeContext } from '../licensing/lifecycle';
import { OperatorError } from '../licensing/operator-error';
import { isTerminalStatus, type LiveStatus } from '../licensing/core/states';
import { jsonOf } from '../base/json';
import type { Db, Transaction } from '../store/engine/database';
import { findLicensesByIds, findLicensesOfCustomers } from '../store/licenses/licenses';
import {
  countUndelivered,
  insertOutboxRow,
  listOutbox,
  listOutboxOfLicense,
  type NewOutboxRow,
  type OutboxRow,
} from '../store/outbox';
import type { NoticeAudience } from '../store/security-notices';
import { inReadCommitted, inTransaction } from '../store/engine/transaction';
import type { CustomerLanguage } from '../texts/customers/languages';
import type { MailSettings } from './settings';

declare module '../licensing/operator-error' {
  interface Refusals {
    mail:
      | { reason: 'mail-off' | 'not-security' | 'is-notified' }
      | { reason: 'no-customer' | 'license-final'; license: number }
      /** `failure`: the code, as in a mail's row. `said`: the server's response. */
      | { reason: 'mail-refused' | 'mail-server'; failure: string; said: string | null };
  }
}

/**
 * The queue of mails, in the outbox table. A row contains no secret: keys are decrypted and one-time codes made when
 * the mail is composed (compose.ts). The row of a link for an unknown address contains only the address's digest.
 */

export type MailRequest =
  | { type: 'license_key'; licenseId: number }
  | { type: 'reminder'; licenseId: number; daysBefore: DaysBefore }
  | { type: 'customer_link'; email: string }
  | { type: 'operator_link'; email: string }
  /** Without a key's id, it is about the main key. */
  | { type: 'key_changed'; licenseId: number; keyId?: number | undefined }
  /** With the test sites that were removed together with it. */
  | { type: 'site_removed'; licenseId: number; site: string; testSites?: string[] }
  /** Mails to a customer's present address and to the former one. The licence is one of the customer's, if there is any. */
  | { type: 'address_new' | 'address_old'; email: string; licenseId: number | null }
  /** A seller's reply (answers.ts). */
  | { type: 'answer'; email: string; licenseId: number | null; details: MailDetails }
  /** A mail to an operator. */
  | { type: 'webhook_disabled'; email: string; webhookId: number };

export const REMINDER_DAYS = [30, 7, 0] as const;
export type DaysBefore = (typeof REMINDER_DAYS)[number];

/**
 * The mails about a security release, which security-release.ts queues. `security_notice` is for customers whose licence
 * does not cover it.
 */
export const NOTICE_TYPES = ['security_release', 'security_notice'] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

export function isNoticeType(type: string): type is NoticeType {
  return (NOTICE_TYPES as readonly string[]).includes(type);
}

export type MailType = MailRequest['type'] | 'order_keys' | 'payment_failed' | NoticeType;

export const MAIL_TYPES: MailType[] = [
  'license_key',
  'reminder',
  'customer_link',
  'operator_link',
  'key_changed',
  'site_removed',
  'address_new',
  'address_old',
  'webhook_disabled',
  'order_keys',
  'payment_failed',
  'answer',
  ...NOTICE_TYPES,
];

/** The data for composing a mail in addition to the licence, as JSON in its row. */
export interface MailDetails {
  days_before?: DaysBefore;
  /** the end that a reminder is about, or the paid-through date when a payment failed */
  end?: string | null;
  key_id?: number;
  site?: string;
  /** the test sites that were removed together with the site */
  test_sites?: string[] | undefined;
  webhook_id?: number;
  /** the licences whose keys an order's mail contains, or that a failed payment was for */
  license_ids?: number[];
  /** the text of a reply: encrypted, or in clear without LICENSING_KEY_SECRET */
  sealed?: string;
  subject?: string;
  body?: string;
  /** the security release that the mail is about */
  release_id?: number;
  /** present if the mail was queued for the audience `everybody` */
  audience?: NoticeAudience;
}

interface QueueContext {
  now: Date;
  language: CustomerLanguage;
  /** the earliest time to send it; by default now */
  dueAt?: Date;
}

/** The settings that queueing needs; present if mail is set up. */
export interface Mailing {
  language: CustomerLanguage;
}

/** Returns what queueing needs; undefined if mail is off. It is also off without the site's address, which links need. */
export function mailingOf(config: {
  mail: MailSettings | undefined;
  publicUrl: string | undefined;
  mailLanguage: CustomerLanguage;
}): Mailing | undefined {
  return config.mail && config.publicUrl !== undefined ? { language: config.mailLanguage } : undefined;
}

const LINK_LIFETIME_MS = 60 * 60 * 1000;

/** Queues a mail in the caller's transaction, together with the change that it reports. @returns the row's id */
export function queueMail(db: Db, request: MailRequest, context: QueueContext): Promise<number> {
  const queue = async (trx: Transaction) => insertOutboxRow(trx, await draft(trx, request, context));
  return db.isTransaction ? queue(db as Transaction) : inTransaction(db, queue);
}

/** Returns a row without a recipient or licence. */
export function queueRow(type: MailType, { now, language, dueAt = now }: QueueContext): NewOutboxRow {
  return {
    kind: 'mail',
    type,
    language,
    createdAt: now,
    nextAttemptAt: dueAt,
    licenseId: null,
    recipient: null,
    address: null,
    details: null,
    once: null,
  };
}

async function draft(db: Db, request: MailRequest, context: QueueContext): Promise<NewOutboxRow> {
  const { now } = context;
  const row = queueRow(request.type, context);
  switch (request.type) {
    case 'customer_link':
    case 'operator_link': {
      const address = requireEmail(request.email);
      if (request.type === 'operator_link') return { ...row, recipient: address, address };
      // Run the same statements for any address, so that their duration does not reveal known addresses.
      const isCustomer = (await findLicensesOfCustomers(db, { among: [address] }, 1)).length > 0;
      return isCustomer
        ? { ...row, address, recipient: address, nextAttemptAt: now }
        : { ...row, address, nextAttemptAt: new Date(now.getTime() + LINK_LIFETIME_MS) };
    }
    case 'webhook_disabled': {
      const address = requireEmail(request.email);
      const details: MailDetails = { webhook_id: request.webhookId };
      return { ...row, address, recipient: address, details };
    }
    case 'answer': {
      const { licenseId, details } = request;
      const address = requireEmail(request.email);
      return { ...row, licenseId, address, recipient: address, details };
    }
    case 'reminder': {
      const { licenseId, daysBefore } = request;
      const license = (await findLicense(db, licenseId)) ?? throwLicenseNotFound(licenseId);
      return { ...row, licenseId, ...reminderOf(license, daysBefore) };
    }
    case 'key_changed': {
      const { licenseId, keyId } = request;
      return { ...row, licenseId, details: keyId === undefined ? null : { key_id: keyId } };
    }
    case 'address_new':
    case 'address_old': {
      const address = requireEmail(request.email);
      return { ...row, address, recipient: address, licenseId: request.licenseId };
    }
    case 'site_removed':
      return {
        ...row,
        licenseId: request.licenseId,
        details: { site: request.site, test_sites: request.testSites },
      };
    case 'license_key':
      return { ...row, licenseId: request.licenseId };
  }
}

/** Returns the deduplication key of a reminder, so that each step before a licence's end has at most one. */
export function reminderDedupKey(
  { id, expiresAt }: Pick<License, 'id' | 'expiresAt'>,
  daysBefore: DaysBefore,
): string {
  return `reminder:${id}:${daysBefore}:${formatTimestampOrNull(expiresAt) ?? ''}`;
}

function reminderOf(license: License, daysBefore: DaysBefore): Pick<NewOutboxRow, 'details' | 'once'> {
  const details: MailDetails = { days_before: daysBefore, end: formatTimestampOrNull(license.expiresAt) };
  return { details, once: reminderDedupKey(license, daysBefore) };
}

export function mailOffError(effect = 'no key can be sent'): OperatorError {
  return new OperatorError(`Mail is not set up, so ${effect}.`, {
    code: 'CONFLICT',
    facts: { reason: 'mail-off' },
  });
}

/** Checks whether a licence's key can be mailed. @throws OperatorError (CONFLICT) if not */
function requireMailable(
  license: License,
  mailing: Mailing | undefined,
  secret: Buffer | undefined,
): Mailing {
  if (mailing === undefined) throw mailOffError();
  if (license.customer === null || findEmail(license.customer) === undefined)
    throw new OperatorError(`Licence ${license.id} has no customer to whom its key could be sent.`, {
      code: 'CONFLICT',
      facts: { reason: 'no-customer', license: license.id },
    });
  if (isTerminalStatus(license.status as LiveStatus))
    throw new OperatorError(`Licence ${license.id} is ${license.status}, so its key does not work.`, {
      code: 'CONFLICT',
      facts: { reason: 'license-final', license: license.id },
    });
  openKey(license.id, license, secret);
  return mailing;
}

/** Queues a mail with a licence's key. @throws OperatorError or SealError if it cannot be mailed (`requireMailable`) */
export async function sendKey(
  db: Db,
  license: License,
  { mailing, secret, now }: SendContext,
): Promise<Mail> {
  const { language } = requireMailable(license, mailing, secret);
  const type = 'license_key';
  const id = await queueMail(db, { type, licenseId: license.id }, { now, language });
  return { id, type, state: 'queued', createdAt: now, sentAt: null };
}

/**
 * Issues licences, and queues the keys of the new ones in the same transaction.
 * @throws OperatorError or SealError if one cannot be mailed; then no licence is issued
 */
export function issueAndSend(
  db: Db,
  request: IssueRequest,
  { actor, secret, mailing, now }: SendContext & { actor: string },
): Promise<IssueResult[]> {
  return inReadCommitted(db, async (trx) => {
    const issued = await issueLicenses(trx, request, actor, secret, now);
    for (const { license, isNew } of issued) if (isNew) await sendKey(trx, license, { mailing, secret, now });
    return issued;
  });
}

/**
 * Replaces a licence's main key, and queues a mail with the new one in the same transaction.
 * @throws OperatorError or SealError if it cannot be mailed; then nothing is changed
 */
export function rekeyAndSend(
  db: Db,
  id: number,
  rekeying: Rekeying,
  { secret, mailing }: Pick<SendContext, 'secret' | 'mailing'>,
  context: ChangeContext,
): ReturnType<typeof rekey> {
  return inReadCommitted(db, async (trx) => {
    const added = await rekey(trx, id, rekeying, secret, context);
    const license = await findLicense(trx, id);
    if (license?.mainKeyId !== added.stored.id)
      throw new OperatorError('Only the main key can be mailed. Send any other key yourself.', {
        code: 'CONFLICT',
        field: 'mail',
      });
    await sendKey(trx, license, { mailing, secret, now: context.now });
    return added;
  });
}

interface SendContext {
  mailing: Mailing | undefined;
  secret: Buffer | undefined;
  now: Date;
}

export interface Mail {
  id: number;
  type: string;
  state: 'queued' | 'sent' | 'failed';
  createdAt: Date;
  sentAt: Date | null;
}

/** Lists the latest mails about a licence, newest first. */
export async function listMails(db: Db, licenseId: number, limit = 100): Promise<Mail[]> {
  return (await listOutboxOfLicense(db, 'mail', licenseId, { before: undefined, limit })).map(toMail);
}

/** Lists a page of the mails about a licence, newest first. */
export async function listMailPage(
  db: Db,
  licenseId: number,
  { after, limit }: PageRequest,
): Promise<Page<Mail>> {
  const [before] = readCursor<[number]>(after, [isCursorId]) ?? [];
  const rows = await listOutboxOfLicense(db, 'mail', licenseId, { before, limit: limit + 1 });
  const { items, next } = toPage(rows, limit, ({ id }) => [id]);
  return { items: items.map(toMail), next };
}

/** Counts the mails that were given up since a time. */
export async function countFailedMails(db: Db, since: Date): Promise<number> {
  return (await countUndelivered(db, since)).failed;
}

/** A mail with details that only the machine's operator may see. */
export interface MailReport {
  mail: Mail;
  licenseId: number | null;
  /** the order whose keys the mail contains */
  orderId: number | null;
  /** null if it has no recipient or the recipient is unknown */
  recipient: string | null;
  attempts: number;
  /** a code (failures.ts); null without a failure */
  error: string | null;
  /** true for a link that was requested for an unknown address: it is not sent, and its row is deleted after an hour */
  isNobodys: boolean;
}

/** Lists the latest mails of all licences, newest first; or only those that were given up, or failed and are retried. */
export async function listAllMails(db: Db, which: { failed: boolean; limit: number }): Promise<MailReport[]> {
  return reportMails(db, await listOutbox(db, 'mail', which));
}

/** Returns reports with recipients. If a mail's recipient is looked up when it is sent, this is the present address. */
export async function reportMails(db: Db, rows: OutboxRow[]): Promise<MailReport[]> {
  const open = rows.filter(({ recipient, licenseId }) => recipient === null && licenseId !== null);
  const ids = [...new Set(open.map(({ licenseId }) => licenseId as number))];
  const customers = new Map((await findLicensesByIds(db, ids)).map(({ id, customer }) => [id, customer]));
  return rows.map((row) => ({
    mail: toMail(row),
    licenseId: row.licenseId,
    orderId: row.orderId,
    attempts: row.attempts,
    error: row.lastError,
    recipient: row.recipient ?? customers.get(row.licenseId ?? 0) ?? null,
    isNobodys: row.type === 'customer_link' && row.recipient === null,
  }));
}

export function reportJson({ mail, ...report }: MailReport) {
  return { ...mailJson(mail), ...jsonOf(report, 'licenseId', 'orderId', 'recipient', 'attempts', 'error') };
}

function toMail(row: OutboxRow): Mail {
  const { id, type, createdAt, sentAt } = row;
  return { id, type, state: mailStateOf(row), createdAt, sentAt };
}

export function mailStateOf({ sentAt, failedAt }: OutboxRow): Mail['state'] {
  if (sentAt !== null) return 'sent';
  return failedAt === null ? 'queued' : 'failed';
}

export function mailJson(mail: Mail) {
  return jsonOf(mail, 'id', 'type', 'state', 'createdAt', 'sentAt');
}
