import type { NextPayment } from '../../licensing/core/states';

/** The case that the mail answers. */
export type ReplyCase =
  | 'fine'
  | 'works_again'
  | 'expired'
  /** expired, on a plan that permits the versions published before then */
  | 'older_versions'
  | 'suspended'
  | 'revoked'
  | 'cancelled'
  | 'full'
  | 'not_published'
  | 'package_missing'
  | 'key_ended'
  | 'mistyped'
  | 'unknown_key'
  | 'wrong_product'
  | 'no_key'
  | 'too_many_requests'
  | 'version_gone'
  /** the address belongs to no purchase */
  | 'unknown_address';

/** The events of an order that may suspend its licence. */
export const STOPPING_EVENTS = ['refunded', 'charged_back', 'subscription_ended', 'cancelled'] as const;
export type StoppingEvent = (typeof STOPPING_EVENTS)[number];

export interface ReplyFacts {
  /** null: no licence was identified */
  product: string | null;
  /** the update sites that need its key; null: no licence was identified */
  entries: string | null;
  /** the end of the customer's key */
  hint: string | null;
  /** the end of the mistyped key that the request contained */
  seenHint: string | null;
  /** the licence's paid-through date; null: none */
  endedOn: Date | null;
  nextPayment: NextPayment;
  /** the time when it was suspended, revoked or cancelled */
  stoppedOn: Date | null;
  /** the event of its order that stopped it; null: another reason */
  stoppedBy: StoppingEvent | null;
  slots: number;
  activationType: string;
  /** the version of the latest request */
  version: string | null;
  worksSince: Date | null;
  renewUrl: string | null;
  /** the address of a larger licence */
  upgradeUrl: string | null;
}

/** The texts of the mail that answers a customer. Each paragraph is a separate text; a link has its own line. */
export interface ReplyTexts {
  greeting: string;
  closing: string;
  subject: (product: string | null) => string;
  /** the sentence with the customer's own page */
  page: (url: string) => string;
  /** the sentence with the address for questions */
  ask: (supportUrl: string) => string;
  cases: Record<ReplyCase, (facts: ReplyFacts) => string[]>;
}

/** Returns the message that Joomla shows, in every language. @param status of HTTP */
export function joomlaError(status: 400 | 403 | 404 | 429): string {
  return `Error connecting to the server: ${status}`;
}
