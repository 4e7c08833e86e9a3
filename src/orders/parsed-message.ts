import type { LineMessage, OrderMessage } from './message';

/** The content of a webhook as its adapter found it, with the sender's texts. `fitMessage` (bounds.ts) makes it storable. */
export interface ParsedMessage {
  /** the sender's own id of the message, which is equal for all its deliveries */
  id: string;
  /** the message's id in an earlier version, which several messages may share; it finds a message that is stored */
  formerId?: string | undefined;
  /** the sender's name for the type of event */
  type: string;
  /** the reason that it changes no order, or a note about missing data */
  note?: Note | undefined;
  /** true for money whose purpose is unknown, wholly or in part; it is listed until a seller resolves it */
  unmatched?: boolean | undefined;
  /** the missing lines of an `unmatched` message, such as `11-13` */
  missing?: string | undefined;
  /** for an `unmatched` message: its event, once a seller has named the licence */
  meant?: ParsedEvent | undefined;
  event?: ParsedEvent | undefined;
  /** further events of the same order */
  also?: ParsedEvent[];
  links?: IdLink[];
}

/** The content of a message without its id and type. */
export type Content = Omit<ParsedMessage, 'id' | 'type'>;

/**
 * The reasons that a message changes no order. `links`: it only has links. `untold`: its purpose is unknown. `cut`: the
 * sender left lines out. `no_quantity`: it counts as one. `many`: it is a list whose messages are processed one by one.
 * `free_pause`: the subscription continues without payments. `differs`: the order's change is not visible in its lines.
 */
export const NOTES = [
  'unused',
  'links',
  'unpaid',
  'first_payment',
  'not_final',
  'partial',
  'test',
  'untold',
  'cut',
  'no_article',
  'no_quantity',
  'many',
  'free_pause',
  'differs',
] as const;
export type Note = (typeof NOTES)[number];

export interface ParsedEvent extends Omit<OrderMessage, 'shop' | 'order' | 'at' | 'lines'> {
  order: OrderReference;
  /** undefined if the sender gives no time, so that the time of receipt counts */
  at: Date | undefined;
  lines?: ParsedLine[] | undefined;
  /** the sender's id of the customer, whose address another message may report */
  customerId?: string | undefined;
  /** true if another message may report the same payment in other words; the first one counts */
  mayRepeat?: true;
  /** true for an event without money; if its order is unknown, it waits without being listed */
  isQuiet?: true;
  /** the time of the latest edit, if each edit sends the whole order again; lines that differ from before are then changes */
  editedAt?: Date | undefined;
}

/** A line with the sender's texts and numbers. */
export interface ParsedLine extends Omit<LineMessage, 'line' | 'problem'> {
  /** undefined if the line has no id */
  line: string | undefined;
}

/**
 * An order by its number, or by the sender's id of something that belongs to it, such as a payment. `leads`: the number
 * is also such an id, and may be linked to another order.
 */
export type OrderReference = { number: string; leads?: true } | { of: string };

/** A link from one of the sender's ids (`key`) to an order, to another id, or to a customer's address. */
export type IdLink =
  | { key: string; order: string; paid?: OrderMessage['money'] }
  | { key: string; other: string }
  /** `at`: the time when the customer had this address. `language`: the language of the checkout. */
  | { key: string; email: string; at: Date | undefined; language?: string | undefined };
