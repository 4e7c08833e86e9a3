import { deleteActivation, findActivation, insertActivation, setActivationName } from '../store/activations';
import { findPlan } from '../store/catalogue';
import type { Db, Transaction } from '../store/database';
import { isDuplicate } from '../store/errors';
import { insertEvents, type LicenseEvent } from '../store/events';
import {
  forceSlot,
  freeSlot,
  lockLicense,
  takeSlot,
  type LicenseTerms,
  type LockedLicense,
} from '../store/licenses';
import { inTransaction } from '../store/transaction';
import { normalizeIdentifier, type ActivationType } from './identifiers';
import type { Found } from './lookup';
import { OperatorError } from './operator-error';
import type { Refusal } from './refusals';
import { stateRefusal, type Standing } from './states';

/** What was found for a request, and how to look again when the licence changed under it. */
export type LookUp = () => Promise<Found | undefined>;

export interface Activated {
  license: LicenseTerms;
  identifier: string;
  activationsUsed: number;
}

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
 */
export async function activate(
  db: Db,
  lookUp: LookUp,
  request: ActivateRequest,
  now: Date,
): Promise<Activated | Refusal> {
  for (;;) {
    const found = await lookUp();
    if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
    const { license, identifier, activatedAs } = found;
    const refusal = judge(license, license, identifier, activatedAs !== undefined, now);
    if (refusal !== undefined) return { license, ...refusal };
    const activated = { license, identifier: identifier as string };
    if (activatedAs && (request.name === undefined || request.name === activatedAs.name))
      return { ...activated, activationsUsed: license.activationsUsed };
    const outcome = await activateLocked(db, activated, request, now);
    if (outcome !== 'changed') return outcome;
  }
}

/** Stands for: the licence got another key or plan since it was read, so the request must be looked up again. */
type Changed = 'changed';

function activateLocked(
  db: Db,
  { license, identifier }: { license: LicenseTerms; identifier: string },
  { name, ip, actor }: ActivateRequest,
  now: Date,
): Promise<Activated | Refusal | Changed> {
  return inTransaction(db, async (trx) => {
    const locked = await lockLicense(trx, license.id);
    if (locked === undefined || !isSameLicense(locked, license)) return 'changed';
    const existing = await findActivation(trx, license.id, identifier);
    const refusal = judge(license, locked, identifier, existing !== undefined, now);
    if (refusal !== undefined) return { license, ...refusal };
    let { activationsUsed } = locked;
    if (existing === undefined) {
      if (!(await isStillCountedBy(trx, license.plan))) return 'changed';
      const taken = await insertAndTakeSlot(trx, { license, identifier, name, ip, now });
      if (!taken) return 'changed';
      activationsUsed += 1;
      await insertEvents(trx, [
        event(license.id, actor, 'activate', now, {
          before: { activations_used: activationsUsed - 1 },
          after: { activations_used: activationsUsed, identifier, name: name ?? null },
        }),
      ]);
    } else if (name !== undefined && name !== existing.name) {
      await setActivationName(trx, license.id, identifier, name);
      await insertEvents(trx, [
        event(license.id, actor, 'rename-activation', now, {
          before: { identifier, name: existing.name },
          after: { identifier, name },
        }),
      ]);
    }
    // What was read before the lock may be older than the counter: one answer tells of one moment.
    const { activationLimit, expiresAt } = locked;
    return { license: { ...license, activationLimit, expiresAt }, identifier, activationsUsed };
  });
}

/**
 * Under the lock both must succeed; the unique index and the counter's condition stand behind it for the case that
 * somebody wrote these tables without it.
 *
 * @returns false when they did
 */
