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
import { consumeCode } from './one-time-codes';
import { generateSecret, secretDigest } from './random-secret';

/**
 * Sessions of the pages. The cookie's value is random, and only its digest is stored. Each read checks the token,
 * operator or key that opened the session, so revoking it ends the session at once. The site's accounts are checked
 * again after a minute, and those that came through the component in Joomla after two seconds.
 */

const IDLE_MS = 30 * MINUTE_MS;
const OPERATOR_LIFETIME_MS = 12 * 60 * MINUTE_MS;
/** A session by key is not extended by use, because an agency's clients may also have the key. */
const KEY_LIFETIME_MS = IDLE_MS;
const MAIL_LIFETIME_MS = 2 * 60 * MINUTE_MS;
/** The interval at which use is recorded, so that reads rarely write. A session may end that much before IDLE_MS. */
const USE_RECORDED_EVERY_MS = MINUTE_MS;
const FRESH_MS = 60 * MINUTE_MS;

export interface OperatorSession {
  id: number;
  caller: Caller;
  signedInAt: Date;
  /** the time when it ends unless it is used before */
  expiresAt: Date;
}

export type CustomerSession = { id: number; signedInAt: Date; expiresAt: Date } & (
  | { by: 'key'; licenseId: number; keyDigest: string }
  | { by: 'mail'; email: string }
);

type OpenedOperator = {
  kind: 'operator';
  /** the cookie of a session that ends by signing in again */
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
 * Reports whether the Joomla account behind a token or session may still call. It is checked again after a minute, and
 * after two seconds if it came through the component in Joomla.
 */
export type IsAccountIn = (userId: number, byDoor: boolean) => Promise<boolean>;

/** Opens a session. @returns the session and the cookie's value, which is not stored */
export async function createSession(
  db: Db,
  opened: OpenedOperator,
  now: Date,
): Promise<{ cookie: string; session: OperatorSession }>;
export async function createSession(
  db: Db,
  opened: OpenedCustomer,
  now: Date,
): Promise<{ cookie: string; session: CustomerSession }>;
export async function createSession(
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
 * Returns a cookie's session, and extends its idle timeout. 'ended': it was idle, too old or signed out, or the token,
 * operator or key that opened it was revoked.
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

/** Reports whether the operator signed in within the last hour. Only such a session may show secrets and destroy data. */
export function isRecentSignIn({ signedInAt }: Pick<OperatorSession, 'signedInAt'>, now: Date): boolean {
  return now.getTime() - signedInAt.getTime() < FRESH_MS;
}

export type OperatorSignIn =
  | { cookie: string; session: OperatorSession }
  /** CODE: used, expired or invented. SCOPE: a token of the scope `issue` opens no session. */
  | { refused: 'CODE' | 'SCOPE' };

/**
 * Signs an operator in, or in again: by a one-time code, which is then used, or as the owner of a token (the result of
 * `Authenticate`).
 * @param replaces the cookie of the former session; a new id prevents session fixation
 */
export function openOperatorSession(
  db: Db,
  by: { caller: Caller } | { code: string },
  now: Date,
  { replaces }: { replaces?: string | undefined } = {},
): Promise<OperatorSignIn> {
  // Use one transaction, so that the code can be used again if opening the session fails.
  return inTransaction<OperatorSignIn>(db, async (trx) => {
    if ('caller' in by) {
      if (by.caller.scope === 'issue') return { refused: 'SCOPE' };
      return createSession(trx, { kind: 'operator', caller: by.caller, replaces }, now);
    }
    const code = await consumeCode(trx, 'operator', by.code, now);
    return code === undefined ? { refused: 'CODE' } : createSession(trx, { ...code, replaces }, now);
  });
}

/**
 * Signs a customer in by the one-time code of a mailed link, which is then used.
 * @returns undefined if the code is used, expired or invented
 */
export function openCustomerSession(
  db: Db,
  code: string,
  now: Date,
  { replaces }: { replaces?: string | undefined } = {},
): Promise<{ cookie: string; session: CustomerSession } | undefined> {
  // Use one transaction, so that the code can be used again if opening the session fails.
  return inTransaction(db, async (trx) => {
    const found = await consumeCode(trx, 'customer', code, now);
    return found && createSession(trx, { kind: 'customer', by: 'mail', email: found.email, replaces }, now);
  });
}

/** The columns for the opener of a session, all empty. */
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
  // The address is null if no licence has it any longer.
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
