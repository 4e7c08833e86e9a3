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
import { spellings, type ActivationType, type Spellings } from './identifiers';

export interface LicenseQuery {
  keyDigest: string;
  /**
   * the canonical key, where the caller has it: a key of another system is then found in other case too, and a key pasted
   * as the identifier is refused
   */
  key?: string | undefined;
  /** as the client wrote it */
  identifier?: string | undefined;
  /** the identifier is as it is stored, which need not be what its own normalisation gives (`www.www.example.com`) */
  isStored?: boolean;
  /** a label; if given, the activation's details are looked up too */
  name?: string | undefined;
  /** asks whether the licence covers this product */
  productId?: number | undefined;
}

export interface LicenseMatch {
  license: LicenseTerms;
  key: KeyTerms;
  /** normalised for the plan's activation type; undefined when missing or invalid */
  identifier: string | undefined;
  /** the activation of that identifier; undefined when it is not activated */
  activation: ActivationTerms | undefined;
  /** whether it covers the product that was asked for; undefined when none was */
  covered?: boolean | undefined;
  /** what the identifier takes where staging sites are free; undefined until the ledger holds the lock */
  cost?: SlotCost | undefined;
  /** until when it is held, or a site that would go with it; undefined: it is not, or the ledger has not looked yet */
  heldUntil?: Date | undefined;
}

/** What the activation of an identifier takes (staging-sites.ts). */
export interface SlotCost {
  /** no slot */
  free: boolean;
  /** slots of staging sites that become free with it */
  freed: number;
  /** those among them that came by the same key */
  freedOfKey: number;
}

/**
 * Reads licences and activations in one statement, so that all answers are of the same moment. Reads details by default
 * when a query has a label.
 * @returns in the order of the queries; undefined where the key is unknown
 */
export async function lookUp(
  db: Db,
  queries: LicenseQuery[],
  { details = queries.some(({ name }) => name !== undefined) } = {},
): Promise<(LicenseMatch | undefined)[]> {
  const spelled = queries.map(spellingsOf);
  const terms = await findTerms(db, wantedBy(queries, spelled), { details, folded: foldedOf(queries) });
  const { own, asked } = productsToCompare(queries, terms);
  const included = own.length === 0 ? undefined : await findIncluded(db, own, asked);
  return queries.map((query, i) => matchOf(query, spelled[i], terms.get(query.keyDigest), included));
}

/** The identifier of a query, as each activation type spells it; undefined: it has none, or the key in its place. */
export function spellingsOf({ identifier, key, isStored }: LicenseQuery): Spellings | undefined {
  if (identifier === undefined || (key !== undefined && isKey(identifier, key))) return undefined;
  if (!isStored) return spellings(identifier);
  return { domain: identifier, device: identifier, seat: identifier, instance: identifier };
}

/** What is wanted of each key, an identifier that was sent several times once. */
export function wantedBy(
  queries: LicenseQuery[],
  spelled: (Spellings | undefined)[],
): Map<string, Spellings[]> {
  const wanted = new Map<string, Map<string, Spellings>>();
  queries.forEach(({ keyDigest, identifier }, i) => {
    const ofKey = wanted.get(keyDigest) ?? new Map<string, Spellings>();
    wanted.set(keyDigest, ofKey);
    if (spelled[i] !== undefined) ofKey.set(identifier as string, spelled[i]);
  });
  return new Map([...wanted].map(([digest, ofKey]) => [digest, [...ofKey.values()]]));
}

/** The folded digests of keys of other systems, by digest. */
function foldedOf(queries: LicenseQuery[]): Map<string, string> {
  const folded = new Map<string, string>();
  for (const { key, keyDigest } of queries) {
    const digest = key === undefined ? undefined : foldedDigest(key);
    if (digest !== undefined) folded.set(keyDigest, digest);
  }
  return folded;
}

/** The products of licences, and those asked for that are other products: only a bundle covers these. */
export function productsToCompare(
  queries: LicenseQuery[],
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

/** @param included the products that bundles include, by bundle */
export function matchOf(
  { productId }: LicenseQuery,
  spelled: Spellings | undefined,
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
