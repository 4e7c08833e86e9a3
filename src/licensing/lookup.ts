import { activationKey, findActivations } from '../store/activations';
import type { Db } from '../store/database';
import type { LicenseTerms } from '../store/licenses';
import { findTerms, type LabelledActivation } from '../store/terms';
import { isKey } from './keys';
import { spellings, type ActivationType, type Spellings } from './identifiers';

/** What a request names: a licence, and perhaps an identifier. */
export interface Named {
  keyDigest: string;
  /** the key in its one spelling, where the caller has it: pasted as the identifier, it is none */
  key?: string | undefined;
  /** as the client wrote it */
  identifier?: string | undefined;
  /** a label for it; where one is given, that of its activation is looked up too */
  name?: string | undefined;
}

export interface Found {
  license: LicenseTerms;
  /** under the plan's activation type; undefined when none was given, or it is none of that type */
  identifier: string | undefined;
  /** the activation of that identifier; undefined when it is not activated */
  activation: LabelledActivation | undefined;
}

/**
 * Looks up any number of requests: with one statement, or with two where some name different identifiers of the same
 * licence.
 *
 * @returns in the order of the requests; undefined where the key is unknown
 */
export async function lookUp(db: Db, requests: Named[]): Promise<(Found | undefined)[]> {
  const spelled = requests.map(({ identifier, key }) =>
    // Identifiers are stored and shown as they are, keys never.
    identifier === undefined || (key !== undefined && isKey(identifier, key))
      ? undefined
      : spellings(identifier),
  );
  /** One identifier for each key is looked up together with its licence. */
  const wanted = new Map<string, Spellings | undefined>();
  requests.forEach(({ keyDigest }, i) => wanted.set(keyDigest, wanted.get(keyDigest) ?? spelled[i]));
  const labels = requests.some(({ name }) => name !== undefined);
  const terms = await findTerms(db, wanted, { labels });
  const others: (Found & { identifier: string })[] = [];
  const found = requests.map(({ keyDigest }, i): Found | undefined => {
    const known = terms.get(keyDigest);
    if (known === undefined) return undefined;
    const { license, activation } = known;
    const type = license.plan.activationType as ActivationType;
    const identifier = spelled[i]?.[type];
    if (identifier === undefined) return { license, identifier, activation: undefined };
    if (identifier === wanted.get(keyDigest)?.[type]) return { license, identifier, activation };
    const other = { license, identifier, activation: undefined };
    others.push(other);
    return other;
  });
  if (others.length > 0) await findOthers(db, others);
  return found;
}

/** Completes those whose identifier was not looked up together with the licence. */
async function findOthers(db: Db, others: (Found & { identifier: string })[]): Promise<void> {
  const pairs = others.map(({ license, identifier }) => ({ licenseId: license.id, identifier }));
  const activations = await findActivations(db, pairs);
  others.forEach((one, i) => {
    const activation = activations.get(activationKey(pairs[i] as (typeof pairs)[number]));
    if (activation === undefined) return;
    one.activation = { name: activation.name };
    // An identifier that is activated is always counted: the counter read with it is the one that fits.
    one.license = { ...one.license, activationsUsed: activation.activationsUsed };
  });
}
