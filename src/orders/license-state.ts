import type { OrderEventName } from './order-events';
import { isLiftedByPayment, type LineState } from './line-state';
import { endOfTerms, isLater, type Term } from './paid-time';

/** Computes the entitlement of a licence, its end and its holds, from the lines of all its orders. */

/** The contribution of one order's line to a licence. */
export interface Contribution {
  role: 'issued' | 'renewed';
  /** the id of the link, which ascends in the order in which the orders reached the licence */
  id: number;
  /** the paid-through date before a renewal */
  baseEndsAt: Date | null;
  standing: LineState;
}

type PartTerm = Term & { part: number };

/** Reports whether a renewal is in force; a line that issued the licence always is. */
export function isInForce({ role, standing: { state, holds, isPaid, terms } }: Contribution): boolean {
  if (role === 'issued') return true;
  return state !== 'none' && state !== 'cancelled' && holds.size === 0 && isPaid && terms.length > 0;
}

/** Returns the paid periods of a licence: those of the order that issued it, then those of the orders that renew it. */
export function termsOf(parts: Contribution[]): PartTerm[] {
  const tagged = ({ id, standing }: Contribution) => standing.terms.map((term) => ({ ...term, part: id }));
  const renewed = parts
    .filter((part) => part.role === 'renewed' && isInForce(part))
    .flatMap(tagged)
    .sort((a, b) => a.at.getTime() - b.at.getTime() || a.part - b.part);
  const issued = parts.filter(
    ({ role, standing }) => role === 'issued' && (standing.isPaid || renewed.length === 0),
  );
  return [...issued.flatMap(tagged), ...renewed];
}

/** Returns the paid-through date that follows from a licence's orders; null if it never ends. */
export function licenseEnd(parts: Contribution[]): Date | null {
  const base = parts.some(({ role }) => role === 'issued')
    ? undefined
    : [...parts].sort((a, b) => a.id - b.id)[0]?.baseEndsAt;
  return endOfTerms(termsOf(parts), base);
}

/** Reports whether all payments for a licence were given back, so that it has no paid end. */
export function isAllReturned(
  parts: (Pick<Contribution, 'role'> & { standing: Pick<LineState, 'allReturned'> })[],
): boolean {
  const paid = parts.filter(({ standing }) => standing.allReturned !== undefined);
  // A licence that was issued by hand had an end before any order.
  return (
    paid.some(({ role }) => role === 'issued') && paid.every(({ standing }) => standing.allReturned === true)
  );
}

/** Reports whether a subscription renews the licence automatically, and returns the grace period that its end then has. */
export function renewalOf(parts: Contribution[]): { renewsItself: boolean; graceDays: number } {
  const renewing = parts.filter((part) => part.standing.renewsItself && isInForce(part));
  return {
    renewsItself: renewing.length > 0,
    graceDays: Math.max(0, ...renewing.map(({ standing }) => standing.graceDays)),
  };
}

/**
 * Returns the refunds and chargebacks that suspend a licence: the holds of its own order that no payment of a renewing
 * order has lifted. A refunded payment does not suspend it while another payment covers the time since.
 */
export function holdsOf(parts: Contribution[]): ReadonlyMap<OrderEventName, Date> {
  const issued = parts.find(({ role }) => role === 'issued')?.standing;
  if (issued === undefined) return new Map();
  const renewals = parts.filter((part) => part.role === 'renewed' && isInForce(part));
  const newest = Math.max(-Infinity, ...renewals.flatMap(({ standing }) => standing.paidAt?.getTime() ?? []));
  const holds = new Map(
    [...issued.holds].filter(([name, at]) => !isLiftedByPayment(name) || at.getTime() >= newest),
  );
  const { returnedAt } = issued;
  const isCovered =
    returnedAt !== undefined &&
    (returnedAt.getTime() < newest || (renewals.length > 0 && isLater(licenseEnd(parts), returnedAt)));
  if (returnedAt === undefined || isCovered) return holds;
  const other = holds.get('refunded');
  return holds.set('refunded', other !== undefined && other > returnedAt ? other : returnedAt);
}
