import type { ChangeContext } from '../licensing/lifecycle';
import type { Mailing } from '../mail/queue';
import { findPlans, type Plan } from '../store/catalogue';
import type { Transaction } from '../store/engine/database';
import { findUsedReferences, lockLicenses, type LockedLicense } from '../store/licenses/licenses';
import {
  findOrdersOfLicenses,
  listOrderEvents,
  listOrderLines,
  type LicenseOrder,
  type Order,
  type OrderEvent,
  type OrderLicense,
  type OrderLine,
} from '../store/orders/orders';
import {
  findActivated,
  findLicensesOfLine,
  findSuspendedByOrder,
  listLinks,
  readLinks,
  type OtherOrder,
} from '../store/orders/order-rows';
import { findSkus, type Shop, type ShopSku } from '../store/orders/shops';
import { listUnmatchedOf, type Unmatched } from '../store/orders/unmatched';
import { findMailsOfOrder } from '../store/outbox';
import { MAX_QUANTITY } from './message';
import { licenseReference, namedOrders, orderDigest, skuDigest } from './names';
import { isPayment, readEvent, type ReadEvent } from './order-events';
import { graceOf } from './shop-kinds';
import type { Link, Plans } from './sold';

/** Reads all facts that a decision about an order depends on, as plain data. */

export interface OrderFacts {
  now: Date;
  /** the actor that added events will name */
  actor: string;
  /** the shop's grace period */
  graceDays: number;
  order: Order;
  shop: Shop;
  lines: OrderLine[];
  /** in the order of arrival; an event without an outcome is not processed yet */
  events: OrderEvent[];
  /** the links of the order and of its licences' other orders, sorted by id */
  links: Link[];
  licenses: LicenseFacts[];
  /** the other orders of the licences */
  others: OtherOrder[];
  /** the licences that lines renew, or the digest of the order to wait for; keyed by the line's `renewsJson` */
  renewed: Record<string, Renewed>;
  /** the orders of the licences that lines may renew */
  owners: Pick<LicenseOrder, 'licenseId' | 'shop' | 'isTest'>[];
  plans: Plan[];
  skus: ShopSku[];
  /** the used references among those of the order's next licences */
  usedReferences: string[];
  unmatched: Unmatched[];
  /** the keys of mails about failed payments that were already sent to the customer */
  mailsOnce: string[];
  /** whether mails can be sent */
  hasMail: boolean;
}

export interface LicenseFacts extends LockedLicense {
  isActivated: boolean;
  /** true if an order suspended the licence last; only the seller lifts the seller's own suspension */
  isSuspendedByOrder: boolean;
}

interface Renewed {
  ids: number[];
  awaited: string | null;
}

export interface RecordContext extends Pick<ChangeContext, 'actor' | 'now'> {
  /** LICENSING_KEY_SECRET, which encrypts keys; if undefined, keys are not stored */
  secret: Buffer | undefined;
  /** sends keys to customers; undefined if mail is not set up */
  mailing?: Mailing | undefined;
  /** LICENSING_GRACE_DAYS, for shops without a grace period of their own */
  graceDays: number;
  /** is called when an order fails for the first time */
  onFailed?: ((id: number, reason: string) => void) | undefined;
}

/** Input in addition to the stored data of the order. */
interface Given {
  shop: Shop;
  /** the order's events with one that is not stored yet; by default they are read */
  events?: OrderEvent[];
  /** true if the order was inserted in this transaction */
  isNew?: boolean;
  plans?: number[];
  licenses?: number[];
}

/** Reads the facts of a locked order. Locks come in a fixed order: the order's own first, then those of its licences. */
export async function loadOrderFacts(
  trx: Transaction,
  order: Order,
  { shop, events: known, isNew = false, plans: morePlans = [], licenses: moreLicenses = [] }: Given,
  context: RecordContext,
): Promise<OrderFacts> {
  const lines = isNew ? [] : await listOrderLines(trx, [order.id]);
  const own = isNew ? [] : await listLinks(trx, 'order_id', [order.id]);
  const events = known ?? (await listOrderEvents(trx, order.id));
  const read = events.map(readEvent);
  const unlinked = lines.filter(({ id }) => !own.some(({ lineId }) => lineId === id));
  const renewed = await findRenewed(trx, order, shop, unlinked, read);
  const ids = [...own.map(({ licenseId }) => licenseId), ...moreLicenses];
  ids.push(...Object.values(renewed).flatMap((one) => one.ids));
  const licenses = [...(await lockLicenses(trx, distinct(ids))).values()];
  // Read after the licences are locked, because their other orders may have changed them since this order was locked.
  const { links: stored, others } = await readLinks(trx, order.id, own, idsOf(licenses));
  const links = stored.map(toLink);
  const skus = await findSkus(trx, articlesOf(shop, lines, unlinked, read));
  const plans = await findPlans(
    trx,
    distinct([
      ...morePlans,
      ...links.flatMap((link) => planIdsOf(link.plans)),
      ...licenses.map(({ planId }) => planId),
      ...skus.map(({ planId }) => planId),
      ...[shop.testPlanId, ...lines.map(({ planId }) => planId)].flatMap((id) => id ?? []),
      ...read.flatMap(({ items }) => items ?? []).flatMap(({ plan_id: id }) => id ?? []),
    ]),
  );
  const next = nextReferences(order, lines, read, { links, skus, isActed: morePlans.length > 0 });
  const isFailing = events.some(
    ({ event, outcomeJson }) => event === 'payment_failed' && outcomeJson === null,
  );
  return {
    now: context.now,
    actor: context.actor,
    graceDays: graceOf(shop, context),
    order,
    shop,
    lines,
    events,
    links,
    licenses: await withHistory(trx, licenses, links, plans),
    others,
    renewed,
    owners: Object.keys(renewed).length === 0 ? [] : await findOrdersOfLicenses(trx, distinct(ids)),
    plans,
    skus,
    usedReferences: next.length === 0 ? [] : await findUsedReferences(trx, next),
    unmatched: isNew ? [] : await listUnmatchedOf(trx, { orderId: order.id }),
    mailsOnce: isFailing
      ? (await findMailsOfOrder(trx, order.id, 'payment_failed', MAX_MAILS)).flatMap(({ once }) => once ?? [])
      : [],
    hasMail: context.mailing !== undefined,
  };
}

