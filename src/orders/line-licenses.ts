import { endWithGrace, paidEnd, type EndWithGrace } from '../licensing/core/states';
import { issueOrdered } from '../licensing/issue';
import { findUsedReferences, type LockedLicense, lockLicenses } from '../store/licenses/licenses';
import {
  findOrdersByDigest,
  findOrdersOfLicenses,
  insertOrderLicenses,
  listOrderLicenses,
  listOrderLines,
  type Order,
  type OrderLicense,
  type OrderLine,
} from '../store/orders/orders';
import type { Plan } from '../store/catalogue';
import { endOf, foldLine, type LineEvent } from './fold';
import { MAX_QUANTITY } from './message';
import { licenseReference, namedOrders, orderDigest } from './names';
import { limitOf, meaningsOf, planOf, type Plans, type Sold, soldAs } from './sold';
import { isWaiting, none, type Outcome, type Waits, type Work } from './work';

type IssuedEnd = EndWithGrace & { renewsItself: boolean };

/** The licences of a line: those that it issues, or those of earlier orders that it renews. */

/** What a line is sold as, or what it waits for. */
export function soldLine(work: Work, line: OrderLine): Promise<Required<Sold>[] | Waits> {
  const { order, shop } = work;
  return order.isTest && shop.testPlanId !== null
    ? Promise.resolve([{ plan: shop.testPlanId, slots: 1, count: Math.min(line.quantity, MAX_QUANTITY) }])
    : soldAs(work, line);
}

/** Issues a line's licences on what it was sold as; what has happened to them since follows. */
export async function issueLine(
  work: Work,
  line: OrderLine,
  events: LineEvent[],
  sold: Required<Sold>[],
): Promise<Waits | { issued: true }> {
  const total = sold.reduce((sum, { count }) => sum + count, 0);
  const references = await freeReferences(work, line, 1, total);
  if (references === undefined) return { waitsFor: 'reference_in_use', awaited: null };
  for (const base of sold) {
    const plan = await planOf(work, base.plan);
    if (plan === undefined) return { waitsFor: 'no_plan', awaited: null };
    const plans: Plans = { base, upgrades: {} };
    const { terms, renewsItself, graceDays } = foldLine(events, await meaningsOf(work, plans, line, 1));
    await issueOn(work, line, {
      plan,
      plans,
      end: { ...endWithGrace(endOf(terms), graceDays), renewsItself },
      limit: limitOf(plan, base),
      references: references.splice(0, base.count),
    });
  }
  return { issued: true };
}

/** Issues licences of a line that an upgrade has given more. */
export async function issueMore(
  work: Work,
  line: OrderLine,
  count: number,
  like: { planId: number; limit: number; plans: Plans; end: IssuedEnd },
): Promise<Waits | { issued: true }> {
  const { plans, end, limit } = like;
  const issued = work.licenses.filter(({ lineId, role }) => lineId === line.id && role === 'issued').length;
  const references = await freeReferences(work, line, issued + 1, count);
  if (references === undefined) return { waitsFor: 'reference_in_use', awaited: null };
  const plan = await planOf(work, like.planId);
  if (plan === undefined) return { waitsFor: 'no_plan', awaited: null };
  await issueOn(work, line, { plan, plans, end, limit, references });
  return { issued: true };
}

/** The references of a line's licences from the `first` on; undefined: another licence has one. */
async function freeReferences(
  { trx, shop, order }: Work,
  { line }: OrderLine,
  first: number,
  count: number,
): Promise<string[] | undefined> {
  const references = Array.from({ length: count }, (_, i) =>
    licenseReference(shop.name, order.number, line, first + i),
  );
  return (await findUsedReferences(trx, references)).length > 0 ? undefined : references;
}

async function issueOn(
  work: Work,
  line: OrderLine,
  {
    plan,
    plans,
    end: { expiresAt, graceDays, renewsItself },
    limit,
    references,
  }: { plan: Plan; plans: Plans; end: IssuedEnd; limit: number; references: string[] },
): Promise<void> {
  const { trx, order, context } = work;
  const issued = await issueOrdered(
    trx,
    {
      planId: plan.id,
      references,
      expiresAt,
      graceDays,
      renewsItself,
      activationLimit: limit,
      customer: order.customer ?? undefined,
      issuedBy: order.owner ?? undefined,
    },
    context.actor,
    work.secret,
    context.now,
  );
  for (const { license, key } of issued) if (key !== undefined) work.keys.set(license.id, key);
  await addLicenses(
    work,
    line,
    issued.map(({ license }) => ({ licenseId: license.id, plans, baseEndsAt: null })),
    'issued',
  );
}

