import { listActivations } from '../store/licenses/activations';
import { sharePlan, type Plan } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import type { EventAction } from '../store/events';
import {
  findLicense,
  setLicense,
  type License,
  type LicenseChanges,
  type LockedLicense,
} from '../store/licenses/licenses';
import { inReadCommitted } from '../store/engine/transaction';
import { includedProducts, readCatalogue } from './bundles';
import { requireCustomer } from './customer-email';
import { openKey } from './issue';
import { listKeys, requireKey, type AddedKey } from './license-keys';
import { changeLicense, moveEnd, eventReason, type ChangeContext } from './lifecycle';
import {
  mergeMetadata,
  metadataDifference,
  readMetadata,
  storedMetadata,
  type MetadataChanges,
} from './metadata';
import { OperatorError } from './operator-error';
import { throwLicenseNotFound, throwPlanNotFound, requirePlan } from './find-or-throw';
import { recordEvents } from './webhook-events';

/** Changes of a licence that keep its state. Each change is an event in its history. */

/** The new values. An undefined field stays unchanged. */
interface NewTerms {
  planId: number | undefined;
  limit: number | undefined;
  customer: string | undefined;
  until: Date | null | undefined;
  metadata: MetadataChanges | undefined;
}

/** Makes all changes or none. The plan comes first, because it sets a limit. */
export function amendLicense(
  db: Db,
  license: License,
  { planId, limit, customer, until, metadata }: NewTerms,
  context: PlanContext,
): Promise<License> {
  const { id } = license;
  return inReadCommitted(db, async (trx) => {
    let latest = license;
    if (planId !== undefined) latest = await changePlan(trx, id, planId, context);
    if (limit !== undefined) latest = await setLimit(trx, id, limit, context);
    if (customer !== undefined) latest = await setCustomer(trx, id, customer, context);
    if (until !== undefined) latest = await moveEnd(trx, id, until, context);
    if (metadata !== undefined) latest = await setMetadata(trx, id, metadata, context);
    return latest;
  });
}

type PlanContext = ChangeContext & { otherProduct?: boolean | undefined };

/** @param limit 0: unlimited. Activations above it are kept, but new ones are refused until there are fewer. */
export function setLimit(db: Db, id: number, limit: number, context: ChangeContext): Promise<License> {
  return amend(db, id, 'set-limit', context, (license) => withLimit(license, limit));
}

/** Sets the limit like `setLimit`, with a check under the lock. @returns false if the limit or plan was changed meanwhile */
export async function setLimitIfUnchanged(
  db: Db,
  id: number,
  { planId, from, to }: { planId: number; from: number; to: number },
  context: ChangeContext,
): Promise<boolean> {
  let follows = false;
  await amend(db, id, 'set-limit', context, (license) => {
    follows = license.planId === planId && license.activationLimit === from;
    return follows ? withLimit(license, to) : undefined;
  });
  return follows;
}

function withLimit({ activationLimit }: LockedLicense, limit: number): Amendment {
  return {
    changes: { activationLimit: limit },
    before: { activation_limit: activationLimit },
    after: { activation_limit: limit },
  };
}

/** @throws OperatorError if the customer is not an e-mail address (`requireCustomer`) */
export function setCustomer(db: Db, id: number, customer: string, context: ChangeContext): Promise<License> {
  const address = requireCustomer(customer);
  return amend(db, id, 'set-customer', context, (license) => ({
    changes: { customer: address },
    before: { customer: license.customer },
    after: { customer: address },
  }));
}

/**
 * Merges the changes into the metadata by name; null removes a name. It records the names that change, or nothing.
 * @param changes checked by `requireMetadataChange` @throws OperatorError if there would be too many names
 */
export function setMetadata(
  db: Db,
  id: number,
  changes: MetadataChanges,
  context: ChangeContext,
): Promise<License> {
  return amend(db, id, 'set-metadata', context, (license) => {
    const stored = readMetadata(license.metadata);
    const merged = mergeMetadata(stored, changes);
    const difference = metadataDifference(stored, merged);
    return (
      difference && {
        changes: { metadata: storedMetadata(merged) },
        before: { metadata: difference.before },
        after: { metadata: difference.after },
      }
    );
  });
}

/**
 * Changes the plan and keeps the end, the keys and the activations.
 * @param context `otherProduct` permits a plan of another product
 * @throws OperatorError for another product (`other-product`), or another activation type with activations
 */
