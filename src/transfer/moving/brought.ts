import { createHash } from 'node:crypto';
import { isFinal, type StoredStatus } from '../../licensing/core/states';
import { readMetadata, type Metadata } from '../../licensing/metadata';
import { formatTimestampOrNull } from '../../licensing/timestamps';
import type { LockedLicense } from '../../store/licenses';
import { FIELDS, type Field, type Wanted } from './wanted';

/**
 * What the latest run brought of a licence. What still is so here takes a change of the source; what differs was changed
 * here by somebody, and stays. Texts about people are kept as digests.
 */
export interface Brought extends Partial<Record<Field, string | number | null>> {
  /** digests' beginnings; a key or site that was brought once and is gone here does not come again */
  keys: string[];
  sites: string[];
}

export function broughtOf(wanted: Wanted): Brought {
  const values = valuesOf(wanted);
  return {
    ...Object.fromEntries(
      FIELDS.filter((field) => !wanted.unsaid.has(field)).map((field) => [
        field,
        remembered(field, values[field]),
      ]),
    ),
    keys: wanted.keys.map(({ digest }) => digest.slice(0, SHORT)),
    sites: allSites(wanted).map(shortDigest),
  };
}

export function readBrought(json: string | null | undefined): Brought {
  return json ? (JSON.parse(json) as Brought) : { keys: [], sites: [] };
}

export function allSites({ keys, sites }: Pick<Wanted, 'keys' | 'sites'>): string[] {
  return [...sites, ...keys.flatMap((key) => key.sites)];
}

type Value = string | number | null;
type Compared = Pick<
  LockedLicense,
  'planId' | 'status' | 'activationLimit' | 'expiresAt' | 'customer' | 'metadata'
>;

/** The fields in which a licence here differs from the source: those that take its change, and those that stay. */
export function compare(
  here: Compared,
  wanted: Wanted,
  brought: Brought,
): { changed: Field[]; kept: Field[] } {
  const names = Object.keys(wanted.metadata);
  const is: Record<Field, Value> = {
    plan_id: here.planId,
    status: here.status,
    activation_limit: here.activationLimit,
    expires_at: formatTimestampOrNull(here.expiresAt),
    customer: here.customer,
    metadata: textOf(readMetadata(here.metadata), names),
  };
  const want = valuesOf(wanted);
  const [changed, kept]: [Field[], Field[]] = [[], []];
  for (const field of FIELDS) {
    if (wanted.unsaid.has(field) || is[field] === want[field]) continue;
    if (field === 'expires_at' && wanted.endedSometime && here.expiresAt && wanted.expiresAt)
      if (here.expiresAt <= wanted.expiresAt) continue;
    const isAsBrought = field in brought && brought[field] === remembered(field, is[field]);
    const stays = field === 'status' && isFinal(here.status as StoredStatus);
    (isAsBrought && !stays ? changed : kept).push(field);
  }
  return { changed, kept };
}

function valuesOf(wanted: Wanted): Record<Field, Value> {
  return {
    plan_id: wanted.plan.id,
    status: wanted.status,
    activation_limit: wanted.activationLimit,
    expires_at: formatTimestampOrNull(wanted.expiresAt),
    customer: wanted.customer,
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

const SHORT = 16;

export function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, SHORT);
}
