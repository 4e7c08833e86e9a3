import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { HOUR_MS } from '../base/days';
import { findEmail } from '../licensing/customer-email';
import type { CustomerLanguage } from '../texts/customers/languages';
import { customerDigest } from '../store/customer-digest';
import { findCustomerByDigest } from '../store/customers';
import type { Db } from '../store/engine/database';
import { takeLinkSlot } from '../store/link-requests';
import { findOperatorByEmail } from '../store/operators';
import { inTransaction } from '../store/engine/transaction';
import { createCode, CUSTOMER_CODE_TTL_MS, OPERATOR_CODE_TTL_MS } from './one-time-codes';
import { operatorCodeFor } from './operators';

/** Requests for a mailed one-time link. Neither the response nor its time reveals whether an address is known. */

const LINKS_AN_HOUR = 3;
/** The time of every response, which is far longer than any difference between responses. */
const ANSWERED_AFTER_MS = 250;

export interface CustomerLink {
  type: 'customer_link';
  email: string;
}

export interface OperatorLink {
  type: 'operator_link';
  email: string;
}

/** Puts a mail into the outbox (mail/queue.ts), in the caller's transaction. */
export type EnqueueLink<Request> = (
  db: Db,
  request: Request,
  context: { now: Date; language?: CustomerLanguage },
) => Promise<unknown>;

interface LinkRequest<Request> {
  now: Date;
  /** the language of the page that requests it; by default the usual one */
  language?: CustomerLanguage;
  queue: EnqueueLink<Request>;
}

/** Queues the mail if the address belongs to an operator, at most three times in an hour. */
export function requestOperatorLink(
  db: Db,
  text: string,
  { now, language, queue }: LinkRequest<OperatorLink>,
): Promise<void> {
  return answerAlike(async () => {
    const email = await countRequest(db, 'operator', text, now);
    if (email === undefined) return;
    await inTransaction(db, async (trx) => {
      const operator = await findOperatorByEmail(trx, email);
      if (operator !== undefined)
        await queue(trx, { type: 'operator_link', email }, contextOf(now, language));
    });
  });
}

/**
 * Queues a row for any address, at most three times in an hour, so that the outbox does not reveal known addresses
 * either. The row of an unknown address holds only a digest, and is deleted after an hour (mail/queue.ts).
 */
export function requestCustomerLink(
  db: Db,
  text: string,
  { now, language, queue }: LinkRequest<CustomerLink>,
): Promise<void> {
  return answerAlike(async () => {
    const email = await countRequest(db, 'customer', text, now);
    if (email !== undefined)
      await inTransaction(db, (trx) =>
        queue(trx, { type: 'customer_link', email }, contextOf(now, language)),
      );
  });
}

function contextOf(
  now: Date,
  language: CustomerLanguage | undefined,
): { now: Date; language?: CustomerLanguage } {
  return { now, ...(language && { language }) };
}

/** Returns a function that makes a link's code when the mail is composed; undefined for an unknown address. */
export function createLinkCodes(db: Db) {
  return async (
    { kind, email }: { kind: 'customer' | 'operator'; email: string },
    now: Date,
  ): Promise<string | undefined> => {
    if (kind === 'operator') {
      const codeFor = await operatorCodeFor(db, email);
      return codeFor && createCode(db, codeFor, OPERATOR_CODE_TTL_MS, now);
    }
    const isCustomer = (await findCustomerByDigest(db, customerDigest(email))) === email;
    return isCustomer ? createCode(db, { kind, email }, CUSTOMER_CODE_TTL_MS, now) : undefined;
  };
}

/** Counts a request. @returns the address; undefined without an address, or if it had all its links of this hour */
async function countRequest(db: Db, kind: string, text: string, now: Date): Promise<string | undefined> {
  const email = findEmail(text);
  if (email === undefined) return undefined;
  const since = new Date(now.getTime() - HOUR_MS);
  const isWithin = await takeLinkSlot(db, hash('sha256', `${kind} ${email}`), LINKS_AN_HOUR, now, since);
  return isWithin ? email : undefined;
}

async function answerAlike(work: () => Promise<void>): Promise<void> {
  const time = sleep(ANSWERED_AFTER_MS);
  await work();
  await time;
}
