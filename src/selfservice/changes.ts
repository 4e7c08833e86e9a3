import { findActivation } from '../store/licenses/activations';
import { findPlan } from '../store/catalogue';
import type { Db, Transaction } from '../store/engine/database';
import { findKeys, listKeys, type LicenseKey } from '../store/licenses/license-keys';
import { lockLicense, type LockedLicense } from '../store/licenses/licenses';
import { inTransaction } from '../store/engine/transaction';
import { listFollowers } from '../licensing/activations';
import { revealKey } from '../licensing/amend';
import { isKeyActive, rekey } from '../licensing/license-keys';
import { removeActivations } from '../licensing/core/ledger';
import { recordEvents } from '../licensing/webhook-events';
import { OperatorError } from '../licensing/operator-error';
import { SealError } from '../licensing/sealing';
import { isRefusal } from '../licensing/core/verdict';
import type { Removals } from '../texts/customers/standing';
import { ACTOR, findRemovals, removalQuotaOf } from './removals';

/**
 * Changes by a customer who opened a link in a mail. Each function locks the licence and checks that it belongs to the
 * address. It returns undefined if it does not, or if the licence has no such site or key.
 */

/** A mail about a change, which is queued in the transaction of the change. */
export type ChangeMail =
  | { type: 'key_changed'; licenseId: number; keyId?: number }
  | { type: 'site_removed'; licenseId: number; site: string; testSites: string[] };

export interface Changing {
  now: Date;
  /** queues a mail; undefined if mail is not set up */
  queue?: ((trx: Transaction, mail: ChangeMail) => Promise<unknown>) | undefined;
}

interface FreedSite extends Pick<Removals, 'left' | 'nextAt'> {
  /** the removed identifier */
  freed: string;
  activationType: string | undefined;
}

/**
 * Removes a site, within the plan's allowance. A site without a slot (free staging) does not count, because removing it
 * frees no slot. Sites that are removed together with the last site with a slot do not count either.
 */
export function freeMySite(
  db: Db,
  email: string,
  licenseId: number,
  activationId: number,
  { now, queue }: Changing,
): Promise<
  | FreedSite
  | { refused: 'NO_MOVES_LEFT'; nextAt: Date | null }
  | { refused: 'ACTIVATION_HELD'; heldUntil: Date }
  | undefined
> {
  return changeTheirs(db, email, licenseId, async (trx, license) => {
    const activation = await findActivation(trx, licenseId, { id: activationId });
    if (activation === undefined) return undefined;
    const { identifier, free } = activation;
    const plan = await findPlan(trx, license.planId);
    const readRemovals = async () =>
      removalQuotaOf(
        plan?.selfServiceMoves ?? 0,
        (await findRemovals(trx, [licenseId], now)).get(licenseId) ?? [],
      );
    const { left, nextAt } = await readRemovals();
    if (!free && left === 0) return { refused: 'NO_MOVES_LEFT', nextAt };
    const [main] = await findKeys(trx, [license.mainKeyId]);
    const { keyDigest } = main as LicenseKey;
    const testSites = await listFollowers(trx, activation);
    const by = { actor: ACTOR, now, evenHeld: false };
    const [removed] = await removeActivations(
      trx,
      { id: licenseId, keyDigest },
      [identifier],
      by,
      recordEvents,
    );
    if (removed && isRefusal(removed))
      return { refused: 'ACTIVATION_HELD', heldUntil: removed.heldUntil ?? now };
    await queue?.(trx, { type: 'site_removed', licenseId, site: identifier, testSites });
    const after = await readRemovals();
    return {
      freed: identifier,
      activationType: plan?.activationType,
      left: after.left,
      nextAt: after.nextAt,
    };
  });
}

interface ChangedKey {
  key: string;
  keyId: number;
  keyHint: string | null;
  /** the time when the replaced key stops working */
  oldEndsAt: Date;
}

/**
 * Replaces a key with a new one (`rekey`).
 * @throws OperatorError (CONFLICT) if the overlap would give the licence too many keys
 */
export function newMyKey(
  db: Db,
  email: string,
  licenseId: number,
  {
    keyId,
    overlap,
    keySecret,
    now,
    queue,
  }: Changing & { keyId?: number | undefined; overlap?: '14d' | undefined; keySecret: Buffer | undefined },
): Promise<ChangedKey | { refused: 'KEY_ENDED' } | undefined> {
  return changeTheirs(db, email, licenseId, async (trx, license) => {
    const old = await findTheirKey(trx, license, keyId);
    if (old === undefined) return undefined;
    if (!isKeyActive(old, now) || old.replacedBy !== null) return { refused: 'KEY_ENDED' };
    const { key, stored, oldEndsAt } = await rekey(trx, licenseId, { keyId: old.id, overlap }, keySecret, {
      actor: ACTOR,
      now,
    });
    await queue?.(trx, { type: 'key_changed', licenseId, keyId: stored.id });
    return { key, keyId: stored.id, keyHint: stored.keyHint, oldEndsAt };
  });
}

/** Reveals a whole key, which the history records. `KEY_NOT_KEPT`: it is not stored, or is encrypted with another secret. */
export function revealMyKey(
  db: Db,
  email: string,
  licenseId: number,
  { keyId, keySecret, now }: { keyId?: number | undefined; keySecret: Buffer | undefined; now: Date },
): Promise<{ key: string; keyHint: string | null } | { refused: 'KEY_ENDED' | 'KEY_NOT_KEPT' } | undefined> {
  return changeTheirs(db, email, licenseId, async (trx, license) => {
    const stored = await findTheirKey(trx, license, keyId);
    if (stored === undefined) return undefined;
    if (!isKeyActive(stored, now)) return { refused: 'KEY_ENDED' };
    try {
      const { key } = await revealKey(trx, licenseId, stored.id, keySecret, { actor: ACTOR, now });
      return { key, keyHint: stored.keyHint };
    } catch (error) {
      if (error instanceof OperatorError || error instanceof SealError) return { refused: 'KEY_NOT_KEPT' };
      throw error;
    }
  });
}

/** @param keyId by default the main key */
async function findTheirKey(
  trx: Transaction,
  { id, mainKeyId }: LockedLicense,
  keyId = mainKeyId,
): Promise<LicenseKey | undefined> {
  return (await listKeys(trx, id)).find((key) => key.id === keyId);
}

function changeTheirs<T>(
  db: Db,
  email: string,
  licenseId: number,
  work: (trx: Transaction, license: LockedLicense) => Promise<T | undefined>,
): Promise<T | undefined> {
  return inTransaction(db, async (trx) => {
    const license = await lockLicense(trx, licenseId);
    return license?.customer === email ? work(trx, license) : undefined;
  });
}
