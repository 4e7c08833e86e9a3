import { chunksOf } from '../../base/chunks';
import { PLAN_DEFAULTS, type Plan } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import { findRows } from '../../store/import';
import { findKeysByDigests } from '../../store/licenses/license-keys';
import type { PlanTable } from './plan-map';
import { createReporter } from './report';
import type { SourceItem, SourceName } from './source';
import { OVER, sourceStandingOf } from './standing';
import { toDesiredLicense } from './desired-license';

/** Collects facts about all rows that the import needs before it takes the first one, so the rows are read twice. */

/** The row that each key goes to, with its standing as the last digit, keyed by digest as bytes. */
export type KeyRows = Map<string, number>;

/** Returns a digest in a form that takes half the memory. */
export function bytesOf(digest: string): string {
  return Buffer.from(digest, 'hex').toString('latin1');
}

/** Reports whether a row keeps its key, which another row may contain too. */
export function keepsKey(rows: KeyRows, digest: string, row: number): boolean {
  const kept = rows.get(bytesOf(digest));
  return kept === undefined || Math.floor(kept / 10) === row;
}

/**
 * Finds the row that each key goes to: one that works, and among several the one whose licence has the key here,
 * otherwise the first. Counts the limits and periods of each plan.
 */
export async function survey(
  items: AsyncIterable<SourceItem>,
  plans: PlanTable,
  { db, source, now }: { db: Db; source: SourceName; now: Date },
): Promise<KeyRows> {
  const rows: KeyRows = new Map();
  // The later rows that are equally good, keyed by key and reference.
  const ties = new Map<string, Map<string, number>>();
  const ids = new Set<string>();
  const unused = createReporter();
  for await (const item of items) {
    if (!('keys' in item) || ids.has(item.id)) continue;
    const mapped = plans.all.get(item.plan);
    if (mapped?.leftOut) continue;
    ids.add(item.id);
    plans.note(item);
    const wanted = toDesiredLicense(item, source, mapped?.target?.plan ?? UNMADE, unused, now);
    if ('leftOut' in wanted) continue;
    const standing = sourceStandingOf({ ...item, expiresAt: wanted.expiresAt }, now);
    for (const { digest, ended } of wanted.keys) {
      const rank = ended ? OVER : standing;
      const key = bytesOf(digest);
      const before = rows.get(key);
      const row = item.row * 10 + rank;
      if (before === undefined || rank < before % 10) {
        rows.set(key, row);
        ties.delete(key);
      } else if (rank === before % 10)
        ties.set(key, (ties.get(key) ?? new Map<string, number>()).set(wanted.reference, row));
    }
  }
  await leaveKeys(db, rows, ties);
  return rows;
}

/** Leaves a key with the licence that has it, so that another order of the rows changes nothing. */
async function leaveKeys(
  db: Db,
  rows: KeyRows,
  ties: ReadonlyMap<string, ReadonlyMap<string, number>>,
): Promise<void> {
  for (const some of chunksOf([...ties.keys()])) {
    const digests = some.map((key) => Buffer.from(key, 'latin1').toString('hex'));
    const keys = await findKeysByDigests(db, digests);
    const ids = keys.map(({ licenseId }) => licenseId);
    const references = new Map(
      (await findRows(db, 'licenses', 'id', ids)).map(({ id, reference }) => [id, reference]),
    );
    for (const { keyDigest, licenseId } of keys) {
      const key = bytesOf(keyDigest);
      const row = ties.get(key)?.get(references.get(licenseId) as string);
      if (row !== undefined) rows.set(key, row);
    }
  }
}

/** The placeholder for a plan that does not exist yet. */
const UNMADE: Plan = {
  ...PLAN_DEFAULTS,
  id: 0,
  productId: 0,
  name: '',
  activationType: 'domain',
  activationLimit: 0,
  duration: null,
  createdAt: new Date(0),
};
