import { text } from 'node:stream/consumers';
import { canonicalKey, keyDigest } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/database';
import { findLicense, findLicenseByDigest, findLicenseByReference, type License } from '../store/licenses';
import type { Output } from './command';

export const KEY_ARGUMENT =
  "a licence key, a licence id, an order's reference that is no number, or - to read one from standard input";

/**
 * The licence an operator means by KEY. A number is never taken for a reference: the licence it means would be
 * another one as soon as ids have grown that far.
 *
 * @param given a key, an id, a reference, or `-`
 * @throws OperatorError when there is none; the message does not repeat what was given, which may be a key
 */
export async function requireLicense(db: Db, given: string): Promise<License> {
  const written = (await readValue(given)).trim();
  const id = /^\d{1,15}$/.test(written) ? Number(written) : undefined;
  const license =
    (id === undefined ? undefined : await findLicense(db, id)) ??
    (await findLicenseByDigest(db, keyDigest(canonicalKey(written)))) ??
    (id === undefined ? await findLicenseByReference(db, written) : undefined);
  if (!license)
    throw new OperatorError(
      id === undefined
        ? 'There is no licence with this key or reference. "licensing why" also finds one by the end of its key, its customer or its site.'
        : `There is no licence ${id}.`,
    );
  return license;
}

/** A shop may name its customers as it likes; what is done for people by law goes by their address. */
export function noteUnusualCustomer(output: Output, customer: string | undefined): void {
  if (customer !== undefined && !customer.includes('@'))
    output.note(
      `note: "${customer}" is no e-mail address; "licensing customer" finds people by theirs alone.`,
    );
}

/** `-` reads standard input, so that a key stays out of the process list. */
export async function readValue(given: string): Promise<string> {
  return given === '-' ? text(process.stdin) : given;
}
