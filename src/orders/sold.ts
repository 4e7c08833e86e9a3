import type { Plan } from '../store/catalogue';
import { MAX_UINT32 } from '../licensing/core/columns';
import type { OrderLicense, OrderLine } from '../store/orders/orders';
import type { ShopSku } from '../store/orders/shops';
import type { Meaning, Meanings } from './line-state';
import { MAX_QUANTITY } from './message';
import { skuDigest } from './names';
import { byTime, itemOf, lineEvents, type ToldEvent } from './order-events';
import { findReturned } from './refunds';

/** What an article or an upgrade means: plans, kept as they were when it ran. */

/** A plan, and how often its limit counts. */
export interface Sold {
  plan: number;
  slots: number;
  /** licences of it; undefined: those that there are */
  count?: number;
}

/** `OrderLicense.plansJson` */
export interface Plans {
  base: Sold;
  /** of a line that renews: the licence's plan and limit before it */
  had?: { plan: number; limit: number };
  /** null: the upgrade is impossible for this licence. `of`: the article and quantity that it was resolved for */
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

/** What has to be known of a shop's articles and of plans. */
export interface Catalogue {
  shop: { name: string };
  plans: Plan[];
  skus: ShopSku[];
}

export function planOf({ plans }: Pick<Catalogue, 'plans'>, id: number): Plan | undefined {
  return plans.find((plan) => plan.id === id);
}

/** Returns what an article is mapped to. */
export function mappedTo({ shop, skus }: Catalogue, sku: string): ShopSku[] {
  const digest = skuDigest(shop.name, sku);
  return skus.filter(({ awaited }) => awaited === digest);
}

/** The plans that an article, or a plan's id, means, or why it means none yet. */
export function soldAs(
  catalogue: Catalogue,
  { planId, sku, quantity }: { planId: number | null; sku: string | null; quantity: number },
): Required<Sold>[] | Waits {
  if (planId !== null) return [{ plan: planId, slots: 1, count: Math.min(quantity, MAX_QUANTITY) }];
  const entries = sku === null ? [] : mappedTo(catalogue, sku);
  if (entries.length === 0)
    return { waitsFor: 'not_mapped', awaited: skuDigest(catalogue.shop.name, sku ?? '') };
  // It runs when the article's quantity is changed to slots.
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

/** What a line's events need to know to be folded, for the `n`th of its licences. */
export function meaningsOf(
  catalogue: Pick<Catalogue, 'plans'>,
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

/** Which of its line's licences each is, from 1, counted for each plan that the line was sold as. Cancelled ones count no more. */
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
  /** whether a seller has settled that an event's line cannot be read */
  isSettled: (identity: string) => boolean;
}

/** What the order's upgrades mean for a licence. Those known before stay what they were while they name the same. */
export function resolveUpgrades(
  catalogue: Catalogue,
  plans: Plans,
  events: ToldEvent[],
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
    const wanted = itemOf(told.get(identity) as ToldEvent, line.line);
    if (effect === 'change_plan' && wanted?.problem !== undefined && !isSettled(identity))
      waiting.set(identity, { waitsFor: wanted.problem, awaited: null });
    if (!changes) continue;
    const { plan_id: planId = null, sku = null } = wanted ?? {};
    // What it does not name stays as it was.
    const named = planId === null && sku === null ? article : { planId, sku };
    const many = wanted?.quantity ?? quantity;
    const of = JSON.stringify([named.planId, named.sku, many]);
    const before = plans.upgrades[identity];
    const isKnown = before !== undefined && (before === null || before.of === of);
    const sold = isKnown ? [] : soldAs(catalogue, { ...named, quantity: many });
    const waits = isWaiting(sold) ? sold : undefined;
    // A renewal at a price that nobody has mapped, such as one for this customer alone, renews what there is.
    if (waits !== undefined && effect === 'renew') continue;
    if (!returned.has(identity)) [article, quantity] = [named, many];
    if (isKnown) upgrades[identity] = before;
    else if (waits !== undefined) waiting.set(identity, waits);
    else upgrades[identity] = { ...choosePlan(catalogue, sold as Sold[], plans), of };
  }
  // A test licence stays on the plan for tests.
  if (isTest) for (const identity of Object.keys(upgrades)) upgrades[identity] = null;
  return { plans: { ...plans, upgrades }, waiting };
}

/** Of an article with several plans, that of the licence's own product. */
function choosePlan(catalogue: Catalogue, sold: Sold[], { base, had }: Plans): Sold {
  const own = planOf(catalogue, had?.plan ?? base.plan);
  const product = (one: Sold) => planOf(catalogue, one.plan)?.productId;
  return sold.find((one) => product(one) === own?.productId) ?? (sold[0] as Sold);
}