/** The maximum number of mails, one for each period with a failed payment. */
const MAX_MAILS = 1000;

function idsOf(licenses: { id: number }[]): number[] {
  return licenses.map(({ id }) => id);
}

function distinct(ids: number[]): number[] {
  return [...new Set(ids)].sort((a, b) => a - b);
}

/** Parses the plans of a link. */
export function toLink({ plansJson, ...link }: OrderLicense): Link {
  return { ...link, plans: JSON.parse(plansJson) as Plans };
}

export function planIdsOf({ base, had, upgrades }: Plans): number[] {
  const ids = Object.values(upgrades).flatMap((sold) => sold?.plan ?? []);
  return had === undefined ? [base.plan, ...ids] : [base.plan, had.plan, ...ids];
}

/** Returns the digests of the articles in lines and events, if a decision may depend on their plans. */
function articlesOf(shop: Shop, lines: OrderLine[], unlinked: OrderLine[], events: ReadEvent[]): string[] {
  const told = events.filter((one) => one.outcomeJson === null || isPayment(one));
  const items = told.flatMap((one) => one.items ?? []);
  if (unlinked.length === 0 && items.length === 0) return [];
  const named = items.flatMap(({ sku, price }) => [sku, price]);
  const articles = new Set([...lines.map(({ sku }) => sku ?? undefined), ...named]);
  return [...articles].flatMap((sku) => (sku === undefined ? [] : skuDigest(shop.name, sku)));
}

/** Returns the references that the order's lines would give to further licences. */
function nextReferences(
  order: Order,
  lines: OrderLine[],
  events: ReadEvent[],
  { links, skus, isActed }: { links: Link[]; skus: ShopSku[]; isActed: boolean },
): string[] {
  const names = new Set(lines.map(({ line }) => line));
  for (const { outcomeJson, items } of events)
    if (outcomeJson === null) for (const { line } of items ?? []) names.add(line);
  const items = events.filter(isPayment).flatMap((one) => one.items ?? []);
  const most = Math.max(
    1,
    ...lines.map(({ quantity }) => quantity),
    ...items.map(({ quantity }) => quantity ?? 1),
  );
  const total = Math.min(most, MAX_QUANTITY) * Math.max(1, skus.length);
  return [...names].flatMap((name) => {
    const line = lines.find((one) => one.line === name);
    const issued = links.filter(({ lineId, role }) => lineId === line?.id && role === 'issued').length;
    const count = isActed ? total + 1 : issued > 0 && issued >= total ? 0 : total;
    return Array.from({ length: count }, (_, i) =>
      licenseReference(order.shop, order.number, name, issued + 1 + i),
    );
  });
}

async function withHistory(
  trx: Transaction,
  licenses: LockedLicense[],
  links: Link[],
  plans: Plan[],
): Promise<LicenseFacts[]> {
  const typeOf = (id: number) => plans.find((plan) => plan.id === id)?.activationType;
  const mayChange = licenses.filter(({ planId }) =>
    plans.some(({ activationType }) => activationType !== typeOf(planId)),
  );
  const mayBeHeld = licenses.filter(
    ({ id, status }) =>
      status === 'suspended' && links.some((one) => one.licenseId === id && one.state === 'suspended'),
  );
  const activated = await findActivated(trx, idsOf(mayChange));
  const held = await findSuspendedByOrder(trx, idsOf(mayBeHeld));
  return licenses.map((license) => ({
    ...license,
    isActivated: activated.includes(license.id),
    isSuspendedByOrder: held.includes(license.id),
  }));
}

/** Finds what is renewed by lines without a licence and by the lines of new events. */
async function findRenewed(
  trx: Transaction,
  order: Order,
  shop: Shop,
  unlinked: OrderLine[],
  events: ReadEvent[],
): Promise<Record<string, Renewed>> {
  const found: Record<string, Renewed> = {};
  const named = events
    .filter(({ outcomeJson }) => outcomeJson === null)
    .flatMap(({ items }) => items ?? [])
    .flatMap(({ renews }) => (renews === undefined ? [] : JSON.stringify(renews)));
  for (const renews of new Set([...unlinked.flatMap(({ renewsJson }) => renewsJson ?? []), ...named]))
    found[renews] = await findNamed(trx, order, shop, JSON.parse(renews) as string | number);
  return found;
}

async function findNamed(trx: Transaction, { id }: Order, shop: Shop, renews: string | number) {
  if (typeof renews === 'number') return { ids: [renews], awaited: null };
  const named = namedOrders(renews).map(({ order, line }) => ({
    digest: orderDigest(shop.name, order),
    line,
  }));
  const found = await findLicensesOfLine(trx, named, id);
  return found ?? { ids: [], awaited: named[0]?.digest ?? null };
}
