import { MINUTE_MS } from '../base/days';
import { customerDigest } from '../store/customer-digest';
import type { Db } from '../store/engine/database';
import {
  findSession,
  insertSession,
  setSessionEnded,
  setSessionUsed,
  type SessionOpener,
  type StoredSession,
} from '../store/sessions';
import { inTransaction } from '../store/engine/transaction';
import type { Caller, Scope } from './caller';
import { useCode } from './one-time-codes';
import { generateSecret, secretDigest } from './random-secret';

/**
 * Sessions of the pages. The cookie's value is random, and only its digest is stored. What opened a session is looked at
 * with each read, so revoking it ends the session at once; the site's accounts are looked at again after a minute, those
 * that came through the component in Joomla after two seconds.
 */

const IDLE_MS = 30 * MINUTE_MS;
const OPERATOR_LIFETIME_MS = 12 * 60 * MINUTE_MS;
/** A key is also in the hands of an agency's clients: its session does not get longer by use. */
const KEY_LIFETIME_MS = IDLE_MS;
const MAIL_LIFETIME_MS = 2 * 60 * MINUTE_MS;
/** So a session can end up to a minute before it is idle for IDLE_MS, and reading one rarely writes. */
const USE_RECORDED_EVERY_MS = MINUTE_MS;
const FRESH_MS = 60 * MINUTE_MS;

export interface OperatorSession {
  id: number;
  caller: Caller;
  signedInAt: Date;
  /** when it ends unless it is used before */
  expiresAt: Date;
}

export type CustomerSession = { id: number; signedInAt: Date; expiresAt: Date } & (
  | { by: 'key'; licenseId: number; keyDigest: string }
  | { by: 'mail'; email: string }
);

type OpenedOperator = {
  kind: 'operator';
  /** signing in again replaces a session: its cookie ends */
  replaces?: string | undefined;
} & (
  | { caller: Caller }
  | { actor: string; name: string; scope: Exclude<Scope, 'issue'>; operatorId: number | null }
);

type OpenedCustomer = { kind: 'customer'; replaces?: string | undefined } & (
  | { by: 'key'; licenseId: number; keyDigest: string }
  | { by: 'mail'; email: string }
);

/**
 * Whether the Joomla account that a token or session was made through may still call; looked at after a minute again, and
 * after two seconds where it came by the door.
 */
export type IsAccountIn = (userId: number, byDoor: boolean) => Promise<boolean>;

/** @returns the cookie's value, which is stored nowhere, and the session */
export async function openSession(
  db: Db,
  opened: OpenedOperator,
  now: Date,
): Promise<{ cookie: string; session: OperatorSession }>;
export async function openSession(
  db: Db,
  opened: OpenedCustomer,
  now: Date,
): Promise<{ cookie: string; session: CustomerSession }>;
export async function openSession(
  db: Db,
  opened: OpenedOperator | OpenedCustomer,
  now: Date,
): Promise<{ cookie: string; session: OperatorSession | CustomerSession }> {
  const cookie = generateSecret();
  const row = {
    ...NOBODY,
    ...openerOf(opened),
    kind: opened.kind,
    cookieDigest: secretDigest(cookie) as string,
    createdAt: now,
    usedAt: now,
    expiresAt: new Date(now.getTime() + lifetimeOf(opened)),
    endedAt: null,
  };
  const id = await inTransaction(db, async (trx) => {
    if (opened.replaces !== undefined) await endSession(trx, opened.kind, opened.replaces, now);
    return insertSession(trx, row);
  });
  const stored = { ...row, id };
  if (opened.kind === 'operator') return { cookie, session: toOperatorSession(stored, cookie) };
  return { cookie, session: toCustomerSession(stored, 'email' in opened ? opened.email : null) };
}

/**
 * The session of a cookie, whose idle end moves. 'ended': there was one, and it was left idle, is too old, was signed out, or
 * what opened it was revoked.
 */
export async function readSession(
  db: Db,
  kind: 'operator',
  cookie: string,
  now: Date,
  isAccountIn: IsAccountIn,
): Promise<OperatorSession | 'ended' | undefined>;
export async function readSession(
  db: Db,
  kind: 'customer',
  cookie: string,
  now: Date,
): Promise<CustomerSession | 'ended' | undefined>;
export async function readSession(
  db: Db,
  kind: 'operator' | 'customer',
  cookie: string,
  now: Date,
  isAccountIn?: IsAccountIn,
): Promise<OperatorSession | CustomerSession | 'ended' | undefined> {
  const digest = secretDigest(cookie);
  const found = digest && (await findSession(db, kind, digest));
  if (!found) return undefined;
  if (found.endedAt !== null || endOf(found) <= now || !isOpenerThere(found, now)) return 'ended';
  const { joomlaUserId } = found;
  if (joomlaUserId !== null && !(await isAccountIn?.(joomlaUserId, found.byDoor))) return 'ended';
  const since = new Date(now.getTime() - USE_RECORDED_EVERY_MS);
  if (found.usedAt <= since) {
    await setSessionUsed(db, found.id, now, since);
    found.usedAt = now;
  }
  return kind === 'operator' ? toOperatorSession(found, cookie) : toCustomerSession(found, found.customer);
}

