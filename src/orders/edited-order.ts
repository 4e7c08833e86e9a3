import type { Db } from '../store/engine/database';
import { findOrder, listOrderEvents } from '../store/orders/orders';
import type { FitEvent } from './bounds';
import type { LineMessage } from './message';
import { orderDigest } from './names';

/** A shop that sends its whole order again after each edit: every difference from the earlier version is a change. */

type Articles = Map<string, Pick<LineMessage, 'sku' | 'quantity'>>;

/**
 * Returns the edits of a paid order as events: a changed line is upgraded, a new line is paid, and a removed line is
 * refunded.
 * @param paid the payment in the order's present version
 * @returns undefined if the order was cancelled in between, which is final
 */
export async function editsOf(
  db: Db,
  shop: string,
  number: string,
  paid: FitEvent,
  editedAt: Date,
): Promise<FitEvent[] | undefined> {
  const found = await findOrder(db, { digest: orderDigest(shop, number) });
  const events = found === undefined ? [] : await listOrderEvents(db, found.id);
  const first = events.find(({ event, eventId }) => event === 'paid' && eventId === paid.eventId);
  if (first === undefined) return [];
  if (events.some(({ event, at }) => event === 'cancelled' && at < editedAt && at >= first.at))
    return undefined;
  const prefix = `edit:${paid.eventId}:`;
  const before: Articles = new Map();
  const edits = events.filter(({ eventId }) => eventId?.startsWith(prefix));
  for (const { event, linesJson } of [first, ...edits.sort((a, b) => a.at.getTime() - b.at.getTime())])
    for (const { line, ...article } of JSON.parse(linesJson ?? '[]') as LineMessage[])
      if (event === 'refunded') before.delete(line);
      else before.set(line, { ...before.get(line), ...article });
  const lines = paid.lines ?? [];
  const changed = lines.filter((one) => before.has(one.line) && differs(one, before.get(one.line)));
  const added = lines.filter(({ line }) => !before.has(line));
  const gone = [...before.keys()].filter((line) => !lines.some((one) => one.line === line));
  const shared = { order: paid.order, at: editedAt };
  const edit = (event: FitEvent['event'], of: LineMessage[]): FitEvent[] =>
    of.length === 0
      ? []
      : [{ ...shared, event, eventId: `${prefix}${editedAt.toISOString()}:${event}`, lines: of }];
  return [
    ...edit('upgraded', changed),
    ...edit('paid', added).map((one) => ({ ...one, payment: paid.payment })),
    ...edit(
      'refunded',
      gone.map((line) => ({ line })),
    ),
  ];
}

function differs(now: LineMessage, before: Pick<LineMessage, 'sku' | 'quantity'> | undefined): boolean {
  return now.sku !== before?.sku || now.quantity !== before?.quantity;
}
