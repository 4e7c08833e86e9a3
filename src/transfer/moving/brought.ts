import { shortDigest } from '../../base/digest';
import { jsonOf } from '../../base/json';
import { isFinal, type StoredStatus } from '../../licensing/core/states';
import { readMetadata, type Metadata } from '../../licensing/metadata';
import type { LockedLicense } from '../../store/licenses/licenses';
import { FIELDS, type Field, type Wanted } from './wanted';

/**
 * What the latest run brought of a licence. What still is so here takes a change of the source; what differs was changed
 * here by somebody, and stays. Texts about people are kept as digests.
 */
export interface Brought extends Partial<Record<Field, string | number | null | undefined>> {
  /** the latest run that made or changed it; undefined: none that is known */
  run?: number;
  /** digests' beginnings; a site that was brought once and is gone here does not come again */
  keys: string[];
  sites: string[];
  /** by beginnings of their digests, the keys that went over from other licences: the id of the first one */
  moved?: Record<string, number>;
}

/** As it is stored: the run first, by which it is found (`listChangedByRun`). */
export function writeBrought(run: number, brought: Brought): string {
  return JSON.stringify(Object.assign({ run }, brought, { run }));
}

/**
 * What is remembered of a licence: what the source says as far as it holds here now, else what was brought before.
 * @param holds fields that are as the source has them
 */
export function broughtOf(
  wanted: Wanted,
  before: Brought = { keys: [], sites: [] },
  holds: readonly Field[] = FIELDS,
): Brought {
  const values = valuesOf(wanted);
  return {
    ...before,
    ...Object.fromEntries(
      holds
        .filter((field) => !wanted.unsaid.has(field))
        .map((field) => [field, remembered(field, values[field])]),
    ),
    keys: wanted.keys.map(({ digest }) => shortKey(digest)),
    sites: [...new Set([...before.sites, ...allSites(wanted).map(shortDigest)])],
  };
}

export function readBrought(json: string | null | undefined): Brought {
  return json ? (JSON.parse(json) as Brought) : { keys: [], sites: [] };
}

/** The beginning of a key's digest, as long as a `shortDigest`. */
export function shortKey(digest: string): string {
  return digest.slice(0, 16);
}

export function allSites({ keys, sites }: Pick<Wanted, 'keys' | 'sites'>): string[] {
  return [...sites, ...keys.flatMap((key) => key.sites)];
}

type Value = string | number | null;
/** A licence here, as far as it is compared. */
type Here = Pick<
  LockedLicense,
  'planId' | 'status' | 'activationLimit' | 'expiresAt' | 'customer' | 'metadata'
>;

export interface Compared {
  changed: Field[];
  kept: Field[];
  /** both are the same */
  equal: Field[];
}

/** The fields in which a licence here differs from the source: those that take its change, and those that stay; and the others. */
export function compare(here: Here, wanted: Wanted, brought: Brought): Compared {
  const names = Object.keys(wanted.metadata);
  const is: Record<Field, Value> = {
    ...jsonOf(here, 'planId', 'status', 'activationLimit', 'expiresAt', 'customer'),
    metadata: textOf(readMetadata(here.metadata), names),
  };
  const want = valuesOf(wanted);
  const [changed, kept, equal]: [Field[], Field[], Field[]] = [[], [], []];
  for (const field of FIELDS) {
    if (wanted.unsaid.has(field)) continue;
    if (is[field] === want[field]) {
      equal.push(field);
      continue;
    }
    if (field === 'expires_at' && wanted.endedSometime && here.expiresAt && wanted.expiresAt)
      if (here.expiresAt <= wanted.expiresAt) continue;
    const isAsBrought = brought[field] !== undefined && brought[field] === remembered(field, is[field]);
    const stays = field === 'status' && isFinal(here.status as StoredStatus);
    (isAsBrought && !stays ? changed : kept).push(field);
  }
  return { changed, kept, equal };
}

function valuesOf(wanted: Wanted): Record<Field, Value> {
  return {
    plan_id: wanted.plan.id,
    ...jsonOf(wanted, 'status', 'activationLimit', 'expiresAt', 'customer'),
    metadata: textOf(wanted.metadata, Object.keys(wanted.metadata)),
  };
}

/** Only names that the source has: others are the seller's own. */
function textOf(metadata: Metadata, names: string[]): string {
  return JSON.stringify([...names].sort().map((name) => [name, metadata[name] ?? null]));
}

function remembered(field: Field, value: Value): Value {
  return (field === 'customer' || field === 'metadata') && typeof value === 'string'
    ? shortDigest(value)
    : value;
}
