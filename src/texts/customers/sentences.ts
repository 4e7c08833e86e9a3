import type { RefusalCode } from '../../licensing/core/verdict';
import type { Attention, Entitlement, Removals, Slots } from './standing';

type StandingFacts = { [S in Entitlement as S['code']]: S & { activationType: string } };
type SlotFacts = Pick<Slots, 'limit' | 'used'> & { activationType: string };

/** The sentences of the customer's page, in one language. They are built from codes and facts, never from fragments. */
export interface CustomerSentences {
  /** the noun for what a slot holds, such as "Sites", for a row or column */
  kind: (activationType: string) => string;
  /** the first sentence of the page with the key */
  standing: { [C in keyof StandingFacts]: (facts: StandingFacts[C]) => string };
  /** its consequence for Joomla and the customer's site; null: nothing to add */
  meaning: { [C in keyof StandingFacts]: ((facts: StandingFacts[C]) => string | null) | null };
  keyEnded: (facts: { endedAt: Date }) => string;
  /** a note next to the day of an end, such as "in 16 days" */
  endsIn: (facts: { days: number }) => string;
  /** the end of a replaced key that still works for a while */
  keyEnds: (facts: { endsAt: Date }) => string;
  unknownKey: (facts: { length: number }) => string;
  /** "3 of 25 used" */
  used: (facts: SlotFacts) => string;
  /** the reason why a version cannot be downloaded now */
  whyNot: Record<RefusalCode, string>;
  /** the versions that a licence covers after its end */
  coversUntil: (facts: { endedAt: Date }) => string;
  /** one line for each licence that needs attention, on the page that a mail opens */
  attention: Record<Attention, (facts: AttentionFacts) => string>;
  removalsLeft: (facts: Removals & { activationType: string }) => string;
  noMovesLeft: (facts: Pick<Removals, 'allowed' | 'nextAt'> & { activationType: string }) => string;
  siteHeld: (facts: { heldUntil: Date; activationType: string }) => string;
  siteRemoved: (facts: { site: string }) => string;
  keyChanged: (facts: { oldEndsAt: Date | null }) => string;
  keyNotKept: string;
  /** the period of a licence after its product and plan, in the mail with an order's keys */
  runs: (facts: { endsAt: Date; hasEnded: boolean }) => string;
  /** the button of a mail whose text has no words for it, by the placeholder of the link */
  mailButtons: Record<'my_url' | 'renew_url' | 'billing_url' | 'link', string>;
  /** for the page where a reseller says thanks for an order */
  thanks: { title: string; key: string };
}

export interface AttentionFacts {
  product: string;
  endsAt: Date | null;
  /** the days until that end */
  days: number;
  limit: number;
  activationType: string;
}

/** The length of a key that this service generates. */
export const KEY_LENGTH = 35;

// TypeScript cannot follow that the sentence of a code takes the facts of that code.
type Words = Record<string, ((facts: object) => string | null) | null | undefined>;

/** Returns the sentence about a licence's state, and its consequence (null: nothing to add). */
export function tellStanding(
  sentences: CustomerSentences,
  standing: Entitlement,
  activationType: string,
): { sentence: string; meaning: string | null } {
  const facts = { ...standing, activationType };
  return {
    sentence: (sentences.standing as Words)[standing.code]?.(facts) ?? standing.code,
    meaning: (sentences.meaning as Words)[standing.code]?.(facts) ?? null,
  };
}
