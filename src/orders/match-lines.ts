import type { OrderLine } from '../store/orders/orders';
import { sortEvents, type StoredLine, type ReadEvent } from './order-events';
import { findReturned } from './refunds';

/**
 * Matches the items of later messages to an order's lines. A shop names an item by its own id, its price and its
 * product, and all but one of these may change; the items next to it prove nothing. The result depends only on the
 * order's data, so the order of arrival does not matter.
 */

/** The names of a line: the shop's ids, most reliable first. */
interface LineNames {
  line: string;
  ids: Set<string>;
  /** the article that it was sold as; upgrades change it */
  sku: string | undefined;
  /** the price of the last payment for it, by the shop's id */
  price: string | undefined;
  quantity: number | undefined;
  /** the article that was sold at each of its prices */
  articles: Map<string, string | undefined>;
}

/** Matches items to lines. @returns the events with the lines' names in their items */
export function matchLines(events: ReadEvent[], lines: Pick<OrderLine, 'line' | 'sku'>[]): ReadEvent[] {
  if (!events.some(({ items }) => items?.some(({ ids }) => ids !== undefined))) return events;
  const known: LineNames[] = lines.map(({ line, sku }) => ({
    line,
    ids: new Set([line]),
    sku: sku ?? undefined,
    price: undefined,
    quantity: undefined,
    articles: new Map(),
  }));
  const sorted = sortEvents(events);
  const paidOnce = new Set<string>();
  const learn = (line: string, ids: string[]) => {
    for (const id of ids) known.find((one) => one.line === line)?.ids.add(id);
  };
  for (const { event, items } of sorted)
    if (event === 'paid')
      for (const item of items ?? []) {
        if (item.once) paidOnce.add(item.line);
        learn(item.line, item.ids ?? []);
        const one = known.find(({ line }) => line === item.line);
        if (one !== undefined) paidAt(one, item);
      }
  const returned = findReturned(
    sorted.map((one) => ({ ...one, confirms: one.items?.some(({ confirms }) => confirms) ?? false })),
  );
  const placed = new Map<ReadEvent, StoredLine[]>();
  for (const event of sorted) {
    const { items } = event;
    if (event.event === 'paid' || !items?.some(({ ids }) => ids !== undefined)) continue;
    const open = known.filter(({ line }) => !paidOnce.has(line));
    const isOther = event.event === 'upgraded' ? mayBeOther : isKnownOther;
    const found = match(items, open, isOther);
    const named = items.map((item) => {
      const one = found.get(item);
      if (one === undefined) return asStranger(item, known, isOther);
      const own =
        event.event === 'upgraded'
          ? changeOf(item, one)
          : event.event === 'renewed'
            ? renewedAs(item, one)
            : item;
      // A refunded change counts as no change, so that the next payment for it is a change again.
      const stands = item.confirms === true || !returned.has(event.identity);
      if (stands && (event.event === 'upgraded' || event.event === 'renewed')) {
        if (own.sku !== undefined) one.sku = own.sku;
        if (event.event === 'upgraded' || item.sku !== undefined) paidAt(one, item);
      }
      learn(one.line, item.ids ?? []);
      return { ...own, line: one.line };
    });
    // Let money for a subscription without its own line renew all its lines, like a renewal without lines. It is listed.
    const isOfOthers = items.every((item) => open.every((line) => isOther(item, line)));
    if (event.event === 'renewed' && isOfOthers) named.push(...open.map(({ line }) => ({ line })));
    placed.set(event, named);
  }
  return events.map((event) => ({ ...event, items: placed.get(event) ?? event.items }));
}

/** Reports whether an id is Stripe's id of a subscription's item. It survives a new price, so another id is another line. */
const isItemId = (id: string) => id.startsWith('si_');

type Differs = (item: StoredLine, line: LineNames) => boolean;

/** Reports whether an item is certainly another one than the line. */
const isKnownOther: Differs = (item, line) => mayBeOther(item, line) && [...line.ids].some(isItemId);

/** Reports whether an item may be another one, even if its line has no item id yet, as for a change by prorations only. */
const mayBeOther: Differs = ({ ids = [], first }, { ids: known }) => {
  const own = ids.find(isItemId);
  return own !== undefined && !known.has(own) && (first !== true || [...known].some(isItemId));
};

/** Renames an item without a line, if it has the name of the order's first line by mistake. */
function asStranger(item: StoredLine, known: LineNames[], isOther: Differs): StoredLine {
  const namesake = known.find(({ line }) => line === item.line);
  return namesake === undefined || !isOther(item, namesake)
    ? item
    : { ...item, line: item.ids?.at(-1) ?? '' };
}

/** Matches by the most reliable id that only one item and one line share. Then it matches the last item and line left over. */
function match(items: StoredLine[], lines: LineNames[], isOther: Differs): Map<StoredLine, LineNames> {
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
  if (only !== undefined && first !== undefined && !isOther(first, only)) return found.set(first, only);
  const rest = left();
  const [item, line] = [rest.items[0], rest.lines[0]];
  if (rest.items.length === 1 && rest.lines.length === 1 && item && line && !isOther(item, line))
    found.set(item, line);
  return found;
}

/**
 * Returns the change of an upgrade. The article changes only with the price. The subscription's own `sku` may be out of
 * date; then the price decides.
 */
function changeOf({ price, sku, paidAs: _, ...item }: StoredLine, one: LineNames): StoredLine {
  if (price === undefined) return { ...item, sku };
  return price === one.price ? item : { ...item, sku: articleAt(price, sku, one) };
}

/** Returns the article for a price. A price that the line had before means the article of that time. */
function articleAt(price: string, sku: string | undefined, { sku: had, articles }: LineNames): string {
  return articles.get(price) ?? (sku === undefined || sku === had ? price : sku);
}

/** Returns the change that a renewal pays for, if it differs from the last payment. A shop may change one period only. */
function renewedAs({ price, sku, quantity, paidAs, ...item }: StoredLine, one: LineNames): StoredLine {
  const told = paidAs ?? price;
  if (told === undefined || sku === undefined || one.price === undefined) return item;
  const article = paidAs === undefined ? articleAt(told, sku, one) : sku;
  // Keep the plan if only the price differs, for example after an increase: the map of articles is for new buyers.
  const isOther = told !== one.price && article !== one.sku;
  const isMore = quantity !== undefined && one.quantity !== undefined && quantity !== one.quantity;
  if (!isOther && !isMore) return item;
  return {
    ...item,
    follows: true,
    sku: isOther ? article : undefined,
    quantity: isMore ? quantity : undefined,
  };
}

/** Stores what was paid for a line, to compare later messages with it. */
function paidAt(one: LineNames, { ids, price, paidAs = price, quantity }: StoredLine): void {
  if (ids === undefined) return;
  if (quantity !== undefined) one.quantity = quantity;
  if (paidAs === undefined) return;
  one.price = paidAs;
  one.articles.set(paidAs, one.sku);
}
