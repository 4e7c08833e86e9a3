import { activationKey, deleteActivation, findActivations, insertActivations } from '../store/activations';
import { findActivationTypes } from '../store/catalogue';
import type { Db, Transaction } from '../store/database';
import { insertEvents } from '../store/events';
import { forceSlot, freeSlot, lockLicense, type LicenseTerms } from '../store/licenses';
import { inTransaction } from '../store/transaction';
import { isSameLicense, judge, wrongIdentifier, type Activated, type Changed, type Claim } from './claims';
import { normalizeIdentifier } from './identifiers';
import type { LockWaits } from './lock-waits';
import type { Found } from './lookup';
import { OperatorError } from './operator-error';
import type { Refusal } from './refusals';

/** What was found for a request, and how to look again when the licence changed under it. */
export type LookUp = () => Promise<Found | undefined>;

export interface ActivateRequest {
  /** a label to store; undefined leaves the stored one */
  name: string | undefined;
  /** the client's address */
  ip: string;
  /** who is named in the licence's history */
  actor: string;
}

/**
 * Activates an identifier on a licence (contract, section 4.1). An identifier that is activated already is success
 * and takes no slot.
 *
 * A plain read answers what needs no write: refusals, and repeated activations. What writes is judged once more
 * under a lock on the licence's row, so that no race can overrun the limit.
 *
 * @param claim writes: `createClaims`
 */
export async function activate(
  lookUp: LookUp,
  claim: (claim: Claim) => Promise<Activated | Refusal | Changed>,
  request: ActivateRequest,
  now: Date,
): Promise<Activated | Refusal> {
  for (;;) {
    const found = await lookUp();
    if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
    const { license, identifier, activation } = found;
    const refusal = judge(license, license, identifier, activation !== undefined, now);
    if (refusal !== undefined) return { license, ...refusal };
    const activated = { license, identifier: identifier as string };
    if (activation && (request.name === undefined || request.name === activation.name))
      return { ...activated, activationsUsed: license.activationsUsed };
    const outcome = await claim({ ...activated, ...request, now });
    if (outcome !== 'changed') return outcome;
  }
}

/**
 * Activates an identifier by the operator's word: in every state, and over the limit too. The history records it as
 * an override.
 *
 * @param text in any spelling
 * @throws OperatorError when it is no identifier of the plan's type, or activated already
 */
export async function overrideActivation(
  db: Db,
  license: LicenseTerms,
  { text, name }: { text: string; name: string | undefined },
  actor: string,
  now: Date,
): Promise<Activated> {
  const identifier = normalizeIdentifier(license.plan.activationType, text);
  if (identifier === undefined)
    throw new OperatorError(
      `This is not a valid ${license.plan.activationType}, which plan ${license.plan.id} counts by.`,
    );
  return inTransaction(db, async (trx) => {
    const locked = await lockLicense(trx, license.id);
    const { id, activationType } = license.plan;
    const isSame = locked !== undefined && isSameLicense(locked, license);
    if (!isSame || (await findActivationTypes(trx, [id])).get(id) !== activationType)
      throw new OperatorError(`Licence ${license.id} was changed by somebody else meanwhile. Try again.`);
    if ((await findActivations(trx, [{ licenseId: license.id, identifier }])).size > 0)
      throw new OperatorError(`${identifier} is activated on licence ${license.id} already.`);
    await forceSlot(trx, license.id);
    await insertActivations(trx, [
      { licenseId: license.id, identifier, name: name ?? null, ip: null, activatedAt: now },
    ]);
    const activationsUsed = locked.activationsUsed + 1;
    await insertEvents(trx, [
      {
        licenseId: license.id,
        at: now,
        actor,
        action: 'activate',
        before: { activations_used: locked.activationsUsed },
        after: { activations_used: activationsUsed, identifier, name: name ?? null, override: true },
      },
    ]);
    return { license, identifier, activationsUsed };
  });
}

/**
 * Frees an identifier's slot, in every state of the licence.
 *
 * @returns what was freed and the slots used afterwards, or why nothing was
 */
export async function deactivate(
  db: Db,
  lockWaits: LockWaits,
  lookUp: LookUp,
  actor: string,
  now: Date,
): Promise<Activated | Refusal> {
  for (;;) {
    const found = await lookUp();
    if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
    const { license, identifier, activation } = found;
    if (identifier === undefined) return { license, ...wrongIdentifier(license) };
    if (activation === undefined) return { license, refused: 'ACTIVATION_NOT_FOUND' };
    const freeLocked = async (trx: Transaction): Promise<Activated | Refusal | Changed> => {
      const locked = await lockLicense(trx, license.id);
      if (locked === undefined || !isSameLicense(locked, license)) return 'changed';
      const pair = { licenseId: license.id, identifier };
      const held = (await findActivations(trx, [pair])).get(activationKey(pair));
      if (held === undefined || !(await deleteActivation(trx, pair)))
        return { license, refused: 'ACTIVATION_NOT_FOUND' };
      await freeSlot(trx, license.id);
      const activationsUsed = Math.max(0, locked.activationsUsed - 1);
      await insertEvents(trx, [
        {
          licenseId: license.id,
          at: now,
          actor,
          action: 'deactivate',
          before: { activations_used: locked.activationsUsed, identifier, name: held.name },
          after: { activations_used: activationsUsed },
        },
      ]);
      return { license, identifier, activationsUsed };
    };
    const outcome = await lockWaits(license.id, () => inTransaction(db, freeLocked));
    if (outcome !== 'changed') return outcome;
  }
}
