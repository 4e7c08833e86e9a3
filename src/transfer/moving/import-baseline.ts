import { shortDigest } from '../../base/digest';
import { jsonOf } from '../../base/json';
import { isTerminalStatus, type StoredStatus } from '../../licensing/core/states';
import { readMetadata, type Metadata } from '../../licensing/metadata';
import type { LockedLicense } from '../../store/licenses/licenses';
import { MERGED_FIELDS, type MergedField, type DesiredLicense } from './desired-license';

/**
 * The values of a licence that the latest run imported, the base of a three-way merge. A field that still equals
 * its base here takes the source's change. A field that was changed here stays. Personal texts are stored as digests.
 */
export interface ImportBaseline extends Partial<Record<MergedField, string | number | null | undefined>> {
  /** the latest run that made or changed the licence; undefined if unknown */
  run?: number;
  /** beginnings of digests; a site that was imported once and is gone here is not added again */
  keys: string[];
  sites: string[];
  /** the keys that moved here from other licences, by the beginning of their digests: the id of their first licence */
  moved?: Record<string, number>;
}

/** Returns the stored form, with the run first: `listChangedByRun` searches for it. */
export function writeBrought(run: number, brought: ImportBaseline): string {
  return JSON.stringify(Object.assign({ run }, brought, { run }));
}

/**
 * Returns the values to remember of a licence: the source's value of a field that holds here now, otherwise the former one.
 * @param holds the fields with the source's value
 */
export function nextBaseline(
  wanted: DesiredLicense,
  before: ImportBaseline = { keys: [], sites: [] },
  holds: readonly MergedField[] = MERGED_FIELDS,
): ImportBaseline {
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

export function parseBaseline(json: string | null | undefined): ImportBaseline {
  return json ? (JSON.parse(json) as ImportBaseline) : { keys: [], sites: [] };
}

/** Returns the beginning of a key's digest, as long as a `shortDigest`. */
export function shortKey(digest: string): string {
  return digest.slice(0, 16);
}

export function allSites({ keys, sites }: Pick<DesiredLicense, 'keys' | 'sites'>): string[] {
  return [...sites, ...keys.flatMap((key) => key.sites)];
}

type Value = string | number | null;
/** The fields of a licence here that are compared. */
type Here = Pick<
  LockedLicense,
  'planId' | 'status' | 'activationLimit' | 'expiresAt' | 'customer' | 'metadata'
>;

export interface MergeDecision {
  changed: MergedField[];
  kept: MergedField[];
  /** the fields without a difference */
  equal: MergedField[];
}

/** Compares a licence here with the source. Fields that differ take the change (`changed`) or keep their value (`kept`). */
export function compareThreeWay(here: Here, wanted: DesiredLicense, brought: ImportBaseline): MergeDecision {
  const names = Object.keys(wanted.metadata);
  const is: Record<MergedField, Value> = {
    ...jsonOf(here, 'planId', 'status', 'activationLimit', 'expiresAt', 'customer'),
    metadata: textOf(readMetadata(here.metadata), names),
  };
  const want = valuesOf(wanted);
  const [changed, kept, equal]: [MergedField[], MergedField[], MergedField[]] = [[], [], []];
  for (const field of MERGED_FIELDS) {
    if (wanted.unsaid.has(field)) continue;
    if (is[field] === want[field]) {
      equal.push(field);
      continue;
    }
    if (field === 'expires_at' && wanted.endedSometime && here.expiresAt && wanted.expiresAt)
      if (here.expiresAt <= wanted.expiresAt) continue;
    const isAsBrought = brought[field] !== undefined && brought[field] === remembered(field, is[field]);
    const stays = field === 'status' && isTerminalStatus(here.status as StoredStatus);
    (isAsBrought && !stays ? changed : kept).push(field);
  }
  return { changed, kept, equal };
}

function valuesOf(wanted: DesiredLicense): Record<MergedField, Value> {
  return {
    plan_id: wanted.plan.id,
    ...jsonOf(wanted, 'status', 'activationLimit', 'expiresAt', 'customer'),
    metadata: textOf(wanted.metadata, Object.keys(wanted.metadata)),
  };
}

/** Returns metadata as text, only with names that the source has. Other names belong to the seller. */
function textOf(metadata: Metadata, names: string[]): string {
  return JSON.stringify([...names].sort().map((name) => [name, metadata[name] ?? null]));
}

function remembered(field: MergedField, value: Value): Value {
  return (field === 'customer' || field === 'metadata') && typeof value === 'string'
    ? shortDigest(value)
    : value;
}
