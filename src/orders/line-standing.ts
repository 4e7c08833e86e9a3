import type { Db } from '../store/engine/database';
import {
  findOrderLicenses,
  listOrderEvents,
  listOrderLicenses,
  listOrderLines,
  type OrderLicense,
} from '../store/orders/orders';
import { foldLine, licenseEnd, renewsItself, type Part, type LineFold } from './fold';
import { placeLines } from './same-lines';
import { meaningsOf, numbersOf, type PlanReader, type Plans } from './sold';
import { concerning } from './work';
import type { OrderDetails } from './views';

/** What the stored events say of an order's lines, read without a lock. */

/** What the events of a line say before it has run. */
export const NOT_YET: LineFold = {
  state: 'none',
  by: undefined,
  holds: new Map(),
  returnedAt: undefined,
  paidAt: undefined,
  terms: [],
  isPaid: false,
  upgrade: undefined,
  renewsItself: false,
  graceDays: 0,
};

export function partOf({ id, role, baseEndsAt }: OrderLicense, standing: LineFold): Part {
  return { id, role, baseEndsAt, standing };
}

/** What an order's events say of its line that issued or renewed a licence. */
export async function standingOf(
  reading: PlanReader,
  { id, orderId, lineId, plansJson }: OrderLicense,
): Promise<LineFold> {
  const { trx } = reading;
  const lines = await listOrderLines(trx, [orderId]);
  const line = lines.find((one) => one.id === lineId);
  if (line === undefined) return NOT_YET;
  const events = placeLines(await listOrderEvents(trx, orderId), lines).flatMap((event) =>
    concerning(event, line),
  );
  const n = numbersOf(await listOrderLicenses(trx, [orderId])).get(id) ?? 1;
  return foldLine(events, await meaningsOf(reading, JSON.parse(plansJson) as Plans, line, n));
}

export interface LineStanding {
  /** the end that the orders of the line's first licence paid for; null: none, or for life */
  paidUntil: Date | null;
  /** a subscription pays on by itself */
  renewsItself: boolean;
}

/** What an order's lines are paid until, and whether they renew themselves; by the line's id. */
export async function readLineStandings(
  db: Db,
  { order, lines, events }: OrderDetails,
): Promise<Map<number, LineStanding>> {
  const reading: PlanReader = { trx: db, plans: new Map() };
  const placed = placeLines(
    events,
    lines.map(({ line }) => line),
  );
  const licenses = await listOrderLicenses(db, [order.id]);
  const standings = new Map<number, LineStanding>();
  for (const { line } of lines) {
    const first = licenses.find(({ lineId, state }) => lineId === line.id && state !== 'cancelled');
    standings.set(line.id, {
      paidUntil: first === undefined ? null : await paidUntil(reading, first.licenseId),
      renewsItself: renewsItself(placed.flatMap((event) => concerning(event, line))),
    });
  }
  return standings;
}

async function paidUntil(reading: PlanReader, licenseId: number): Promise<Date | null> {
  const parts: Part[] = [];
  for (const row of await findOrderLicenses(reading.trx, licenseId))
    parts.push(partOf(row, await standingOf(reading, row)));
  return licenseEnd(parts);
}
