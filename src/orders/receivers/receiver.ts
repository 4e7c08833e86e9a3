import type { OrderMessage } from '../message';
import type { SecretLook } from './secrets';

/**
 * How one kind of sender signs its messages, and what they mean: a file for each kind in this folder. Verifying and
 * reading ask nothing and nobody; src/orders/receive.ts does what was told.
 */
export interface Receiver {
  /** the only type of its bodies */
  contentType: string;
  /** bytes; undefined: a mebibyte */
  maxBody?: number;
  /** Verifying takes far longer than an HMAC over the raw bytes: nothing is read of a client with too many failures. */
  verifiesSlowly?: true;
  /** An unsigned message that says nothing, by which the sender tries an address. */
  ping?: { contentType: string; body: RegExp };
  /** Messages are taken, without effect, until the secret is known: the sender would give up. */
  takesBeforeSecret?: true;
  verify(delivery: Delivery, secret: string, now: Date): SignatureVerdict;
  /**
   * The first messages of a body that has several. Where it has more than `most`, or one fails, those that were taken are
   * answered by their ids, a line each, with 202, and the sender repeats the others.
   * @throws InvalidRequestError when it has none
   */
  split?(delivery: Delivery, most: number): { parts: { id: string; delivery: Delivery }[]; isAll: boolean };
  /**
   * A verified message whose sender left a part out, with that part from its API; as it came when nothing is left out.
   * @param get the JSON at a path of the API @throws what `get` throws
   */
  complete?(delivery: Delivery, get: (path: string) => Promise<object>): Promise<Delivery>;
  /** Called with a verified body. @throws InvalidRequestError when it is not what this sender sends */
  read(delivery: Delivery, context: ReadContext): MessageContent;
  /** The secret in what was copied from the sender's settings. */
  cleanSecret?(copied: string): string;
  /** What a text looks like that cannot be one of this sender's secrets; undefined: it can. */
  secretLook?(secret: string): SecretLook | undefined;
  /** The same in words, with what the sender's secrets look like. */
  secretFault?(secret: string): string | undefined;
  /** The answer's text, for a sender that shows it to its customer. */
  answer?(delivery: Delivery, keys: string[]): string;
}

/** A request's body, as it came, and its headers by their names in lower case. */
export interface Delivery {
  body: Buffer;
  header: (name: string) => string | undefined;
}

/** `old`: the signature is right, but made too long ago, or ahead of this machine's clock. */
export type SignatureVerdict = 'right' | 'wrong' | 'old';

export interface ReadContext {
  /** the receiver's name, which is the shop's */
  shop: string;
  now: Date;
  /** reads an order's event in the form of the operator's API. @throws an error for the sender */
  readOrder: (body: object) => OrderMessage;
}

/** What a message tells. */
export interface MessageContent {
  /** the sender's own id of the message: deliveries of the same one have the same */
  id: string;
  /** the sender's name of what it tells */
  type: string;
  /** why it changes no order; with it, there is no `event` */
  note?: Note | undefined;
  /** with a note: money is concerned, and it cannot be told what for. It is shown until somebody acts */
  unmatched?: boolean | undefined;
  /** with `unmatched`: what it is once somebody has said which licence it is about */
  meant?: ContentEvent | undefined;
  event?: ContentEvent | undefined;
  /** what it tells besides of the same order */
  also?: ContentEvent[];
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

export interface ContentEvent extends Omit<OrderMessage, 'shop' | 'order'> {
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
