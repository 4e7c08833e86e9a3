import { insertEvents, type LicenseEvent } from '../store/events';
import type { Row } from '../store/export';
import { insertCountedInChunks, updateRows } from '../store/import';
import { moveActivations } from '../store/licenses/license-keys';
import { DRY_RUN_ID, type ImportJob } from './import-job';
import { atLine, type Numbered } from './record-reader';
import { toRow, type KeyRecord, type RecordOf } from './records';

type LicenseRecord = RecordOf<'license'>;

/** The target state of a key, with the digest of the key that replaces it. */
interface TargetKey extends KeyRecord {
  replacedByDigest: string | null;
}

/** The merged keys of a licence. Keys are matched by digest. */
interface KeyMerge {
  /** the digest of the main key */
  mainDigest: string;
  byDigest: Map<string, TargetKey>;
  /** the keys that the licence does not have yet */
  added: TargetKey[];
  changed: { here: KeyRecord; target: TargetKey }[];
}

/** Checks that the keys of a licence in the file fit together. @throws OperatorError when they do not */
export function verifyKeys(job: ImportJob, { line, value }: Numbered<'license'>): void {
  const byId = new Map(value.keys.map((key) => [key.id, key]));
  const main = byId.get(value.main_key_id);
  if (main === undefined) throw atLine(line, 'the main key of this licence is not among its keys');
  if (main.activation_limit !== null || main.ends_at !== null || main.replaced_by !== null)
    throw atLine(line, 'the main key of a licence has no limit and no end of its own');
  let before = 0;
  for (const { id, replaced_by } of value.keys) {
    if (id <= before) throw atLine(line, "a licence's keys must be sorted by id, without duplicates");
    if (job.keys.has(id)) throw atLine(line, `key ${id} also belongs to an earlier licence`);
    if (replaced_by !== null && (replaced_by === id || byId.get(replaced_by)?.replaced_by !== null))
      throw atLine(line, `key ${id} was replaced by a key that is missing or was itself replaced`);
    before = id;
    job.keys.set(id, DRY_RUN_ID);
  }
}

/**
 * Merges a licence's keys. The operator's terms come from the file. Three things here are kept: the main key, unless
 * the file's main key is new here; the end of a key that has ended; and the replacement of a key that was replaced.
 * @param here the licence in the database; undefined if it is new
 */
export function mergeKeys(here: LicenseRecord | undefined, there: LicenseRecord, now: string): KeyMerge {
  const stored = new Map(here?.keys.map((key) => [key.key_digest, key]));
  const mainThere = digestOf(there, there.main_key_id);
  const mainDigest =
    here !== undefined && stored.has(mainThere) ? digestOf(here, here.main_key_id) : mainThere;
  const byDigest = new Map<string, TargetKey>();
  for (const key of here?.keys ?? [])
    byDigest.set(key.key_digest, {
      ...key,
      replacedByDigest: key.replaced_by === null ? null : digestOf(here as LicenseRecord, key.replaced_by),
    });
  const added: TargetKey[] = [];
  for (const key of there.keys) {
    const replacedByDigest = key.replaced_by === null ? null : digestOf(there, key.replaced_by);
    const match = byDigest.get(key.key_digest);
    if (match === undefined) {
      const target = { ...key, replacedByDigest };
      byDigest.set(key.key_digest, target);
      added.push(target);
      continue;
    }
    match.label = key.label;
    match.key_sealed ??= key.key_sealed;
    match.folded_digest ??= key.folded_digest;
    const hasEnded = match.ends_at !== null && match.ends_at <= now;
    const isMain = key.key_digest === mainDigest || key.key_digest === mainThere;
    if (isMain || hasEnded || (match.replacedByDigest !== null && replacedByDigest === null)) continue;
    match.activation_limit = key.activation_limit;
    match.ends_at = key.ends_at;
    match.replacedByDigest ??= replacedByDigest;
  }
  for (const target of byDigest.values()) target.replacedByDigest = lastReplacement(target, byDigest);
  const changed = [...stored].flatMap(([digest, key]) => {
    const target = byDigest.get(digest) as TargetKey;
    const replacedBefore = key.replaced_by === null ? null : digestOf(here as LicenseRecord, key.replaced_by);
    const isSame =
      TERMS.every((name) => key[name] === target[name]) &&
      key.key_sealed === target.key_sealed &&
      key.folded_digest === target.folded_digest &&
      replacedBefore === target.replacedByDigest;
    return isSame ? [] : [{ here: key, target }];
  });
  return { mainDigest, byDigest, added, changed };
}

const TERMS = ['label', 'activation_limit', 'ends_at'] as const;

