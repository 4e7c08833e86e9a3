import { createHash } from 'node:crypto';
import { requireLabel } from '../licensing/fields';
import { asStorable } from '../licensing/timestamps';
import { MAX_LABEL_LENGTH } from '../licensing/core/columns';
import { MAX_NAME_LENGTH, MAX_SLOTS_QUANTITY, requireExactText } from './message';
import type { LineMessage, LineProblem } from './message';
import type { IdLink, OrderReference, ParsedEvent, ParsedLine, ParsedMessage } from './parsed-message';

/**
 * Sanitises a sender's input; it cannot reach a column any other way. No content makes a message fail: a digest
 * replaces a text that is too long, a time or quantity that cannot be stored becomes undefined, and a line that cannot
 * be processed gets a problem. The other lines take effect.
 */

/** An event whose values can be stored. */
export interface FitEvent extends Omit<ParsedEvent, 'at' | 'lines'> {
  at: Date;
  lines?: LineMessage[] | undefined;
}

/** The maximum number of further events in a message, such as each refund of an order. */
const MAX_ALSO = 100;
/** The maximum number of links: an order links its own id and each line, and an invoice may have several payments. */
const MAX_LINKS = 200;

export interface FitMessage extends Omit<ParsedMessage, 'event' | 'meant' | 'also' | 'links'> {
  event: FitEvent | undefined;
  meant: FitEvent | undefined;
  also: FitEvent[];
  links: IdLink[];
}

export function fitMessage(message: ParsedMessage, now: Date): FitMessage {
  const { id, event, meant, also = [], links = [] } = message;
  return {
    ...message,
    event: event && fitEvent(event, id, now),
    meant: meant && fitEvent(meant, id, now),
    also: also.slice(0, MAX_ALSO).map((one) => fitEvent(one, id, now)),
    links: links.slice(0, MAX_LINKS).map(fitLink),
  };
}

function fitEvent(parsed: ParsedEvent, messageId: string, now: Date): FitEvent {
  const { at, eventId, payment, order, lines, customerId, ...event } = parsed;
  const told = at && asStorable(at);
  // Use the message's id as the event's id, because without a time nothing else distinguishes the event.
  const own = eventId ?? (told === undefined ? messageId : undefined);
  return {
    ...event,
    at: told === undefined || told > now ? now : told,
    order: fitReference(order),
    ...(own !== undefined && { eventId: fitText(own, MAX_LABEL_LENGTH) }),
    ...(payment !== undefined && { payment: fitText(payment, MAX_LABEL_LENGTH) }),
    ...(customerId !== undefined && { customerId: fitText(customerId, MAX_LABEL_LENGTH) }),
    ...(lines !== undefined && { lines: fitLines(lines, event.event) }),
  };
}

function fitReference(order: OrderReference): OrderReference {
  return 'number' in order
    ? { ...order, number: fitText(order.number) }
    : { of: fitText(order.of, MAX_LABEL_LENGTH) };
}

function fitLink(link: IdLink): IdLink {
  const key = fitText(link.key, MAX_LABEL_LENGTH);
  if ('order' in link) return { ...link, key, order: fitText(link.order) };
  return 'other' in link ? { key, other: fitText(link.other, MAX_LABEL_LENGTH) } : { ...link, key };
}

/** Returns a text unchanged if it fits and does not contain a licence key, otherwise a digest of it. */
function fitText(text: string, most = MAX_NAME_LENGTH): string {
  try {
    return requireExactText(text, '', most);
  } catch {
    return `~${createHash('sha256').update(text).digest('hex')}`;
  }
}

/** Makes all lines storable. Two lines with the same name, such as an article that was bought twice, remain two lines. */
function fitLines(lines: ParsedLine[], event: ParsedEvent['event']): LineMessage[] {
  const counts = new Map<string, number>();
  return lines.map((line, i) => {
    const base = fitText(line.line ?? `#${i + 1}`);
    const count = (counts.get(base) ?? 0) + 1;
    counts.set(base, count);
    if (count === 1) return fitLine({ ...line, line: base }, event, line.line === undefined);
    const name = fitText(`${base}#${count}`);
    // Remove the shared ids, because they would make each line match the other.
    return fitLine({ ...line, line: name, ...(line.ids && { ids: [name] }) }, event, false);
  });
}

function fitLine(
  { sku, quantity, paidUntil, price, paidAs, renews, ...line }: ParsedLine & { line: string },
  event: ParsedEvent['event'],
  isNameless: boolean,
): LineMessage {
  const article = sku === undefined ? undefined : fitArticle(sku);
  const isCount =
    Number.isInteger(quantity) && Number(quantity) >= 1 && Number(quantity) <= MAX_SLOTS_QUANTITY;
  const until = paidUntil && asStorable(paidUntil);
  const fit: LineMessage = {
    ...line,
    ...(line.ids && { ids: line.ids.map((id) => fitText(id, MAX_LABEL_LENGTH)) }),
    ...(article !== undefined && { sku: article }),
    ...(isCount && { quantity }),
    ...(until !== undefined && { paidUntil: until }),
    ...(price !== undefined && { price: fitText(price, MAX_LABEL_LENGTH) }),
    ...(paidAs !== undefined && { paidAs: fitText(paidAs, MAX_LABEL_LENGTH) }),
    ...(renews !== undefined && { renews: typeof renews === 'string' ? fitText(renews) : renews }),
  };
  // Other events concern a known line, so it does not matter which article they name.
  if (event !== 'paid' && event !== 'upgraded') return fit;
  const isNamed = fit.sku !== undefined || fit.planId !== undefined;
  const changes = event === 'upgraded' && fit.renews === undefined && (isCount || until !== undefined);
  const problems: [boolean, LineProblem][] = [
    [isNameless, 'unreadable'],
    [sku !== undefined && article === undefined, 'bad_article'],
    [quantity !== undefined && !isCount, 'bad_quantity'],
    [!isNamed && !changes && (event === 'upgraded' || fit.renews === undefined), 'no_article'],
  ];
  const problem = problems.find(([is]) => is)?.[1];
  return problem === undefined ? fit : { ...fit, problem };
}

function fitArticle(sku: string): string | undefined {
  try {
    return requireLabel(sku);
  } catch {
    return undefined;
  }
}
