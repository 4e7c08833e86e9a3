import { findActivations } from '../store/activations';
import type { Db } from '../store/database';
import { findTermsByDigest, type LicenseTerms } from '../store/licenses';
import { normalizeIdentifier, type ActivationType } from './identifiers';

/** What a request names: a licence, and perhaps an identifier. */
export interface Named {
  keyDigest: string;
  /** as the client wrote it */
  identifier?: string | undefined;
}

/** A request whose licence is known. */
export interface Identified {
  license: LicenseTerms;
  /** under the plan's activation type; undefined when none was given, or it is none of that type */
  identifier: string | undefined;
}

export interface Found extends Identified {
  /** the label of that identifier's activation, null without one; undefined when it is not activated */
  activatedAs: { name: string | null } | undefined;
}

/**
 * Looks up any number of requests with two statements, whatever their number.
 *
 * @returns in the order of the requests; undefined where the key is unknown
 */
export async function lookUp(db: Db, requests: Named[]): Promise<(Found | undefined)[]> {
  return findActivated(db, await identify(db, requests));
}

/** The first half: the requests' licences, and their identifiers in the one spelling. */
export async function identify(db: Db, requests: Named[]): Promise<(Identified | undefined)[]> {
  const digests = new Set(requests.map(({ keyDigest }) => keyDigest));
  const licenses = await findTermsByDigest(db, [...digests]);
  return requests.map(({ keyDigest, identifier }) => {
    const license = licenses.get(keyDigest);
    if (license === undefined) return undefined;
    const type = license.plan.activationType as ActivationType;
    return {
      license,
      identifier: identifier === undefined ? undefined : normalizeIdentifier(type, identifier),
    };
  });
}

/** The second half: which of the identifiers are activated. */
export async function findActivated(
  db: Db,
  requests: (Identified | undefined)[],
): Promise<(Found | undefined)[]> {
  const pairs = new Map<string, { licenseId: number; identifier: string }>();
  for (const one of requests)
    if (one?.identifier !== undefined) {
      const { license, identifier } = one;
      pairs.set(pairKey(license.id, identifier), { licenseId: license.id, identifier });
    }
  const activations = new Map(
    (await findActivations(db, [...pairs.values()])).map((activation) => [
      pairKey(activation.licenseId, activation.identifier),
      activation,
    ]),
  );
  return requests.map((one) => {
    if (one?.identifier === undefined) return one && { ...one, activatedAs: undefined };
    const { license, identifier } = one;
    const activatedAs = activations.get(pairKey(license.id, identifier));
    if (activatedAs === undefined) return { license, identifier, activatedAs };
    // An identifier that is activated is always counted: the counter read with it is the one that fits.
    const { activationsUsed } = activatedAs;
    return { license: { ...license, activationsUsed }, identifier, activatedAs };
  });
}

/** Names an identifier of a licence. */
export function pairKey(licenseId: number, identifier: string): string {
  return `${licenseId} ${identifier}`;
}
