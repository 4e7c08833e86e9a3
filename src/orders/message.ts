import { asCustomerLanguage } from '../texts/customers/languages';
import { requireCustomer } from '../licensing/customer-email';
import { requireLabel, requireWholeNumber } from '../licensing/fields';
import { containsKey } from '../licensing/core/keys';
import { OperatorError } from '../licensing/operator-error';
import { isStorable } from '../licensing/timestamps';
import { MAX_LABEL_LENGTH } from '../licensing/core/columns';
import type { PluginKind } from './shop-kinds';
import { MAX_AMOUNT, type Money } from '../store/orders/money';
import { LINE_PROBLEMS, ORDER_EVENTS, type LineProblem, type OrderEventName } from './order-events';

export { LINE_PROBLEMS, type LineProblem };

export { MAX_AMOUNT, type Money };

/** A shop's message about an event of an order. */
export interface OrderMessage {
  shop: string;
  order: string;
  event: OrderEventName;
  /** the time when the event happened */
  at: Date;
  eventId?: string | undefined;
  /** the id under which an earlier version stored the event; if set, `line` must be in it, and `at` means the same second */
  formerly?: { eventId: string; line?: string | undefined; at?: true } | undefined;
  /** the sender's own test mark */
  test?: boolean | undefined;
  /** true for a refund of a part of the money; if undefined, `money` decides, or it was the whole */
  partial?: boolean | undefined;
  /** the shop's name of the payment; a refund is matched to its payment by it */
  payment?: string | undefined;
  /** the amount that was paid or refunded; undefined if it is unknown or cannot be stored */
  money?: Money | undefined;
  /** true for a subscription that renews automatically, until `renewal_stopped` or `subscription_ended` */
  renewsItself?: boolean | undefined;
  customer?: OrderCustomer | undefined;
  /** the posting plugin, which becomes the kind of a shop that was not added by a seller */
  kind?: PluginKind | undefined;
  /** undefined for all lines of the order */
  lines?: LineMessage[] | undefined;
}

export interface OrderCustomer {
  email: string;
  name?: string | undefined;
  /** `en` or `de`; other languages count as missing */
  language?: string | undefined;
}

export interface LineMessage {
  line: string;
  planId?: number | undefined;
  /** the shop's own article number */
  sku?: string | undefined;
  quantity?: number | undefined;
  paidUntil?: Date | undefined;
  /**
   * A licence's id, or an order or `order:line` of the same shop. For `paid`, it is what the line renews; for
   * `upgraded`, what this new order changes.
   */
  renews?: string | number | undefined;
  /** from a receiver: the sender's ids of the item, most reliable first, which match it to its line in later messages */
  ids?: string[] | undefined;
  /** from a receiver: the sender's id of the price, which is the article if `sku` is out of date */
  price?: string | undefined;
  /** from a receiver whose `sku` belongs to the price: the sender's id of what is paid, to compare renewals with */
  paidAs?: string | undefined;
  /** from a receiver: true if it is paid once, so that no later message is about it */
  once?: true | undefined;
  /** from a receiver's `upgraded`: true if it only reports the paid-through date of the payment before it */
  confirms?: true | undefined;
  /** from a receiver: the order's only line is this one if no id decides */
  first?: true | undefined;
  /** from a receiver: the reason that the line cannot be processed and waits */
  problem?: LineProblem | undefined;
}

/** The maximum number of licences of a line. */
export const MAX_QUANTITY = 100;
/** The maximum quantity of an article that counts the slots of one licence. */
export const MAX_SLOTS_QUANTITY = 10_000;
/** The maximum number of lines in an API message. A receiver's order with more waits until its seller confirms it. */
export const MAX_LINES = 100;
export const MAX_NAME_LENGTH = 100;
const MAX_SHOP_LENGTH = 40;
/** The tolerance for a shop's clock that is ahead. */
const MAX_AHEAD_MS = 5 * 60 * 1000;

