import { customerDigest } from './customer-digest';
import { isSqlite, table, type Db, type Transaction } from './engine/database';
import { fieldsToRow, rowToFields } from './engine/row-fields';
import { tableBy } from './engine/statements';
import { refreshWordsOf, refreshWordsOfCustomers } from './search-words';

/** A customer's profile, one row for each address. */

export interface CustomerProfile {
  id: number;
  /** see customer-digest.ts */
  digest: string;
  address: string;
  /** as reported; null: not reported */
  name: string | null;
  language: string | null;
  /** the latest time when an order or a request for a link reported them */
  toldAt: Date | null;
  /** the seller's choice, which wins over what was reported; the customer can choose the language too */
  chosenName: string | null;
  chosenLanguage: string | null;
  /** the seller's note, which only the seller sees */
  note: string | null;
}

/** Changes to a profile; undefined fields stay unchanged. */
export type ProfileChanges = {
  [Field in Exclude<keyof CustomerProfile, 'id' | 'digest'>]?: CustomerProfile[Field] | undefined;
};

export async function findProfile(db: Db, address: string): Promise<CustomerProfile | undefined> {
  return findProfileByDigest(db, customerDigest(address));
}

export async function findProfileByDigest(db: Db, digest: string): Promise<CustomerProfile | undefined> {
  const row = await db(table(db, 'customers')).where({ digest }).first();
  return row && rowToFields(row);
}

/** Finds the profiles of these addresses, by address. */
export async function findProfiles(db: Db, addresses: string[]): Promise<Map<string, CustomerProfile>> {
  return new Map((await findByDigests(db, addresses)).map((one) => [one.address, one]));
}

/**
 * Locks an address's row, and inserts it first if it does not exist. Orders are locked before it, licences after it.
 * The holder of this lock knows that no order of the address is being recorded.
 */
export async function lockProfile(trx: Transaction, address: string): Promise<CustomerProfile> {
  const digest = customerDigest(address);
  const found = await findLocked(trx, digest);
  if (found !== undefined) return found;
  await trx(table(trx, 'customers')).insert({ digest, address }).onConflict('digest').ignore();
  return (await findLocked(trx, digest)) as CustomerProfile;
}

async function findLocked(trx: Transaction, digest: string): Promise<CustomerProfile | undefined> {
  const rows = trx(table(trx, 'customers')).where({ digest });
  // SQLite has no FOR UPDATE: a write takes the write lock.
  if (isSqlite(trx)) await trx(table(trx, 'customers')).where({ digest }).update({ digest });
  const row = await (isSqlite(trx) ? rows : rows.forUpdate()).first();
  return row && rowToFields(row);
}

export async function setProfile(trx: Transaction, id: number, changes: ProfileChanges): Promise<void> {
  const { address } = changes;
  const digest = address === undefined ? {} : { digest: customerDigest(address) };
  const columns = fieldsToRow({ ...changes, ...digest }) as Record<string, unknown>;
  if (Object.values(columns).some((value) => value !== undefined))
    await trx(table(trx, 'customers')).where({ id }).update(columns);
  if (changes.name !== undefined || changes.chosenName !== undefined || address !== undefined)
    await refreshWordsOf(trx, 'customers', [id]);
}

/** Stores a report about a customer, unless a later one or the seller's choice exists. @param at the time of the report */
export async function saveProfile(
  trx: Transaction,
  address: string,
  told: { name?: string | null | undefined; language?: string | null | undefined },
  at: Date,
): Promise<void> {
  const found = await lockProfile(trx, address);
  const isLatest = found.toldAt === null || at >= found.toldAt;
  const { name, language } = told;
  const changes: ProfileChanges = {
    ...(name && (isLatest || found.name === null) && { name }),
    ...(language && (isLatest || found.language === null) && { language }),
  };
  if (Object.keys(changes).length > 0)
    await setProfile(trx, found.id, { ...changes, ...(isLatest && { toldAt: at }) });
}

/**
 * Names customers without a name, as an import knows them. `toldAt` stays null, unlike with other sources of names.
 * @param named names by address @returns the ids of the customers who were named
 */
export async function nameCustomers(trx: Transaction, named: ReadonlyMap<string, string>): Promise<number[]> {
  const addresses = [...named.keys()];
  const before = new Map((await findByDigests(trx, addresses)).map((one) => [one.digest, one]));
  const fresh = addresses.filter((address) => !before.has(customerDigest(address)));
  if (fresh.length > 0)
    await trx(table(trx, 'customers'))
      .insert(
        fresh.map((address) => ({
          digest: customerDigest(address),
          address,
          name: named.get(address) as string,
        })),
      )
      .onConflict('digest')
      .ignore();
  const added = (await findByDigests(trx, fresh)).filter(
    ({ address, name, toldAt }) => toldAt === null && name === named.get(address),
  );
  const nameless = [...before.values()].filter(({ name, chosenName }) => (name ?? chosenName) === null);
  const byDigest = new Map([...named].map(([address, name]) => [customerDigest(address), name]));
  for (const { id, digest } of nameless)
    await trx(table(trx, 'customers'))
      .where({ id, name: null, chosen_name: null })
      .update({ name: byDigest.get(digest) as string });
  const ids = [...added, ...nameless].map(({ id }) => id);
  await refreshWordsOf(trx, 'customers', ids);
  return ids;
}

/** Removes names that only `nameCustomers` gave. A customer about whom nothing else is known is deleted. */
export async function unnameCustomers(trx: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return;
  const named = () => trx(table(trx, 'customers')).whereIn('id', ids).whereNull('told_at');
  const digests = await named().pluck('digest');
  const others = ['language', 'chosen_name', 'chosen_language', 'note'] as const;
  await others.reduce((query, column) => query.whereNull(column), named()).delete();
  await named().update({ name: null });
  await refreshWordsOfCustomers(trx, digests);
}

async function findByDigests(db: Db, addresses: string[]): Promise<CustomerProfile[]> {
  if (addresses.length === 0) return [];
  const rows = await db(tableBy(db, 'customers', 'digest')).whereIn(
    'digest',
    addresses.map((address) => customerDigest(address)),
  );
  return rows.map(rowToFields);
}

/** Deletes the profile of an address. The caller changes the customer of the licences, and thereby their search words. */
export async function deleteProfile(db: Db, address: string): Promise<number> {
  return db(table(db, 'customers'))
    .where({ digest: customerDigest(address) })
    .delete();
}
