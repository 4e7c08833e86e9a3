import type { NextPayment } from '../../licensing/core/states';

/** The rights of a licence now, as the functions decide that customers' requests use. Sentences: `sentences.ts`. */
export type Entitlement =
  | { code: 'ACTIVE'; until: Date | null; nextPayment: NextPayment }
  /** no slot is free for a new site */
  | { code: 'FULL'; until: Date | null; nextPayment: NextPayment; limit: number }
  /** `stillDownloads`: versions published before its end can still be downloaded */
  | { code: 'EXPIRED'; endedAt: Date | null; stillDownloads: boolean }
  | { code: 'SUSPENDED' }
  | { code: 'WITHDRAWN' };

export interface Slots {
  /** 0: unlimited */
  limit: number;
  used: number;
}

/** The number of sites that a customer may still remove. It limits only the customer's page (docs/customers.md). */
export interface Removals {
  /** within 30 days, from the plan; 0: none */
  allowed: number;
  left: number;
  /** when the number rises; null: no site was removed recently, or removals are not permitted */
  nextAt: Date | null;
}

/** The reason why a licence is listed first. */
export type Attention = 'ENDS_SOON' | 'ENDED' | 'FULL';
