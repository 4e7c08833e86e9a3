import type { Db } from '../store/engine/database';
import type { License } from '../store/licenses/licenses';
import {
  findActivation,
  findActivationsOfSites,
  type Activation,
  type StoredActivation,
} from '../store/licenses/activations';
import { normalizeIdentifier } from './core/identifiers';
import { createLedger } from './core/ledger';
import { followersOf, type SlotResult } from './core/slot-changes';
import type { ChangeContext } from './lifecycle';
import { OperatorError } from './operator-error';
import { isRefusal } from './core/verdict';
import { recordEvents } from './webhook-events';

export { findActivation };

/**
 * Activates an identifier in every state and above the limit. An existing activation stays unchanged (`repeated`).
 * @throws OperatorError if the identifier is invalid
 */
export async function addActivation(
  db: Db,
  { id, keyDigest, plan }: License,
  { identifier, name }: { identifier: string; name?: string | undefined },
  { actor, now }: ChangeContext,
): Promise<SlotResult> {
  const added = await createLedger(db, recordEvents).override({
    keyDigest,
    identifier,
    name,
    actor,
    now,
  });
  if (!isRefusal(added)) return added;
  if (added.refused === 'INVALID_REQUEST')
    throw new OperatorError(
      `This is not a valid ${plan.activationType}. Plan ${plan.id} counts by ${plan.activationType}.`,
      {
        code: 'INVALID_REQUEST',
        field: 'identifier',
      },
    );
  throw new OperatorError(`Another request changed licence ${id} meanwhile. Try again.`, {
    code: 'CONFLICT',
  });
}

/** @param text the identifier in any spelling @throws OperatorError if it is not activated */
export async function requireActivationOf(
  db: Db,
  { id, plan }: Pick<License, 'id' | 'plan'>,
  text: string,
): Promise<StoredActivation> {
  const identifier = normalizeIdentifier(plan.activationType, text) ?? text;
  return (await findActivation(db, id, { identifier })) ?? notActivated(id);
}

function notActivated(id: number): never {
  throw new OperatorError(`That identifier is not activated on licence ${id}.`, {
    code: 'NOT_FOUND',
    facts: { reason: 'not-activated', license: id },
  });
}

/** @throws OperatorError if the identifier is not activated */
export async function listFollowers(
  db: Db,
  { licenseId, identifier, site }: Pick<Activation, 'licenseId' | 'identifier' | 'site'>,
): Promise<string[]> {
  if (site === null) return [];
  const ofDomain = await findActivationsOfSites(db, [{ licenseId, site }]);
  const own = ofDomain.find((one) => one.identifier === identifier);
  const followers = own ? followersOf(own, ofDomain, ({ free }) => free) : [];
  return followers.map((one) => one.identifier);
}

/** @throws OperatorError when the identifier is not activated */
export async function removeActivation(
  db: Db,
  { id, keyDigest }: License,
  identifier: string,
  { actor, now }: ChangeContext,
): Promise<SlotResult> {
  const removed = await createLedger(db, recordEvents).deactivate({
    keyDigest,
    identifier,
    actor,
    now,
    evenHeld: true,
  });
  return isRefusal(removed) ? notActivated(id) : removed;
}
