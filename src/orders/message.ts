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

/** What a shop says of an order. */
export interface OrderMessage {
  shop: string;
  order: string;
  event: OrderEventName;
  /** when it happened */
  at: Date;
  eventId?: string | undefined;
  /** by which an earlier version stored it; with `line` only if that is in it, with `at` only if it was at this second */
  formerly?: { eventId: string; line?: string | undefined; at?: true } | undefined;
  /** the sender's own mark */
  test?: boolean | undefined;
  /** of `refunded`: a part of the money only; undefined: as `money` says, else all of it */
  partial?: boolean | undefined;
  /** the shop's name of the payment that the event is about: what a refund gives back is told by it */
  payment?: string | undefined;
  /** what was paid or given back; undefined: it was not told, or cannot be stored */
  money?: Money | undefined;
  /** a subscription that pays on by itself, until `renewal_stopped` or `subscription_ended` */
  renewsItself?: boolean | undefined;
  customer?: OrderCustomer | undefined;
  /** the plugin that posts: the kind of a shop that nobody added */
  kind?: PluginKind | undefined;
  /** undefined: all of the order's */
  lines?: LineMessage[] | undefined;
}

export interface OrderCustomer {
  email: string;
  name?: string | undefined;
  /** `en` or `de`; another one counts as not given */
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
   * A licence's id, or an order or `order:line` of the same shop: of `paid` what it renews, of `upgraded` what this order,
   * which is a new one, changes.
   */
  renews?: string | number | undefined;
  /** of a receiver: the sender's ids of the item, the surest first, by which it is the same line in a later message */
  ids?: string[] | undefined;
  /** of a receiver: the sender's id of the item's price, which is the article where `sku` is from before a change */
  price?: string | undefined;
  /** of a receiver whose `sku` is that of the price: the sender's id of what is paid, by which a renewal is compared */
  paidAs?: string | undefined;
  /** of a receiver: it is paid once, so no later message is about it */
  once?: true | undefined;
  /** of a receiver's `upgraded`: it says until when the payment before it pays, and is none itself */
  confirms?: true | undefined;
  /** of a receiver: where no id tells, an order's only line is this one */
  first?: true | undefined;
  /** of a receiver: why the sender's line cannot be taken as it is; it waits with this reason */
  problem?: LineProblem | undefined;
}

/** Licences of a line. */
export const MAX_QUANTITY = 100;
/** Of an article whose quantity are the slots of one licence. */
export const MAX_SLOTS_QUANTITY = 10_000;
/** Of a message to the API. An order of more waits until its seller confirms it. */
export const MAX_LINES = 100;
export const MAX_NAME_LENGTH = 100;
const MAX_SHOP_LENGTH = 40;
/** A shop's clock may be a little ahead. */
const MAX_AHEAD_MS = 5 * 60 * 1000;

/** @returns the message as it is stored @throws OperatorError that names the field by its path */
export function requireMessage(message: OrderMessage, now: Date): OrderMessage {
  const { event, at, eventId, payment, customer, lines } = message;
  if (!ORDER_EVENTS.includes(event)) throw invalid(`It must be one of ${ORDER_EVENTS.join(', ')}.`, 'event');
  if (!isStorable(at)) throw invalid('It must be in the years 1000 to 9999 (UTC).', 'at');
  if (at.getTime() > now.getTime() + MAX_AHEAD_MS)
    throw invalid('It is more than five minutes ahead: it must be when the event happened.', 'at');
  if (message.partial === true && event !== 'refunded')
    throw invalid('Only a refund can be of a part of the money.', 'partial');
  if (lines === undefined && (event === 'paid' || event === 'upgraded'))
    throw invalid(`"${event}" needs the lines, with what each is for.`, 'lines');
  const seen = new Set(lines?.map(({ line }) => line));
  if (lines !== undefined && (lines.length === 0 || seen.size !== lines.length))
    throw invalid('There must be lines, each once.', 'lines');
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

/** Returns money as it is stored; undefined: it cannot be, and counts as not told. */
function asMoney(money: Money | undefined): Money | undefined {
  if (money === undefined || !/^[A-Z]{3}$/.test(money.currency)) return undefined;
  const isAmount = Number.isInteger(money.amount) && money.amount >= 0 && money.amount <= MAX_AMOUNT;
  return isAmount ? money : undefined;
}

/** @returns the address as it is stored @throws OperatorError */
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
    throw invalid('A line has either "plan_id" or "sku".', `${path}.sku`);
  const isReadable = line.problem === undefined;
  if (!isNamed && isReadable && event === 'paid' && renews === undefined)
    throw invalid('A line needs "plan_id" or "sku", which says what was bought.', path);
  if (!isNamed && isReadable && event === 'upgraded' && (renews !== undefined || (!quantity && !paidUntil)))
    throw invalid('A line needs what changes: "plan_id" or "sku", "quantity" or "paid_until".', path);
  if (paidUntil !== undefined && !isStorable(paidUntil))
    throw invalid('It must be a time in the years 1000 to 9999 (UTC).', `${path}.paid_until`);
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
            // What an article's quantity counts is known when it is mapped.
            most: planId === undefined ? MAX_SLOTS_QUANTITY : MAX_QUANTITY,
            field: `${path}.quantity`,
          }),
    renews:
      typeof renews === 'string' ? requireExactText(renews, `${path}.renews`, 3 * MAX_NAME_LENGTH) : renews,
  };
}

/** Names the field of a refusal by its path in the message. */
function inField<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof OperatorError ? invalid(error.message, field) : error;
  }
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

/** Returns the refusal of a field. */
export function invalid(message: string, field: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field });
}
