import { findPlan, type Plan } from '../store/catalogue';
import { MAX_UINT32 } from '../store/columns';
import { type OrderEvent, type OrderLicense, type OrderLine, setOrderLicense } from '../store/orders';
import { findSkus } from '../store/shops';
import type { DurationOf } from './fold';
import { skuDigest } from './names';
import type { StoredLine, Work, Waits } from './work';

/** What an article or an upgrade means: plans, kept as they were when it ran. */

/** A plan, and how often its limit counts. */
export interface Sold {
  plan: number;
  slots: number;
}

/** `OrderLicense.plansJson` */
export interface Plans {
  base: Sold;
  /** null: the upgrade is impossible for this licence */
  upgrades: Record<string, Sold | null>;
}

export function known({ upgrades }: Plans): Set<string> {
  return new Set(Object.keys(upgrades).filter((identity) => upgrades[identity] !== null));
}

/** The plans that an article, or a plan's id, means; undefined: it is not mapped. */
export async function soldAs(
  work: Work,
  { planId, sku, quantity }: { planId: number | null; sku: string | null; quantity: number },
): Promise<{ sold: Sold; count: number }[] | undefined> {
  if (planId !== null) return [{ sold: { plan: planId, slots: 1 }, count: quantity }];
  if (sku === null) return undefined;
  const entries = await findSkus(work.trx, [skuDigest(work.shop.name, sku)]);
  if (entries.length === 0) return undefined;
  return entries.map((entry) =>
    entry.quantity === 'slots'
      ? { sold: { plan: entry.planId, slots: quantity }, count: 1 }
      : { sold: { plan: entry.planId, slots: 1 }, count: quantity },
  );
}

export async function planOf(work: Work, id: number): Promise<Plan | undefined> {
  const known = work.plans.get(id) ?? (await findPlan(work.trx, id));
  if (known !== undefined) work.plans.set(id, known);
  return known;
}

export function limitOf(plan: Plan, { slots }: Sold): number {
  return Math.min(plan.activationLimit * slots, MAX_UINT32);
}

export async function durations(work: Work, { base, upgrades }: Plans): Promise<DurationOf> {
  const byUpgrade = new Map<string | undefined, string | null>();
  byUpgrade.set(undefined, (await planOf(work, base.plan))?.duration ?? null);
  for (const [identity, sold] of Object.entries(upgrades))
    if (sold !== null) byUpgrade.set(identity, (await planOf(work, sold.plan))?.duration ?? null);
  return (upgrade) => byUpgrade.get(upgrade) ?? null;
}

/** What the order's upgrades mean for a licence; those known before stay what they were. */
export async function resolveUpgrades(
  work: Work,
  license: OrderLicense,
  plans: Plans,
  events: OrderEvent[],
  line: OrderLine,
): Promise<{ plans: Plans; waiting: Map<string, Waits> }> {
  const waiting = new Map<string, Waits>();
  const upgrades = { ...plans.upgrades };
  for (const event of events) {
    if (event.effect !== 'change_plan' || event.identity in upgrades || event.linesJson === null) continue;
    const wanted = (JSON.parse(event.linesJson) as StoredLine[]).find((one) => one.line === line.line);
    if (wanted === undefined) continue;
    const { plan_id: planId = null, sku = null, quantity = line.quantity } = wanted;
    const sold = await soldAs(work, { planId, sku, quantity });
    if (sold === undefined) {
      waiting.set(event.identity, { waitsFor: 'not_mapped', awaited: skuDigest(work.shop.name, sku ?? '') });
      continue;
    }
    const own = await planOf(work, plans.base.plan);
    upgrades[event.identity] = null;
    for (const { sold: one } of sold)
      if ((await planOf(work, one.plan))?.productId === own?.productId) {
        upgrades[event.identity] = one;
        break;
      }
  }
  // A test licence stays on the plan for tests.
  if (work.order.isTest) for (const identity of Object.keys(upgrades)) upgrades[identity] = null;
  const resolved = { ...plans, upgrades };
  if (JSON.stringify(resolved) !== JSON.stringify(plans))
    await setOrderLicense(work.trx, license.id, { plansJson: JSON.stringify(resolved) });
  return { plans: resolved, waiting };
}