/** Checks a message. @returns the message in the form that is stored @throws OperatorError with the path of the field */
export function requireMessage(message: OrderMessage, now: Date): OrderMessage {
  const { event, at, eventId, payment, customer, lines } = message;
  if (!ORDER_EVENTS.includes(event))
    throw orderError(`It must be one of ${ORDER_EVENTS.join(', ')}.`, 'event');
  if (!isStorable(at)) throw orderError('It must be in the years 1000 to 9999 (UTC).', 'at');
  if (at.getTime() > now.getTime() + MAX_AHEAD_MS)
    throw orderError('It is more than five minutes in the future: it must be the time of the event.', 'at');
  if (message.partial === true && event !== 'refunded')
    throw orderError('Only a refund can be partial.', 'partial');
  if (lines === undefined && (event === 'paid' || event === 'upgraded'))
    throw orderError(`"${event}" needs lines, each with the article that was bought.`, 'lines');
  const seen = new Set(lines?.map(({ line }) => line));
  if (lines !== undefined && (lines.length === 0 || seen.size !== lines.length))
    throw orderError('There must be at least one line, and no line twice.', 'lines');
  return {
    ...message,
    shop: requireShopName(message.shop, 'shop'),
    order: requireExactText(message.order, 'order'),
    eventId: eventId === undefined ? undefined : requireExactText(eventId, 'event_id', MAX_LABEL_LENGTH),
    payment: payment === undefined ? undefined : requireExactText(payment, 'payment', MAX_LABEL_LENGTH),
    money: asMoney(message.money),
    customer: customer && requireOrderCustomer(customer),
    lines: lines?.map((line, i) => requireLine(line, event, `lines.${i}`)),
  };
}

/** Returns money in the form that is stored; undefined if it cannot be stored, which counts as unknown. */
function asMoney(money: Money | undefined): Money | undefined {
  if (money === undefined || !/^[A-Z]{3}$/.test(money.currency)) return undefined;
  const isAmount = Number.isInteger(money.amount) && money.amount >= 0 && money.amount <= MAX_AMOUNT;
  return isAmount ? money : undefined;
}

/** Checks a customer. @returns the customer in the form that is stored @throws OperatorError */
export function requireOrderCustomer({ email, name, language }: OrderCustomer): OrderCustomer {
  return {
    email: inField('customer.email', () => requireCustomer(email)),
    name: name === undefined ? undefined : requireLabel(name, 'customer.name'),
    language: asCustomerLanguage(language),
  };
}

function requireLine(line: LineMessage, event: OrderEventName, path: string): LineMessage {
  const { planId, sku, quantity, renews, paidUntil } = line;
  const isNamed = planId !== undefined || sku !== undefined;
  if (planId !== undefined && sku !== undefined)
    throw orderError('A line has either "plan_id" or "sku".', `${path}.sku`);
  const isReadable = line.problem === undefined;
  if (!isNamed && isReadable && event === 'paid' && renews === undefined)
    throw orderError('A line needs "plan_id" or "sku", which names what was bought.', path);
  if (!isNamed && isReadable && event === 'upgraded' && (renews !== undefined || (!quantity && !paidUntil)))
    throw orderError('A line needs the change: "plan_id" or "sku", "quantity" or "paid_until".', path);
  if (paidUntil !== undefined && !isStorable(paidUntil))
    throw orderError('It must be a time in the years 1000 to 9999 (UTC).', `${path}.paid_until`);
  return {
    ...line,
    line: requireExactText(line.line, `${path}.line`),
    sku: sku === undefined ? undefined : requireLabel(sku, `${path}.sku`),
    ids: line.ids?.map((id) => requireExactText(id, `${path}.ids`, MAX_LABEL_LENGTH)),
    quantity:
      quantity === undefined
        ? undefined
        : requireWholeNumber(quantity, {
            least: 1,
            // Allow the larger quantity for an article: whether it counts slots is known when it is mapped.
            most: planId === undefined ? MAX_SLOTS_QUANTITY : MAX_QUANTITY,
            field: `${path}.quantity`,
          }),
    renews:
      typeof renews === 'string' ? requireExactText(renews, `${path}.renews`, 3 * MAX_NAME_LENGTH) : renews,
  };
}

/** Reads a value, and adds the field's path in the message to its refusal. */
function inField<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof OperatorError ? orderError(error.message, field) : error;
  }
}

/** Checks the name of a shop. @throws OperatorError */
export function requireShopName(text: string, field = 'name'): string {
  if (!/^[a-z0-9_-]+$/.test(text) || text.length > MAX_SHOP_LENGTH)
    throw orderError(`It must be 1 to ${MAX_SHOP_LENGTH} characters of a-z, 0-9, _ and -.`, field);
  return text;
}

/** Checks a text that is stored unchanged. Licence keys are refused, because it is shown and logged. @throws OperatorError */
export function requireExactText(text: string, field: string, most = MAX_NAME_LENGTH): string {
  if (text === '' || Array.from(text).length > most || /\p{Cc}/u.test(text) || !text.isWellFormed())
    throw orderError(`It must be 1 to ${most} characters on one line.`, field);
  if (containsKey(text)) throw orderError('It must not contain a licence key.', field);
  return text;
}

/** Returns the refusal of a field. */
export function orderError(message: string, field: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field });
}
