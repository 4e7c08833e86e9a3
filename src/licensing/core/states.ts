import type { LicenseTerms } from '../../store/licenses';

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
