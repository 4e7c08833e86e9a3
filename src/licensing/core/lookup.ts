import type { Db } from '../../store/database';
import type { LicenseTerms } from '../../store/licenses';
import { findIncluded } from '../../store/bundles';
import { findTerms, type ActivationTerms, type KeyTerms, type Terms } from '../../store/license-lookup';
import { isKey } from './keys';
import { spellings, type ActivationType, type Spellings } from './identifiers';

export interface LicenseQuery {
  keyDigest: string;
  /** the canonical key, where the caller has it; a key pasted as the identifier is refused */
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
 * when a request has a label.
 * @returns in the order of the requests; undefined where the key is unknown
 */
export async function lookUp(
  db: Db,
  requests: LicenseQuery[],
  { details = requests.some(({ name }) => name !== undefined) } = {},
): Promise<(LicenseMatch | undefined)[]> {
  const spelled = requests.map(({ identifier, key, isStored }) => {
    if (identifier === undefined || (key !== undefined && isKey(identifier, key))) return undefined;
    return isStored ? asStored(identifier) : spellings(identifier);
  });
  const wanted = new Map<string, Map<string, Spellings>>();
  requests.forEach(({ keyDigest, identifier }, i) => {
    const ofKey = wanted.get(keyDigest) ?? new Map<string, Spellings>();
    wanted.set(keyDigest, ofKey);
    if (spelled[i] !== undefined) ofKey.set(identifier as string, spelled[i]);
  });
  const terms = await findTerms(
    db,
    new Map([...wanted].map(([digest, ofKey]) => [digest, [...ofKey.values()]])),
    { details },
  );
  const covers = requests.some(({ productId }) => productId !== undefined)
    ? await readCoverage(db, requests, terms)
    : () => undefined;
  return requests.map(({ keyDigest, productId }, i): LicenseMatch | undefined => {
    const known = terms.get(keyDigest);
    if (known === undefined) return undefined;
    const { license, key, activations } = known;
    const identifier = spelled[i]?.[license.plan.activationType as ActivationType];
    return {
      license,
      key,
      identifier,
      activation: identifier === undefined ? undefined : activations.get(identifier),
      covered: productId === undefined ? undefined : covers(known, productId),
    };
  });
}

function asStored(identifier: string): Spellings {
  return { domain: identifier, device: identifier, seat: identifier, instance: identifier };
}

/** Looks up what bundles include, for products other than the licence's own. */
async function readCoverage(
  db: Db,
  requests: LicenseQuery[],
  terms: Map<string, Terms>,
): Promise<(terms: Terms, productId: number) => boolean> {
  const others = requests.flatMap(({ keyDigest, productId }) => {
    const own = terms.get(keyDigest)?.license.product.id;
    return own !== undefined && productId !== undefined && productId !== own ? { own, productId } : [];
  });
  const distinct = (ids: number[]) => [...new Set(ids)];
  const included =
    others.length === 0
      ? undefined
      : await findIncluded(
          db,
          distinct(others.map(({ own }) => own)),
          distinct(others.map(({ productId }) => productId)),
        );
  return ({ license: { product } }, productId) =>
    productId === product.id || (included?.get(product.id)?.has(productId) ?? false);
}
