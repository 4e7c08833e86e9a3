import { OPERATORS, type OperatorLanguage } from '../texts/operators/languages';
import { storedCustomer } from '../licensing/customer-email';
import { normalizedForms } from '../licensing/core/identifiers';
import { canonicalAddress } from '../licensing/ip-addresses';
import {
  parseKeyHint,
  parseKeyStart,
  canonicalKey,
  isAlmostNativeKey,
  keyDigests,
} from '../licensing/core/keys';
import { isKeyActive } from '../licensing/license-keys';
import { isMarked, requireLicenseNamed } from '../licensing/licenses';
import { listLicensePage } from '../licensing/lists';
import { OperatorError } from '../licensing/operator-error';
import { findActivationsOf } from '../store/licenses/activations';
import type { Db } from '../store/engine/database';
import { resolveKey, findLicenseIdsByKeyStart, listLabels } from '../store/licenses/license-keys';
import { findLicensesByIds, type License } from '../store/licenses/licenses';
import { findOrdersNumbered } from '../store/orders/orders';
import { numberWord, wordsOf } from '../store/search-words';
import { inSnapshot } from '../store/engine/transaction';
import { explain, type WhyAnswer, type WhyOptions } from './why';

/** The result of the pages' single search field. */

export type FindResult =
  /** `key`: the licence's key that was searched for, unless it is an open main key */
  | { kind: 'license'; id: number; key: { id: number; ended: boolean } | null }
  /** no licence was found, but shops have orders with this number, newest first */
  | { kind: 'orders'; ids: number[] }
  | { kind: 'several'; heading: string; licenses: FoundLicense[]; more: boolean }
  /** no licence was found; `answer` has what is known instead. `about` describes the search text, never a key */
  | {
      kind: 'none';
      of: 'key' | 'address' | 'email' | 'other';
      heading: string;
      answer: WhyAnswer;
      /** the licences that the answer names: near keys and e-mails, licences refused from an IP address */
      licenses: FoundLicense[];
    };

export interface FoundLicense {
  license: License;
  /** how it was found: "activated site"; null: only a finding names it */
  foundAs: string | null;
}

type FindOptions = Omit<WhyOptions, 'searched'>;

/** The maximum of licences in the list; the page of licences shows further ones, with `q`. */
const MAX_FOUND = 50;
/** The latest entries of the log that are searched: they take some 50 ms, the whole log two seconds. */
const SEARCHED = 25_000;

/** @throws OperatorError if the text is empty or too long */
export async function searchByText(db: Db, about: string, options: FindOptions): Promise<FindResult> {
  const text = about.trim();
  const key = canonicalKey(text);
  if (key === '')
    throw new OperatorError(
      'There is nothing to look for. Give a key, an e-mail address, an order or a site.',
      { code: 'INVALID_REQUEST', field: 'about' },
    );
  const address = canonicalAddress(text.replace(/^\[(.*)\]$/, '$1'));
  return inSnapshot(db, async (trx) => {
    if (address === undefined) {
      const found = await findByKey(trx, key, options.now);
      if (found) return found;
    }
    const orders = await findOrdersNumbered(trx, text, MAX_FOUND);
    if (address === undefined) {
      const found = await findListed(trx, text, orders.length > 0, options);
      if (found) return found;
    }
    if (orders.length > 0) return { kind: 'orders', ids: orders.map(({ id }) => id) };
    const begun = address === undefined ? await findBegun(trx, text, options.language) : undefined;
    if (begun) return begun;
    for (const word of namesIn(text)) {
      const found =
        (await findListed(trx, word, false, options)) ?? (await findNone(trx, word, undefined, options));
      if (found.kind !== 'none') return found;
    }
    return findNone(trx, text, address, options);
  });
}

