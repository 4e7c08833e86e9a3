import { MOST_ROWS, namedSql, wordsById, type Named } from '../../migrations/search-words';
import { chunksOf, inChunks } from '../base/chunks';
import type { EventAction } from './events';
import { rowToFields } from './engine/row-fields';
import { inTransaction } from './engine/transaction';
import { isSqlite, table, type Db, type TableName, type Transaction } from './engine/database';
import { wasMigrated } from './engine/migrate';
import { toSqlTime } from './engine/time';
import { idIndex, placeholders, rawChange, rawRows, tableBy } from './engine/statements';

export { numberWord, wordsOf } from '../../migrations/search-words';

/**
 * The words by which licences are found: words of the customer's address and names, of the names on orders and the labels
 * of keys, and another system's number. A function that changes one of them calls `refreshWords` in its transaction.
 */
export interface SearchWord {
  licenseId: number;
  word: string;
}

/** Lists the words of licences, by licence and word. */
export async function listWords(db: Db, licenseIds: number[]): Promise<SearchWord[]> {
  const words: SearchWord[] = [];
  for (const ids of chunksOf(licenseIds))
    words.push(
      ...(await db(tableBy(db, 'search_words'))
        .whereIn('license_id', ids)
        .orderBy(['license_id', 'word'])
        .select({ licenseId: 'license_id', word: 'word' })),
    );
  return words;
}

/**
 * Updates the words of licences from the stored texts. It reads the old words first and writes only the difference, so that
 * of two changes at the same time neither reverts the other.
 */
export async function refreshWords(trx: Transaction, licenseIds: number[]): Promise<void> {
  for (const ids of chunksOf([...new Set(licenseIds)])) {
    const stored = await listWords(trx, ids);
    const are = `IN (${placeholders(ids.length)})`;
    const sql = namedSql((name) => table(trx, name as TableName), are);
    const wanted = wordsById(await rawRows<Named>(trx, sql, [...ids, ...ids, ...ids]));
    // One statement for all licences that lose the same words, such as those of one customer.
    const gone = new Map<string, number[]>();
    const lost = new Map<number, string[]>();
    for (const { licenseId: id, word } of stored)
      if (wanted.get(id)?.delete(word) !== true) lost.set(id, [...(lost.get(id) ?? []), word]);
    for (const [id, words] of lost) {
      const key = JSON.stringify(words);
      gone.set(key, [...(gone.get(key) ?? []), id]);
    }
    for (const [words, some] of gone)
      await trx(table(trx, 'search_words'))
        .whereIn('license_id', some)
        .whereIn('word', JSON.parse(words) as string[])
        .delete();
    const added = [...wanted].flatMap(([id, words]) => [...words].map((word) => [id, word] as const));
    for (const rows of chunksOf(added, MOST_ROWS))
      await rawChange(
        trx,
        `INSERT ${isSqlite(trx) ? 'OR ' : ''}IGNORE INTO ${table(trx, 'search_words')} (license_id, word)
          VALUES (?, ?)${', (?, ?)'.repeat(rows.length - 1)}`,
        rows.flat(),
      );
  }
}

/** The number of events that are read at once. */
const EVENTS = 1_000;
/** The changes after which a licence may have other words. */
const NAMING: EventAction[] = ['issue', 'import', 'set-customer', 'erase-customer', 'add-key', 'edit-key'];

/**
 * Refreshes the words of licences that changed since a time. During an upgrade, the earlier version writes and deletes no words.
 * At any time, two simultaneous changes of a licence may lose a word that they have in common.
 */
export async function refreshChanged(db: Db, since: Date): Promise<void> {
  const changed = new Set<number>();
  for (let before = Number.MAX_SAFE_INTEGER; ;) {
    const rows = await db(tableBy(db, 'events'))
      .where('id', '<', before)
      .orderBy('id', 'desc')
      .limit(EVENTS)
      .select('id', 'license_id', 'at', 'action');
    const events = rows.map(rowToFields);
    const latest = events.filter(({ at }) => at >= since);
    for (const { licenseId, action } of latest) if (NAMING.includes(action)) changed.add(licenseId);
    if (latest.length === 0 || rows.length < EVENTS) break;
    before = rows.at(-1)?.id as number;
  }
  for (const ids of chunksOf([...changed], BATCH_SIZE))
    await inTransaction(db, (trx) => refreshWords(trx, ids));
}

/** Refreshes the words of customers who may have been renamed since a time. */
export async function refreshRenamed(db: Db, since: Date): Promise<void> {
  for (const digests of chunksOf(await findRenamedCustomers(db, since), BATCH_SIZE))
    await inTransaction(db, (trx) => refreshWordsOfCustomers(trx, digests));
}

/**
 * Finds the customers whose names may have changed since a time, if the words were filled since then. A changed name
 * leaves no event, and a chosen name has no time.
 */
async function findRenamedCustomers(db: Db, since: Date): Promise<string[]> {
  if (!(await areWordsNew(db, since))) return [];
  return db(table(db, 'customers'))
    .whereNotNull('chosen_name')
    .orWhere('told_at', '>=', toSqlTime(since))
    .pluck('digest');
}

/** Reports whether an upgrade has filled the words since a time. */
export const areWordsNew = (db: Db, since: Date): Promise<boolean> =>
  wasMigrated(db, '002_search_words', since);

/** The number of licences in one transaction: few enough that others wait for a moment only. */
const BATCH_SIZE = 100;

/** Updates the words of the licences that take words from these changed rows of another table. */
export async function refreshWordsOf(
  trx: Transaction,
  of: 'customers' | 'license_keys' | 'orders',
  ids: number[],
): Promise<void> {
  for (const some of chunksOf(ids)) {
    if (of === 'customers') {
      await refreshWordsOfCustomers(trx, await trx(tableBy(trx, of)).whereIn('id', some).pluck('digest'));
      continue;
    }
    const licenseIds =
      of === 'license_keys'
        ? await trx(tableBy(trx, of, ...idIndex(of)))
            .whereIn('id', some)
            .pluck('license_id')
        : await trx(tableBy(trx, 'order_licenses', 'order_id'))
            .whereIn('order_id', some)
            .pluck('license_id');
    await refreshWords(trx, licenseIds);
  }
}

/** Updates the words of the licences of customers whose names have changed. */
export async function refreshWordsOfCustomers(trx: Transaction, digests: string[]): Promise<void> {
  const ids = await inChunks(digests, (some) =>
    trx(tableBy(trx, 'licenses', 'customer_digest'))
      .whereIn('customer_digest', some)
      .pluck<number[]>('id'),
  );
  await refreshWords(trx, ids);
}
