/**
 * A licence's states. Four are stored; `expired` is never stored but read off the date at each use, so that no job
 * has to run for a licence to expire on time.
 */
export const STORED_STATUSES = ['active', 'suspended', 'revoked', 'cancelled'] as const;
export type StoredStatus = (typeof STORED_STATUSES)[number];
export type LiveStatus = StoredStatus | 'expired';

export interface Standing {
  /** as stored; a row that says `expired` anyway counts as expired */
  status: string;
  expiresAt: Date | null;
}

/** The state at a moment. An expiry at exactly that moment has passed. */
export function liveStatus(license: Standing, now: Date): LiveStatus {
  if (license.status === 'active')
    return license.expiresAt !== null && license.expiresAt <= now ? 'expired' : 'active';
  return license.status as LiveStatus;
}

/** Why a licence cannot be used now; undefined when it can. A suspended one past its date answers INACTIVE. */
export function stateRefusal(
  license: Standing,
  now: Date,
): 'LICENSE_INACTIVE' | 'LICENSE_EXPIRED' | undefined {
  switch (liveStatus(license, now)) {
    case 'active':
      return undefined;
    case 'expired':
      return 'LICENSE_EXPIRED';
    default:
      return 'LICENSE_INACTIVE';
  }
}

export type Transition = 'suspend' | 'reinstate' | 'revoke' | 'cancel' | 'renew';

/** From which live states a transition leads where. `revoked` and `cancelled` are final. */
const TRANSITIONS: Record<Transition, { from: readonly LiveStatus[]; to: StoredStatus }> = {
  suspend: { from: ['active'], to: 'suspended' },
  reinstate: { from: ['suspended'], to: 'active' },
  renew: { from: ['active', 'expired', 'suspended'], to: 'active' },
  revoke: { from: ['active', 'expired', 'suspended'], to: 'revoked' },
  cancel: { from: ['active', 'expired', 'suspended'], to: 'cancelled' },
};

/** The status a transition stores, or undefined when the state does not allow it. */
export function transitionTarget(transition: Transition, from: LiveStatus): StoredStatus | undefined {
  const { from: allowed, to } = TRANSITIONS[transition];
  return allowed.includes(from) ? to : undefined;
}

/** Whether nothing leads out of a state. */
export function isFinal(status: LiveStatus): boolean {
  return allowedTransitions(status).length === 0;
}

/** What may be done with a licence in a state, in words for a refusal. */
export function allowedTransitions(from: LiveStatus): Transition[] {
  return (Object.keys(TRANSITIONS) as Transition[]).filter(
    (transition) => transitionTarget(transition, from) !== undefined,
  );
}
