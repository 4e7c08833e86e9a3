import type { NextPayment } from '../../licensing/core/states';

/** What the mail is about. */
export type ReplyCase =
  | 'fine'
  | 'works_again'
  | 'expired'
  /** expired, on a plan that leaves the versions published until then */
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
  /** nothing was bought with the address */
  | 'unknown_address';

/** The events of an order that may suspend its licence. */
export const STOPPING_EVENTS = ['refunded', 'charged_back', 'subscription_ended', 'cancelled'] as const;
export type StoppingEvent = (typeof STOPPING_EVENTS)[number];

export interface ReplyFacts {
  /** null: no licence is known */
  product: string | null;
  /** the update sites that its key belongs to; null: no licence is known */
  entries: string | null;
  /** the end of the customer's key */
  hint: string | null;
  /** the end of the mistyped key that arrived */
  seenHint: string | null;
  /** the licence's paid end; null: none */
  endedOn: Date | null;
  nextPayment: NextPayment;
  /** when it was suspended, revoked or cancelled */
  stoppedOn: Date | null;
  /** the event of its order that stopped it; null: another reason */
  stoppedBy: StoppingEvent | null;
  slots: number;
  activationType: string;
  /** the version that was asked for last */
  version: string | null;
  worksSince: Date | null;
  renewUrl: string | null;
  /** where there is a larger licence */
  upgradeUrl: string | null;
}

/** The words of the mail that answers a customer. Each paragraph is a text of its own; a link stands on a line of its own. */
export interface ReplyTexts {
  greeting: string;
  closing: string;
  subject: (product: string | null) => string;
  /** the customer's own page */
  page: (url: string) => string;
  /** where to ask */
  ask: (supportUrl: string) => string;
  cases: Record<ReplyCase, (facts: ReplyFacts) => string[]>;
}

/** What Joomla shows, in every language. @param status of HTTP */
export function joomlaError(status: 400 | 403 | 404 | 429): string {
  return `Error connecting to the server: ${status}`;
}
