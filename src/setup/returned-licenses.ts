import type { ReturnRows } from '../store/engine/migrate';
import { rowToFields, type RowOf } from '../store/engine/row-fields';
import { toOrderEvent, type OrderEvent, type OrderLicense, type OrderLine } from '../store/orders/orders';
import { reportedEventsOf } from '../orders/draft';
import { isAllReturned } from '../orders/license-state';
import { byTime, lineEvents } from '../orders/order-events';
import { areAllReturned } from '../orders/refunds';

type Link = Pick<OrderLicense, 'licenseId' | 'orderId' | 'lineId' | 'role'>;

/** Lists the licences whose payments were all given back, from the rows of all their orders, for an upgrade. */
export function returnedLicenses(rows: ReturnRows): number[] {
  const links = (rows.links as RowOf<Link>[]).map(rowToFields);
  const lines = (rows.lines as RowOf<OrderLine>[]).map(rowToFields);
  // An order decides about an unprocessed event later.
  const events = (rows.events as RowOf<OrderEvent>[])
    .map(toOrderEvent)
    .filter(({ outcomeJson }) => outcomeJson !== null);
  const returned = new Map<number, boolean | undefined>();
  for (const orderId of new Set(links.map((link) => link.orderId))) {
    const own = lines.filter((line) => line.orderId === orderId);
    const told = reportedEventsOf(
      { lines: own },
      events.filter((event) => event.orderId === orderId),
    );
    for (const line of own) returned.set(line.id, areAllReturned(lineEvents(told, line).sort(byTime)));
  }
  const parts = new Map<number, Parameters<typeof isAllReturned>[0]>();
  for (const { licenseId, lineId, role } of links)
    parts.set(licenseId, [
      ...(parts.get(licenseId) ?? []),
      { role, standing: { allReturned: returned.get(lineId) } },
    ]);
  return [...parts].filter(([, own]) => isAllReturned(own)).map(([id]) => id);
}
