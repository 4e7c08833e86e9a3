import type { LicenseTerms } from '../../store/licenses/licenses';
import type { Release } from '../../store/releases';
import { isActivationType } from './identifiers';
import type { LicenseMatch, SlotCost } from './lookup';
import { liveStatus, paidEnd, type LiveStatus } from './states';

/** Pure functions: a flat list of guards for each question, in the contract's order; the first that applies decides. */

/** Why a request was refused: the codes of docs/contract.md, 9. */
export type RefusalCode =
  | 'INVALID_REQUEST'
  | 'LICENSE_NOT_FOUND'
  | 'LICENSE_INACTIVE'
  | 'LICENSE_EXPIRED'
  | 'ACTIVATION_LIMIT_REACHED'
  | 'ACTIVATION_NOT_FOUND'
  | 'ACTIVATION_HELD'
  | 'PRODUCT_MISMATCH'
  | 'DOWNLOAD_NOT_FOUND'
  | 'FILE_NOT_FOUND';

export interface Refusal {
  refused: RefusalCode;
  /** the licence concerned, once found */
  license?: LicenseTerms;
  /** the licence's key that the request came by (`byKey`) */
  keyId?: number;
  /** replaces the code's usual text */
  message?: string;
  /** only with ACTIVATION_LIMIT_REACHED */
  slots?: { activationLimit: number; activationsUsed: number };
  /** only with ACTIVATION_HELD */
  heldUntil?: Date;
}

export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome;
}

/**
 * Whether an identifier may be activated (docs/contract.md, 6.2). With free staging only the ledger knows, under the lock,
 * whether it takes a slot; until then the limits are not judged.
 *
 * @returns undefined when it may, or already is
 */
export function judgeActivation(found: LicenseMatch | undefined, now: Date): Refusal | undefined {
  if (found === undefined || hasEnded(found, now)) return unknownKey(found);
  const { license, key, identifier, activation, cost } = found;
  const status = liveStatus(license, now);
  if (isStopped(status)) return { refused: 'LICENSE_INACTIVE', license };
  if (status === 'expired') return { refused: 'LICENSE_EXPIRED', license };
  if (found.covered === false) return { refused: 'PRODUCT_MISMATCH', license };
  if (identifier === undefined) return wrongIdentifier(license);
  if (activation !== undefined) return undefined;
  if (cost === undefined ? license.plan.freeStaging : cost.free) return undefined;
  const { freed, freedOfKey } = cost ?? ONE_SLOT;
  const { activationLimit, activationsUsed } = license;
  if (activationLimit !== 0 && activationsUsed - freed >= activationLimit)
    return { refused: 'ACTIVATION_LIMIT_REACHED', license, slots: { activationLimit, activationsUsed } };
  if (key.limit !== undefined && key.limit.used - freedOfKey >= key.limit.slots)
    return {
      refused: 'ACTIVATION_LIMIT_REACHED',
      license,
      slots: { activationLimit: key.limit.slots, activationsUsed: key.limit.used },
    };
  return undefined;
}

/** Whether one more identifier could be activated: one that is not activated yet, and takes a slot. */
export function judgeNewSite(found: LicenseMatch | undefined, now: Date): Refusal | undefined {
  return judgeActivation(
    found && { ...found, identifier: 'new', activation: undefined, cost: ONE_SLOT },
    now,
  );
}

const ONE_SLOT: SlotCost = { free: false, freed: 0, freedOfKey: 0 };

/** Whether the operator may activate an identifier: in every state, and above the limit too. */
export function judgeOverride(found: LicenseMatch | undefined): Refusal | undefined {
  if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
  if (found.identifier === undefined) return wrongIdentifier(found.license);
  return undefined;
}

/** Whether an identifier's slot can be freed, in any state of the licence (docs/contract.md, 6.7). */
export function judgeDeactivation(found: LicenseMatch | undefined, now: Date): Refusal | undefined {
  if (found === undefined || hasEnded(found, now)) return unknownKey(found);
  const { license, identifier, heldUntil } = found;
  if (identifier === undefined) return wrongIdentifier(license);
  if (!mayChange(found)) return { refused: 'ACTIVATION_NOT_FOUND', license };
  if (heldUntil !== undefined && heldUntil > now) return { refused: 'ACTIVATION_HELD', license, heldUntil };
  return undefined;
}

/** Whether a machine without network gets a file, which holds its activation (docs/signed-answers.md). */
export function judgeFile(found: LicenseMatch | undefined, now: Date): Refusal | undefined {
  if (found === undefined || hasEnded(found, now)) return unknownKey(found);
  const { license, identifier } = found;
  const status = liveStatus(license, now);
  if (isStopped(status)) return { refused: 'LICENSE_INACTIVE', license };
  if (status === 'expired') return { refused: 'LICENSE_EXPIRED', license };
  if (identifier === undefined) return wrongIdentifier(license);
  return mayChange(found) ? undefined : { refused: 'ACTIVATION_NOT_FOUND', license };
}

/** Only the ledger reads which key it came by; a key with a limit of its own changes only what came by it. */
function mayChange({ key, activation }: LicenseMatch): boolean {
  if (activation === undefined) return false;
  return key.limit === undefined || activation.keyId === undefined || activation.keyId === key.id;
}

