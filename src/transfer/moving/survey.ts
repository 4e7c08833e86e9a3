import { PLAN_DEFAULTS, type Plan } from '../../store/catalogue';
import type { PlanTable } from './plan-map';
import { createReporter } from './report';
import type { SourceItem, SourceName } from './source';
import { OVER, standingOf } from './standing';
import { toWanted } from './wanted';

/** Facts about all rows that the import needs before it takes the first one. The rows are read twice for them. */

/** By digests as bytes: the row that a key goes to, and its standing as the last digit. */
export type KeyRows = Map<string, number>;

/** Returns a digest in half of the memory. */
export function bytesOf(digest: string): string {
  return Buffer.from(digest, 'hex').toString('latin1');
}

/** Reports whether a row keeps its key; another row may have the same one. */
export function keepsKey(rows: KeyRows, digest: string, row: number): boolean {
  const kept = rows.get(bytesOf(digest));
  return kept === undefined || Math.floor(kept / 10) === row;
}

/** Finds the row that each key goes to: of several, the first one that works. Counts the limits and periods of each plan. */
export async function survey(
  items: AsyncIterable<SourceItem>,
  plans: PlanTable,
  { source, now }: { source: SourceName; now: Date },
): Promise<KeyRows> {
  const rows: KeyRows = new Map();
  const ids = new Set<string>();
  const unused = createReporter();
  for await (const item of items) {
    if (!('keys' in item) || ids.has(item.id)) continue;
    const mapped = plans.all.get(item.plan);
    if (mapped?.leftOut) continue;
    ids.add(item.id);
    plans.note(item);
    const wanted = toWanted(item, source, mapped?.target?.plan ?? UNMADE, unused, now);
    if ('leftOut' in wanted) continue;
    const standing = standingOf({ ...item, expiresAt: wanted.expiresAt }, now);
    for (const { digest, ended } of wanted.keys) {
      const rank = ended ? OVER : standing;
      const key = bytesOf(digest);
      const before = rows.get(key);
      if (before === undefined || rank < before % 10) rows.set(key, item.row * 10 + rank);
    }
  }
  return rows;
}

/** The stand-in for a plan that does not exist yet. */
const UNMADE: Plan = {
  ...PLAN_DEFAULTS,
  ...{ id: 0, productId: 0, name: '', activationType: 'domain', activationLimit: 0, duration: null },
  createdAt: new Date(0),
};
