import { chunksOf } from '../base/chunks';
import { keyDigest } from '../licensing/core/keys';
import { isKeyActive } from '../licensing/license-keys';
import type { Db } from '../store/engine/database';
import { findEvents } from '../store/events';
import { findKeysByDigests, findKeysByHints, type LicenseKey } from '../store/licenses/license-keys';
import { findLicensesByIds, type License } from '../store/licenses/licenses';
import type { Likely } from './case-state';
import { compareHints, hintsWithinOneTypo, keysWithinOneTypo } from './similar-keys';
import type { Slip } from './finding-model';
import { uniqueNonNull } from './distinct';

/** Finds the licences for which an unknown key may have been meant. */

const MAX_CANDIDATES = 5;

/** The likeliest slips first: certain matches, then guesses. */
const RANK: Likely['slip'][] = [
  'replaced',
  'ended',
  'elsewhere',
  'spelling',
  'shape',
  'confused',
  'one-character',
  'transposed',
  'missing',
  'extra',
];

/** Finds the licences for a key that ends in `hint`. `own`: it may be in our format, with longer hints. */
export async function findLikely(
  db: Db,
  hint: string,
  now: Date,
  { inHistory = true, own = true }: { inHistory?: boolean; own?: boolean } = {},
): Promise<Likely[]> {
  const { exact, patterns } = hintsWithinOneTypo(hint);
  const near = { exact, patterns: own ? patterns : [] };
  const found = await findKeysByHints(db, hint, near, 2 * MAX_CANDIDATES);
  const candidates = await withLicenses(db, found, (key, license): Likely[] => {
    const { keyHint: own } = key;
    const slip =
      own === null ? undefined : isKeyActive(key, now) ? compareHints(hint, own) : formerSlip(key, hint);
    return slip === undefined ? [] : [{ license, slip, by: 'hint' }];
  });
  if (inHistory) {
    const events = await findEvents(db, ['rekey'], { field: 'key_hint', before: hint }, MAX_CANDIDATES);
    const replaced = await findLicensesByIds(db, uniqueNonNull(events.map(({ licenseId }) => licenseId)));
    candidates.push(...replaced.map((license): Likely => ({ license, slip: 'replaced', by: 'hint' })));
  }
  return ranked(candidates);
}

/** A request with the ended key itself is logged with its licence, so this key was mistyped, or the request came before. */
function formerSlip({ keyHint: own, replacedBy }: LicenseKey, hint: string): Likely['slip'] | undefined {
  if (own !== hint) return undefined;
  return replacedBy === null ? 'ended' : 'replaced';
}

/** Finds the licences with a key that differs from the typed one by one slip. */
export async function findLicensesOfNearKeys(db: Db, canonical: string, now: Date): Promise<Likely[]> {
  const near = keysWithinOneTypo(canonical);
  const found: Likely[] = [];
  for (const chunk of chunksOf(near)) {
    const slips = new Map(chunk.map(({ key, slip }) => [keyDigest(key), slip]));
    found.push(
      ...(await withLicenses(db, await findKeysByDigests(db, [...slips.keys()]), (key, license): Likely[] => {
        const slip = slips.get(key.keyDigest) as Slip;
        return [{ license, slip, by: 'key', hasEnded: !isKeyActive(key, now) }];
      })),
    );
    if (found.length >= MAX_CANDIDATES) break;
  }
  return ranked(found);
}

async function withLicenses<T>(
  db: Db,
  keys: LicenseKey[],
  read: (key: LicenseKey, license: License) => T[],
): Promise<T[]> {
  const licenses = await findLicensesByIds(db, uniqueNonNull(keys.map(({ licenseId }) => licenseId)));
  const byId = new Map(licenses.map((license) => [license.id, license]));
  return keys.flatMap((key) => {
    const license = byId.get(key.licenseId);
    return license ? read(key, license) : [];
  });
}

function ranked(candidates: Likely[]): Likely[] {
  const likeliestFirst = [...candidates].sort((a, b) => RANK.indexOf(a.slip) - RANK.indexOf(b.slip));
  const ids = likeliestFirst.map(({ license }) => license.id);
  return likeliestFirst.filter((one, i) => ids.indexOf(one.license.id) === i).slice(0, MAX_CANDIDATES);
}