async function addLicenses(
  work: Work,
  line: OrderLine,
  added: { licenseId: number; plans: Plans; baseEndsAt: Date | null }[],
  role: OrderLicense['role'],
): Promise<void> {
  const { trx, order } = work;
  await insertOrderLicenses(
    trx,
    added.map(({ licenseId, plans, baseEndsAt }) => ({
      orderId: order.id,
      lineId: line.id,
      licenseId,
      role,
      baseEndsAt,
      state: role === 'issued' ? ('active' as const) : ('taken_back' as const),
      plansJson: JSON.stringify(plans),
    })),
  );
  work.licenses = await listOrderLicenses(trx, [order.id]);
}

/** The licences that a line renews; waits while there are none. */
export async function adoptRenewed(work: Work, line: OrderLine): Promise<Waits | Outcome | { found: true }> {
  const { trx, order, shop } = work;
  const renews = JSON.parse(line.renewsJson ?? 'null') as string | number;
  const named = await findRenewed(work, renews);
  if (named.ids.length === 0) return { waitsFor: 'unknown_order', awaited: named.awaited };
  const locked = [...(await lockLicenses(trx, named.ids)).values()];
  const isOwn = await ownLicenses(work, renews, named.ids);
  const allowed = locked.filter(({ id, issuedBy }) => isOwn(id) || issuedBy === order.owner);
  if (allowed.length === 0) return { waitsFor: 'unknown_order', awaited: named.awaited };
  // A test must not prolong what was sold.
  if (order.isTest) {
    const orders = await findOrdersOfLicenses(
      trx,
      allowed.map(({ id }) => id),
    );
    const ofTests = new Set(
      orders.filter((one) => one.isTest && one.shop === shop.name).map((one) => one.licenseId),
    );
    if (!allowed.every(({ id }) => ofTests.has(id))) return none('test');
  }
  const sold = await soldAs(work, line);
  const bought = isWaiting(sold) ? [] : sold;
  const added = [];
  for (const license of allowed) {
    const own = { plan: license.planId, slots: 1 };
    const { plan, slots } = (await planForRenewal(work, bought, license)) ?? own;
    const had = { plan: license.planId, limit: license.activationLimit };
    const plans: Plans = { base: { plan, slots }, had, upgrades: {} };
    added.push({ licenseId: license.id, plans, baseEndsAt: paidEnd(license) });
  }
  await addLicenses(work, line, added, 'renewed');
  return { found: true };
}

/** Which licences a line may renew besides those that its owner issued. What an order of the shop names is the shop's. */
async function ownLicenses(
  { trx, order, shop }: Work,
  renews: string | number,
  ids: number[],
): Promise<(id: number) => boolean> {
  if (!order.ownOnly || typeof renews === 'string') return () => true;
  const orders = await findOrdersOfLicenses(trx, ids);
  const own = new Set(orders.filter((one) => one.shop === shop.name).map(({ licenseId }) => licenseId));
  return (id) => own.has(id);
}

/** What was bought anew says how long, where it is a plan of the same product. */
async function planForRenewal(work: Work, bought: Sold[], license: LockedLicense): Promise<Sold | undefined> {
  const own = await planOf(work, license.planId);
  for (const sold of bought) {
    const plan = await planOf(work, sold.plan);
    if (plan !== undefined && plan.productId === own?.productId && plan.duration !== null) return sold;
  }
  return undefined;
}

/** The licences that a line says it renews, and the digest of the order to wait for when there are none. */
async function findRenewed(
  { trx, shop, order }: Pick<Work, 'trx' | 'shop'> & { order: Pick<Order, 'id'> | undefined },
  renews: string | number,
): Promise<{ ids: number[]; awaited: string | null }> {
  if (typeof renews === 'number') {
    const [license] = (await lockLicenses(trx, [renews])).values();
    return { ids: license === undefined ? [] : [license.id], awaited: null };
  }
  const named = namedOrders(renews);
  const digests = named.map((one) => orderDigest(shop.name, one.order));
  const orders = await findOrdersByDigest(trx, digests);
  for (const [i, { line: wanted }] of named.entries()) {
    const earlier = orders.find(({ digest }) => digest === digests[i]);
    if (earlier === undefined || earlier.id === order?.id) continue;
    const lines = (await listOrderLines(trx, [earlier.id])).filter(
      ({ line }) => wanted === undefined || line === wanted,
    );
    if (lines.length === 0) continue;
    const of = new Set(lines.map(({ id }) => id));
    const licenses = await listOrderLicenses(trx, [earlier.id]);
    const ids = licenses.filter(({ lineId }) => of.has(lineId)).map(({ licenseId }) => licenseId);
    return { ids: [...new Set(ids)], awaited: earlier.digest };
  }
  return { ids: [], awaited: digests[0] ?? null };
}
