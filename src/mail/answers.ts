import { requireEmail } from '../licensing/customer-email';
import { recordAnswer } from '../licensing/amend';
import { redactKeys } from '../licensing/core/keys';
import type { License } from '../licensing/licenses';
import { OperatorError } from '../licensing/operator-error';
import { openSealedKey, sealKey } from '../licensing/sealing';
import type { Db } from '../store/engine/database';
import { inReadCommitted } from '../store/engine/transaction';
import type { CustomerLanguage } from '../texts/customers/languages';
import { mailOffError, queueMail, type Mail, type MailDetails, type Mailing } from './queue';

/** Replies of a seller to a customer, which are sent unchanged. */

export interface SupportReply {
  /** an e-mail address */
  to: string;
  subject: string;
  body: string;
  language: CustomerLanguage;
}

/**
 * Queues a reply, and notes it in its licence's history. The text is encrypted while it waits, because it may contain a
 * key, and is deleted after it was sent or given up.
 * @throws OperatorError if mail is off, a text is missing, or it contains a key that cannot be encrypted
 */
export async function enqueueReply(
  db: Db,
  answer: SupportReply,
  {
    license,
    mailing,
    secret,
    actor,
    now,
  }: {
    /** undefined if the reply is not about a licence */
    license: License | undefined;
    mailing: Mailing | undefined;
    secret: Buffer | undefined;
    actor: string;
    now: Date;
  },
): Promise<Mail> {
  if (mailing === undefined) throw mailOffError();
  const to = requireEmail(answer.to);
  const subject = answer.subject.replace(/\s+/g, ' ').trim();
  const body = answer.body.replace(/\r\n?/g, '\n').trim();
  for (const [field, text] of Object.entries({ subject, body }))
    if (text === '')
      throw new OperatorError(`The mail needs a ${field}.`, { code: 'INVALID_REQUEST', field });
  const type = 'answer';
  const details = sealAnswer({ subject, body }, secret);
  const licenseId = license?.id ?? null;
  const id = await inReadCommitted(db, async (trx) => {
    if (license !== undefined) await recordAnswer(trx, license.id, { to }, { actor, now });
    const context = { now, language: answer.language };
    return queueMail(trx, { type, email: to, licenseId, details }, context);
  });
  return { id, type, state: 'queued', createdAt: now, sentAt: null };
}

const SEALED_FOR = 'answer to a customer';

function sealAnswer(text: { subject: string; body: string }, secret: Buffer | undefined): MailDetails {
  const json = JSON.stringify(text);
  if (secret !== undefined) return { sealed: sealKey(json, SEALED_FOR, secret) };
  if (redactKeys(json) !== json)
    throw new OperatorError(
      'The mail contains a licence key, so it is stored sealed until it is sent. That needs LICENSING_KEY_SECRET.',
      { code: 'CONFLICT', field: 'body', facts: { reason: 'no-key-secret' } },
    );
  return text;
}

/** Returns the text of a reply; undefined if it was deleted or there is no secret. @throws SealError for another secret */
export function openReply(
  { sealed, subject, body }: MailDetails,
  secret: Buffer | undefined,
): { subject: string; body: string } | undefined {
  if (sealed !== undefined)
    return secret === undefined
      ? undefined
      : (JSON.parse(openSealedKey(sealed, SEALED_FOR, secret)) as { subject: string; body: string });
  return subject === undefined || body === undefined ? undefined : { subject, body };
}