async function insertAndTakeSlot(
  trx: Transaction,
  activation: { license: LicenseTerms; identifier: string; name: string | undefined; ip: string; now: Date },
): Promise<boolean> {
  const { license, identifier, name, ip, now } = activation;
  if (!(await takeSlot(trx, license.id))) return false;
  try {
    await insertActivation(trx, {
      licenseId: license.id,
      identifier,
      name: name ?? null,
      ip,
      activatedAt: now,
    });
    return true;
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    await freeSlot(trx, license.id);
    return false;
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
  const identifier = normalizeIdentifier(license.plan.activationType as ActivationType, text);
  if (identifier === undefined)
    throw new OperatorError(
      `This is not a valid ${license.plan.activationType}, which plan ${license.plan.id} counts by.`,
    );
  return inTransaction(db, async (trx) => {
    const locked = await lockLicense(trx, license.id);
    const isSame = locked !== undefined && isSameLicense(locked, license);
    if (!isSame || !(await isStillCountedBy(trx, license.plan)))
      throw new OperatorError(`Licence ${license.id} was changed by somebody else meanwhile. Try again.`);
    if (await findActivation(trx, license.id, identifier))
      throw new OperatorError(`${identifier} is activated on licence ${license.id} already.`);
    await forceSlot(trx, license.id);
    await insertActivation(trx, {
      licenseId: license.id,
      identifier,
      name: name ?? null,
      ip: null,
      activatedAt: now,
    });
    const activationsUsed = locked.activationsUsed + 1;
    await insertEvents(trx, [
      event(license.id, actor, 'activate', now, {
        before: { activations_used: locked.activationsUsed },
        after: { activations_used: activationsUsed, identifier, name: name ?? null, override: true },
      }),
    ]);
    return { license, identifier, activationsUsed };
  });
}

/**
 * Frees an identifier's slot, in every state of the licence.
 *
 * @returns the slots used afterwards
 */
export async function deactivate(
  db: Db,
  lookUp: LookUp,
  actor: string,
  now: Date,
): Promise<Activated | Refusal> {
  for (;;) {
    const found = await lookUp();
    if (found === undefined) return { refused: 'LICENSE_NOT_FOUND' };
    const { license, identifier, activatedAs } = found;
    if (identifier === undefined) return { license, ...wrongIdentifier(license) };
    if (activatedAs === undefined) return { license, refused: 'ACTIVATION_NOT_FOUND' };
    const outcome = await inTransaction(db, async (trx): Promise<Activated | Refusal | Changed> => {
      const locked = await lockLicense(trx, license.id);
      if (locked === undefined || !isSameLicense(locked, license)) return 'changed';
      if (!(await deleteActivation(trx, license.id, identifier)))
        return { license, refused: 'ACTIVATION_NOT_FOUND' };
      await freeSlot(trx, license.id);
      const activationsUsed = Math.max(0, locked.activationsUsed - 1);
      await insertEvents(trx, [
        event(license.id, actor, 'deactivate', now, {
          before: { activations_used: locked.activationsUsed, identifier, name: activatedAs.name },
          after: { activations_used: activationsUsed },
        }),
      ]);
      return { license, identifier, activationsUsed };
    });
    if (outcome !== 'changed') return outcome;
  }
}

/**
 * The verdict, in the decided order: status, expiry, identifier fits its type, already activated, free slot.
 *
 * @param current the licence's row as it is now, which may be newer than `license`
 * @returns undefined when nothing stands against it
 */
function judge(
  license: LicenseTerms,
  current: Standing & { activationLimit: number; activationsUsed: number },
  identifier: string | undefined,
  activated: boolean,
  now: Date,
): Refusal | undefined {
  const refused = stateRefusal(current, now);
  if (refused !== undefined) return { refused };
  if (identifier === undefined) return wrongIdentifier(license);
  const { activationLimit, activationsUsed } = current;
  if (!activated && activationLimit !== 0 && activationsUsed >= activationLimit)
    return { refused: 'ACTIVATION_LIMIT_REACHED', slots: { activationLimit, activationsUsed } };
  return undefined;
}

function wrongIdentifier(license: LicenseTerms): Refusal {
  return {
    refused: 'INVALID_REQUEST',
    message: `"identifier" is not a valid ${license.plan.activationType} for this license.`,
  };
}

/**
 * Whether the plan counts by what the identifier was spelled for. Read under the licence's lock, without one on the
 * plan: whoever changes that holds all of its licences.
 */
async function isStillCountedBy(trx: Transaction, plan: LicenseTerms['plan']): Promise<boolean> {
  return (await findPlan(trx, plan.id))?.activationType === plan.activationType;
}

function isSameLicense(locked: LockedLicense, read: LicenseTerms): boolean {
  return locked.keyDigest === read.keyDigest && locked.planId === read.plan.id;
}

function event(
  licenseId: number,
  actor: string,
  action: string,
  at: Date,
  { before, after }: Pick<LicenseEvent, 'before' | 'after'>,
): LicenseEvent {
  return { licenseId, actor, action, at, before, after };
}
