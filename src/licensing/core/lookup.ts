import type { Db } from '../../store/engine/database';
import type { LicenseTerms } from '../../store/licenses/licenses';
import { findIncluded } from '../../store/bundles';
import {
  findTerms,
  type ActivationTerms,
  type KeyTerms,
  type Terms,
} from '../../store/licenses/license-lookup';
import { foldedDigest, isKey } from './keys';
import { normalizedForms, type ActivationType, type NormalizedForms } from './identifiers';

export interface LookupQuery {
  keyDigest: string;
  /**
   * the canonical key, if the caller has it: another system's key is then found in any case, and an identifier that is
   * the key itself is refused
   */
  key?: string | undefined;
  /** the identifier in the client's spelling */
  identifier?: string | undefined;
  /** true if the identifier was read from the database; normalising it again might change it (`www.www.example.com`) */
  isStored?: boolean;
  /** a label for the activation; if present, the activation's details are also looked up */
  name?: string | undefined;
  /** a product; the answer then states whether the licence covers it */
  productId?: number | undefined;
}

export interface LicenseMatch {
  license: LicenseTerms;
  key: KeyTerms;
  /** normalised for the plan's activation type; undefined if it is missing or invalid */
  identifier: string | undefined;
  /** the activation of this identifier; undefined if it is not activated */
  activation: ActivationTerms | undefined;
  /** whether the licence covers the product in question; undefined if the query has no product */
  covered?: boolean | undefined;
  /** the slots that the identifier costs on a plan with free staging sites; undefined until the ledger holds the lock */
  cost?: SlotCost | undefined;
  /** the end of the hold on the activation or its dependent sites; undefined if nothing is held, or without the lock */
  heldUntil?: Date | undefined;
}

/** The slots that activating an identifier takes and frees (staging-sites.ts). */
export interface SlotCost {
  /** true if the identifier needs no slot */
  free: boolean;
  /** the number of slots that staging sites give back for it */
  freed: number;
  /** the number of those slots that were taken by the same key */
  freedOfKey: number;
}

/**
 * Reads licences and activations in one statement, so that all answers show the same moment. By default, it reads
 * details of activations if a query has a label.
 * @returns the matches in the order of the queries; undefined for an unknown key
 */
export async function lookUp(
  db: Db,
  queries: LookupQuery[],
  { details = queries.some(({ name }) => name !== undefined) } = {},
): Promise<(LicenseMatch | undefined)[]> {
  const spelled = queries.map(spellingsOf);
  const terms = await findTerms(db, wantedBy(queries, spelled), { details, folded: foldedOf(queries) });
  const { own, asked } = productsToCompare(queries, terms);
  const included = own.length === 0 ? undefined : await findIncluded(db, own, asked);
  return queries.map((query, i) => matchOf(query, spelled[i], terms.get(query.keyDigest), included));
}

/** Returns a query's identifier as each activation type spells it; undefined if it is missing or is the key itself. */
export function spellingsOf({ identifier, key, isStored }: LookupQuery): NormalizedForms | undefined {
  if (identifier === undefined || (key !== undefined && isKey(identifier, key))) return undefined;
  if (!isStored) return normalizedForms(identifier);
  return { domain: identifier, device: identifier, seat: identifier, instance: identifier };
}

/** Groups the identifiers to look up by key digest, without duplicates. */
export function wantedBy(
  queries: LookupQuery[],
  spelled: (NormalizedForms | undefined)[],
): Map<string, NormalizedForms[]> {
  const wanted = new Map<string, Map<string, NormalizedForms>>();
  queries.forEach(({ keyDigest, identifier }, i) => {
    const ofKey = wanted.get(keyDigest) ?? new Map<string, NormalizedForms>();
    wanted.set(keyDigest, ofKey);
    if (spelled[i] !== undefined) ofKey.set(identifier as string, spelled[i]);
  });
  return new Map([...wanted].map(([digest, ofKey]) => [digest, [...ofKey.values()]]));
}

/** Returns the folded digests of other systems' keys, by the keys' digests. */
function foldedOf(queries: LookupQuery[]): Map<string, string> {
  const folded = new Map<string, string>();
  for (const { key, keyDigest } of queries) {
    const digest = key === undefined ? undefined : foldedDigest(key);
    if (digest !== undefined) folded.set(keyDigest, digest);
  }
  return folded;
}

/** Returns the licences' own products, and the requested ones that differ from them, which only a bundle can cover. */
export function productsToCompare(
  queries: LookupQuery[],
  terms: ReadonlyMap<string, Terms>,
): { own: number[]; asked: number[] } {
  const products = { own: new Set<number>(), asked: new Set<number>() };
  for (const { keyDigest, productId } of queries) {
    const own = productId === undefined ? undefined : terms.get(keyDigest)?.license.product.id;
    if (productId === undefined || own === undefined || own === productId) continue;
    products.own.add(own);
    products.asked.add(productId);
  }
  return { own: [...products.own], asked: [...products.asked] };
}

/** Returns the result of one query from its key's terms. @param included the products of bundles, by bundle */
export function matchOf(
  { productId }: LookupQuery,
  spelled: NormalizedForms | undefined,
  terms: Terms | undefined,
  included?: ReadonlyMap<number, ReadonlySet<number>>,
): LicenseMatch | undefined {
  if (terms === undefined) return undefined;
  const { license, key, activations } = terms;
  const { plan, product } = license;
  const identifier = spelled?.[plan.activationType as ActivationType];
  const covers = (id: number) => id === product.id || (included?.get(product.id)?.has(id) ?? false);
  return {
    license,
    key,
    identifier,
    activation: identifier === undefined ? undefined : activations.get(identifier),
    covered: productId === undefined ? undefined : covers(productId),
  };
}