/** Returns the e-mail addresses and the sites in a sentence, such as a customer's pasted message. */
function namesIn(text: string): string[] {
  const words = text.split(/[\s,;:<>()"'„“”/]+/u).map((word) => word.replace(/^www\.|[.!?]+$/gu, ''));
  return words.length === 1 ? [] : words.filter((word) => /[^.]\.\p{L}{2,}$/u.test(word)).slice(0, 5);
}

async function findByKey(db: Db, canonical: string, now: Date): Promise<FindResult | undefined> {
  const key = await resolveKey(db, keyDigests(canonical));
  if (key === undefined) return undefined;
  const [license] = await findLicensesByIds(db, [key.licenseId]);
  if (license === undefined) return undefined;
  const isPlain = key.id === license.mainKeyId && isKeyActive(key, now);
  return {
    kind: 'license',
    id: license.id,
    key: isPlain ? null : { id: key.id, ended: !isKeyActive(key, now) },
  };
}

/**
 * Finds licences as their list does, with an exact e-mail address before others that have its words.
 * @param isOrder whether an order, whose page shows its licences, has the text as its number
 */
async function findListed(
  db: Db,
  text: string,
  isOrder: boolean,
  { language, now }: FindOptions,
): Promise<FindResult | undefined> {
  // A marked id or order, such as `id:12`, is never ambiguous.
  if (isMarked(text)) {
    const named = await requireLicenseNamed(db, text).catch(ignoreUnknown);
    return named && { kind: 'license', id: named.id, key: null };
  }
  // A text in the form of a key is not searched as an order, because the database's query log would show it.
  if (isAlmostNativeKey(canonicalKey(text))) return undefined;
  const page = { limit: MAX_FOUND, after: undefined };
  const exact = text.includes('@')
    ? await listLicensePage(db, { customer: text }, page, now)
    : { items: [], next: null };
  const { items, next } = exact.items.length > 0 ? exact : await listLicensePage(db, { q: text }, page, now);
  const [only] = items;
  if (only === undefined || (isOrder && items.every((one) => isNumbered(one, text)))) return undefined;
  if (items.length === 1) return { kind: 'license', id: only.id, key: null };
  return {
    kind: 'several',
    heading: OPERATORS[language].found.several(text, items.length, next !== null),
    licenses: await withFoundAs(db, items, text, language),
    more: next !== null,
  };
}

/** Finds licences by the beginning of a key, which is not repeated. */
async function findBegun(db: Db, text: string, language: OperatorLanguage): Promise<FindResult | undefined> {
  const { several, foundAs } = OPERATORS[language].found;
  const start = parseKeyStart(text);
  const ids = start === undefined ? [] : await findLicenseIdsByKeyStart(db, start, MAX_FOUND + 1);
  const licenses = await findLicensesByIds(db, ids.slice(0, MAX_FOUND));
  const [only] = licenses;
  if (only === undefined) return undefined;
  if (licenses.length === 1) return { kind: 'license', id: only.id, key: null };
  const more = ids.length > MAX_FOUND;
  return {
    kind: 'several',
    heading: several(foundAs.start, licenses.length, more),
    licenses: licenses.map((license) => ({ license, foundAs: foundAs.start })),
    more,
  };
}

/** Reports whether a licence's reference contains this number within other text. */
function isNumbered({ id, reference }: License, text: string): boolean {
  return (
    String(id) !== text &&
    reference !== null &&
    reference !== text &&
    numberWord(reference) === numberWord(`:${text}`)
  );
}

function ignoreUnknown(error: unknown): undefined {
  if (!(error instanceof OperatorError)) throw error;
  return undefined;
}

async function findNone(
  db: Db,
  text: string,
  address: string | undefined,
  options: FindOptions,
): Promise<FindResult> {
  const answer = await explain(db, text, { ...options, searched: SEARCHED });
  const names = OPERATORS[options.language].found;
  // A refused site that is not on any licence leads to the licence that refused it.
  const isRefusedSite = answer.findings.some(({ code }) => code === 'IN_ACCESS_LOG');
  if (answer.license_id !== null && isRefusedSite)
    return { kind: 'license', id: answer.license_id, key: null };
  const licenses = await findLicensesByIds(db, namedBy(answer).slice(0, MAX_FOUND));
  const rows = namedBy(answer).flatMap((id) => {
    const license = licenses.find((one) => one.id === id);
    return license ? [{ license, foundAs: null }] : [];
  });
  if (answer.licenses.length > 1 && answer.licenses.every(({ matched }) => matched === 'access'))
    return {
      kind: 'several',
      heading: names.several(text, rows.length, false),
      licenses: rows.map((row) => ({ ...row, foundAs: names.foundAs.refused })),
      more: false,
    };
  const of =
    address !== undefined
      ? 'address'
      : text.includes('@')
        ? 'email'
        : isKeyLike(text, answer)
          ? 'key'
          : 'other';
  return { kind: 'none', of, heading: names.none[of](address ?? text), answer, licenses: rows };
}

/** Reports whether a text may be a key, which no page repeats: a long enough word, or one similar to a licence's key. */
function isKeyLike(text: string, { findings }: WhyAnswer): boolean {
  const isMeant = findings.some(
    ({ code, facts }) =>
      !('request' in facts) && ['KEY_MISTYPED', 'KEY_REPLACED', 'KEY_ENDED'].includes(code),
  );
  return isMeant || isAlmostNativeKey(canonicalKey(text)) || /^[^\s.]{16,}$/.test(text);
}

/** Returns the licences that an answer names, likeliest first. */
function namedBy({ license_id, licenses, findings }: WhyAnswer): number[] {
  const ids = [license_id, ...licenses.map((one) => one.license_id)];
  for (const { facts } of findings) {
    const {
      license_id: meant,
      also,
      request,
    } = facts as {
      license_id?: unknown;
      also?: unknown;
      request?: { license_id: number | null };
    };
    for (const id of [meant, ...(Array.isArray(also) ? (also as unknown[]) : []), request?.license_id])
      if (typeof id === 'number') ids.push(id);
  }
  return [...new Set(ids.filter((id) => id !== null))];
}

async function withFoundAs(
  db: Db,
  licenses: License[],
  text: string,
  language: OperatorLanguage,
): Promise<FoundLicense[]> {
  const { foundAs } = OPERATORS[language].found;
  const email = storedCustomer(text);
  const hint = parseKeyHint(text);
  const identifiers = [...new Set(Object.values(normalizedForms(text)))].filter((one) => one !== undefined);
  const activations =
    identifiers.length === 0 ? [] : await findActivationsOf(db, identifiers, 2 * MAX_FOUND + 1);
  const activated = new Set(activations.map(({ licenseId }) => licenseId));
  const words = wordsOf(text);
  const begins = (named: string | null) => {
    const own = wordsOf(named ?? '');
    return words.length > 0 && words.every((word) => own.some((one) => one.startsWith(word)));
  };
  const ids = licenses.map(({ id }) => id);
  const keys = await listLabels(db, ids, hint);
  const hasKey = (license: License, is: (key: (typeof keys)[number]) => boolean) =>
    keys.some((key) => key.licenseId === license.id && is(key));
  return licenses.map((license) => ({
    license,
    foundAs:
      license.customer === email
        ? foundAs.customer
        : license.reference === text || isNumbered(license, text)
          ? foundAs.reference
          : String(license.id) === text
            ? foundAs.id
            : activated.has(license.id)
              ? foundAs.activated(license.plan.activationType)
              : hasKey(license, ({ keyHint }) => keyHint === hint)
                ? foundAs.hint
                : begins(license.customer)
                  ? foundAs.beginning
                  : hasKey(license, ({ label }) => begins(label))
                    ? foundAs.label
                    : foundAs.name,
  }));
}
