import { inChunks } from '../base/chunks';
import { jsonOf } from '../base/json';
import { sharePlan, type Plan } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import type { StoredKey } from '../store/licenses/license-keys';
import { isDuplicate } from '../store/engine/errors';
import type { LicenseEvent } from '../store/events';
import {
  findLicenseByReference,
  findLicensesByIds,
  insertLicenses,
  type License,
  type NewLicense,
} from '../store/licenses/licenses';
import { inTransaction } from '../store/engine/transaction';
import { requireCustomer, storedCustomer } from './customer-email';
import { addDuration } from './durations';
import { canonicalKey, generateKey, keyDigest } from './core/keys';
import { mergeMetadata, readMetadata, storedMetadata, type MetadataChanges } from './metadata';
import { OperatorError, type RefusalFacts } from './operator-error';
import { throwPlanNotFound } from './find-or-throw';
import { openSealedKey, SealError, storedKey } from './sealing';
import { recordEvents } from './webhook-events';

export interface IssueRequest {
  planId: number;
  /** an e-mail address, in a form that `requireCustomer` accepts */
  customer: string | undefined;
  /** idempotency: the shop's order. One reference always returns one licence */
  reference: string | undefined;
  /** undefined: the plan's duration decides; null: lifetime */
  expiresAt: Date | null | undefined;
  /** undefined: the plan's limit */
  activationLimit: number | undefined;
  /** a key chosen by the operator; undefined: a new key */
  key: string | undefined;
  /** checked by `requireMetadataChange` */
  metadata?: MetadataChanges | undefined;
  /** the name of the token that issues; undefined: no token */
  issuedBy?: string | undefined;
  /** whether the caller may see only licences issued with a token of its name */
  ownOnly?: boolean | undefined;
  count: number;
}

export interface IssueResult {
  license: License;
  /** false: it was issued before, for this reference */
  isNew: boolean;
  /** undefined if the licence existed before and its key cannot be revealed */
  key: string | undefined;
  /** the reason for a missing key */
  withheld?: OperatorError | SealError;
}

/** The maximum number of licences in a request: one transaction issues them, and the keys stay in memory until shown. */
export const MAX_ISSUED = 10_000;

/** Issues all licences or none. `secret` seals the keys; without it they are not kept. @throws OperatorError */
export async function issueLicenses(
  db: Db,
  request: IssueRequest,
  actor: string,
  secret: Buffer | undefined,
  now: Date,
): Promise<IssueResult[]> {
  const { reference } = request;
  if (reference !== undefined) {
    const earlier = await findLicenseByReference(db, reference);
    if (earlier) return [asIssued(earlier, request, secret)];
  }
  const keys = Array.from({ length: request.count }, () =>
    request.key === undefined ? generateKey() : parseNewKey(request.key),
  );
  try {
    return await inTransaction(db, async (trx) => {
      // The plan stays unchanged until the licences are inserted, so that `changePlanLimit` finds them.
      const plan = (await sharePlan(trx, request.planId)) ?? throwPlanNotFound(request.planId);
      const times = { expiresAt: endOf(request, plan, now), createdAt: now };
      const licenses = keys.map((key) => draftLicense(key, request, plan, times, secret));
      const added = await inChunks(licenses, (some) => insertIssued(trx, some, actor));
      return added.map((license, i) => ({ key: keys[i], license, isNew: true }));
    });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    // Two commands issued one order at the same time. The other one was first, and this is its licence.
    const earlier = reference === undefined ? undefined : await findLicenseByReference(db, reference);
    if (earlier) return [asIssued(earlier, request, secret)];
    throw new OperatorError('A licence with this key already exists.', { code: 'CONFLICT' });
  }
}

/** The licences that a shop's order receives: one for each reference, on one plan. */
type OrderedLicenses = Pick<IssueRequest, 'planId' | 'customer' | 'issuedBy'> & {
  references: string[];
  activationLimit: number;
} & Pick<License, 'expiresAt' | 'graceDays' | 'renewsItself'>;

/**
 * Issues the licences of an order in its transaction, with new keys.
 * @throws a duplicate (`isDuplicate`) if a reference is in use; OperatorError if the plan does not exist
 */
export async function issueOrdered(
  trx: Transaction,
  { references, expiresAt, graceDays, renewsItself, ...request }: OrderedLicenses,
  actor: string,
  secret: Buffer | undefined,
  now: Date,
): Promise<IssueResult[]> {
  const plan = (await sharePlan(trx, request.planId)) ?? throwPlanNotFound(request.planId);
  const times = { expiresAt, graceDays, renewsItself, createdAt: now };
  return inChunks(references, async (chunk): Promise<IssueResult[]> => {
    const some = chunk.map((reference) => ({ reference, key: generateKey() }));
    const drafts = some.map(({ reference, key }) =>
      draftLicense(key, { ...request, reference, expiresAt, count: 1, key: undefined }, plan, times, secret),
    );
    const added = await insertIssued(trx, drafts, actor);
    return added.map((license, i) => ({ license, isNew: true, key: some[i]?.key }));
  });
}