function digestOf({ keys }: LicenseRecord, id: number): string {
  return keys.find((key) => key.id === id)?.key_digest ?? '';
}

/** Returns the last key of a chain: a key may have been replaced here, and its replacement again in the file. */
function lastReplacement(key: TargetKey, byDigest: Map<string, TargetKey>): string | null {
  let last = key.replacedByDigest;
  const seen = new Set([key.key_digest]);
  while (last !== null && !seen.has(last)) {
    seen.add(last);
    const next = byDigest.get(last)?.replacedByDigest ?? null;
    if (next === null) return last;
    last = next;
  }
  return null;
}

/** Reports whether a merge changes any key. */
export function changesKeys({ mainDigest, added, changed }: KeyMerge, here: LicenseRecord): boolean {
  return added.length + changed.length > 0 || digestOf(here, here.main_key_id) !== mainDigest;
}

export interface MergedKeys {
  /** the licence's id here, and its former state; undefined if it is new */
  licenseId: number;
  here: LicenseRecord | undefined;
  there: LicenseRecord;
  merge: KeyMerge;
}

/** Writes the keys of licences that are new or locked, and sets their main keys. */
export async function writeKeys(job: ImportJob, all: MergedKeys[]): Promise<void> {
  const { trx, options } = job;
  const added = all.flatMap(({ licenseId, merge }) => merge.added.map((key) => ({ licenseId, key })));
  const addedIds = await insertCountedInChunks(
    trx,
    'license_keys',
    added.map(({ licenseId, key }) => ({
      license_id: licenseId,
      ...withoutId(toRow('key', { ...key, replaced_by: null })),
    })),
  );
  const ids = new Map(added.map(({ key }, i) => [key.key_digest, addedIds[i] as number]));
  const keyChanges: [number, Row][] = [];
  const mainKeys: [number, Row][] = [];
  const events: LicenseEvent[] = [];
  for (const { licenseId, here, there, merge } of all) {
    const { mainDigest } = merge;
    for (const key of here?.keys ?? []) ids.set(key.key_digest, key.id);
    const idOf = (digest: string) => ids.get(digest) as number;
    const record = (before: LicenseEvent['before'], after: LicenseEvent['after']) =>
      events.push({ licenseId, at: options.now, actor: options.actor, action: 'import', before, after });
    for (const key of merge.added) {
      if (key.replacedByDigest !== null)
        keyChanges.push([idOf(key.key_digest), { replaced_by: idOf(key.replacedByDigest) }]);
      if (here) record(null, termsOf(key, idOf(key.key_digest)));
    }
    for (const { here: before, target } of merge.changed) {
      const replaced_by = target.replacedByDigest === null ? null : idOf(target.replacedByDigest);
      const { label, activation_limit, ends_at, key_sealed, folded_digest } = toRow('key', target);
      const changes = { label, activation_limit, ends_at, key_sealed, folded_digest, replaced_by } as Row;
      keyChanges.push([before.id, changes]);
      if (before.replaced_by === null && replaced_by !== null)
        await moveActivations(trx, before.id, target.replacedByDigest === mainDigest ? null : replaced_by);
      if (TERMS.some((name) => before[name] !== target[name]))
        record(termsOf(before, before.id), termsOf(target, before.id));
    }
    const mainKeyId = idOf(mainDigest);
    if (here?.main_key_id !== mainKeyId) mainKeys.push([licenseId, { main_key_id: mainKeyId }]);
    if (here && here.main_key_id !== mainKeyId)
      record({ main_key_id: here.main_key_id }, { main_key_id: mainKeyId });
    rememberKeys(job, there, merge, idOf);
  }
  await updateRows(trx, 'license_keys', keyChanges);
  await updateRows(trx, 'licenses', mainKeys);
  if (events.length > 0) await insertEvents(trx, events);
}

function withoutId({ id: _id, ...row }: Row): Row {
  return row;
}

function termsOf({ key_hint, label, activation_limit, ends_at }: KeyRecord, id: number) {
  return { key_id: id, key_hint, label, activation_limit, ends_at };
}

/** Stores the ids here of a licence's keys, for the records that refer to them. */
export function rememberKeys(
  job: ImportJob,
  there: LicenseRecord,
  { mainDigest, byDigest }: KeyMerge,
  idOf: (digest: string) => number,
): void {
  for (const { id, key_digest } of there.keys) {
    job.keys.set(id, idOf(key_digest));
    if (id === there.main_key_id) continue;
    const digest = byDigest.get(key_digest)?.replacedByDigest ?? key_digest;
    job.otherKeys.set(id, { licenseId: there.id, key: digest === mainDigest ? null : idOf(digest) });
  }
}
