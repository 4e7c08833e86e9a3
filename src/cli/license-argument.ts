import { findLicenseNamed, requireLicenseNamed, type License } from '../licensing/licenses';
import type { Session } from './command';
import { readValue } from './standard-input';

export const KEY_ARGUMENT =
  "a licence key, a licence id, an order's reference that is not a number, or - to read one from standard input or be asked for it; id:12 is always an id, and reference:12 always a reference";

/** Finds the licence that a command changes. */
export async function licenseArgument(db: Session['db'], given: string): Promise<License> {
  return requireLicenseNamed(db, await read(given));
}

/** Finds the licence that a command only shows. Prints a note if the text also names another licence. */
export async function requireLicenseToShow(
  { db, output }: Pick<Session, 'db' | 'output'>,
  given: string,
): Promise<License> {
  const { license, ambiguity } = await findLicenseNamed(db, await read(given));
  if (ambiguity !== undefined) output.note(`note: this is ${ambiguity}; licence ${license.id} is shown.`);
  return license;
}

function read(given: string): Promise<string> {
  return readValue(given, 'Key, id or reference');
}
