import type { OrderLine } from '../store/orders/orders';
import { sortEvents, type StoredLine, type ToldEvent } from './order-events';
import { findReturned } from './refunds';

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
  /** what was paid for it last, as the shop counts it */
  price: string | undefined;
  quantity: number | undefined;
  /** the article that each of its prices was sold as */
  articles: Map<string, string | undefined>;
}

/** @returns the events, whose items have the names of the lines that they are */
export function placeLines(events: ToldEvent[], lines: Pick<OrderLine, 'line' | 'sku'>[]): ToldEvent[] {
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
  const placed = new Map<ToldEvent, StoredLine[]>();
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
      // What was given back has changed nothing, so the next payment for it says that it does.
      const stands = item.confirms === true || !returned.has(event.identity);
      if (stands && (event.event === 'upgraded' || event.event === 'renewed')) {
        if (own.sku !== undefined) one.sku = own.sku;
        if (event.event === 'upgraded' || item.sku !== undefined) paidAt(one, item);
      }
      learn(one.line, item.ids ?? []);
      return { ...own, line: one.line };
    });
    // Money for the subscription that does not show its own line: it renews as a renewal without lines does, and is listed.
    const isOfOthers = items.every((item) => open.every((line) => isOther(item, line)));
    if (event.event === 'renewed' && isOfOthers) named.push(...open.map(({ line }) => ({ line })));
    placed.set(event, named);
  }
  return events.map((event) => ({ ...event, items: placed.get(event) ?? event.items }));
}

/** Stripe's id of an item of a subscription. It stays while the price changes, so another id is another line. */
const isItemId = (id: string) => id.startsWith('si_');

type Differs = (item: StoredLine, line: LineNames) => boolean;

/** Reports whether an item is known to be another one than the line was. */
const isKnownOther: Differs = (item, line) => mayBeOther(item, line) && [...line.ids].some(isItemId);

/** Reports the same, also for an item whose line has not shown its id yet: a change by prorations alone waits for that. */
const mayBeOther: Differs = ({ ids = [], first }, { ids: known }) => {
  const own = ids.find(isItemId);
  return own !== undefined && !known.has(own) && (first !== true || [...known].some(isItemId));
};

/** An item of no line, which may have been given the name of the order's first one. */
function asStranger(item: StoredLine, known: LineNames[], isOther: Differs): StoredLine {
  const namesake = known.find(({ line }) => line === item.line);
  return namesake === undefined || !isOther(item, namesake)
    ? item
    : { ...item, line: item.ids?.at(-1) ?? '' };
}

/** By the surest id that both have, each once; then what is left over of both, when there is one. */
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
 * What an upgrade changes: the article only at another price. What the subscription says of itself (`sku`) may be from
 * before; then its price says what it is.
 */
function changeOf({ price, sku, paidAs: _, ...item }: StoredLine, one: LineNames): StoredLine {
  if (price === undefined) return { ...item, sku };
  return price === one.price ? item : { ...item, sku: articleAt(price, sku, one) };
}

/** A price that the line had before is the article that it was then. */
function articleAt(price: string, sku: string | undefined, { sku: had, articles }: LineNames): string {
  return articles.get(price) ?? (sku === undefined || sku === had ? price : sku);
}

/** What a renewal pays for, where that is not what was paid before: a shop may change it for the next period alone. */
function renewedAs({ price, sku, quantity, paidAs, ...item }: StoredLine, one: LineNames): StoredLine {
  const told = paidAs ?? price;
  if (told === undefined || sku === undefined || one.price === undefined) return item;
  const article = paidAs === undefined ? articleAt(told, sku, one) : sku;
  // The same at another price, such as a higher one, is no other plan: what its map says now is for who buys it now.
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

/** Keeps what was paid for a line, which a later message is compared with. */
function paidAt(one: LineNames, { ids, price, paidAs = price, quantity }: StoredLine): void {
  if (ids === undefined) return;
  if (quantity !== undefined) one.quantity = quantity;
  if (paidAs === undefined) return;
  one.price = paidAs;
  one.articles.set(paidAs, one.sku);
}
