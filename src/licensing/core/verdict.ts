import type { LicenseTerms } from '../../store/licenses/licenses';
import type { Release } from '../../store/releases';
import { hasBranchBy, type Branches } from './branches';
import { isActivationType } from './identifiers';
import type { LicenseMatch, SlotCost } from './lookup';
import { liveStatus, paidUntil, type LiveStatus } from './states';

/**
 * Verdicts, the access control of licences, as pure functions: a flat list of guards for each question, in the contract's
 * order. The first that applies wins.
 */

/** The reason for a refusal: a code of docs/contract.md, 9. */
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
  /** the licence in question, if the key was found */
  license?: LicenseTerms;
  /** the id of the licence's key in the request (`refusalWithKey`) */
  keyId?: number;
  /** a message that replaces the code's usual text */
  message?: string;
  /** present only with ACTIVATION_LIMIT_REACHED */
  slots?: { activationLimit: number; activationsUsed: number };
  /** present only with ACTIVATION_HELD */
  heldUntil?: Date;
}

export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome;
}

/**
 * Decides whether an identifier may be activated (docs/contract.md, 6.2). With free staging, only the ledger knows
 * whether the identifier takes a slot, because it holds the lock. Before that, the limits are not judged.
 * @returns undefined if it may be activated or already is
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

/** Decides whether one more identifier that takes a slot could be activated. */
export function judgeNewSite(found: LicenseMatch | undefined, now: Date): Refusal | undefined {
  return judgeActivation(
    found && { ...found, identifier: 'new', activation: undefined, cost: ONE_SLOT },
    now,
  );
}

const ONE_SLOT: SlotCost = { free: false, freed: 0, freedOfKey: 0 };

/** Decides whether the operator may activate an identifier: in every state, and even above the limit. */
export function judgeOverride(found: LicenseMatch | undefined): Refusal | undefined {
  if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
  if (found.identifier === undefined) return wrongIdentifier(found.license);
  return undefined;
}

/** Decides whether an identifier's slot can be freed, in any state of the licence (docs/contract.md, 6.7). */
export function judgeDeactivation(found: LicenseMatch | undefined, now: Date): Refusal | undefined {
  if (found === undefined || hasEnded(found, now)) return unknownKey(found);
  const { license, identifier, heldUntil } = found;
  if (identifier === undefined) return wrongIdentifier(license);
  if (!mayChange(found)) return { refused: 'ACTIVATION_NOT_FOUND', license };
  if (heldUntil !== undefined && heldUntil > now) return { refused: 'ACTIVATION_HELD', license, heldUntil };
  return undefined;
}

/** Decides whether a machine without network gets an offline file, which holds its activation (docs/signed-answers.md). */
export function judgeFile(found: LicenseMatch | undefined, now: Date): Refusal | undefined {
  if (found === undefined || hasEnded(found, now)) return unknownKey(found);
  const { license, identifier } = found;
  const status = liveStatus(license, now);
  if (isStopped(status)) return { refused: 'LICENSE_INACTIVE', license };
  if (status === 'expired') return { refused: 'LICENSE_EXPIRED', license };
  if (identifier === undefined) return wrongIdentifier(license);
  return mayChange(found) ? undefined : { refused: 'ACTIVATION_NOT_FOUND', license };
}

/** Reports whether a key may change an activation. A key with its own limit changes only what it activated itself. */
function mayChange({ key, activation }: LicenseMatch): boolean {
  if (activation === undefined) return false;
  return key.limit === undefined || activation.keyId === undefined || activation.keyId === key.id;
}

export interface Validation {
  license: LicenseTerms;
  status: LiveStatus;
  valid: boolean;
  /** true if the request has no identifier */
  identifierActivated: boolean;
  /** normalised; undefined if it is missing or fits no type */
  identifier: string | undefined;
  /** the end of the key; null if it never ends */
  keyEndsAt: Date | null;
  /** whether the licence covers the product in the request; undefined if there is none */
  covered?: boolean | undefined;
}

/** Judges whether a licence is valid now (docs/contract.md, 6.5). A licence that was found is never refused. */
export function judgeValidation(
  found: LicenseMatch | undefined,
  identifierGiven: boolean,
  now: Date,
): Validation | Refusal {
  if (found === undefined || hasEnded(found, now)) return unknownKey(found);
  const { license, activation, covered } = found;
  const status = liveStatus(license, now);
  return {
    license: licenseAsSeenByKey(found),
    status,
    valid: status === 'active' && covered !== false,
    identifierActivated: !identifierGiven || activation !== undefined,
    identifier: found.identifier,
    keyEndsAt: found.key.endsAt,
    covered,
  };
}

/**
 * Decides whether a licence may download the product that it was looked up with (docs/contract.md, 8). A given
 * identifier must be activated. `judgeRelease` decides about the version. @returns undefined if it may
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

/** The terms of a licence that decide which releases it covers after its end. */
export type EndTerms = Pick<LicenseTerms, 'status' | 'expiresAt' | 'graceDays' | 'allReturned'> & {
  plan: Pick<LicenseTerms['plan'], 'afterExpiry'>;
};

