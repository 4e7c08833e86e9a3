import type { LiveStatus } from '../../licensing/core/states';
import type { RefusalCode } from '../../licensing/core/verdict';
import type { CauseFacts, FindingCode, RequestFacts, StateFacts } from '../../support/finding-model';
import type { JoomlaMessage } from './joomla-says';

/** The facts for a sentence about the result of a customer's request at this moment. */
export interface NowFacts {
  license_status: LiveStatus;
  expires_at: string | null;
  /** the version that a download sends */
  version: string | null;
  activation_type: string;
  /** 0: unlimited */
  activation_limit: number;
  activations_used: number;
}

interface WithRequest {
  request: RequestFacts;
}

/** The texts for support, in one language. They contain no shell command and no placeholder. */
export interface SupportTexts {
  /** the used slots of a licence, without a full stop. @param limit 0: unlimited */
  slotsUsed: (used: number, limit: number) => string;
  findings: {
    [C in keyof StateFacts]: (
      facts: StateFacts[C],
      tell: (code: FindingCode, facts: object) => string,
    ) => string;
  };
  /** clauses that follow a colon */
  causes: { [C in keyof CauseFacts]: (facts: CauseFacts[C] & WithRequest) => string };
  refused: (request: RequestFacts, because: string) => string;
  /** what to do in addition to the action; null: nothing in this case */
  advice: { [C in AdvisedCause]: (facts: CauseFacts[C] & WithRequest) => string | null } & {
    [C in AdvisedState]: (facts: StateFacts[C]) => string | null;
  } & { [C in AdvisedAnywhere]: (facts: CauseFacts[C] & Partial<WithRequest>) => string | null };
  now: {
    updates: (facts: NowFacts) => string;
    newSite: (facts: NowFacts) => string;
    updatesRefused: (because: string) => string;
    newSiteRefused: (because: string, facts: NowFacts) => string;
    because: Record<NowRefusal, (facts: NowFacts) => string>;
  };
  /** a row of the table of Joomla's messages, on one line */
  untraced: (row: JoomlaMessage) => string;
  /** an explanation of what the log does not contain */
  validate: string;
}

/** The refusals that a request with the right key and product, from a new site, can get. */
export type NowRefusal = Exclude<
  RefusalCode,
  'INVALID_REQUEST' | 'ACTIVATION_NOT_FOUND' | 'ACTIVATION_HELD' | 'PRODUCT_MISMATCH'
>;

type AdvisedState = 'NOTHING_RECORDED' | 'GRANTED_REPEATEDLY' | 'ORDER_LINE_UNUSABLE' | 'ORDER_TOO_LARGE';
/** the codes that describe a request or the search text */
type AdvisedAnywhere = 'KEY_MISTYPED' | 'UNKNOWN_KEY';
type AdvisedCause =
  | 'RATE_LIMITED'
  | 'BAD_IDENTIFIER'
  | 'MALFORMED'
  | 'BAD_PRODUCT_ID'
  | 'NO_KEY'
  | 'WRONG_PRODUCT'
  | 'COVERED_SINCE'
  | 'ACTIVE_AGAIN'
  | 'SLOT_FREE'
  | 'NOT_ACTIVATED'
  | 'PUBLISHED_SINCE'
  | 'VERSION_NOT_PUBLISHED'
  | 'VERSION_WITHDRAWN';

/** Reports whether a request is a download or a check of one, which is decided and refused in the same way. */
export function isOfDownload(endpoint: string): boolean {
  return endpoint === 'download' || endpoint === 'check';
}