/** Returns when a licence ends; null: lifetime. */
function endOf({ expiresAt }: IssueRequest, { duration }: Plan, now: Date): Date | null {
  if (expiresAt !== undefined) return expiresAt;
  return duration === null ? null : addDuration(now, duration);
}

/** @param key in canonical form */
function draftLicense(
  key: string,
  { activationLimit, customer, reference, metadata = {}, issuedBy }: IssueRequest,
  plan: Plan,
  times: Pick<NewLicense, 'expiresAt' | 'graceDays' | 'renewsItself' | 'createdAt'>,
  secret: Buffer | undefined,
): NewLicense {
  return {
    ...storedKey(key, secret),
    planId: plan.id,
    status: 'active',
    activationLimit: activationLimit ?? plan.activationLimit,
    customer: customer === undefined ? null : requireCustomer(customer),
    reference: reference ?? null,
    metadata: storedMetadata(mergeMetadata({}, metadata)),
    issuedBy: issuedBy ?? null,
    ...times,
  };
}

/** Inserts licences, each with the first event of its history. @returns the licences in this order */
async function insertIssued(trx: Transaction, licenses: NewLicense[], actor: string): Promise<License[]> {
  const ids = await insertLicenses(trx, licenses);
  await recordEvents(
    trx,
    licenses.map((license, i) => issueEvent(ids[i] as number, license, actor)),
  );
  const inserted = await findLicensesByIds(trx, ids);
  return inserted.sort((a, b) => a.id - b.id);
}

function issueEvent(id: number, license: NewLicense, actor: string): LicenseEvent {
  const after = {
    ...jsonOf(license, 'status', 'planId', 'activationLimit', 'customer', 'reference', 'expiresAt'),
    ...(license.graceDays ? { grace_days: license.graceDays } : {}),
    ...(license.renewsItself ? { renews_itself: true } : {}),
    ...(license.metadata === null ? {} : { metadata: readMetadata(license.metadata) }),
  };
  return { licenseId: id, at: license.createdAt, actor, action: 'issue', before: null, after };
}

/** @throws OperatorError if the reference belongs to a licence that does not match the request */
function asIssued(
  license: License,
  { key, planId, customer, issuedBy, ownOnly = false }: IssueRequest,
  secret: Buffer | undefined,
): IssueResult {
  const refusal = (why: string, facts?: RefusalFacts) =>
    new OperatorError(
      `The reference ${license.reference ?? ''} belongs to licence ${license.id}, which ${why}`,
      { code: 'CONFLICT', facts },
    );
  // Check the issuer first, because the other messages state more than this caller may know.
  if (ownOnly && license.issuedBy !== issuedBy)
    throw new OperatorError('This reference is in use. A new order needs a reference of its own.', {
      code: 'CONFLICT',
      field: 'reference',
    });
  if (license.plan.id !== planId)
    throw refusal(`is on plan ${license.plan.id}, not on plan ${planId}.`, { reason: 'other-plan' });
  // Two shops may use equal order numbers: one shop's customer must not get the key of another's.
  if (
    customer !== undefined &&
    license.customer !== null &&
    storedCustomer(customer) !== storedCustomer(license.customer)
  )
    throw refusal('belongs to another customer. A new order needs a reference of its own.', {
      reason: 'other-customer',
      license: license.id,
    });
  if (key !== undefined && keyDigest(canonicalKey(key)) !== license.keyDigest)
    throw refusal('has another key. Another licence needs a reference of its own.');
  try {
    return { license, isNew: false, key: openKey(license.id, license, secret) };
  } catch (error) {
    if (error instanceof OperatorError || error instanceof SealError)
      return { license, isNew: false, key: undefined, withheld: error };
    throw error;
  }
}

/** @throws OperatorError if the key was not kept or no secret is set; SealError if it cannot be opened */
export function openKey(
  id: number,
  { keySealed, keyDigest: digest }: StoredKey,
  secret: Buffer | undefined,
): string {
  if (keySealed === null)
    throw new OperatorError(
      `The key of licence ${id} was not kept: LICENSING_KEY_SECRET was not set when it was issued.`,
      { code: 'CONFLICT', facts: { reason: 'key-not-kept', license: id } },
    );
  if (secret === undefined)
    throw new OperatorError('LICENSING_KEY_SECRET is not set: without it a kept key cannot be opened.');
  return openSealedKey(keySealed, digest, secret);
}

/** The maximum size of a key: a longer one, once sealed, would not fit its column. */
const MAX_KEY_BYTES = 350;

/** @throws OperatorError if no client could send the key; the message does not repeat it */
export function parseNewKey(text: string): string {
  const key = canonicalKey(text);
  if (key === '' || /\p{Cc}/u.test(key) || !key.isWellFormed())
    throw new OperatorError('The key is empty or has characters that cannot be typed.', {
      code: 'INVALID_REQUEST',
      field: 'key',
    });
  if (Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw new OperatorError(`The key is longer than ${MAX_KEY_BYTES} bytes.`, {
      code: 'INVALID_REQUEST',
      field: 'key',
    });
  return key;
}
