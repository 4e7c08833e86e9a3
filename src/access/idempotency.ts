import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { DAY_MS } from '../base/days';
import { CodedError, isCoded } from '../base/errors';
import {
  completeClaim,
  deleteClaim,
  insertClaim,
  prolongClaim,
  replaceClaim,
  type Claim,
} from '../store/idempotency';
import type { Db } from '../store/engine/database';
import { inReadCommitted } from '../store/engine/transaction';

/**
 * POSTs with an Idempotency-Key (docs/operator-api.md): the same key of the same caller gets the same answer for a day,
 * from any instance. The claim is committed first. The transaction of the change completes it, or is rolled back where
 * somebody else has taken the claim over: a caller that was stopped cannot do it twice.
 */

/** What was answered: a status and a JSON value. */
export interface Written {
  status: number;
  body: object | undefined;
}

/** A call that is to happen once. */
export interface OnceOnly {
  /** the caller's secret, as sent */
  credential: string;
  key: string;
  /** the address with its query */
  address: string;
}

/** What the body says. */
export interface Body {
  readBody: () => Promise<string>;
  /** false: reading it takes as long as the caller likes */
  isRead: boolean;
}

/** In seconds. A call that dies is taken over after this time. */
const LEASE_S = 10;
const PROLONG_EVERY_MS = 3_000;
export const KEPT_FOR_MS = DAY_MS;

/**
 * @param perform makes the change in the transaction that completes the claim, and returns the answer. It may throw
 * @param refusal the answer that an error means, undefined where it is none; which are kept is decided here
 * @returns the answer; `mismatch`: the key was used for another call; `running`: the first call is still under way
 */
export async function performOnce(
  db: Db,
  now: () => Date,
  call: OnceOnly,
  { readBody, isRead }: Body,
  perform: (db: Db) => Promise<Written>,
  refusal: (error: unknown) => Written | undefined,
): Promise<Written | 'mismatch' | 'running'> {
  const secret = Buffer.from(hkdfSync('sha256', call.credential, call.key, 'licensing idempotency', 64));
  const [sealKey, digestKey] = [secret.subarray(0, 32), secret.subarray(32)];
  const digestOf = (body: string) =>
    createHmac('sha256', digestKey).update(call.address).update('\0').update(body).digest('hex');
  const claim: Claim = {
    keyDigest: createHash('sha256').update('licensing idempotency').update(secret).digest('hex'),
    claim: randomBytes(16).toString('hex'),
    requestDigest: isRead ? digestOf(await readBody()) : null,
    leaseEndsAt: leaseFrom(now()),
    createdAt: now(),
  };
  const earlier = await take(db, claim, now());
  if (typeof earlier === 'string') return earlier;
  if (earlier !== undefined) {
    const digest = claim.requestDigest ?? digestOf(await readBody());
    if (earlier.requestDigest !== digest) return 'mismatch';
    return open(earlier.answer, claim.keyDigest, sealKey);
  }
  const prolonging = setInterval(() => {
    // What cannot be prolonged is decided when it is completed.
    prolongClaim(db, claim, leaseFrom(now())).catch(() => undefined);
  }, PROLONG_EVERY_MS);
  try {
    const digest = claim.requestDigest ?? digestOf(await readBody());
    const complete = async (to: Db, answer: Written) => {
      if (!(await completeClaim(to, claim, digest, seal(answer, claim.keyDigest, sealKey))))
        throw new CodedError('TAKEN_OVER');
      return answer;
    };
    try {
      return await inReadCommitted(db, async (trx) => complete(trx, await perform(trx)));
    } catch (error) {
      const refused = refusal(error);
      if (refused === undefined || !isKept(refused.status)) throw error;
      return await complete(db, refused);
    }
  } catch (error) {
    if (isCoded(error, 'TAKEN_OVER')) return 'running';
    // If this fails too, the lease ends by itself.
    await deleteClaim(db, claim).catch(() => undefined);
    throw error;
  } finally {
    clearInterval(prolonging);
  }
}

/** @returns the completed call that has this key, or why the call may not run; undefined: it has the claim */
async function take(db: Db, claim: Claim, now: Date) {
  const earlier = await insertClaim(db, claim);
  if (earlier === undefined) return undefined;
  const isOld = now.getTime() - earlier.createdAt.getTime() > KEPT_FOR_MS;
  if (!isOld) {
    const mismatch =
      claim.requestDigest !== null &&
      earlier.requestDigest !== null &&
      claim.requestDigest !== earlier.requestDigest;
    if (mismatch) return 'mismatch';
    if (earlier.answer !== null) return { ...earlier, answer: earlier.answer };
    if (earlier.leaseEndsAt > now) return 'running';
  }
  return (await replaceClaim(db, earlier, claim)) ? undefined : 'running';
}

/** What may change without a new request is not kept. */
function isKept(status: number): boolean {
  return status < 500 && ![401, 403, 429].includes(status);
}

function leaseFrom(now: Date): Date {
  return new Date(now.getTime() + LEASE_S * 1000);
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** AES-256-GCM with the row's digest as associated data: nonce, tag and text, in base64. */
function seal(answer: Written, keyDigest: string, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(keyDigest));
  // Compressed: 10,000 licences would be more than a statement may have.
  const text = Buffer.concat([cipher.update(gzipSync(JSON.stringify(answer))), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64');
}

function open(sealed: string, keyDigest: string, key: Buffer): Written {
  const bytes = Buffer.from(sealed, 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(keyDigest))
    .setAuthTag(tag);
  const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return JSON.parse(gunzipSync(text).toString('utf8')) as Written;
}
