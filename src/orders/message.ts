import { requireCustomer } from '../licensing/customer-email';
import { requireLabel, requireWholeNumber } from '../licensing/fields';
import { containsKey } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import { isStorable } from '../licensing/timestamps';
import { MAX_LABEL_LENGTH } from '../store/columns';
import { ORDER_EVENTS, type OrderEventName } from './fold';

/** What a shop says of an order. */
export interface OrderMessage {
  shop: string;
  order: string;
  event: OrderEventName;
  /** when it happened */
  at: Date;
  eventId?: string | undefined;
  /** the sender's own mark */
  test?: boolean | undefined;
  /** of `refunded`: a part of the money only */
  partial?: boolean | undefined;
  customer?: { email: string; name?: string | undefined } | undefined;
  /** undefined: all of the order's */
  lines?: LineMessage[] | undefined;
}

export interface LineMessage {
  line: string;
  planId?: number | undefined;
  /** the shop's own article number */
  sku?: string | undefined;
  quantity?: number | undefined;
  paidUntil?: Date | undefined;
  /** a licence's id, or an order or `order:line` of the same shop */
  renews?: string | number | undefined;
}

export const MAX_QUANTITY = 100;
export const MAX_LINES = 100;
export const MAX_NAME_LENGTH = 100;
const MAX_SHOP_LENGTH = 40;
/** A shop's clock may be a little ahead. */
const MAX_AHEAD_MS = 5 * 60 * 1000;

/** @returns the message as it is stored @throws OperatorError that names the field */
export function requireMessage(message: OrderMessage, now: Date): OrderMessage {
  const { event, at, eventId, customer, lines } = message;
  if (!ORDER_EVENTS.includes(event)) throw invalid(`It must be one of ${ORDER_EVENTS.join(', ')}.`, 'event');
  if (!isStorable(at)) throw invalid('It must be in the years 1000 to 9999 (UTC).', 'at');
  if (at.getTime() > now.getTime() + MAX_AHEAD_MS)
    throw invalid('It is more than five minutes ahead: it must be when the event happened.', 'at');
  if (message.partial === true && event !== 'refunded')
    throw invalid('Only a refund can be of a part of the money.', 'partial');
  if (lines === undefined && (event === 'paid' || event === 'upgraded'))
    throw invalid(`"${event}" needs the lines, with what each is for.`, 'lines');
  const seen = new Set(lines?.map(({ line }) => line));
  if (lines !== undefined && (lines.length === 0 || lines.length > MAX_LINES || seen.size !== lines.length))
    throw invalid(`There must be 1 to ${MAX_LINES} lines, each once.`, 'lines');
  return {
    ...message,
    // As it is stored.
    at: new Date(Math.floor(at.getTime() / 1000) * 1000),
    shop: requireShopName(message.shop, 'shop'),
    order: requireExactText(message.order, 'order'),
    eventId: eventId === undefined ? undefined : requireExactText(eventId, 'event_id', MAX_LABEL_LENGTH),
    customer: customer && requireOrderCustomer(customer),
    lines: lines?.map((line) => requireLine(line, event)),
  };
}

/** @returns the address as it is stored @throws OperatorError */
export function requireOrderCustomer({ email, name }: { email: string; name?: string | undefined }) {
  return {
    email: requireCustomer(email),
    name: name === undefined ? undefined : requireLabel(name, 'customer'),
  };
}

function requireLine(line: LineMessage, event: OrderEventName): LineMessage {
  const { planId, sku, quantity, renews, paidUntil } = line;
  const needsPlan = (event === 'paid' && renews === undefined) || event === 'upgraded';
  if ((planId !== undefined && sku !== undefined) || (needsPlan && planId === undefined && sku === undefined))
    throw invalid('A line has either "plan_id" or "sku".', 'lines');
  if (paidUntil !== undefined && !isStorable(paidUntil))
    throw invalid('"paid_until" must be in the years 1000 to 9999 (UTC).', 'lines');
  return {
    ...line,
    line: requireExactText(line.line, 'lines'),
    sku: sku === undefined ? undefined : requireLabel(sku, 'lines'),
    quantity:
      quantity === undefined
        ? undefined
        : requireWholeNumber(quantity, { least: 1, most: MAX_QUANTITY, field: 'lines' }),
    renews: typeof renews === 'string' ? requireExactText(renews, 'lines', 3 * MAX_NAME_LENGTH) : renews,
  };
}

/** @throws OperatorError */
export function requireShopName(text: string, field = 'name'): string {
  if (!/^[a-z0-9_-]+$/.test(text) || text.length > MAX_SHOP_LENGTH)
    throw invalid(`It must be 1 to ${MAX_SHOP_LENGTH} of a-z, 0-9, _ and -.`, field);
  return text;
}

/** A text that is kept to the byte. Licence keys are refused, because it is shown and logged. @throws OperatorError */
export function requireExactText(text: string, field: string, most = MAX_NAME_LENGTH): string {
  if (text === '' || Array.from(text).length > most || /\p{Cc}/u.test(text) || !text.isWellFormed())
    throw invalid(`It must be 1 to ${most} characters on one line.`, field);
  if (containsKey(text)) throw invalid('It must not hold a licence key.', field);
  return text;
}

function invalid(message: string, field: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field });
}
