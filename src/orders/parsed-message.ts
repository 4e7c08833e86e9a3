import type { LineMessage, OrderMessage } from './message';

/** What an adapter finds in a message, as its sender wrote it: `fitMessage` (bounds.ts) makes it what can be stored. */
export interface ParsedMessage {
  /** the sender's own id of the message: deliveries of the same one have the same */
  id: string;
  /** by which an earlier version kept it, and others with it */
  formerId?: string | undefined;
  /** the sender's name of what it tells */
  type: string;
  /** why it changes no order, or what the sender left out of it */
  note?: Note | undefined;
  /** money is concerned, and it cannot be told what for, or not for all of it. It is shown until somebody acts */
  unmatched?: boolean | undefined;
  /** which lines of how many are missing, with `unmatched`: `11-13` */
  missing?: string | undefined;
  /** with `unmatched`: what it is once somebody has said which licence it is about */
  meant?: ParsedEvent | undefined;
  event?: ParsedEvent | undefined;
  /** what it tells besides of the same order */
  also?: ParsedEvent[];
  links?: Link[];
}

/** What a message tells, without what it is called. */
export type Content = Omit<ParsedMessage, 'id' | 'type'>;

/**
 * Why a message changes no order. `links`: for its links alone. `untold`: it cannot be told what it pays for. `cut`: the
 * sender left lines out. `no_quantity`: it counts as one. `many`: a list whose messages are each here. `free_pause`: the
 * subscription goes on without payments. `differs`: the order was changed in a way that no line shows.
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
  /** undefined: the sender does not say, so its receipt counts */
  at: Date | undefined;
  lines?: ParsedLine[] | undefined;
  /** the sender's id of the customer, whose address another message may tell */
  customerId?: string | undefined;
  /** another message may have told of the same payment, in other words: the first counts */
  mayRepeat?: true;
  /** it is no money: where it finds no order, it waits and is not shown */
  isQuiet?: true;
  /** each edit sends the whole order again: when the latest was, after which other lines than before are changes */
  editedAt?: Date | undefined;
}

/** A line whose texts and numbers are the sender's. */
export interface ParsedLine extends Omit<LineMessage, 'line' | 'problem'> {
  /** undefined: it has no id */
  line: string | undefined;
}

/**
 * An order by its number, or by the sender's id of something that belongs to it, such as a payment. `leads`: the number is
 * such an id as well, which a link may lead from.
 */
export type OrderReference = { number: string; leads?: true } | { of: string };

/** What one of the sender's ids leads to. */
export type Link =
  | { key: string; order: string; paid?: OrderMessage['money'] }
  | { key: string; other: string }
  /** `at`: when the customer had this address; `language`: that of their checkout */
  | { key: string; email: string; at: Date | undefined; language?: string | undefined };
