import type { OrderMessage } from '../message';
import type { ParsedMessage } from '../parsed-message';
import type { Secrets } from './secrets';

/**
 * The adapter of one kind of sender, which verifies and parses its inbound webhooks. This folder has a file for each
 * kind. Adapters have no database and no network; src/orders/inbox.ts does what the messages report.
 */
export interface ShopAdapter extends Partial<Secrets> {
  /** the content type of all its bodies */
  contentType: string;
  /** the maximum size in bytes; 1 MiB if undefined */
  maxBody?: number;
  /** Set if verifying takes far longer than an HMAC over the raw bytes: clients with many failures are then not read. */
  verifiesSlowly?: true;
  /** The unsigned message without content by which the sender tests an address. */
  ping?: { contentType: string; body: RegExp };
  /** Set if messages are accepted, without effect, before the seller enters the secret, because the sender would give up. */
  takesBeforeSecret?: true;
  verify(delivery: InboundWebhook, secret: string, now: Date): SignatureVerdict;
  /** The field that holds the messages of a body; undefined if a body is one message. */
  list?: string;
  /**
   * Adds data that the sender left out of a verified message, from its API. Returns a complete message unchanged.
   * @param get returns the JSON at a path of the API
   * @param knows reports whether one of the sender's ids is linked @throws the errors of `get`
   */
  complete?(
    delivery: InboundWebhook,
    get: (path: string) => Promise<object>,
    knows: (key: string) => Promise<boolean>,
  ): Promise<InboundWebhook>;
  /** Parses a verified body. @throws InvalidRequestError for a body that this sender does not send */
  parse(delivery: InboundWebhook, context: ParseContext): ParsedMessage;
  /** The reply to a sender that shows it to its customer, with the keys of all licences of the message's item. */
  answer?: {
    /** undefined if the message is not about an item */
    item: (delivery: InboundWebhook) => { order: string; line: string } | undefined;
    text: (delivery: InboundWebhook, keys: string[]) => string;
  };
}

/** The unchanged body of a request, and its headers by lower-case name. */
export interface InboundWebhook {
  body: Buffer;
  header: (name: string) => string | undefined;
}

/** The result of a verification. `old`: the signature is right, but its time is too long ago or in the future. */
export type SignatureVerdict = 'right' | 'wrong' | 'old';

export interface ParseContext {
  /** the receiver's name, which is also the shop's name */
  shop: string;
  now: Date;
  /** parses an event in the form of the operator's API; throws an error that the sender can read */
  readOrder: (body: object) => OrderMessage;
}