/** Signs out. */
export async function endSession(
  db: Db,
  kind: 'operator' | 'customer',
  cookie: string,
  now: Date,
): Promise<void> {
  const digest = secretDigest(cookie);
  if (digest !== undefined) await setSessionEnded(db, kind, digest, now);
}

/** Whether the operator signed in within the last hour: only then may the session show secrets and destroy. */
export function isFresh({ signedInAt }: Pick<OperatorSession, 'signedInAt'>, now: Date): boolean {
  return now.getTime() - signedInAt.getTime() < FRESH_MS;
}

export type OperatorSignIn =
  | { cookie: string; session: OperatorSession }
  /** CODE: used, old or made up. SCOPE: a token of the scope `issue` opens no session */
  | { refused: 'CODE' | 'SCOPE' };

/**
 * Signs an operator in, also again: by a one-time code, which this uses up, or as who a token belongs to (the result of
 * `Authenticate`).
 * @param replaces the cookie of the session that ends by this: a new id, so nobody can prepare one
 */
export function openOperatorSession(
  db: Db,
  by: { caller: Caller } | { code: string },
  now: Date,
  { replaces }: { replaces?: string | undefined } = {},
): Promise<OperatorSignIn> {
  // One transaction: a failure to open the session gives the code back.
  return inTransaction<OperatorSignIn>(db, async (trx) => {
    if ('caller' in by) {
      if (by.caller.scope === 'issue') return { refused: 'SCOPE' };
      return openSession(trx, { kind: 'operator', caller: by.caller, replaces }, now);
    }
    const code = await useCode(trx, 'operator', by.code, now);
    return code === undefined ? { refused: 'CODE' } : openSession(trx, { ...code, replaces }, now);
  });
}

/**
 * Signs a customer in by the one-time code of a mailed link, which this uses up.
 * @returns undefined: it is used, old or made up
 */
export function openCustomerSession(
  db: Db,
  code: string,
  now: Date,
  { replaces }: { replaces?: string | undefined } = {},
): Promise<{ cookie: string; session: CustomerSession } | undefined> {
  // One transaction: a failure to open the session gives the code back.
  return inTransaction(db, async (trx) => {
    const found = await useCode(trx, 'customer', code, now);
    return found && openSession(trx, { kind: 'customer', by: 'mail', email: found.email, replaces }, now);
  });
}

/** A session's opener, before it is known. */
const NOBODY = {
  actor: null,
  name: null,
  scope: null,
  tokenId: null,
  joomlaUserId: null,
  byDoor: false,
  operatorId: null,
  licenseId: null,
  keyDigest: null,
  customerDigest: null,
};

function openerOf(opened: OpenedOperator | OpenedCustomer): Partial<StoredSession> {
  if (opened.kind === 'operator') {
    const { actor, name, scope } = 'caller' in opened ? opened.caller : opened;
    if (!('caller' in opened)) return { actor, name, scope, operatorId: opened.operatorId };
    const { tokenId, joomlaUserId, byDoor = false } = opened.caller;
    return { actor, name, scope, tokenId, joomlaUserId, byDoor };
  }
  if (opened.by === 'mail') return { customerDigest: customerDigest(opened.email) };
  return { licenseId: opened.licenseId, keyDigest: opened.keyDigest };
}

function lifetimeOf(opened: OpenedOperator | OpenedCustomer): number {
  if (opened.kind === 'operator') return OPERATOR_LIFETIME_MS;
  return opened.by === 'key' ? KEY_LIFETIME_MS : MAIL_LIFETIME_MS;
}

function endOf({ usedAt, expiresAt, keyDigest }: StoredSession): Date {
  const idle = new Date(usedAt.getTime() + IDLE_MS);
  return keyDigest !== null || expiresAt < idle ? expiresAt : idle;
}

function isOpenerThere(session: StoredSession & SessionOpener, now: Date): boolean {
  const { tokenId, liveName, tokenExpiresAt, operatorId, presentOperatorId } = session;
  if (tokenId !== null && (liveName === null || hasPassed(tokenExpiresAt, now))) return false;
  if (operatorId !== null && presentOperatorId === null) return false;
  const { keyDigest, presentKeyId, keyEndsAt } = session;
  if (keyDigest !== null && (presentKeyId === null || hasPassed(keyEndsAt, now))) return false;
  // Null once no licence has the address any more.
  return session.customerDigest === customerDigest(session.customer);
}

function hasPassed(end: Date | null, now: Date): boolean {
  return end !== null && end <= now;
}

function toOperatorSession(stored: StoredSession, cookie: string): OperatorSession {
  const { id, createdAt, tokenId, joomlaUserId } = stored;
  const { actor, name, scope } = stored as StoredSession & Caller;
  const caller = {
    scope,
    name,
    actor,
    tokenId,
    joomlaUserId,
    ...(stored.byDoor && { byDoor: true as const }),
    credential: cookie,
    session: { id, signedInAt: createdAt },
  };
  return { id, caller, signedInAt: createdAt, expiresAt: endOf(stored) };
}

function toCustomerSession(stored: StoredSession, email: string | null): CustomerSession {
  const { id, createdAt, licenseId, keyDigest } = stored;
  const common = { id, signedInAt: createdAt, expiresAt: endOf(stored) };
  if (keyDigest === null) return { ...common, by: 'mail', email: email as string };
  return { ...common, by: 'key', licenseId: licenseId as number, keyDigest };
}
