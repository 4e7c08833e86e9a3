import { canonicalKey, keyDigest } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/database';
import { findLicense, findLicenseByDigest, findLicenseByReference, type License } from '../store/licenses';
import type { Session } from './command';
import { readValue } from './standard-input';

export const KEY_ARGUMENT =
  "a licence key, a licence id, an order's reference that is no number, or - to read one from standard input, or be asked for it; id:12 is only ever an id, and reference:12 a reference";

/** What a text may name a licence by; several licences, where shops number their orders as licences are numbered. */
type Meanings = ['id' | 'key' | 'reference', License][];

/**
 * The licence an operator means by KEY, to be changed. A number is never taken for a reference: the licence it means
 * would be another one as soon as ids have grown that far.
 *
 * @param given a key, an id, a reference, or `-`
 * @throws OperatorError when there is none, or it may be another one; the message does not repeat what was given,
 *   which may be a key
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

/** The same where it is only shown: a note says that it may be another one. */
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

/** `id:12` and `reference:12`, which mean one licence whatever else has that number. */
export function isMarked(written: string): boolean {
  return MARKED.test(written);
}

const MARKED = /^(?:id:(?<id>\d{1,15})|reference:(?<reference>.+))$/s;

/** @returns one at the least; the first is the one that a command which only shows it takes */
async function findMeanings(db: Db, written: string): Promise<[Meanings[number], ...Meanings]> {
  const marked = MARKED.exec(written)?.groups;
  const number = marked ? marked.id : /^\d{1,15}$/.exec(written)?.[0];
  const reference = marked ? marked.reference?.trim() : written;
  const byId = number === undefined ? undefined : await findLicense(db, Number(number));
  const byKey = marked ? undefined : await findLicenseByDigest(db, keyDigest(canonicalKey(written)));
  // A key that is one goes no further: the database may log what it is asked for.
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

/** `the id of licence 12 and the reference of licence 77` */
function inWords(meanings: Meanings): string {
  return meanings.map(([name, { id }]) => `the ${name} of licence ${id}`).join(' and ');
}

/** The licence that has an order's number for its id. Whoever has that number at hand would name it by mistake. */
export async function findNamesake(db: Db, reference: string | undefined): Promise<number | undefined> {
  return /^\d{1,15}$/.test(reference ?? '') ? (await findLicense(db, Number(reference)))?.id : undefined;
}