/** The facts of a release that decide whether an expired licence covers it. */
type ReleaseTerms = Pick<Release, 'version' | 'publishedAt' | 'security'>;

/**
 * Reports whether a licence covers a published release of one of its products, regardless of key and site.
 * @param branches the branches of the release's product, if `needsBranches`
 */
export function coversRelease(
  license: EndTerms,
  release: ReleaseTerms,
  now: Date,
  branches?: Branches,
): boolean {
  const status = liveStatus(license, now);
  if (isStopped(status)) return false;
  const until = entitledUntil(license, now);
  if (until === undefined) return status === 'active';
  return coversAfterEnd(license, release, until, branches);
}

/** Reports whether an expired licence covers a release: by its publication, or as a security release of a covered branch. */
function coversAfterEnd(
  { plan: { afterExpiry } }: EndTerms,
  { version, publishedAt, security }: ReleaseTerms,
  until: Date,
  branches: Branches | undefined,
): boolean {
  if (publishedAt === null) return false;
  if (publishedAt <= until) return true;
  if (!security || afterExpiry !== 'security' || branches === undefined) return false;
  return hasBranchBy(branches, version, until);
}

/** Reports whether a licence has ended and still covers security releases, which depends on the branches of the product. */
export function needsBranches(license: EndTerms, now: Date): boolean {
  return license.plan.afterExpiry === 'security' && entitledUntil(license, now) !== undefined;
}

/** Reports whether a licence has ended and all its payments were given back, so that its customer has no right to it. */
export function hasNothingPaid(license: Omit<EndTerms, 'plan'>, now: Date): boolean {
  return license.allReturned && liveStatus(license, now) === 'expired';
}

/** Reports whether an expired licence gets a release only because it closes a security hole. */
export function coversForSecurity(license: EndTerms, { publishedAt }: ReleaseTerms, now: Date): boolean {
  const until = entitledUntil(license, now);
  return until !== undefined && publishedAt !== null && publishedAt > until;
}

/**
 * Returns the paid-through date of an expired licence that may still download releases published until then
 * (docs/contract.md, 8.3). If all its payments were given back, nothing is paid.
 * @returns undefined for a licence that may download every release, or none
 */
export function entitledUntil(license: EndTerms, now: Date): Date | undefined {
  if (license.plan.afterExpiry === 'nothing' || liveStatus(license, now) !== 'expired') return undefined;
  return license.allReturned ? undefined : (paidUntil(license) ?? undefined);
}

/**
 * Decides whether a licence may download the requested release. The caller then checks that its file can be read.
 * @param release the requested version, or the latest release if the request names none
 * @param branches the branches of the release's product, if `needsBranches`
 */
export function judgeRelease(
  license: LicenseTerms,
  release: Release | undefined,
  now: Date,
  branches?: Branches,
): Release | Refusal {
  if (release?.state !== 'published') return { refused: 'DOWNLOAD_NOT_FOUND', license };
  const until = entitledUntil(license, now);
  if (until !== undefined && !coversAfterEnd(license, release, until, branches))
    return { refused: 'LICENSE_EXPIRED', license };
  return release;
}

/** Refuses a key that is unknown or has ended. Clients cannot distinguish the two; the access log records the licence. */
function unknownKey(found: LicenseMatch | undefined): Refusal {
  return { refused: 'LICENSE_NOT_FOUND', ...(found && { license: found.license }) };
}

/** Adds a key's id to a refusal, for the access log: of the sent key if it has ended, otherwise of the key that counts. */
export function refusalWithKey(refusal: Refusal, found: LicenseMatch | undefined): Refusal {
  if (found === undefined) return refusal;
  const { rowId, sentId } = found.key;
  return { ...refusal, keyId: refusal.refused === 'LICENSE_NOT_FOUND' ? sentId : rowId };
}

function hasEnded({ key }: LicenseMatch, now: Date): boolean {
  return key.endsAt !== null && key.endsAt <= now;
}

/** Returns the licence as its key sees it: a key with a limit of its own shows the smaller limit and its own use. */
export function licenseAsSeenByKey({
  license,
  key: { limit },
}: Pick<LicenseMatch, 'license' | 'key'>): LicenseTerms {
  if (limit === undefined) return license;
  const activationLimit =
    license.activationLimit === 0 ? limit.slots : Math.min(limit.slots, license.activationLimit);
  return { ...license, activationLimit, activationsUsed: limit.used };
}

/** Reports whether the operator stopped a licence. A stopped licence past its end counts as stopped, not as expired. */
function isStopped(status: LiveStatus): boolean {
  return status !== 'active' && status !== 'expired';
}

/**
 * Refuses an identifier that does not fit the plan's type. @throws Error for a plan of unknown type, which no command
 * writes
 */
function wrongIdentifier(license: LicenseTerms): Refusal {
  const { id, activationType } = license.plan;
  if (!isActivationType(activationType)) throw new Error(`Plan ${id} has an unknown activation type.`);
  const message = `"identifier" is not a valid ${activationType} for this license.`;
  return { refused: 'INVALID_REQUEST', license, message };
}
