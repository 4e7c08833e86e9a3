import type { ChangeContext } from '../licensing/lifecycle';
import type { Plan } from '../store/catalogue';
import type { Transaction } from '../store/engine/database';
import type { Order, OrderEvent, OrderLicense, OrderLine } from '../store/orders/orders';
import type { Shop } from '../store/orders/shops';
import type { Effect, LineEvent, OrderEventName } from './fold';

/** What the files of this folder that settle orders share: an order under its lock, and its events as they concern a line. */

export type Action =
  | 'issued'
  | 'renewed'
  | 'plan_changed'
  | 'suspended'
  | 'reinstated'
  | 'cancelled'
  | 'none'
  | 'waiting';

export type Change = Exclude<Action, 'none' | 'waiting'>;

export interface Outcome {
  action: Action;
  /** why nothing was done, or why it waits */
  reason: string | null;
}

export function none(reason: string): Outcome {
  return { action: 'none', reason };
}

/** An event's line as it came, as it is stored. */
export interface StoredLine {
  line: string;
  plan_id?: number;
  sku?: string;
  quantity?: number;
  paid_until?: string;
  renews?: string | number;
  /** as in LineMessage */
  ids?: string[];
  price?: string;
  paidAs?: string;
  first?: true;
  once?: true;
  confirms?: true;
  /** of `renewed`: it pays for another article or quantity than before */
  follows?: true;
}

/** An order under its lock, in its transaction. */
export interface Work {
  trx: Transaction;
  order: Order;
  shop: Shop;
  lines: OrderLine[];
  licenses: OrderLicense[];
  /** how many there were at first */
  had: number;
  context: ChangeContext;
  /** seals keys */
  secret: Buffer | undefined;
  /** of licences issued just now */
  keys: Map<number, string>;
  plans: Map<number, Plan>;
}

export interface Waits {
  waitsFor: string;
  awaited: string | null;
}

export const isWaiting = (found: object): found is Waits => 'waitsFor' in found;

/** Why an event has no effect at all. */
export function whyIgnored(event: OrderEvent | undefined): string | undefined {
  if (event?.effect !== 'none') return undefined;
  if (event.event === 'payment_failed') return 'payment_failed';
  if (event.event === 'renewal_stopped' || event.event === 'renewal_resumed') return 'renewal';
  return event.partial ? 'partial' : event.isTest ? 'test' : 'rule';
}

/** Whether a refund names a payment of which the line's events tell nothing. */
export function isUnknownRefund({ event, payment }: OrderEvent, events: LineEvent[]): boolean {
  if (payment === null || (event !== 'refunded' && event !== 'refund_failed')) return false;
  return !events.some((one) => one.effect in PAYING && (one.payment === payment || one.payment === null));
}

const PAYING: Partial<Record<Effect, true>> = { issue: true, renew: true, change_plan: true };

/** An event as it concerns a line; nothing when it names other lines. */
export function concerning(
  { event, identity, at, effect, payment, reduced, renewsItself, graceDays, linesJson }: OrderEvent,
  { line }: Pick<OrderLine, 'line'>,
): LineEvent[] {
  const named = linesJson === null ? undefined : (JSON.parse(linesJson) as StoredLine[]);
  const own = named?.find((one) => one.line === line);
  if (named !== undefined && own === undefined) return [];
  const paidUntil = own?.paid_until === undefined ? null : new Date(own.paid_until);
  return [
    {
      event: event as OrderEventName,
      identity,
      at,
      paidUntil,
      payment,
      effect: effect as Effect,
      // A shop that posts renews what it sold, whatever it names.
      changes:
        (event !== 'renewed' || own?.follows === true) &&
        [own?.plan_id, own?.sku, own?.quantity].some((one) => one !== undefined),
      reduced: reduced as Effect | null,
      confirms: own?.confirms ?? false,
      renewsItself,
      graceDays,
    },
  ];
}
