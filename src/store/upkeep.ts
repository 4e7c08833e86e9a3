import { table, type Db, type Transaction } from './database';

/** What is read and set right beside the daily business. */

export interface Miscount {
  licenseId: number;
  /** as the licence says */
  activationsUsed: number;
  /** rows there are */
  activations: number;
}

/** Licences whose counter is not the number of their activations, by id. */
export async function findMiscounts(db: Db, limit: number): Promise<Miscount[]> {
  const rows = (await db({ l: table(db, 'licenses') })
    .leftJoin({ a: table(db, 'activations') }, 'a.license_id', 'l.id')
    .groupBy('l.id', 'l.activations_used')
    .havingRaw('COUNT(a.id) <> l.activations_used')
    .orderBy('l.id')
    .limit(limit)
    .select({ licenseId: 'l.id', activationsUsed: 'l.activations_used' })
    .count({ activations: 'a.id' })) as unknown as Miscount[];
  return rows;
}

export async function countActivations(trx: Transaction, licenseId: number): Promise<number> {
  const counted = (await trx(table(trx, 'activations'))
    .where({ license_id: licenseId })
    .count({ n: '*' })
    .first()) as { n: number };
  return counted.n;
}

export async function setActivationsUsed(
  trx: Transaction,
  licenseId: number,
  activationsUsed: number,
): Promise<void> {
  await trx(table(trx, 'licenses')).where({ id: licenseId }).update({ activations_used: activationsUsed });
}

export interface SealedKey {
  licenseId: number;
  keyDigest: string;
  keySealed: string;
}

/** Some of the sealed keys: the oldest and the newest, which are the ones another secret would show in. */
export async function sampleSealedKeys(db: Db, fromEachEnd: number): Promise<SealedKey[]> {
  const end = (order: 'asc' | 'desc'): Promise<SealedKey[]> =>
    db(table(db, 'licenses'))
      .whereNotNull('key_sealed')
      .orderBy('id', order)
      .limit(fromEachEnd)
      .select<SealedKey[]>({ licenseId: 'id', keyDigest: 'key_digest', keySealed: 'key_sealed' });
  const sample = [...(await end('asc')), ...(await end('desc'))];
  return [...new Map(sample.map((one) => [one.licenseId, one])).values()];
}

/** The id of the newest entry of the access log; 0 when it is empty. */
export async function lastAccessId(db: Db): Promise<number> {
  const row = (await db(table(db, 'access_log')).max({ id: 'id' }).first()) as { id: number | null };
  return row.id ?? 0;
}

/** The address an access came from: the first after an entry that named this program. */
export async function findAccessAddress(
  db: Db,
  after: number,
  userAgent: string,
): Promise<string | undefined> {
  const [ip] = await db(table(db, 'access_log'))
    .where('id', '>', after)
    .where({ user_agent: userAgent })
    .orderBy('id')
    .limit(1)
    .pluck<string[]>('ip');
  return ip;
}

/** Removes a licence that was made for a trial and never sold, with what the trial left in the access log. */
export async function deleteTrialLicense(
  db: Db,
  keyDigest: string,
  userAgent: string,
  after: number,
): Promise<void> {
  await db(table(db, 'access_log')).where('id', '>', after).where({ user_agent: userAgent }).delete();
  await db(table(db, 'licenses')).where({ key_digest: keyDigest }).delete();
}
