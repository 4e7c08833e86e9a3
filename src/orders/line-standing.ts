import { findPlans } from '../store/catalogue';
import type { Db } from '../store/engine/database';
import { listLinks } from '../store/orders/order-rows';
import type { Order, OrderEvent, OrderLine } from '../store/orders/orders';
import { partOf, standingOf, toldOf, type Standings } from './draft';
import { plansOf, readLinks } from './facts';
import { licenseEnd } from './license-state';
import { renewsItself } from './line-state';
import { lineEvents } from './order-events';

/** What the stored events say of an order's lines, read without a lock. */

export interface LineStanding {
  /** the end that the orders of the line's first licence paid for; null: none, or for life */
  paidUntil: Date | null;
  /** a subscription pays on by itself */
  renewsItself: boolean;
}

/** What an order's lines are paid until, and whether they renew themselves; by the line's id. */
export async function readLineStandings(
  db: Db,
  { order, lines: shown, events }: { order: Order; lines: { line: OrderLine }[]; events: OrderEvent[] },
): Promise<Map<number, LineStanding>> {
  const lines = shown.map(({ line }) => line);
  const own = await listLinks(db, 'order_id', [order.id]);
  const first = lines.flatMap(
    ({ id }) => own.find(({ lineId, state }) => lineId === id && state !== 'cancelled') ?? [],
  );
  const { links, others } = await readLinks(
    db,
    order.id,
    own,
    first.map(({ licenseId }) => licenseId),
  );
  const plans = await findPlans(db, [...new Set(links.flatMap((link) => plansOf(link.plans)))]);
  const told = toldOf({ lines }, events);
  const standings: Standings = { order, lines, links, plans, others: new Map(), facts: { others } };
  const paidUntil = (licenseId: number) =>
    licenseEnd(
      links
        .filter((link) => link.licenseId === licenseId)
        .map((link) => partOf(link, standingOf(standings, link, told))),
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
