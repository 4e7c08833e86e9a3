import type { Plan } from '../store/catalogue';
import { MAX_UINT32 } from '../licensing/core/columns';
import type { OrderLicense, OrderLine } from '../store/orders/orders';
import type { ShopSku } from '../store/orders/shops';
import type { Meaning, Meanings } from './line-state';
import { MAX_QUANTITY } from './message';
import { skuDigest } from './names';
import { byTime, itemOf, lineEvents, type ReadEvent } from './order-events';
import { findReturned } from './refunds';

/** Resolves articles and upgrades to plans. The result is stored, so that later changes of the map do not alter it. */

/** A plan, and the number by which its limit is multiplied. */
export interface Sold {
  plan: number;
  slots: number;
  /** the number of licences; undefined if it does not change */
  count?: number;
}

/** The content of `OrderLicense.plansJson`. */
export interface Plans {
  base: Sold;
  /** for a line that renews: the licence's plan and limit before it */
  had?: { plan: number; limit: number };
  /** null if the upgrade is impossible for this licence. `of`: the article and quantity that were resolved */
  upgrades: Record<string, (Sold & { of?: string }) | null>;
}

/** A licence that a line issued or renewed. */
export interface Link extends Omit<OrderLicense, 'plansJson'> {
  plans: Plans;
}

export interface Waits {
  waitsFor: string;
  awaited: string | null;
}

export const isWaiting = (found: object): found is Waits => 'waitsFor' in found;

/** The articles of a shop and the plans that a resolution needs. */
export interface PlanCatalogue {
  shop: { name: string };
  plans: Plan[];
  skus: ShopSku[];
}

export function planOf({ plans }: Pick<PlanCatalogue, 'plans'>, id: number): Plan | undefined {
  return plans.find((plan) => plan.id === id);
}

/** Returns the entries that an article is mapped to. */
export function mappedTo({ shop, skus }: PlanCatalogue, sku: string): ShopSku[] {
  const digest = skuDigest(shop.name, sku);
  return skus.filter(({ awaited }) => awaited === digest);
}

/** Returns the plans of an article or a plan id, or the reason to wait. */
export function soldAs(
  catalogue: PlanCatalogue,
  { planId, sku, quantity }: { planId: number | null; sku: string | null; quantity: number },
): Required<Sold>[] | Waits {
  if (planId !== null) return [{ plan: planId, slots: 1, count: Math.min(quantity, MAX_QUANTITY) }];
  const entries = sku === null ? [] : mappedTo(catalogue, sku);
  if (entries.length === 0)
    return { waitsFor: 'not_mapped', awaited: skuDigest(catalogue.shop.name, sku ?? '') };
  // Wait, because the article may be changed to count slots, which allows this quantity.
  if (quantity > MAX_QUANTITY && entries.some((entry) => entry.quantity !== 'slots'))
    return { waitsFor: 'too_many', awaited: null };
  return entries.map((entry) =>
    entry.quantity === 'slots'
      ? { plan: entry.planId, slots: quantity, count: 1 }
      : { plan: entry.planId, slots: 1, count: quantity },
  );
}

export function limitOf(plan: Plan, { slots }: Sold): number {
  return Math.min(plan.activationLimit * slots, MAX_UINT32);
}

/** Returns the terms of a line and its upgrades, for the `n`th of its licences. */
export function meaningsOf(
  catalogue: Pick<PlanCatalogue, 'plans'>,
  { base, upgrades }: Plans,
  line: Pick<OrderLine, 'renewsJson'>,
  n: number,
): Meanings {
  const meaning = ({ plan, count }: Sold): Meaning => ({
    duration: planOf(catalogue, plan)?.duration ?? null,
    count: count ?? n,
  });
  const known = new Map<string, Meaning>();
  for (const [identity, sold] of Object.entries(upgrades))
    if (sold !== null) known.set(identity, meaning(sold));
  return { base: meaning(base), upgrades: known, renews: line.renewsJson !== null, n };
}

/** Numbers the licences of each line and plan, from 1. Cancelled licences do not count. */
export function numbersOf(links: Link[]): Map<number, number> {
  const counts = new Map<string, number>();
  const numbers = new Map<number, number>();
  for (const { id, lineId, state, plans } of links) {
    if (state === 'cancelled') continue;
    const of = `${lineId}:${plans.base.plan}`;
    const n = (counts.get(of) ?? 0) + 1;
    counts.set(of, n);
    numbers.set(id, n);
  }
  return numbers;
}

interface Upgrading {
  line: OrderLine;
  isTest: boolean;
  /** reports whether a seller has resolved an event whose line could not be read */
  isSettled: (identity: string) => boolean;
}

/** Resolves an order's upgrades for a licence. A resolved one keeps its plan until its article or quantity changes. */
export function resolveUpgrades(
  catalogue: PlanCatalogue,
  plans: Plans,
  events: ReadEvent[],
  { line, isTest, isSettled }: Upgrading,
): { plans: Plans; waiting: Map<string, Waits> } {
  const waiting = new Map<string, Waits>();
  const told = new Map(events.map((event) => [event.identity, event]));
  const concerned = lineEvents(events, line).sort(byTime);
  const returned = findReturned(concerned);
  const upgrades: Plans['upgrades'] = {};
  let article = { planId: line.planId, sku: line.sku };
  let quantity = line.quantity;
  for (const { identity, effect, changes } of concerned) {
    if (effect !== 'change_plan' && effect !== 'renew') continue;
    const wanted = itemOf(told.get(identity) as ReadEvent, line.line);
    if (effect === 'change_plan' && wanted?.problem !== undefined && !isSettled(identity))
      waiting.set(identity, { waitsFor: wanted.problem, awaited: null });
    if (!changes) continue;
    const { plan_id: planId = null, sku = null } = wanted ?? {};
    // Keep the article and quantity that the event does not name.
    const named = planId === null && sku === null ? article : { planId, sku };
    const many = wanted?.quantity ?? quantity;
    const of = JSON.stringify([named.planId, named.sku, many]);
    const before = plans.upgrades[identity];
    const isKnown = before !== undefined && (before === null || before.of === of);
    const sold = isKnown ? [] : soldAs(catalogue, { ...named, quantity: many });
    const waits = isWaiting(sold) ? sold : undefined;
    // Renew the present plan if no article is mapped to the price, such as a price for one customer only.
    if (waits !== undefined && effect === 'renew') continue;
    if (!returned.has(identity)) [article, quantity] = [named, many];
    if (isKnown) upgrades[identity] = before;
    else if (waits !== undefined) waiting.set(identity, waits);
    else upgrades[identity] = { ...choosePlan(catalogue, sold as Sold[], plans), of };
  }
  // Keep a test licence on the test plan.
  if (isTest) for (const identity of Object.keys(upgrades)) upgrades[identity] = null;
  return { plans: { ...plans, upgrades }, waiting };
}

/** Returns the plan of the licence's own product, if an article has several plans. */
function choosePlan(catalogue: PlanCatalogue, sold: Sold[], { base, had }: Plans): Sold {
  const own = planOf(catalogue, had?.plan ?? base.plan);
  const product = (one: Sold) => planOf(catalogue, one.plan)?.productId;
  return sold.find((one) => product(one) === own?.productId) ?? (sold[0] as Sold);
}
