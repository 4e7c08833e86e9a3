import { DAY_MS } from '../../base/days';
import type { LicenseTerms } from '../../store/licenses/licenses';
import { LATEST_TIME, nearestStorable } from '../../store/engine/time';

/** `expired` is derived from the date on each use, so that licences expire on time without a job. */
export const STORED_STATUSES = ['active', 'suspended', 'revoked', 'cancelled'] as const;
export type StoredStatus = (typeof STORED_STATUSES)[number];
export type LiveStatus = StoredStatus | 'expired';

/**
 * The state at a moment. A licence has expired at exactly its end, and so has a row that is stored as `expired`.
 */
export function liveStatus(
  { status, expiresAt }: Pick<LicenseTerms, 'status' | 'expiresAt'>,
  now: Date,
): LiveStatus {
  if (status === 'active') return expiresAt !== null && expiresAt <= now ? 'expired' : 'active';
  return status as LiveStatus;
}

/** A stored end in its parts: what is paid, and the days of grace after it in which a renewal is awaited. */
export interface EndWithGrace {
  /** null: never */
  expiresAt: Date | null;
  graceDays: number;
}

/** Until when a licence is paid: its end without the grace; null: for life. */
export function paidEnd({ expiresAt, graceDays }: EndWithGrace): Date | null {
  return expiresAt === null || graceDays === 0
    ? expiresAt
    : new Date(expiresAt.getTime() - graceDays * DAY_MS);
}

/**
 * The end that is stored for a paid one: the grace has no more days than fit before the latest time that databases hold, so
 * `paidEnd` gives back what was paid. @param paid null: for life, which has no grace
 */
export function endWithGrace(paid: Date | null, graceDays: number): EndWithGrace {
  if (paid === null) return { expiresAt: null, graceDays: 0 };
  const from = nearestStorable(paid);
  const fitting = Math.floor((LATEST_TIME.getTime() - from.getTime()) / DAY_MS);
  const days = Math.min(graceDays, fitting);
  return { expiresAt: new Date(from.getTime() + days * DAY_MS), graceDays: days };
}

/** What is known of the next payment of a licence that works; null: nothing, somebody has to renew it. */
export type NextPayment = 'by_itself' | 'awaited' | null;

/** `awaited`: it works although it is not paid any more, because its renewal is awaited. */
export function nextPayment(
  license: EndWithGrace & Pick<LicenseTerms, 'status' | 'renewsItself'>,
  now: Date,
): NextPayment {
  if (liveStatus(license, now) !== 'active') return null;
  const paid = paidEnd(license);
  if (paid !== null && paid <= now) return 'awaited';
  return license.renewsItself ? 'by_itself' : null;
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

/** The status a transition stores; undefined when this state does not allow it. */
export function transitionTarget(transition: Transition, from: LiveStatus): StoredStatus | undefined {
  const { from: allowed, to } = TRANSITIONS[transition];
  return allowed.includes(from) ? to : undefined;
}

/** Whether no transition leaves this state. */
export function isFinal(status: LiveStatus): boolean {
  return allowedTransitions(status).length === 0;
}

/** The transitions allowed from a state, for a refusal's message. */
export function allowedTransitions(from: LiveStatus): Transition[] {
  return (Object.keys(TRANSITIONS) as Transition[]).filter(
    (transition) => transitionTarget(transition, from) !== undefined,
  );
}
