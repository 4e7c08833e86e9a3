import { DAY_MS } from '../../base/days';
import type { LicenseTerms } from '../../store/licenses/licenses';
import { LATEST_TIME, nearestStorable } from '../../store/engine/time';

/**
 * The stored states of a licence's state machine. `expired` is computed from the date at each use, so that licences expire
 * on time without a job.
 */
export const STORED_STATUSES = ['active', 'suspended', 'revoked', 'cancelled'] as const;
export type StoredStatus = (typeof STORED_STATUSES)[number];
export type LiveStatus = StoredStatus | 'expired';

/** Returns the state at a moment. A licence has expired at exactly its end, and also if its row is stored as `expired`. */
export function liveStatus(
  { status, expiresAt }: Pick<LicenseTerms, 'status' | 'expiresAt'>,
  now: Date,
): LiveStatus {
  if (status === 'active') return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
  return status as LiveStatus;
}

/** A stored end in its parts: the end with grace, and the days of the grace period, in which a renewal is awaited. */
export interface EndWithGrace {
  /** null if the licence never ends */
  expiresAt: Date | null;
  graceDays: number;
}

/** Returns the paid-through date of a licence, which is its end without the grace period; null if it never ends. */
export function paidUntil({ expiresAt, graceDays }: EndWithGrace): Date | null {
  return expiresAt === null || graceDays === 0
    ? expiresAt
    : new Date(expiresAt.getTime() - graceDays * DAY_MS);
}

/**
 * Returns the end to store for a paid-through date. The grace period is cut at the latest time that databases hold, so
 * that `paidUntil` returns what was paid. @param paid null if the licence never ends, and so needs no grace
 */
export function endWithGrace(paid: Date | null, graceDays: number): EndWithGrace {
  if (paid === null) return { expiresAt: null, graceDays: 0 };
  const from = nearestStorable(paid);
  const fitting = Math.floor((LATEST_TIME.getTime() - from.getTime()) / DAY_MS);
  const days = Math.min(graceDays, fitting);
  return { expiresAt: new Date(from.getTime() + days * DAY_MS), graceDays: days };
}

/** The expected payment of a working licence: automatic, awaited, or null if the customer has to renew it. */
export type NextPayment = 'by_itself' | 'awaited' | null;

/** Returns `awaited` in the grace period: the licence works without being paid, because its renewal is awaited. */
export function nextPayment(
  license: EndWithGrace & Pick<LicenseTerms, 'status' | 'renewsItself'>,
  now: Date,
): NextPayment {
  if (liveStatus(license, now) !== 'active') return null;
  const paid = paidUntil(license);
  if (paid !== null && paid <= now) return 'awaited';
  return license.renewsItself ? 'by_itself' : null;
}

/** Reports whether a licence with this limit is fine when all its slots are in use. A licence for one site is. */
export function isFineWhenFull(limit: number): boolean {
  return limit === 1;
}

export type Transition = 'suspend' | 'reinstate' | 'revoke' | 'cancel' | 'renew';

/** The allowed transitions. `revoked` and `cancelled` are final. */
const TRANSITIONS: Record<Transition, { from: readonly LiveStatus[]; to: StoredStatus }> = {
  suspend: { from: ['active'], to: 'suspended' },
  reinstate: { from: ['suspended'], to: 'active' },
  renew: { from: ['active', 'expired', 'suspended'], to: 'active' },
  revoke: { from: ['active', 'expired', 'suspended'], to: 'revoked' },
  cancel: { from: ['active', 'expired', 'suspended'], to: 'cancelled' },
};

/** Returns the status that a transition stores; undefined if it is not allowed from this state. */
export function transitionTarget(transition: Transition, from: LiveStatus): StoredStatus | undefined {
  const { from: allowed, to } = TRANSITIONS[transition];
  return allowed.includes(from) ? to : undefined;
}

/** Reports whether a state is final, so that no transition leaves it. */
export function isTerminalStatus(status: LiveStatus): boolean {
  return allowedTransitions(status).length === 0;
}

/** Lists the transitions allowed from a state, for the message of a refusal. */
export function allowedTransitions(from: LiveStatus): Transition[] {
  return (Object.keys(TRANSITIONS) as Transition[]).filter(
    (transition) => transitionTarget(transition, from) !== undefined,
  );
}
