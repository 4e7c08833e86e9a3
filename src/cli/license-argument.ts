import { canonicalKey, keyDigest } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/database';
import { findLicense, findLicenseByDigest, findLicenseByReference, type License } from '../store/licenses';
import type { Session } from './command';
import { readValue } from './standard-input';

export const KEY_ARGUMENT =
  "a licence key, a licence id, an order's reference that is no number, or - to read one from standard input, or be asked for it; id:12 is only ever an id, and reference:12 a reference";

/** The licences a text may name: several when a shop's order numbers overlap with licence ids. */
type Meanings = ['id' | 'key' | 'reference', License][];

/**
 * Finds the licence that a command will change. A bare number never means a reference, because its meaning would change
 * when licence ids reach that number.
 *
 * @param given a key, an id, a reference, or `-`
 * @throws OperatorError when there is none or several; the message omits `given`, which may be a key
 */
export async function requireLicense(db: Db, given: string): Promise<License> {
  const meanings = await findMeanings(db, (await readValue(given, 'Key, id or reference')).trim());
  const ids = distinctIds(meanings);
  if (ids.length > 1)
    throw new OperatorError(
      `Nothing was changed: this is ${inWords(meanings)}. Say ${ids.map((id) => `id:${id}`).join(' or ')}.`,
      { code: 'CONFLICT' },
    );
  return meanings[0][1];
}

/** Finds the licence that a command only shows. Prints a note when the text also names another licence. */
export async function requireLicenseToShow(
  { db, output }: Pick<Session, 'db' | 'output'>,
  given: string,
): Promise<License> {
  const meanings = await findMeanings(db, (await readValue(given, 'Key, id or reference')).trim());
  const [, license] = meanings[0];
  if (distinctIds(meanings).length > 1)
    output.note(`note: this is ${inWords(meanings)}; licence ${license.id} is shown.`);
  return license;
}

/** Whether a text has the form `id:12` or `reference:12`, which is never ambiguous. */
export function isMarked(written: string): boolean {
  return MARKED.test(written);
}

const MARKED = /^(?:id:(?<id>\d{1,15})|reference:(?<reference>.+))$/s;

/** @returns at least one meaning; read-only commands take the first */
async function findMeanings(db: Db, written: string): Promise<[Meanings[number], ...Meanings]> {
  const marked = MARKED.exec(written)?.groups;
  const number = marked ? marked.id : /^\d{1,15}$/.exec(written)?.[0];
  const reference = marked ? marked.reference?.trim() : written;
  const byId = number === undefined ? undefined : await findLicense(db, Number(number));
  const byKey = marked ? undefined : await findLicenseByDigest(db, keyDigest(canonicalKey(written)));
  // A known key is not looked up as a reference: the database's query log would show it.
  const byReference =
    reference === undefined || byKey ? undefined : await findLicenseByReference(db, reference);
  const [first, ...others] = Object.entries({ id: byId, key: byKey, reference: byReference }).filter(
    (meaning): meaning is Meanings[number] => meaning[1] !== undefined,
  );
  if (first && (first[0] !== 'reference' || number === undefined)) return [first, ...others];
  throw new OperatorError(
    number === undefined
      ? 'There is no licence with this key or reference. "licensing why" also finds one by the end of its key, its customer or its site.'
      : `There is no licence ${number}.${first ? ` An order has this number: reference:${number}.` : ''}`,
    { code: 'NOT_FOUND' },
  );
}

function distinctIds(meanings: Meanings): number[] {
  return [...new Set(meanings.map(([, { id }]) => id))];
}

function inWords(meanings: Meanings): string {
  return meanings.map(([name, { id }]) => `the ${name} of licence ${id}`).join(' and ');
}

/** Finds the licence whose id equals an order's number. Typing that number would select the wrong licence. */
export async function findNamesake(db: Db, reference: string | undefined): Promise<number | undefined> {
  return /^\d{1,15}$/.test(reference ?? '') ? (await findLicense(db, Number(reference)))?.id : undefined;
}
