import { findActivations } from '../store/activations';
import type { Db } from '../store/database';
import { findLicensesByDigest, type License } from '../store/licenses';
import { normalizeIdentifier, type ActivationType } from './identifiers';

/** What a request names: a licence, and perhaps an identifier. */
export interface Named {
  keyDigest: string;
  /** as the client wrote it */
  identifier?: string | undefined;
}

export interface Found {
  license: License;
  /** under the plan's activation type; undefined when none was given, or it is none of that type */
  identifier: string | undefined;
  /** the label of that identifier's activation, null without one; undefined when it is not activated */
  activatedAs: { name: string | null } | undefined;
}

/**
 * Looks up any number of requests with two statements, whatever their number.
 *
 * @returns in the order of the requests; undefined where the key is unknown
 */
export async function lookUp(db: Db, requests: Named[]): Promise<(Found | undefined)[]> {
  const licenses = await findLicensesByDigest(db, unique(requests.map(({ keyDigest }) => keyDigest)));
  const found = requests.map(({ keyDigest, identifier }) => {
    const license = licenses.get(keyDigest);
    return (
      license && {
        license,
        identifier:
          identifier === undefined
            ? undefined
            : normalizeIdentifier(license.plan.activationType as ActivationType, identifier),
      }
    );
  });
  const pairs = new Map<string, { licenseId: number; identifier: string }>();
  for (const one of found)
    if (one?.identifier !== undefined)
      pairs.set(pairKey(one.license.id, one.identifier), {
        licenseId: one.license.id,
        identifier: one.identifier,
      });
  const activations = new Map(
    (await findActivations(db, [...pairs.values()])).map((activation) => [
      pairKey(activation.licenseId, activation.identifier),
      activation,
    ]),
  );
  return found.map((one) => {
    if (one?.identifier === undefined) return one && { ...one, activatedAs: undefined };
    const activatedAs = activations.get(pairKey(one.license.id, one.identifier));
    // An identifier that is activated is always counted: the counter read with it is the one that fits.
    const { activationsUsed } = activatedAs ?? one.license;
    return { ...one, license: { ...one.license, activationsUsed }, activatedAs };
  });
}

function pairKey(licenseId: number, identifier: string): string {
  return `${licenseId} ${identifier}`;
}

function unique<T>(values: T[]): T[] {
  return [...new Set(values)];
}
