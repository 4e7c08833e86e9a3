import type { OrderMessage } from './message';

/** What a message tells. */
export interface ParsedMessage {
  /** the sender's own id of the message: deliveries of the same one have the same */
  id: string;
  /** the sender's name of what it tells */
  type: string;
  /** why it changes no order; with it, there is no `event` */
  note?: Note | undefined;
  /** with a note: money is concerned, and it cannot be told what for. It is shown until somebody acts */
  unmatched?: boolean | undefined;
  /** with `unmatched`: what it is once somebody has said which licence it is about */
  meant?: ParsedEvent | undefined;
  event?: ParsedEvent | undefined;
  /** what it tells besides of the same order */
  also?: ParsedEvent[];
  links?: Link[];
}

/** Why a message changes no order. `links`: for its links alone. `untold`: it cannot be told what it pays for. */
export const NOTES = [
  'unused',
  'links',
  'unpaid',
  'first_payment',
  'not_final',
  'partial',
  'test',
  'untold',
] as const;
export type Note = (typeof NOTES)[number];

export interface ParsedEvent extends Omit<OrderMessage, 'shop' | 'order'> {
  order: OrderReference;
  /** the sender's id of the customer, whose address another message tells */
  customerId?: string | undefined;
  /** another message may have told of the same payment, in other words: the first counts */
  mayRepeat?: true;
}

/** An order by its number, or by the sender's id of something that belongs to it, such as a payment. */
type OrderReference =
  | { number: string }
  /** `refunded`: in hundredths of the currency; less than what was paid is a part */
  | { of: string; refunded?: number | undefined };

/** What one of the sender's ids leads to. `paid`: in hundredths of the currency. */
export type Link =
  | { key: string; order: string; paid?: number | undefined }
  | { key: string; other: string }
  /** `at`: when the customer had this address; `language`: that of their checkout */
  | { key: string; email: string; at: Date; language?: string | undefined };
