import type { OrderEventName } from './order-events';
import { isLiftedByPayment, type LineState } from './line-state';
import { endOf, isLater, type Term } from './paid-time';

/** What a licence should be, as a function of what its orders' lines say. */

/** What one order's line says of a licence. */
export interface Part {
  role: 'issued' | 'renewed';
  /** of the row: they ascend as the orders came to the licence */
  id: number;
  /** of a renewal: the paid end before */
  baseEndsAt: Date | null;
  standing: LineState;
}

type PartTerm = Term & { part: number };

/** Whether a renewal is in force. */
export function isGiven({ role, standing: { state, holds, isPaid, terms } }: Part): boolean {
  if (role === 'issued') return true;
  return state !== 'none' && state !== 'cancelled' && holds.size === 0 && isPaid && terms.length > 0;
}

/** The paid times of a licence: those of the order that issued it, then those of orders that renew it. */
export function termsOf(parts: Part[]): PartTerm[] {
  const tagged = ({ id, standing }: Part) => standing.terms.map((term) => ({ ...term, part: id }));
  const renewed = parts
    .filter((part) => part.role === 'renewed' && isGiven(part))
    .flatMap(tagged)
    .sort((a, b) => a.at.getTime() - b.at.getTime() || a.part - b.part);
  const issued = parts.filter(
    ({ role, standing }) => role === 'issued' && (standing.isPaid || renewed.length === 0),
  );
  return [...issued.flatMap(tagged), ...renewed];
}

/** The paid end that a licence's orders give it; null: never. */
export function licenseEnd(parts: Part[]): Date | null {
  const base = parts.some(({ role }) => role === 'issued')
    ? undefined
    : [...parts].sort((a, b) => a.id - b.id)[0]?.baseEndsAt;
  return endOf(termsOf(parts), base);
}

/** Whether one of a licence's orders renews it by itself, and the days of grace that its end has for that. */
export function renewalOf(parts: Part[]): { renewsItself: boolean; graceDays: number } {
  const renewing = parts.filter((part) => part.standing.renewsItself && isGiven(part));
  return {
    renewsItself: renewing.length > 0,
    graceDays: Math.max(0, ...renewing.map(({ standing }) => standing.graceDays)),
  };
}

/**
 * What holds a licence back: the holds of the order that issued it, but for those that a payment of an order which renews
 * it has lifted. Money of one payment that was given back holds nothing back while another payment covers the time since.
 */
export function holdsOf(parts: Part[]): ReadonlyMap<OrderEventName, Date> {
  const issued = parts.find(({ role }) => role === 'issued')?.standing;
  if (issued === undefined) return new Map();
  const renewals = parts.filter((part) => part.role === 'renewed' && isGiven(part));
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
