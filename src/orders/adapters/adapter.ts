import type { OrderMessage } from '../message';
import type { ParsedMessage } from '../parsed-message';
import type { Secrets } from './secrets';

/**
 * How one kind of sender signs its messages, and what they mean: a file for each kind in this folder. Verifying and
 * reading ask nothing and nobody; src/orders/inbox.ts does what was told.
 */
export interface ShopAdapter extends Partial<Secrets> {
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
  /** The name of the list that a body is; undefined: a body is one message. */
  list?: string;
  /**
   * A verified message whose sender left a part out, with that part from its API; as it came when nothing is left out.
   * @param get the JSON at a path of the API @param knows whether an id of the sender leads somewhere
   * @throws what `get` throws
   */
  complete?(
    delivery: Delivery,
    get: (path: string) => Promise<object>,
    knows: (key: string) => Promise<boolean>,
  ): Promise<Delivery>;
  /** Called with a verified body. @throws InvalidRequestError when it is not what this sender sends */
  parse(delivery: Delivery, context: ParseContext): ParsedMessage;
  /** The answer for a sender that shows it to its customer, with the keys of all licences of the item that it is about. */
  answer?: {
    /** undefined: it is about none */
    item: (delivery: Delivery) => { order: string; line: string } | undefined;
    text: (delivery: Delivery, keys: string[]) => string;
  };
}

/** A request's body, as it came, and its headers by their names in lower case. */
export interface Delivery {
  body: Buffer;
  header: (name: string) => string | undefined;
}

/** `old`: the signature is right, but made too long ago, or ahead of this machine's clock. */
export type SignatureVerdict = 'right' | 'wrong' | 'old';

export interface ParseContext {
  /** the receiver's name, which is the shop's */
  shop: string;
  now: Date;
  /** reads an order's event in the form of the operator's API. @throws an error for the sender */
  readOrder: (body: object) => OrderMessage;
}
