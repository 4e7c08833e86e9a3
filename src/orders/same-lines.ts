import type { OrderEvent, OrderLine } from '../store/orders';
import { ORDER_EVENTS, type OrderEventName } from './fold';
import type { StoredLine } from './work';

/**
 * Which line of an order a later message means. A shop names an item by its own id, its price and its product, of which all
 * may change but one; the company that it is in says nothing. A function of what the order has, so the order of arrival does
 * not matter.
 */

/** What names a line: the shop's ids, the surest first. */
interface LineNames {
  line: string;
  ids: Set<string>;
  /** what it was sold as; changes with upgrades */
  sku: string | undefined;
}

/** @returns the events, whose items have the names of the lines that they are */
export function placeLines(events: OrderEvent[], lines: Pick<OrderLine, 'line' | 'sku'>[]): OrderEvent[] {
  if (events.every(({ linesJson }) => !linesJson?.includes('"ids"'))) return events;
  const read = new Map(
    events.map((event) => [event, JSON.parse(event.linesJson ?? '[]') as StoredLine[]] as const),
  );
  const known: LineNames[] = lines.map(({ line, sku }) => ({
    line,
    ids: new Set([line]),
    sku: sku ?? undefined,
  }));
  const paidOnce = new Set<string>();
  const learn = (line: string, ids: string[]) => {
    for (const id of ids) known.find((one) => one.line === line)?.ids.add(id);
  };
  for (const [{ event }, items] of read)
    if (event === 'paid')
      for (const { line, ids, once } of items) {
        if (once) paidOnce.add(line);
        learn(line, ids ?? []);
      }
  const placed = new Map<OrderEvent, string>();
  for (const [event, items] of [...read].sort(([a], [b]) => compare(a, b))) {
    if (event.event === 'paid' || !items.some(({ ids }) => ids !== undefined)) continue;
    const found = match(
      items,
      known.filter(({ line }) => !paidOnce.has(line)),
    );
    const named = items.map((item) => {
      const one = found.get(item);
      if (one === undefined) return item;
      const own = event.event === 'upgraded' ? changeOf(item, one) : item;
      if (own.sku !== undefined && event.event === 'upgraded') one.sku = own.sku;
      learn(one.line, item.ids ?? []);
      return { ...own, line: one.line };
    });
    placed.set(event, JSON.stringify(named));
  }
  return events.map((event) => ({ ...event, linesJson: placed.get(event) ?? event.linesJson }));
}

function compare(a: OrderEvent, b: OrderEvent): number {
  const rank = ({ event }: OrderEvent) => ORDER_EVENTS.indexOf(event as OrderEventName);
  return a.at.getTime() - b.at.getTime() || rank(a) - rank(b) || (a.identity < b.identity ? -1 : 1);
}

/** By the surest id that both have, each once; then what is left over of both, when there is one. */
function match(items: StoredLine[], lines: LineNames[]): Map<StoredLine, LineNames> {
  const found = new Map<StoredLine, LineNames>();
  const left = () => ({
    items: items.filter((item) => !found.has(item)),
    lines: lines.filter((line) => ![...found.values()].includes(line)),
  });
  for (const item of items) {
    const named = lines.find(({ line }) => line === item.line);
    if (named !== undefined && item.ids === undefined) found.set(item, named);
  }
  const ranks = Math.max(...items.map(({ ids }) => ids?.length ?? 0));
  for (let rank = 0; rank < ranks; rank++) {
    const rest = left();
    for (const item of rest.items) {
      const id = item.ids?.[rank];
      const having = rest.lines.filter(({ ids }) => id !== undefined && ids.has(id));
      const alike = rest.items.filter(({ ids }) => ids?.[rank] === id);
      const [line] = having;
      if (line !== undefined && having.length === 1 && alike.length === 1) found.set(item, line);
    }
  }
  const only = found.size === 0 && lines.length === 1 ? lines[0] : undefined;
  const first = items.find((item) => item.first);
  if (only !== undefined && first !== undefined) return found.set(first, only);
  const rest = left();
  const [item, line] = [rest.items[0], rest.lines[0]];
  if (rest.items.length === 1 && rest.lines.length === 1 && item && line) found.set(item, line);
  return found;
}

/**
 * What an upgrade changes: the article only at another price. What the subscription says of itself (`sku`) may be from
 * before; then its price says what it is.
 */
function changeOf({ price, sku, ...item }: StoredLine, { ids, sku: had }: LineNames): StoredLine {
  if (price === undefined) return { ...item, ...(sku !== undefined && { sku }) };
  if (ids.has(price)) return item;
  return { ...item, sku: sku === undefined || sku === had ? price : sku };
}
