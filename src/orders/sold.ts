import { findPlan, type Plan } from '../store/catalogue';
import { MAX_UINT32 } from '../licensing/core/columns';
import type { Db } from '../store/engine/database';
import { type OrderEvent, type OrderLicense, type OrderLine, setOrderLicense } from '../store/orders/orders';
import { findSkus } from '../store/orders/shops';
import { byTime, findReturned, type Meaning, type Meanings } from './fold';
import { MAX_QUANTITY } from './message';
import { skuDigest } from './names';
import { concerning, isWaiting, type StoredLine, type Work, type Waits } from './work';

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

/** The plans that an article, or a plan's id, means, or why it means none yet. */
export async function soldAs(
  work: Work,
  { planId, sku, quantity }: { planId: number | null; sku: string | null; quantity: number },
): Promise<Required<Sold>[] | Waits> {
  if (planId !== null) return [{ plan: planId, slots: 1, count: quantity }];
  const awaited = skuDigest(work.shop.name, sku ?? '');
  const entries = sku === null ? [] : await findSkus(work.trx, [awaited]);
  if (entries.length === 0) return { waitsFor: 'not_mapped', awaited };
  // It runs when the article's quantity is changed to slots.
  if (quantity > MAX_QUANTITY && entries.some((entry) => entry.quantity !== 'slots'))
    return { waitsFor: 'too_many', awaited: null };
  return entries.map((entry) =>
    entry.quantity === 'slots'
      ? { plan: entry.planId, slots: quantity, count: 1 }
      : { plan: entry.planId, slots: 1, count: quantity },
  );
}

/** What reading plans needs: the transaction of an order that is settled, or any connection. */
export interface PlanReader {
  trx: Db;
  /** those read before, by id */
  plans: Map<number, Plan>;
}

export async function planOf(work: PlanReader, id: number): Promise<Plan | undefined> {
  const known = work.plans.get(id) ?? (await findPlan(work.trx, id));
  if (known !== undefined) work.plans.set(id, known);
  return known;
}

export function limitOf(plan: Plan, { slots }: Sold): number {
  return Math.min(plan.activationLimit * slots, MAX_UINT32);
}

/** What a line's events need to know to be folded, for the `n`th of its licences. */
export async function meaningsOf(
  work: PlanReader,
  { base, upgrades }: Plans,
  line: Pick<OrderLine, 'renewsJson'>,
  n: number,
): Promise<Meanings> {
  const meaning = async ({ plan, count }: Sold): Promise<Meaning> => ({
    duration: (await planOf(work, plan))?.duration ?? null,
    count: count ?? n,
  });
  const known = new Map<string, Meaning>();
  for (const [identity, sold] of Object.entries(upgrades))
    if (sold !== null) known.set(identity, await meaning(sold));
  return { base: await meaning(base), upgrades: known, renews: line.renewsJson !== null, n };
}

/** Which of its line's licences each is, from 1, counted for each plan that the line was sold as. Cancelled ones count no more. */
export function numbersOf(licenses: OrderLicense[]): Map<number, number> {
  const counts = new Map<string, number>();
  const numbers = new Map<number, number>();
  for (const { id, lineId, state, plansJson } of licenses) {
    if (state === 'cancelled') continue;
    const { base } = JSON.parse(plansJson) as Plans;
    const of = `${lineId}:${base.plan}`;
    const n = (counts.get(of) ?? 0) + 1;
    counts.set(of, n);
    numbers.set(id, n);
  }
  return numbers;
}

/** What the order's upgrades mean for a licence. Those known before stay what they were while they name the same. */
export async function resolveUpgrades(
  work: Work,
  license: OrderLicense,
  plans: Plans,
  events: OrderEvent[],
  line: OrderLine,
): Promise<{ plans: Plans; waiting: Map<string, Waits> }> {
  const waiting = new Map<string, Waits>();
  const concerned = events
    .flatMap((stored) => concerning(stored, line).map((one) => ({ ...one, linesJson: stored.linesJson })))
    .sort(byTime);
  const returned = findReturned(concerned);
  const upgrades: Plans['upgrades'] = {};
  let article = { planId: line.planId, sku: line.sku };
  let quantity = line.quantity;
  for (const { linesJson, identity, effect, changes } of concerned) {
    if ((effect !== 'change_plan' && effect !== 'renew') || !changes) continue;
    const wanted = (JSON.parse(linesJson as string) as StoredLine[]).find((one) => one.line === line.line);
    const { plan_id: planId = null, sku = null } = wanted ?? {};
    // What it does not name stays as it was.
    const named = planId === null && sku === null ? article : { planId, sku };
    const many = wanted?.quantity ?? quantity;
    const of = JSON.stringify([named.planId, named.sku, many]);
    const before = plans.upgrades[identity];
    const isKnown = before !== undefined && (before === null || before.of === of);
    const sold = isKnown ? undefined : await soldAs(work, { ...named, quantity: many });
    const waits = sold !== undefined && isWaiting(sold) ? sold : undefined;
    // A renewal at a price that nobody has mapped, such as one for this customer alone, renews what there is.
    if (waits !== undefined && effect === 'renew') continue;
    if (!returned.has(identity)) [article, quantity] = [named, many];
    if (isKnown) upgrades[identity] = before;
    else if (waits !== undefined) waiting.set(identity, waits);
    else if (sold !== undefined && !isWaiting(sold))
      upgrades[identity] = { ...(await choosePlan(work, sold, plans)), of };
  }
  // A test licence stays on the plan for tests.
  if (work.order.isTest) for (const identity of Object.keys(upgrades)) upgrades[identity] = null;
  const resolved = { ...plans, upgrades };
  if (JSON.stringify(resolved) !== JSON.stringify(plans))
    await setOrderLicense(work.trx, license.id, { plansJson: JSON.stringify(resolved) });
  return { plans: resolved, waiting };
}

/** Of an article with several plans, that of the licence's own product. */
async function choosePlan(work: Work, sold: Sold[], { base, had }: Plans): Promise<Sold> {
  const own = await planOf(work, had?.plan ?? base.plan);
  for (const one of sold) if ((await planOf(work, one.plan))?.productId === own?.productId) return one;
  return sold[0] as Sold;
}
