import type { NextPayment } from '../../licensing/core/states';

/** What a licence lets its customer do now, as the functions that judge customers say. Sentences: `sentences.ts`. */
export type Entitlement =
  | { code: 'ACTIVE'; until: Date | null; nextPayment: NextPayment }
  /** no slot is left for a new site */
  | { code: 'FULL'; until: Date | null; nextPayment: NextPayment; limit: number }
  /** `stillDownloads`: what was published by its end */
  | { code: 'EXPIRED'; endedAt: Date | null; stillDownloads: boolean }
  | { code: 'SUSPENDED' }
  | { code: 'WITHDRAWN' };

export interface Slots {
  /** 0: unlimited */
  limit: number;
  used: number;
}

/** Sites that a customer may still remove: a bound of the customer's page only (docs/customers.md). */
export interface Removals {
  /** within 30 days, by the plan; 0: none */
  allowed: number;
  left: number;
  /** when one more may be removed than now; null: nothing was removed lately, or nothing ever may be */
  nextAt: Date | null;
}

/** Why a licence is named first. */
export type Attention = 'ENDS_SOON' | 'ENDED' | 'FULL';
