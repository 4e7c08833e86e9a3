import { listActivations, type Activation, type StoredActivation } from '../store/licenses/activations';
import type { Db } from '../store/engine/database';
import { findEventPlace, listLatestEvents, type RecordedEvent } from '../store/events';
import {
  findLicense,
  findLicenseByKey,
  findLicenseByReference,
  listLicenses,
  type License,
} from '../store/licenses/licenses';
import { inSnapshot } from '../store/engine/transaction';
import { throwLicenseNotFound, requirePlanNamed, requireProduct } from './find-or-throw';
import { canonicalKey, keyDigests } from './core/keys';
import { keysOf, type KeyUse } from './license-keys';
import { toLicenseFilter } from './license-filter';
import { OperatorError } from './operator-error';

export { findLicense, findLicenseByReference, listActivations, type Activation, type License };
export { findLicensesByIds } from '../store/licenses/licenses';

/** The licences that a text may name: several if a shop's order numbers overlap with licence ids. */
type Meanings = ['id' | 'key' | 'reference', License][];

/**
 * Finds the licence to change. A bare number never means a reference, because its meaning would change when licence ids
 * reach that number.
 * @param text a key, an id, a reference, `id:12` or `reference:12`
 * @throws OperatorError if it names no licence or several; the message omits the text, which may be a key
 */
export async function requireLicenseNamed(db: Db, text: string): Promise<License> {
  const meanings = await findMeanings(db, text);
  const ids = distinctIds(meanings);
  if (ids.length > 1)
    throw new OperatorError(
      `Nothing was changed, because this is ${inWords(meanings)}. Write ${ids.map((id) => `id:${id}`).join(' or ')}.`,
      { code: 'CONFLICT' },
    );
  return meanings[0][1];
}

/** Finds a licence to show: the first meaning wins. @returns it with the other meanings as text, if any */
export async function findLicenseNamed(
  db: Db,
  text: string,
): Promise<{ license: License; ambiguity: string | undefined }> {
  const meanings = await findMeanings(db, text);
  const ambiguity = distinctIds(meanings).length > 1 ? inWords(meanings) : undefined;
  return { license: meanings[0][1], ambiguity };
}

/** Reports whether a text has the form `id:12` or `reference:12`, which is never ambiguous. */
export function isMarked(text: string): boolean {
  return MARKED.test(text.trim());
}

const MARKED = /^(?:id:(?<id>\d{1,15})|reference:(?<reference>.+))$/s;

async function findMeanings(db: Db, text: string): Promise<[Meanings[number], ...Meanings]> {
  const written = text.trim();
  const marked = MARKED.exec(written)?.groups;
  const number = marked ? marked.id : /^\d{1,15}$/.exec(written)?.[0];
  const reference = marked ? marked.reference?.trim() : written;
  const byId = number === undefined ? undefined : await findLicense(db, Number(number));
  const byKey = marked ? undefined : await findLicenseByKey(db, keyDigests(canonicalKey(written)));
  // A known key is not searched as a reference, because the database's query log would show it.
  const byReference =
    reference === undefined || byKey ? undefined : await findLicenseByReference(db, reference);
  const [first, ...others] = Object.entries({ id: byId, key: byKey, reference: byReference }).filter(
    (meaning): meaning is Meanings[number] => meaning[1] !== undefined,
  );
  if (first && (first[0] !== 'reference' || number === undefined)) return [first, ...others];
  if (number === undefined)
    throw new OperatorError('There is no licence with this key or reference.', {
      code: 'NOT_FOUND',
      facts: { reason: 'no-license-named' },
    });
  throw new OperatorError(
    `There is no licence ${number}.${first ? ` An order has this number: reference:${number}.` : ''}`,
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

/** Returns a licence, its keys and its activations, read at one moment. */
export function readLicense(
  db: Db,
  id: number,
): Promise<{ license: License; keys: KeyUse[]; activations: StoredActivation[] }> {
  return inSnapshot(db, async (trx) => {
    const license = (await findLicense(trx, id)) ?? throwLicenseNotFound(id);
    return { license, keys: await keysOf(trx, license), activations: await listActivations(trx, id) };
  });
}

/** Lists a licence's latest events in order of time, only those before the event with the id `before`. */
export async function listEvents(
  db: Db,
  licenseId: number,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<RecordedEvent[]> {
  const after = before === undefined ? undefined : await findEventPlace(db, licenseId, before);
  if (before !== undefined && after === undefined) return [];
  return (await listLatestEvents(db, licenseId, { after, limit })).reverse();
}

interface LicenseSearch {
  productId?: number | undefined;
  /** a plan's id or name */
  plan?: string | undefined;
  /** a live status */
  status?: string | undefined;
  customer?: string | undefined;
  reference?: string | undefined;
  hint?: string | undefined;
  /** active licences that expire within this duration, until the end of its last day (UTC) */
  expiring?: string | undefined;
  issuedSince?: string | undefined;
  suspendedBy?: string | undefined;
  /** only ids above this one */
  after?: number | undefined;
  limit: number;
}

/** Lists licences by id. @throws OperatorError if the product or plan does not exist */
export async function searchLicenses(
  db: Db,
  { productId, plan, limit, after, ...others }: LicenseSearch,
  now: Date,
): Promise<License[]> {
  if (productId !== undefined) await requireProduct(db, productId);
  const planId = plan === undefined ? undefined : (await requirePlanNamed(db, plan, productId)).id;
  const filter = await toLicenseFilter(db, { ...others, productId, planId }, now);
  return listLicenses(db, { ...filter, limit, after }, now);
}
