import type { Db } from '../store/engine/database';
import {
  findOrdersOfLicenses,
  listOrderEvents,
  listOrderLicenses,
  listOrderLines,
  type Order,
  type OrderEvent,
} from '../store/orders/orders';
import { LINE_PROBLEMS } from '../orders/order-events';
import { awaitedSku } from '../orders/views';
import { readOrderMail } from '../orders/key-mails';
import { uniqueNonNull } from './distinct';
import { finding, timeOf } from './findings';
import type { Finding } from './finding-model';

/** The latest orders of a licence that are explained: a licence that is renewed each year has many. */
const MAX_ORDERS = 5;

/** Explains the latest orders that issued or renewed a licence, oldest first. */
export async function explainOrdersOf(db: Db, licenseId: number): Promise<Finding[]> {
  const orders = new Map((await findOrdersOfLicenses(db, [licenseId])).map((order) => [order.id, order]));
  const findings: Finding[] = [];
  for (const order of [...orders.values()].slice(-MAX_ORDERS))
    findings.push(...(await explainOrder(db, order, order.role === 'issued' ? licenseId : undefined)));
  return findings;
}

/** Explains an order's state and the mail with its keys. @param licenseId only the mail with the key of this licence */
export async function explainOrder(db: Db, order: Order, licenseId?: number): Promise<Finding[]> {
  const state = await explainState(db, order);
  return state.code === 'ORDER_ISSUED_NOTHING'
    ? [state]
    : [state, ...(await explainMail(db, order, licenseId))];
}

/** Explains when an order's keys were mailed and to which address, or why not. Renewals have no such finding. */
async function explainMail(db: Db, order: Order, licenseId: number | undefined): Promise<Finding[]> {
  const { state, to, at, reason } = await readOrderMail(db, order, true, licenseId);
  if (reason === 'nothing_issued') return [];
  const facts = {
    order_id: order.id,
    shop: order.shop,
    order: order.number,
    state,
    to,
    at: timeOf(at ?? undefined),
  };
  return [finding('ORDER_MAIL', { ...facts, at: facts.at ?? null, reason }, { since: facts.at })];
}

/** Explains an order by its licences and latest event, or by the reason why it waits, failed or issued nothing. */
async function explainState(db: Db, order: Order): Promise<Finding> {
  const of = { order_id: order.id, shop: order.shop, order: order.number };
  const { state, failure, failedAt, retryAt } = order;
  if (state === 'failed') {
    const times = { failed_at: timeOf(failedAt), retry_at: timeOf(retryAt) };
    return finding('ORDER_FAILED', { ...of, reason: failure ?? '', ...times }, { since: times.failed_at });
  }
  const licenses = await listOrderLicenses(db, [order.id]);
  const events = await listOrderEvents(db, order.id);
  const latest = latestOf(events);
  const lines = await listOrderLines(db, [order.id]);
  const waiting = lines.find(({ waitsFor }) => waitsFor !== null);
  const since = timeOf(latest?.at);
  if (failure === 'too_many')
    return finding('ORDER_TOO_LARGE', of, {
      since,
      action: { type: 'confirm_order', order_id: order.id },
    });
  if (waiting !== undefined) {
    const { line, waitsFor, renewsJson } = waiting;
    if (LINE_PROBLEMS.some((problem) => problem === waitsFor))
      return finding(
        'ORDER_LINE_UNUSABLE',
        { ...of, line, problem: waitsFor ?? '' },
        { since, action: { type: 'settle_unmatched', shop: order.shop } },
      );
    const sku = awaitedSku(order.shop, waiting, events);
    const renews = renewsJson === null ? null : String(JSON.parse(renewsJson));
    return finding(
      'ORDER_WAITS',
      { ...of, line, waits_for: waitsFor ?? '', sku, renews },
      {
        since,
        action:
          waitsFor === 'not_mapped' && sku !== null
            ? { type: 'map_sku', shop: order.shop, sku }
            : { type: 'run_orders', shop: order.shop },
      },
    );
  }
  const event = latest?.event ?? '';
  if (licenses.length === 0)
    return finding('ORDER_ISSUED_NOTHING', { ...of, event, reason: reasonOf(latest) }, { since });
  const issued = uniqueNonNull(licenses.filter(({ role }) => role === 'issued').map((one) => one.licenseId));
  const renewed = uniqueNonNull(
    licenses.filter(({ role }) => role === 'renewed').map((one) => one.licenseId),
  );
  return finding('ORDER', { ...of, issued, renewed, event, event_at: since ?? '' }, { since });
}

/** Returns the event that happened last; its message may have arrived earlier than others. */
function latestOf(events: OrderEvent[]): OrderEvent | undefined {
  return [...events].sort((a, b) => a.at.getTime() - b.at.getTime() || a.id - b.id).at(-1);
}

function reasonOf(event: OrderEvent | undefined): string {
  const outcomes = JSON.parse(event?.outcomeJson ?? '[]') as { reason: string | null }[];
  return outcomes.find(({ reason }) => reason !== null)?.reason ?? 'not_paid';
}
