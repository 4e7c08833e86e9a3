import type { Db } from '../store/database';
import type { LicenseTerms } from '../store/licenses';
import { findTerms, type LabelledActivation } from '../store/license-lookup';
import { isKey } from './keys';
import { spellings, type ActivationType, type Spellings } from './identifiers';

export interface Named {
  keyDigest: string;
  /** the canonical key, where the caller has it; a key pasted as the identifier is refused */
  key?: string | undefined;
  /** as the client wrote it */
  identifier?: string | undefined;
  /** a label; if given, the activation's label is looked up too */
  name?: string | undefined;
}

export interface Found {
  license: LicenseTerms;
  /** normalised for the plan's activation type; undefined when missing or invalid */
  identifier: string | undefined;
  /** the activation of that identifier; undefined when it is not activated */
  activation: LabelledActivation | undefined;
}

/**
 * Uses one statement, so that all answers are of the same moment. Reads labels by default when a request has one.
 * @returns in the order of the requests; undefined where the key is unknown
 */
export async function lookUp(
  db: Db,
  requests: Named[],
  { labels = requests.some(({ name }) => name !== undefined) } = {},
): Promise<(Found | undefined)[]> {
  const spelled = requests.map(({ identifier, key }) =>
    identifier === undefined || (key !== undefined && isKey(identifier, key))
      ? undefined
      : spellings(identifier),
  );
  const wanted = new Map<string, Map<string, Spellings>>();
  requests.forEach(({ keyDigest, identifier }, i) => {
    const ofKey = wanted.get(keyDigest) ?? new Map<string, Spellings>();
    wanted.set(keyDigest, ofKey);
    if (spelled[i] !== undefined) ofKey.set(identifier as string, spelled[i]);
  });
  const terms = await findTerms(
    db,
    new Map([...wanted].map(([digest, ofKey]) => [digest, [...ofKey.values()]])),
    { labels },
  );
  return requests.map(({ keyDigest }, i): Found | undefined => {
    const known = terms.get(keyDigest);
    if (known === undefined) return undefined;
    const { license, activations } = known;
    const identifier = spelled[i]?.[license.plan.activationType as ActivationType];
    return {
      license,
      identifier,
      activation: identifier === undefined ? undefined : activations.get(identifier),
    };
  });
}