export function changePlan(db: Db, id: number, planId: number, context: PlanContext): Promise<License> {
  return amend(db, id, 'change-plan', context, async (license, trx) => {
    const plan = (await sharePlan(trx, planId)) ?? throwPlanNotFound(planId);
    await refuseForeignPlan(trx, license, plan, context.otherProduct ?? false);
    return {
      changes: { planId, activationLimit: plan.activationLimit },
      before: { plan_id: license.planId, activation_limit: license.activationLimit },
      after: { plan_id: planId, activation_limit: plan.activationLimit },
    };
  });
}

/**
 * Opens the main key or the named key, and records the event.
 * @throws OperatorError if it was not kept; SealError if it cannot be opened
 */
export async function revealKey(
  db: Db,
  id: number,
  keyId: number | undefined,
  secret: Buffer | undefined,
  context: ChangeContext,
): Promise<AddedKey> {
  const license = (await findLicense(db, id)) ?? throwLicenseNotFound(id);
  const stored = requireKey(await listKeys(db, id), license, keyId ?? license.mainKeyId);
  const key = openKey(id, stored, secret);
  const said = { ...(keyId !== undefined && { key_id: keyId }), ...eventReason(context) };
  const after = Object.keys(said).length === 0 ? null : said;
  await amend(db, id, 'reveal', context, () => ({ changes: {}, before: null, after }));
  return { key, stored };
}

/** Records that an answer was sent, without its subject and text, which may name a person or a key. */
export async function recordAnswer(
  db: Db,
  id: number,
  after: { to: string },
  context: ChangeContext,
): Promise<void> {
  await amend(db, id, 'answer', context, () => ({ changes: {}, before: null, after }));
}

/** Returns why a licence cannot have a plan; undefined if it can. */
export function planChangeRefusal(
  { activationType, isActivated }: { activationType: string | undefined; isActivated: boolean },
  plan: Pick<Plan, 'activationType'>,
): 'other_activation_type' | undefined {
  return isActivated && plan.activationType !== activationType ? 'other_activation_type' : undefined;
}

async function refuseForeignPlan(
  trx: Transaction,
  license: LockedLicense,
  plan: Plan,
  otherProduct: boolean,
): Promise<void> {
  const { productId, activationType } = await requirePlan(trx, license.planId);
  if (plan.productId !== productId && !otherProduct)
    throw await otherProductError(trx, license, plan, productId);
  const isActivated =
    plan.activationType !== activationType && (await listActivations(trx, license.id)).length > 0;
  if (planChangeRefusal({ activationType, isActivated }, plan) !== undefined)
    throw new OperatorError(
      `Plan ${plan.id} counts by ${plan.activationType}, and licence ${license.id} has activations by ${activationType}.`,
      { code: 'CONFLICT', facts: { reason: 'activated', license: license.id } },
    );
}

/** Returns an error that states what the licence would cover: sites of its present product may get no further updates. */
async function otherProductError(
  trx: Transaction,
  { id }: LockedLicense,
  plan: Plan,
  from: number,
): Promise<OperatorError> {
  const catalogue = await readCatalogue(trx);
  const isCovered = includedProducts(catalogue, plan.productId).some((product) => product.id === from);
  const nameOf = (product: number) => catalogue.get(product)?.name ?? String(product);
  return new OperatorError(
    `Plan ${plan.id} belongs to ${nameOf(plan.productId)}, and licence ${id} to ${nameOf(from)}. ${
      isCovered
        ? `${nameOf(plan.productId)} includes ${nameOf(from)}, so its sites keep getting updates.`
        : `The licence would no longer cover ${nameOf(from)}.`
    } Its key and its activations stay.`,
    { code: 'CONFLICT', field: 'plan_id', facts: { reason: 'other-product', isCovered } },
  );
}

interface Amendment {
  changes: LicenseChanges;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** @param decide runs under the lock; if it returns undefined, the licence stays unchanged */
function amend(
  db: Db,
  id: number,
  action: EventAction,
  { actor, now }: ChangeContext,
  decide: (
    license: LockedLicense,
    trx: Transaction,
  ) => Amendment | undefined | Promise<Amendment | undefined>,
): Promise<License> {
  return changeLicense(db, id, async (trx, license) => {
    const amendment = await decide(license, trx);
    if (amendment === undefined) return;
    const { changes, before, after } = amendment;
    // Even without changes, because each event is a revision.
    await setLicense(trx, id, changes);
    await recordEvents(trx, [{ licenseId: id, at: now, actor, action, before, after }]);
  });
}
