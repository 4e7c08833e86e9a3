import { issueOrdered } from '../licensing/issue';
import { findUsedReferences, type LockedLicense, lockLicenses } from '../store/licenses';
import {
  findOrdersByDigest,
  findOrdersOfLicenses,
  insertOrderLicenses,
  listOrderLicenses,
  listOrderLines,
  type Order,
  type OrderLicense,
  type OrderLine,
} from '../store/orders';
import { foldLine, issuedUntil, type LineEvent } from './fold';
import { licenseReference, namedOrders, orderDigest, skuDigest } from './names';
import { limitOf, planOf, type Plans, type Sold, soldAs } from './sold';
import { none, type Outcome, type Waits, type Work } from './work';

/** The licences of a line: those that it issues, or those of earlier orders that it renews. */

/** Issues a line's licences on what it was sold as; what has happened to them since follows. */
export async function issueLine(
  work: Work,
  line: OrderLine,
  events: LineEvent[],
): Promise<Waits | { issued: true }> {
  const { trx, order, shop, context } = work;
  const sold =
    order.isTest && shop.testPlanId !== null
      ? [{ sold: { plan: shop.testPlanId, slots: 1 }, count: line.quantity }]
      : await soldAs(work, line);
  if (sold === undefined) return { waitsFor: 'not_mapped', awaited: skuDigest(shop.name, line.sku ?? '') };
  const references: string[] = [];
  const total = sold.reduce((sum, { count }) => sum + count, 0);
  for (let n = 1; n <= total; n++) references.push(licenseReference(shop.name, order.number, line.line, n));
  if ((await findUsedReferences(trx, references)).length > 0)
    return { waitsFor: 'reference_in_use', awaited: null };
  const { terms } = foldLine(events, new Set());
  for (const { sold: one, count } of sold) {
    const plan = await planOf(work, one.plan);
    if (plan === undefined) return { waitsFor: 'no_plan', awaited: null };
    const issued = await issueOrdered(
      trx,
      {
        planId: plan.id,
        references: references.splice(0, count),
        customer: order.customer ?? undefined,
        issuedBy: order.owner ?? undefined,
        expiresAt: issuedUntil(terms, () => plan.duration),
        activationLimit: limitOf(plan, one),
      },
      context.actor,
      work.secret,
      context.now,
    );
    for (const { license, key } of issued) if (key !== undefined) work.keys.set(license.id, key);
    await addLicenses(
      work,
      line,
      issued.map(({ license }) => ({ licenseId: license.id, base: one, baseEndsAt: null })),
      'issued',
    );
  }
  return { issued: true };
}

async function addLicenses(
  work: Work,
  line: OrderLine,
  added: { licenseId: number; base: Sold; baseEndsAt: Date | null }[],
  role: OrderLicense['role'],
): Promise<void> {
  const { trx, order } = work;
  await insertOrderLicenses(
    trx,
    added.map(({ licenseId, base, baseEndsAt }) => ({
      ...{ orderId: order.id, lineId: line.id, licenseId, role, baseEndsAt },
      state: role === 'issued' ? ('active' as const) : ('taken_back' as const),
      plansJson: JSON.stringify({ base, upgrades: {} } satisfies Plans),
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
  const allowed = locked.filter(({ issuedBy }) => !order.ownOnly || issuedBy === order.owner);
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
  const bought = (await soldAs(work, line)) ?? [];
  const added = [];
  for (const license of allowed) {
    const base = (await planForRenewal(work, bought, license)) ?? { plan: license.planId, slots: 1 };
    added.push({ licenseId: license.id, base, baseEndsAt: license.expiresAt });
  }
  await addLicenses(work, line, added, 'renewed');
  return { found: true };
}

/** What was bought anew says how long, where it is a plan of the same product. */
async function planForRenewal(
  work: Work,
  bought: { sold: Sold }[],
  license: LockedLicense,
): Promise<Sold | undefined> {
  const own = await planOf(work, license.planId);
  for (const { sold } of bought) {
    const plan = await planOf(work, sold.plan);
    if (plan !== undefined && plan.productId === own?.productId && plan.duration !== null) return sold;
  }
  return undefined;
}

/** The licences that a line says it renews, and the digest of the order to wait for when there are none. */
export async function findRenewed(
  { trx, shop, order }: Pick<Work, 'trx' | 'shop'> & { order: Pick<Order, 'id'> | undefined },
  renews: string | number,
): Promise<{ ids: number[]; awaited: string | null; owners: (string | null)[] }> {
  if (typeof renews === 'number') {
    const [license] = (await lockLicenses(trx, [renews])).values();
    return license === undefined
      ? { ids: [], awaited: null, owners: [] }
      : { ids: [license.id], awaited: null, owners: [license.issuedBy] };
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
    return { ids: [...new Set(ids)], awaited: earlier.digest, owners: [earlier.owner] };
  }
  return { ids: [], awaited: digests[0] ?? null, owners: orders.map(({ owner }) => owner) };
}
