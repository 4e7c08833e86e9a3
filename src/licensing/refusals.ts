import type { LicenseTerms } from '../store/licenses';

/** Why a request was refused: the codes of the contract's section 7 and of the decisions beside it. */
export type RefusalCode =
  | 'INVALID_REQUEST'
  | 'LICENSE_NOT_FOUND'
  | 'LICENSE_INACTIVE'
  | 'LICENSE_EXPIRED'
  | 'ACTIVATION_LIMIT_REACHED'
  | 'ACTIVATION_NOT_FOUND'
  | 'PRODUCT_MISMATCH'
  | 'DOWNLOAD_NOT_FOUND'
  | 'FILE_NOT_FOUND';

export interface Refusal {
  refused: RefusalCode;
  /** the licence it is about, once one was found */
  license?: LicenseTerms;
  /** in place of the code's usual text */
  message?: string;
  /** with ACTIVATION_LIMIT_REACHED */
  slots?: { activationLimit: number; activationsUsed: number };
}

export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome;
}
