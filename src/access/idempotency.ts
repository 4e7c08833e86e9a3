import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { DAY_MS } from '../base/days';
import { CodedError, isCoded } from '../base/errors';
import {
  completeClaim,
  deleteClaim,
  insertClaim,
  renewClaim,
  replaceClaim,
  type IdempotencyClaim,
} from '../store/idempotency';
import type { Db } from '../store/engine/database';
import { inReadCommitted } from '../store/engine/transaction';

/**
 * The idempotency of POSTs with an Idempotency-Key (docs/operator-api.md): the same key of the same caller gets the
 * same response for a day, from any instance. The claim is committed first. The transaction of the change completes it,
 * or is rolled back if another process has taken the claim over, so a process that was paused cannot make the change twice.
 */

/** A stored response: a status and a JSON value. */
export interface StoredResponse {
  status: number;
  body: object | undefined;
}

/** A call that must happen only once. */
export interface IdempotentRequest {
  /** the caller's secret */
  credential: string;
  key: string;
  /** the URL's path with its query */
  address: string;
}

/** The body of the call. */
export interface Body {
  readBody: () => Promise<string>;
  /** false if the body is still being sent, which may take as long as the caller likes */
  isRead: boolean;
}

/** In seconds. If the process of a call dies, another takes the call over after this time. */
const LEASE_S = 10;
const PROLONG_EVERY_MS = 3_000;
export const IDEMPOTENCY_TTL_MS = DAY_MS;

/**
 * @param perform makes the change in the transaction that completes the claim, and returns the response. It may throw
 * @param refusal returns the response to an error, or undefined; this function decides which of them are stored
 * @returns the response; `mismatch` if the key was used for another call; `running` if the first call is still running
 */
export async function withIdempotency(
  db: Db,
  now: () => Date,
  call: IdempotentRequest,
  { readBody, isRead }: Body,
  perform: (db: Db) => Promise<StoredResponse>,
  refusal: (error: unknown) => StoredResponse | undefined,
): Promise<StoredResponse | 'mismatch' | 'running'> {
  const secret = Buffer.from(hkdfSync('sha256', call.credential, call.key, 'licensing idempotency', 64));
  const [sealKey, digestKey] = [secret.subarray(0, 32), secret.subarray(32)];
  const digestOf = (body: string) =>
    createHmac('sha256', digestKey).update(call.address).update('\0').update(body).digest('hex');
  const claim: IdempotencyClaim = {
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
    // Ignore a failure: completing the claim decides whether it is still held.
    renewClaim(db, claim, leaseFrom(now())).catch(() => undefined);
  }, PROLONG_EVERY_MS);
  try {
    const digest = claim.requestDigest ?? digestOf(await readBody());
    const complete = async (to: Db, answer: StoredResponse) => {
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
    // If this also fails, the lease expires on its own.
    await deleteClaim(db, claim).catch(() => undefined);
    throw error;
  } finally {
    clearInterval(prolonging);
  }
}

/** Takes the claim. @returns undefined if it is taken; the completed call with this key, or the reason not to run */
async function take(db: Db, claim: IdempotencyClaim, now: Date) {
  const earlier = await insertClaim(db, claim);
  if (earlier === undefined) return undefined;
  const isOld = now.getTime() - earlier.createdAt.getTime() > IDEMPOTENCY_TTL_MS;
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

/** Reports whether a refusal is stored. Refusals that may change without a new request are not. */
function isKept(status: number): boolean {
  return status < 500 && ![401, 403, 429].includes(status);
}

function leaseFrom(now: Date): Date {
  return new Date(now.getTime() + LEASE_S * 1000);
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a response by AES-256-GCM with the row's digest as associated data: nonce, tag and text, in base64. */
function seal(answer: StoredResponse, keyDigest: string, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(keyDigest));
  // Compress it, because 10,000 licences would exceed the size limit of a statement.
  const text = Buffer.concat([cipher.update(gzipSync(JSON.stringify(answer))), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64');
}

function open(sealed: string, keyDigest: string, key: Buffer): StoredResponse {
  const bytes = Buffer.from(sealed, 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(keyDigest))
    .setAuthTag(tag);
  const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  return JSON.parse(gunzipSync(text).toString('utf8')) as StoredResponse;
}
