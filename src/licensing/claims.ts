import {
  activationKey,
  findActivations,
  insertActivations,
  setActivationName,
  type Activation,
} from '../store/activations';
import { findActivationTypes } from '../store/catalogue';
import type { Db, Transaction } from '../store/database';
import { isLockConflict, isUnavailable } from '../store/errors';
import { insertEvents, type LicenseEvent } from '../store/events';
import { findHeld, lockLicenses, takeSlots, type LicenseTerms, type LockedLicense } from '../store/licenses';
import { inTransaction, tryTransaction } from '../store/transaction';
import { createGroup, type GroupOptions } from './group';
import { isActivationType } from './identifiers';
import type { LockWaits } from './lock-waits';
import type { Refusal } from './refusals';
import { stateRefusal, type Standing } from './states';

/** An activation that has something to write: a slot to take, or a label to change. */
export interface Claim {
  /** as it was read */
  license: LicenseTerms;
  /** normalised */
  identifier: string;
  /** a label to store; undefined leaves the stored one */
  name: string | undefined;
  /** the client's address */
  ip: string;
  /** who is named in the licence's history */
  actor: string;
  now: Date;
}

export interface Activated {
  license: LicenseTerms;
  identifier: string;
  activationsUsed: number;
}

/** Stands for: the licence got another key or plan since it was read, so the request must be looked up again. */
export type Changed = 'changed';

type Outcome = Activated | Refusal | Changed;

/** Claims that may wait for one licence; one more is refused at once. */
const MAX_WAITING_ALONE = 500;

/**
 * Judges and writes claims: those that are made at the same time in one transaction, as if they had come one after
 * the other.
 *
 * A batch waits for nobody's lock. Where it meets one, it is rolled back whole and written without the licences that are
 * held. Those, and all where it fails for a reason that may be one licence's own, go on by themselves, each in a
 * transaction that waits; further claims on them go the same way until none is left. So a licence that somebody holds
 * keeps its own claims waiting, on one connection, and nobody else's.
 */
export function createClaims(
  db: Db,
  lockWaits: LockWaits,
  options: GroupOptions,
): (claim: Claim) => Promise<Outcome> {
  const optionsAlone = { ...options, maxWaiting: MAX_WAITING_ALONE };
  const alone = new Map<number, { waiting: number; submit: (claim: Claim) => Promise<Outcome> }>();

  function claimAlone(claim: Claim): Promise<Outcome> {
    const { id } = claim.license;
    const writeAlone = (claims: Claim[]) =>
      lockWaits(id, () => inTransaction(db, (trx) => write(trx, claims, { wait: true })));
    const license = alone.get(id) ?? { waiting: 0, submit: createGroup(writeAlone, optionsAlone) };
    alone.set(id, license);
    license.waiting++;
    return license.submit(claim).finally(() => {
      if (--license.waiting === 0) alone.delete(id);
    });
  }

  async function writeTogether(claims: Claim[]): Promise<(Outcome | Promise<Outcome>)[]> {
    const tried = await tryWithoutWaiting(claims);
    if ('result' in tried) return tried.result;
    const { failure } = tried;
    throwIfAway(failure);
    const held = isLockConflict(failure)
      ? await findHeld(db, [...new Set(claims.map(({ license }) => license.id))])
      : new Set<number>();
    const free = claims.filter(({ license }) => !held.has(license.id));
    if (held.size === 0 || free.length === 0) return claims.map(claimAlone);
    const again = await tryWithoutWaiting(free);
    if (!('result' in again)) {
      throwIfAway(again.failure);
      return claims.map(claimAlone);
    }
    const outcomes = new Map(free.map((claim, i) => [claim, again.result[i] as Outcome]));
    return claims.map((claim) => outcomes.get(claim) ?? claimAlone(claim));
  }

  /** Alone, each would only meet the same. */
  function throwIfAway(failure: unknown): void {
    if (isUnavailable(failure) && !isLockConflict(failure)) throw failure;
  }

  function tryWithoutWaiting(claims: Claim[]) {
    return tryTransaction(db, (trx) => write(trx, claims, { wait: false }));
  }

  const claimTogether = createGroup(writeTogether, options);
  return (claim) => (alone.has(claim.license.id) ? claimAlone : claimTogether)(claim);
}

