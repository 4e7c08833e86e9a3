import { listActivations } from '../store/activations';
import { sharePlan, type Plan } from '../store/catalogue';
import type { Db, Transaction } from '../store/database';
import { insertEvents } from '../store/events';
import {
  findLicense,
  setLicense,
  type License,
  type LicenseChanges,
  type LockedLicense,
} from '../store/licenses';
import { requireEmail } from './customer-email';
import { openKey } from './issue';
import { generateKey } from './keys';
import { changeLicense, type ChangeContext } from './lifecycle';
import { OperatorError } from './operator-error';
import { noLicense, noPlan, requirePlan } from './require';
import { storedKey } from './sealing';

/** Changes of a licence that leave its state as it is. Each is an event in its history. */

/** @param limit 0: unlimited. Activations over it are kept; no new one is taken until they are fewer. */
export function setLimit(db: Db, id: number, limit: number, context: ChangeContext): Promise<License> {
  return amend(db, id, 'set-limit', context, (license) => withLimit(license, limit));
}

/**
 * The same for a licence that has the old limit of its plan. Looked at under the lock: somebody may have given it
 * another limit, or another plan, since it was found.
 *
 * @returns false when somebody has; it is left as it is then
 */
export async function followLimit(
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

/** @throws OperatorError when the customer is not an e-mail address (`requireEmail`) */
export function setCustomer(db: Db, id: number, customer: string, context: ChangeContext): Promise<License> {
  const address = requireEmail(customer);
  return amend(db, id, 'set-customer', context, (license) => ({
    changes: { customer: address },
    before: { customer: license.customer },
    after: { customer: address },
  }));
}

/**
 * Moves a licence to another plan of its product, with that plan's slots. The end stays, and so do the activations.
 *
 * @throws OperatorError for a plan of another product, or one whose slots are taken by another kind of identifier
 */
export function changePlan(db: Db, id: number, planId: number, context: ChangeContext): Promise<License> {
  return amend(db, id, 'change-plan', context, async (license, trx) => {
    const plan = (await sharePlan(trx, planId)) ?? noPlan(planId);
    await refuseForeignPlan(trx, license, plan);
    return {
      changes: { planId, activationLimit: plan.activationLimit },
      before: { plan_id: license.planId, activation_limit: license.activationLimit },
      after: { plan_id: planId, activation_limit: plan.activationLimit },
    };
  });
}

/**
 * Gives a licence a new key; the old one stops at once. Activations are kept.
 *
 * @param secret seals the new key, when there is one
 */
export async function rekey(
  db: Db,
  id: number,
  secret: Buffer | undefined,
  context: ChangeContext,
): Promise<{ license: License; key: string }> {
  const key = generateKey();
  const stored = storedKey(key, secret);
  const license = await amend(db, id, 'rekey', context, (locked) => ({
    changes: stored,
    before: { key_hint: locked.keyHint },
    after: { key_hint: stored.keyHint },
  }));
  return { license, key };
}

/**
 * The key of a licence, if it was kept. That it was shown is an event.
 *
 * @throws OperatorError when it was not; SealError when it cannot be opened
 */
export async function revealKey(
  db: Db,
  id: number,
  secret: Buffer | undefined,
  context: ChangeContext,
): Promise<{ license: License; key: string }> {
  const license = (await findLicense(db, id)) ?? noLicense(id);
  const key = openKey(license, secret);
  await amend(db, id, 'reveal', context, () => ({ changes: {}, before: null, after: null }));
  return { license, key };
}

async function refuseForeignPlan(trx: Transaction, license: LockedLicense, plan: Plan): Promise<void> {
  const { productId, activationType } = await requirePlan(trx, license.planId);
  if (plan.productId !== productId)
    throw new OperatorError(
      `Plan ${plan.id} belongs to product ${plan.productId}, licence ${license.id} to product ${productId}. ` +
        'For another product issue another licence.',
      { code: 'CONFLICT' },
    );
  if (plan.activationType !== activationType && (await listActivations(trx, license.id)).length > 0)
    throw new OperatorError(
      `Plan ${plan.id} counts by ${plan.activationType}, and licence ${license.id} has activations by ${activationType}. ` +
        `Remove those first: "licensing activation remove ${license.id} IDENTIFIER".`,
      { code: 'CONFLICT' },
    );
}

interface Amendment {
  changes: LicenseChanges;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** @param decide under the lock; undefined: the licence stays as it is */
function amend(
  db: Db,
  id: number,
  action: string,
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
    if (Object.keys(changes).length > 0) await setLicense(trx, id, changes);
    await insertEvents(trx, [{ licenseId: id, at: now, actor, action, before, after }]);
  });
}
