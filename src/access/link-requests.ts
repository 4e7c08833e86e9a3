import { hash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { findEmail } from '../licensing/customer-email';
import { customerDigest } from '../store/customer-digest';
import { findCustomerByDigest } from '../store/customers';
import type { Db } from '../store/database';
import { takeLinkSlot } from '../store/link-requests';
import { findOperatorByEmail } from '../store/operators';
import { inTransaction } from '../store/transaction';

/** Requests for a mailed one-time link. Neither the answer nor its time tells whether the address is known. */

const LINKS_AN_HOUR = 3;
const HOUR_MS = 60 * 60 * 1000;
/** Far longer than what the answers could differ by. */
const ANSWERED_AFTER_MS = 250;

export interface CustomerLink {
  type: 'customer_link';
  email: string;
  isCustomer: boolean;
}

export interface OperatorLink {
  type: 'operator_link';
  email: string;
}

/** Puts a mail into the outbox (mail/queue.ts), in the caller's transaction. */
export type QueueLink<Request> = (db: Db, request: Request, context: { now: Date }) => Promise<unknown>;

export interface LinkRequest<Request> {
  now: Date;
  queue: QueueLink<Request>;
}

/** Queues the mail if the address is an operator's, at most three in an hour. */
export function requestOperatorLink(
  db: Db,
  text: string,
  { now, queue }: LinkRequest<OperatorLink>,
): Promise<void> {
  return answerAlike(async () => {
    const email = await countRequest(db, 'operator', text, now);
    if (email === undefined) return;
    await inTransaction(db, async (trx) => {
      const operator = await findOperatorByEmail(trx, email);
      if (operator !== undefined) await queue(trx, { type: 'operator_link', email }, { now });
    });
  });
}

/**
 * Queues a row for any address, at most three in an hour, since the outbox shall not tell either. Where `isCustomer` is
 * false, the row must hold a digest of the address alone, is never sent, and goes after an hour.
 */
export function requestCustomerLink(
  db: Db,
  text: string,
  { now, queue }: LinkRequest<CustomerLink>,
): Promise<void> {
  return answerAlike(async () => {
    const email = await countRequest(db, 'customer', text, now);
    if (email === undefined) return;
    await inTransaction(db, async (trx) => {
      const isCustomer = (await findCustomerByDigest(trx, customerDigest(email))) === email;
      await queue(trx, { type: 'customer_link', email, isCustomer }, { now });
    });
  });
}

/** @returns the address; undefined: there is none in the text, or it has had its links of this hour */
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