/**
 * Judges claims in their order, each by what those before it leave, and writes all that comes of them. Under the locks
 * that must succeed: the unique index and the counter's condition stand behind it for the case that somebody wrote
 * these tables without them.
 */
async function write(trx: Transaction, claims: Claim[], { wait }: { wait: boolean }): Promise<Outcome[]> {
  const licenses = await lockLicenses(trx, [...new Set(claims.map(({ license }) => license.id))], { wait });
  // Read under the licences' locks, without one on the plans: whoever changes what a plan counts by holds all of its
  // licences.
  const types = await findActivationTypes(trx, [...new Set(claims.map(({ license }) => license.plan.id))]);
  const activations: Map<string, Label> = await findActivations(
    trx,
    claims.map(({ license, identifier }) => ({ licenseId: license.id, identifier })),
  );
  const added: Activation[] = [];
  const renamed = new Set<Label>();
  const slots = new Map<number, number>();
  const events: LicenseEvent[] = [];

  const outcomes = claims.map(({ license, identifier, name, ip, actor, now }): Outcome => {
    const { id, plan } = license;
    const locked = licenses.get(id);
    if (locked === undefined || !isSameLicense(locked, license) || types.get(plan.id) !== plan.activationType)
      return 'changed';
    const key = activationKey({ licenseId: id, identifier });
    const known = activations.get(key);
    const refusal = judge(license, locked, identifier, known !== undefined, now);
    if (refusal !== undefined) return { license, ...refusal };
    if (known === undefined) {
      const activation = { licenseId: id, identifier, name: name ?? null, ip, activatedAt: now };
      activations.set(key, activation);
      added.push(activation);
      slots.set(id, (slots.get(id) ?? 0) + 1);
      const before = { activations_used: locked.activationsUsed++ };
      const after = { activations_used: locked.activationsUsed, identifier, name: name ?? null };
      events.push({ licenseId: id, at: now, actor, action: 'activate', before, after });
    } else if (name !== undefined && name !== known.name) {
      const before = { identifier, name: known.name };
      const after = { identifier, name };
      events.push({ licenseId: id, at: now, actor, action: 'rename-activation', before, after });
      known.name = name;
      renamed.add(known);
    }
    // What was read before the lock may be older than the counter: one answer tells of one moment.
    const { activationLimit, activationsUsed, expiresAt } = locked;
    return { license: { ...license, activationLimit, expiresAt }, identifier, activationsUsed };
  });

  if (added.length > 0) {
    await takeSlots(trx, slots);
    await insertActivations(trx, added);
  }
  for (const { licenseId, identifier, name } of renamed)
    await setActivationName(trx, licenseId, identifier, name);
  if (events.length > 0) await insertEvents(trx, events);
  return outcomes;
}

type Label = Pick<Activation, 'licenseId' | 'identifier' | 'name'>;

/**
 * The verdict, in the decided order: status, expiry, identifier fits its type, already activated, free slot.
 *
 * @param current the licence's row as it is now, which may be newer than `license`
 * @returns undefined when nothing stands against it
 */
export function judge(
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

/**
 * The refusal of an identifier that is none of the plan's type.
 *
 * @throws Error when that is no type at all: no command writes such a plan, and its customers can do nothing about it
 */
export function wrongIdentifier({ plan }: LicenseTerms): Refusal {
  if (!isActivationType(plan.activationType))
    throw new Error(`Plan ${plan.id} counts by something that is no activation type.`);
  return {
    refused: 'INVALID_REQUEST',
    message: `"identifier" is not a valid ${plan.activationType} for this license.`,
  };
}

/** Whether the licence still has the key and the plan it was read with. */
export function isSameLicense(locked: LockedLicense, read: LicenseTerms): boolean {
  return locked.keyDigest === read.keyDigest && locked.planId === read.plan.id;
}
