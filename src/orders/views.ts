import { formatTimestampOrNull } from '../base/days';
import { liveStatus } from '../licensing/core/states';
import { isAscii, readCursor, toPage, isCursorId, type Page, type PageRequest } from '../licensing/cursors';
import { jsonOf } from '../base/json';
import { columnOf, readSort } from '../licensing/sorting';
import type { Db } from '../store/engine/database';
import { readLicenses, type License } from '../store/licenses/licenses';
import {
  countWaitingOrders,
  countWithoutAddress,
  findOrder,
  findOrdersOfLicenses,
  listOrderEvents,
  listOrderLicenses,
  listOrderLines,
  listMoneyEvents,
  listUnmapped,
  listOrders,
  type LicenseOrder,
  type Order,
  type OrderEvent,
  type OrderFilter,
  type OrderLine,
} from '../store/orders/orders';
import { listMessages, type ShopMessage } from '../store/orders/shop-messages';
import { amountsOf, foreignRefunds, moneyOf, type Amounts } from '../store/orders/money';
import { findPlans } from '../store/catalogue';
import { listLinks, readLinks } from '../store/orders/order-rows';
import { partOf, lineStateOf, reportedEventsOf, type Standings } from './draft';
import { planIdsOf, toLink } from './facts';
import { licenseEnd } from './license-state';
import { renewsItself } from './line-state';
import { skuDigest } from './names';
import { orderMailJson, type OrderMail } from './key-mails';
import type { Recorded } from './record';
import { lineEvents, type LineOutcome, type StoredLine } from './order-events';
import { readEvents } from './refunds';

/** Orders, in the form that is shown to sellers. */

export {
  foreignRefunds,
  moneyOf,
  type Amounts,
  countWaitingOrders,
  countWithoutAddress,
  findOrdersOfLicenses,
  listMessages,
  type LicenseOrder,
  type Order,
  type OrderFilter,
  type ShopMessage,
};

export interface OrderView {
  order: Order;
  /** the paid and refunded amounts, by currency */
  amounts: Amounts[];
  lines: { line: OrderLine; licenses: License[] }[];
}

export interface OrderDetails extends OrderView {
  events: OrderEvent[];
}

/** The sort orders, by arrival. */
export const ORDER_SORTS = ['id', '-id'] as const;

/** Lists a page of orders. @param sort one of ORDER_SORTS; by default newest first */
export async function listOrderPage(
  db: Db,
  filter: OrderFilter,
  { after, limit }: PageRequest,
  sort?: string,
): Promise<Page<OrderView>> {
  const { isDown } = columnOf(readSort(ORDER_SORTS, sort) ?? '-id');
  // Return nothing for text outside ASCII, which cannot be compared with an ASCII column.
  if (filter.shop !== undefined && !isAscii(filter.shop)) return { items: [], next: null };
  const [place] = readCursor<[number]>(after, [isCursorId]) ?? [];
  const { items, next } = toPage(
    await listOrders(db, filter, { after: place, limit: limit + 1, isDown }),
    limit,
    ({ id }) => [id],
  );
  return { items: await viewOrders(db, items), next };
}

export async function readOrder(db: Db, id: number): Promise<OrderDetails | undefined> {
  const order = await findOrder(db, { id });
  if (order === undefined) return undefined;
  const [view] = await viewOrders(db, [order]);
  return { ...(view as OrderView), events: await listOrderEvents(db, id) };
}

async function viewOrders(db: Db, orders: Order[]): Promise<OrderView[]> {
  const ids = orders.map(({ id }) => id);
  const lines = await listOrderLines(db, ids);
  const stored = await listOrderLicenses(db, ids);
  const licenses = new Map(
    (await readLicenses(db, [...new Set(stored.map(({ licenseId }) => licenseId))])).map((one) => [
      one.id,
      one,
    ]),
  );
  const events = await listMoneyEvents(db, ids);
  return orders.map((order) => ({
    order,
    amounts: amountsOf(events.filter(({ orderId }) => orderId === order.id)),
    lines: lines
      .filter(({ orderId }) => orderId === order.id)
      .map((line) => ({
        line,
        licenses: stored
          .filter(({ lineId }) => lineId === line.id)
          .flatMap(({ licenseId }) => licenses.get(licenseId) ?? []),
      })),
  }));
}

function licenseJson({ id, status, expiresAt }: License, now: Date) {
  return { id, status: liveStatus({ status, expiresAt }, now), expires_at: formatTimestampOrNull(expiresAt) };
}

/** Returns the reply to a call that records an event. */
export function recordedJson({ order, lines }: Recorded, now: Date) {
  return {
    id: order.id,
    shop: order.shop,
    order: order.number,
    state: order.state,
    lines: lines.map(({ line, action, reason, licenses }) => ({
      line,
      action,
      reason,
      licenses: licenses.map(({ license, key }) => {
        const { id, ...standing } = licenseJson(license, now);
        return { id, license_key: key ?? null, ...standing };
      }),
    })),
  };
}

export function orderJson(view: OrderView, now: Date) {
  return {
    ...orderFields(view.order),
    amounts: view.amounts,
    lines: view.lines.map((one) => ({
      ...lineFields(one.line),
      licenses: one.licenses.map((license) => licenseJson(license, now)),
    })),
  };
}

