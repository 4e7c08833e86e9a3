import { table, type Db, type Transaction } from './engine/database';
import { isDuplicate } from './engine/errors';
import { rowToFields } from './engine/row-fields';
import { toSqlTime } from './engine/time';
import { inReadCommitted } from './engine/transaction';

/** Requests for one-time links by address. An address has a few slots; a request that finds all of them taken gets no link. */

export interface SlotOfRequest {
  slot: number;
  requestedAt: Date;
}

/** Takes a slot that was not taken after `since`. @returns false if no slot is free */
export async function takeLinkSlot(
  db: Db,
  addressDigest: string,
  slots: number,
  now: Date,
  since: Date,
): Promise<boolean> {
  const rows = await db(table(db, 'link_requests'))
    .where({ address_digest: addressDigest })
    .select('slot', 'requested_at');
  const taken = rows.map(rowToFields);
  for (let slot = 1; slot <= slots; slot++) {
    const earlier = taken.find((one) => one.slot === slot);
    if (earlier !== undefined && earlier.requestedAt > since) continue;
    const key = { address_digest: addressDigest, slot };
    const isTaken =
      earlier === undefined
        ? await insertSlot(db, { ...key, requested_at: toSqlTime(now) })
        : await renewSlot(db, key, now, since);
    if (isTaken) return true;
  }
  return false;
}

async function insertSlot(db: Db, row: object): Promise<boolean> {
  try {
    await db(table(db, 'link_requests')).insert(row);
    return true;
  } catch (error) {
    if (isDuplicate(error)) return false;
    throw error;
  }
}

/** Renews a slot. Two updates that the server does by the index on the time can deadlock, so the update is retried. */
async function renewSlot(db: Db, key: object, now: Date, since: Date): Promise<boolean> {
  const renew = async (trx: Transaction) =>
    (await trx(table(trx, 'link_requests'))
      .where(key)
      .where('requested_at', '<=', toSqlTime(since))
      .update({ requested_at: toSqlTime(now) })) === 1;
  return inReadCommitted(db, renew);
}

/** Deletes a few slots that were taken before `before`. @returns how many were found */
export async function pruneLinkRequests(db: Db, before: Date, limit: number): Promise<number> {
  const slots = await db(table(db, 'link_requests'))
    .where('requested_at', '<', toSqlTime(before))
    .orderBy('requested_at')
    .limit(limit)
    .select('address_digest', 'slot');
  // The slot may have been taken again since.
  for (const slot of slots)
    await db(table(db, 'link_requests')).where(slot).where('requested_at', '<', toSqlTime(before)).delete();
  return slots.length;
}
