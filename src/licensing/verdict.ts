import type { LicenseTerms } from '../store/licenses';
import type { Release } from '../store/releases';
import { isActivationType } from './identifiers';
import type { Found } from './lookup';
import { liveStatus, type LiveStatus } from './states';

/**
 * Every judgement about a licence: for each question one flat list of guards, in the order of the contract. The first
 * guard that applies is the answer. All of it is pure: what is known of the licence, and the time, are arguments.
 */

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

/** Whether an identifier may be activated (contract, 4.1). @returns undefined when it may, or is activated already */
export function judgeActivation(found: Found | undefined, now: Date): Refusal | undefined {
  if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
  const { license, identifier, activation } = found;
  const status = liveStatus(license, now);
  if (isStopped(status)) return { refused: 'LICENSE_INACTIVE', license };
  if (status === 'expired') return { refused: 'LICENSE_EXPIRED', license };
  if (identifier === undefined) return wrongIdentifier(license);
  if (activation !== undefined) return undefined;
  const { activationLimit, activationsUsed } = license;
  if (activationLimit !== 0 && activationsUsed >= activationLimit)
    return { refused: 'ACTIVATION_LIMIT_REACHED', license, slots: { activationLimit, activationsUsed } };
  return undefined;
}

/** Whether the operator may activate an identifier: in every state, and over the limit too. */
export function judgeOverride(found: Found | undefined): Refusal | undefined {
  if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
  if (found.identifier === undefined) return wrongIdentifier(found.license);
  return undefined;
}

/** Whether an identifier's slot can be freed: in every state of the licence (decisions, "Deactivate"). */
export function judgeDeactivation(found: Found | undefined): Refusal | undefined {
  if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
  const { license, identifier, activation } = found;
  if (identifier === undefined) return wrongIdentifier(license);
  if (activation === undefined) return { refused: 'ACTIVATION_NOT_FOUND', license };
  return undefined;
}

export interface Validation {
  license: LicenseTerms;
  status: LiveStatus;
  valid: boolean;
  /** true when no identifier was given */
  identifierActivated: boolean;
}

/** What a licence is worth now (contract, 4.2): a found licence is never refused. */
export function judgeValidation(
  found: Found | undefined,
  identifierGiven: boolean,
  now: Date,
): Validation | Refusal {
  if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
  const { license, activation } = found;
  const status = liveStatus(license, now);
  return {
    license,
    status,
    valid: status === 'active',
    identifierActivated: !identifierGiven || activation !== undefined,
  };
}

/** Whether a licence may download a product (contract, 4.4). The release is judged next: `judgeRelease`. */
export function judgeDownload(
  found: Found | undefined,
  { productId, identifierGiven }: { productId: number; identifierGiven: boolean },
  now: Date,
): Refusal | undefined {
  if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
  const { license, activation } = found;
  const status = liveStatus(license, now);
  if (isStopped(status)) return { refused: 'LICENSE_INACTIVE', license };
  if (status === 'expired') return { refused: 'LICENSE_EXPIRED', license };
  if (license.product.id !== productId) return { refused: 'PRODUCT_MISMATCH', license };
  if (identifierGiven && activation === undefined) return { refused: 'ACTIVATION_NOT_FOUND', license };
  return undefined;
}

/** Whether there is something to download. That its file can be read is the last question, and the caller's. */
export function judgeRelease(license: LicenseTerms, release: Release | undefined): Release | Refusal {
  if (release?.state !== 'published') return { refused: 'DOWNLOAD_NOT_FOUND', license };
  return release;
}

/** Stopped by the operator. A licence that is past its date as well counts as stopped, not as expired. */
function isStopped(status: LiveStatus): boolean {
  return status !== 'active' && status !== 'expired';
}

/** @throws Error for a plan that counts by an unknown type: no command writes one, and its customers cannot help it */
function wrongIdentifier(license: LicenseTerms): Refusal {
  const { id, activationType } = license.plan;
  if (!isActivationType(activationType)) throw new Error(`Plan ${id} has an unknown activation type.`);
  const message = `"identifier" is not a valid ${activationType} for this license.`;
  return { refused: 'INVALID_REQUEST', license, message };
}