/** Returns one order with its mail, its events, and the paid-through dates of its lines. */
export async function shownOrderJson(db: Db, details: OrderDetails, mail: OrderMail, now: Date) {
  const { order, amounts, lines, events } = details;
  const standings = await readLineStandings(db, details);
  return {
    ...orderFields(order),
    amounts,
    lines: lines.map(({ line, licenses }) => {
      const standing = standings.get(line.id);
      return {
        ...lineFields(line),
        paid_until: formatTimestampOrNull(standing?.paidUntil ?? null),
        renews_itself: standing?.renewsItself ?? false,
        licenses: licenses.map((license) => licenseJson(license, now)),
      };
    }),
    mail: orderMailJson(mail),
    events: orderEventsJson(events),
  };
}

/** Returns an order with its events, and its licences by their ids. */
export function orderDetailsJson({ order, amounts, lines, events }: OrderDetails) {
  return {
    ...orderFields(order),
    amounts,
    lines: lines.map(({ line, licenses }) => ({
      ...lineFields(line),
      licenses: licenses.map(({ id }) => id),
    })),
    events: orderEventsJson(events),
  };
}

function orderFields(order: Order) {
  return {
    id: order.id,
    shop: order.shop,
    order: order.number,
    state: order.state,
    test: order.isTest,
    ...jsonOf(order, 'customer', 'customerName', 'language', 'createdAt'),
    ...jsonOf(order, 'failure', 'failedAt', 'retryAt', 'confirmedAt'),
  };
}

function lineFields({ line, sku, planId, quantity, renewsJson, waitsFor }: OrderLine) {
  return {
    line,
    sku,
    plan_id: planId,
    quantity,
    renews: renewsJson === null ? null : (JSON.parse(renewsJson) as string | number),
    waits_for: waitsFor,
  };
}

/** Returns events for display. They are read together, because a refund's amount is compared with the others. */
export function orderEventsJson(events: OrderEvent[]) {
  return readEvents(events).map((event) => ({
    ...jsonOf(event, 'id', 'event', 'eventId', 'at', 'receivedAt', 'actor'),
    ...jsonOf(event, 'partial', 'payment', 'amount', 'currency', 'renewsItself'),
    test: event.isTest,
    lines: event.items?.map(shownLine) ?? null,
    outcomes: JSON.parse(event.outcomeJson ?? '[]') as LineOutcome[],
  }));
}

function shownLine({ ids: _, price: __, first: ___, once: ____, ...line }: StoredLine) {
  return line;
}

/** Returns a message that a receiver accepted. */
export function messageJson(message: ShopMessage) {
  return jsonOf(message, 'id', 'type', 'result', 'reason', 'orderId', 'receivedAt');
}

/** Returns the article that a line waits for: the upgrade's article, if an upgrade waits. */
export function awaitedSku(
  shop: string,
  { sku, awaited }: Pick<OrderLine, 'sku' | 'awaited'>,
  events: Pick<OrderEvent, 'linesJson'>[],
): string | null {
  const isAwaited = (one: string | null | undefined): one is string =>
    typeof one === 'string' && skuDigest(shop, one) === awaited;
  if (awaited === null || isAwaited(sku)) return sku;
  const lines = events.flatMap(({ linesJson }) => JSON.parse(linesJson ?? '[]') as { sku?: string }[]);
  return lines.map((line) => line.sku).find(isAwaited) ?? sku;
}

/** Lists the articles that orders wait for, with the number of orders. */
export async function listUnmappedArticles(
  db: Db,
  limit: number,
): Promise<{ shop: string; sku: string; orders: number }[]> {
  const articles = [];
  for (const { shop, sku, awaited, orderId, orders } of await listUnmapped(db, limit)) {
    const events = skuDigest(shop, sku) === awaited ? [] : await listOrderEvents(db, orderId);
    articles.push({ shop, sku: awaitedSku(shop, { sku, awaited }, events) ?? sku, orders });
  }
  return articles;
}

export interface LineStanding {
  /** the paid-through date of the line's first licence; null if nothing is paid, or for lifetime */
  paidUntil: Date | null;
  /** true for a subscription that renews automatically */
  renewsItself: boolean;
}

/** Returns the paid-through date of each line, and whether it renews automatically; keyed by the line's id. */
export async function readLineStandings(
  db: Db,
  { order, lines: shown, events }: { order: Order; lines: { line: OrderLine }[]; events: OrderEvent[] },
): Promise<Map<number, LineStanding>> {
  const lines = shown.map(({ line }) => line);
  const own = await listLinks(db, 'order_id', [order.id]);
  const first = lines.flatMap(
    ({ id }) => own.find(({ lineId, state }) => lineId === id && state !== 'cancelled') ?? [],
  );
  const { links: stored, others } = await readLinks(
    db,
    order.id,
    own,
    first.map(({ licenseId }) => licenseId),
  );
  const links = stored.map(toLink);
  const plans = await findPlans(db, [...new Set(links.flatMap((link) => planIdsOf(link.plans)))]);
  const told = reportedEventsOf({ lines }, events);
  const standings: Standings = { order, lines, links, plans, others: new Map(), facts: { others } };
  const paidUntil = (licenseId: number) =>
    licenseEnd(
      links
        .filter((link) => link.licenseId === licenseId)
        .map((link) => partOf(link, lineStateOf(standings, link, told))),
    );
  return new Map(
    lines.map((line) => {
      const link = first.find(({ lineId }) => lineId === line.id);
      return [
        line.id,
        {
          paidUntil: link === undefined ? null : paidUntil(link.licenseId),
          renewsItself: renewsItself(lineEvents(told, line)),
        },
      ];
    }),
  );
}