export interface Validation {
  license: LicenseTerms;
  status: LiveStatus;
  valid: boolean;
  /** true when no identifier was given */
  identifierActivated: boolean;
  /** normalised; undefined when none was given, or it fits no type */
  identifier: string | undefined;
  /** when the key ends; null: never */
  keyEndsAt: Date | null;
  /** whether the licence covers the product that was asked for; undefined when none was */
  covered?: boolean | undefined;
}

/** The licence's validity now (docs/contract.md, 6.5): a licence that was found is never refused. */
export function judgeValidation(
  found: LicenseMatch | undefined,
  identifierGiven: boolean,
  now: Date,
): Validation | Refusal {
  if (found === undefined || hasEnded(found, now)) return unknownKey(found);
  const { license, activation, covered } = found;
  const status = liveStatus(license, now);
  return {
    license: asShown(found),
    status,
    valid: status === 'active' && covered !== false,
    identifierActivated: !identifierGiven || activation !== undefined,
    identifier: found.identifier,
    keyEndsAt: found.key.endsAt,
    covered,
  };
}

/**
 * Whether a licence may download the product that it was looked up with (docs/contract.md, 8). `entitledUntil` and
 * `judgeRelease` come next.
 */
export function judgeDownload(
  found: LicenseMatch | undefined,
  { identifierGiven }: { identifierGiven: boolean },
  now: Date,
): Refusal | undefined {
  if (found === undefined || hasEnded(found, now)) return unknownKey(found);
  const { license, activation, covered } = found;
  const status = liveStatus(license, now);
  if (isStopped(status)) return { refused: 'LICENSE_INACTIVE', license };
  if (status === 'expired' && entitledUntil(license, now) === undefined)
    return { refused: 'LICENSE_EXPIRED', license };
  if (!covered) return { refused: 'PRODUCT_MISMATCH', license };
  if (identifierGiven && activation === undefined) return { refused: 'ACTIVATION_NOT_FOUND', license };
  return undefined;
}

/** What says which releases a licence covers after its end. */
type EndTerms = Pick<LicenseTerms, 'status' | 'expiresAt' | 'graceDays'> & {
  plan: Pick<LicenseTerms['plan'], 'afterExpiry'>;
};

/** Whether a licence may have a published release of a product that it covers, whichever of its keys or sites asks. */
export function coversRelease(
  license: EndTerms,
  { publishedAt }: Pick<Release, 'publishedAt'>,
  now: Date,
): boolean {
  const status = liveStatus(license, now);
  if (isStopped(status)) return false;
  const until = entitledUntil(license, now);
  if (until === undefined) return status === 'active';
  return publishedAt !== null && publishedAt <= until;
}

/**
 * The paid end of an expired licence that still downloads the releases published until then (docs/contract.md, 8.3).
 *
 * @returns undefined for a licence that downloads every release, or none
 */
export function entitledUntil(license: EndTerms, now: Date): Date | undefined {
  if (license.plan.afterExpiry !== 'last_release' || liveStatus(license, now) !== 'expired') return undefined;
  return paidEnd(license) ?? undefined;
}

/**
 * Whether a licence may download the release that was asked for. The caller checks last that its file can be read.
 *
 * @param release the version asked for, else the latest one
 */
export function judgeRelease(
  license: LicenseTerms,
  release: Release | undefined,
  now: Date,
): Release | Refusal {
  if (release?.state !== 'published') return { refused: 'DOWNLOAD_NOT_FOUND', license };
  const until = entitledUntil(license, now);
  if (until !== undefined && (release.publishedAt === null || release.publishedAt > until))
    return { refused: 'LICENSE_EXPIRED', license };
  return release;
}

/** Clients do not learn that a key has ended; the access log keeps which licence it was. */
function unknownKey(found: LicenseMatch | undefined): Refusal {
  return { refused: 'LICENSE_NOT_FOUND', ...(found && { license: found.license }) };
}

/** Adds the key to a refusal, for the access log: an ended key itself, any other as it counts for its licence. */
export function byKey(refusal: Refusal, found: LicenseMatch | undefined): Refusal {
  if (found === undefined) return refusal;
  const { rowId, sentId } = found.key;
  return { ...refusal, keyId: refusal.refused === 'LICENSE_NOT_FOUND' ? sentId : rowId };
}

function hasEnded({ key }: LicenseMatch, now: Date): boolean {
  return key.endsAt !== null && key.endsAt <= now;
}

/** The licence as its key sees it: a key with a limit of its own shows the smaller limit and its own use. */
export function asShown({ license, key: { limit } }: Pick<LicenseMatch, 'license' | 'key'>): LicenseTerms {
  if (limit === undefined) return license;
  const activationLimit =
    license.activationLimit === 0 ? limit.slots : Math.min(limit.slots, license.activationLimit);
  return { ...license, activationLimit, activationsUsed: limit.used };
}

/** Stopped by the operator. A stopped licence past its end counts as stopped, not as expired. */
function isStopped(status: LiveStatus): boolean {
  return status !== 'active' && status !== 'expired';
}

/** @throws Error for a plan with an unknown type: no command writes such a plan, and its customers cannot fix it */
function wrongIdentifier(license: LicenseTerms): Refusal {
  const { id, activationType } = license.plan;
  if (!isActivationType(activationType)) throw new Error(`Plan ${id} has an unknown activation type.`);
  const message = `"identifier" is not a valid ${activationType} for this license.`;
  return { refused: 'INVALID_REQUEST', license, message };
}
