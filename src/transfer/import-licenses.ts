import { formatTimestamp } from '../base/days';
import { findEmail } from '../licensing/customer-email';
import { metadataDifference, storedMetadata } from '../licensing/metadata';
import { foldedDigestOfSealed, isSealedWith } from '../licensing/sealing';
import { isTerminalStatus } from '../licensing/core/states';
import {
  activationKey,
  findActivation,
  findActivations,
  setActivationName,
  setFree,
  setHeldUntil,
} from '../store/licenses/activations';
import { recountActivations } from '../store/counters';
import { customerDigest } from '../store/customer-digest';
import { insertEvents, type LicenseEvent } from '../store/events';
import { withKeys, type Row } from '../store/export';
import { findRows, insertCountedInChunks, insertInChunks, lockRows, updateRows } from '../store/import';
import { findOwners, incrementRevisions } from '../store/licenses/licenses';
import {
  conflict,
  hasChanges,
  insertNew,
  localLicenseId,
  DRY_RUN_ID,
  tally,
  type ImportJob,
  type LocalPlan,
} from './import-job';
import { changesKeys, verifyKeys, mergeKeys, rememberKeys, writeKeys, type MergedKeys } from './import-keys';
import { noteLine } from './lines';
import { atLine, type Numbered } from './record-reader';
import { fromRow, toRow, type RecordOf } from './records';

type MatchedLicense = Numbered<'license'> & { here: RecordOf<'license'> | undefined };

/** Imports licences. They are matched by key digests: any key in the file with any key here. */
export async function importLicenses(job: ImportJob, records: Numbered<'license'>[]): Promise<void> {
  for (const record of records) checkLicense(job, record);
  const values = records.map(({ value }) => value);
  const digests = values.flatMap(({ keys }) => keys.map(({ key_digest }) => key_digest));
  const references = values.flatMap(({ reference }) => reference ?? []);
  const owners = job.empty.license ? new Map<string, number>() : await findOwners(job.trx, digests);
  const here = await readLicenses(job, findRows, [...new Set(owners.values())]);
  const byReference = job.empty.license ? [] : await findRows(job.trx, 'licenses', 'reference', references);
  const ownerOf = new Map(byReference.map((row) => [row.reference, row.id as number]));
  const added: MatchedLicense[] = [];
  const differing: MatchedLicense[] = [];
  for (const record of records) {
    const { line, value } = record;
    const ids = [...new Set(value.keys.flatMap(({ key_digest }) => owners.get(key_digest) ?? []))];
    const match = here.get(ids[0] ?? DRY_RUN_ID);
    const owner = value.reference === null ? undefined : ownerOf.get(value.reference);
    const merge = mergeKeys(match, value, formatTimestamp(job.options.now));
    const found: MatchedLicense = { ...record, here: match };
    if (ids.length > 1)
      conflict(job, 'license', line, `its keys belong to several licences here: ${ids.join(', ')}`);
    else if (match !== undefined && job.matched.has(match.id))
      conflict(job, 'license', line, `licence ${match.id} here has its key and the key of an earlier line`);
    else if (owner !== undefined && owner !== match?.id)
      conflict(job, 'license', line, `its reference belongs to licence ${owner} here, which has another key`);
    else if (match === undefined) added.push(found);
    else {
      const difference = licenseConflict(job, match, value);
      if (difference !== undefined) conflict(job, 'license', line, difference);
      else if (hasChanges(licenseChanges(job, match, value)) || changesKeys(merge, match))
        differing.push(found);
      else tally(job, 'license', 'same');
    }
    if (match !== undefined) job.matched.add(match.id);
    job.licenses.set(value.id, match?.id ?? DRY_RUN_ID);
    const idsHere = new Map(match?.keys.map(({ key_digest, id }) => [key_digest, id]));
    rememberKeys(job, value, merge, (digest) => idsHere.get(digest) ?? DRY_RUN_ID);
  }
  tally(job, 'license', 'new', added.length);
  if (job.writes) await insertLicenses(job, added);
  if (job.writes) job.last.push(() => changeLicenses(job, differing));
  else tally(job, 'license', 'changed', differing.length);
}

/** Returns licences with their keys, keyed by id. */
async function readLicenses(
  job: ImportJob,
  read: typeof findRows | typeof lockRows,
  ids: number[],
): Promise<Map<number, RecordOf<'license'>>> {
  const rows = await withKeys(job.trx, await read(job.trx, 'licenses', 'id', ids));
  return new Map(rows.map((row) => [row.id as number, fromRow('license', row)]));
}

function checkLicense(job: ImportJob, { line, value }: Numbered<'license'>): void {
  // Exports from before addresses were required may contain another text, which stays unchanged.
  if (value.customer !== null) value.customer = findEmail(value.customer) ?? value.customer;
  if (!job.plans.has(value.plan_id)) throw atLine(line, `the file has no plan ${value.plan_id}`);
  verifyKeys(job, { line, value });
  for (const { key_digest } of value.keys) once(job.digests, key_digest, line, 'key');
  if (value.reference !== null) once(job.references, value.reference, line, 'reference');
  const { secret, withoutSealedKeys } = job.options;
  if (withoutSealedKeys) for (const key of value.keys) key.key_sealed = null;
  const sealed = value.keys.flatMap(({ key_sealed }) => key_sealed ?? []);
  if (sealed.length > 0 && secret === undefined) job.report.sealedUnchecked++;
  else if (secret !== undefined && !sealed.every((one) => isSealedWith(one, secret)))
    throw atLine(
      line,
      'the key of this licence is sealed with another LICENSING_KEY_SECRET than the one set here',
      { reason: 'sealed-elsewhere' },
    );
  if (secret !== undefined)
    for (const key of value.keys)
      if (key.key_sealed !== null && key.key_start === null)
        key.folded_digest ??= foldedDigestOfSealed(key.key_sealed, key.key_digest, secret);
}

function once(lines: Map<string, number>, key: string, line: number, what: string): void {
  const before = noteLine(lines, key, line);
  if (before !== undefined) throw atLine(line, `this licence has the same ${what} as that of line ${before}`);
}

function planOf(job: ImportJob, { plan_id }: RecordOf<'license'>): LocalPlan {
  return job.plans.get(plan_id) as LocalPlan;
}

async function insertLicenses(job: ImportJob, added: MatchedLicense[]): Promise<void> {
  const rows = added.map(({ value }) => ({
    ...toRow('license', value),
    customer_digest: customerDigest(value.customer),
    plan_id: planOf(job, value).id,
  }));
  if (job.empty.license) {
    await insertInChunks(job.trx, 'licenses', rows);
    const keys = added.flatMap(({ value }) =>
      value.keys.map((key) => ({ ...toRow('key', key), license_id: value.id })),
    );
    await insertInChunks(job.trx, 'license_keys', keys);
  }
  const ids = job.empty.license
    ? added.map(({ value }) => value.id)
    : await insertCountedInChunks(
        job.trx,
        'licenses',
        rows.map(({ id: _id, ...row }: Row) => ({ ...row, main_key_id: null })),
      );
  const now = formatTimestamp(job.options.now);
  const merged = added.map(({ value: there }, i): MergedKeys => {
    const licenseId = ids[i] as number;
    job.licenses.set(there.id, licenseId);
    job.added.add(licenseId);
    return { licenseId, here: undefined, there, merge: mergeKeys(undefined, there, now) };
  });
  if (!job.empty.license) return writeKeys(job, merged);
  for (const { there, merge } of merged) {
    const keyIds = new Map(there.keys.map(({ key_digest, id }) => [key_digest, id]));
    rememberKeys(job, there, merge, (digest) => keyIds.get(digest) as number);
  }
}

function licenseConflict(
  job: ImportJob,
  here: RecordOf<'license'>,
  there: RecordOf<'license'>,
): string | undefined {
  const [planHere, plan] = [job.localPlans.get(here.plan_id), planOf(job, there)];
  const name = `licence ${here.id}`;
  if (planHere === undefined) return `${name} was moved to a plan that is newer than this import. Try again`;
  if (planHere.productId !== plan.productId)
    return `${name}, which has the same key, is for product ${planHere.productId} here, and for ${plan.productId} in the file`;
  if (planHere.activationType !== plan.activationType)
    return `${name} counts by ${planHere.activationType} here, and by ${plan.activationType} in the file`;
  if (here.status !== there.status && isTerminalStatus(here.status))
    return `${name} is ${here.status} here, which is final, and ${there.status} in the file`;
  if (here.reference !== null && there.reference !== null && here.reference !== there.reference)
    return `${name} has another reference here`;
  return undefined;
}

/**
 * Returns the columns that the file changes. The operator's decisions come from the file. The greater of two counts is
 * kept, so that no use is lost. A file without metadata does not remove metadata.
 */
function licenseChanges(job: ImportJob, here: RecordOf<'license'>, there: RecordOf<'license'>): Row {
  const row = toRow('license', there);
  const changes: Row = {};
  for (const field of DECIDED) if (here[field] !== there[field]) changes[field] = row[field] ?? null;
  if ('customer' in changes) changes.customer_digest = customerDigest(there.customer);
  const plan = planOf(job, there);
  if (plan.id !== here.plan_id) changes.plan_id = plan.id;
  if (here.reference === null && there.reference !== null) changes.reference = there.reference;
  if (here.issued_by === null && there.issued_by !== null) changes.issued_by = there.issued_by;
  if (typeof row.metadata === 'string' && row.metadata !== storedMetadata(here.metadata))
    changes.metadata = row.metadata;
  for (const field of ['check_count', 'revision'] as const)
    if (there[field] > here[field]) changes[field] = there[field];
  if (there.last_check_at !== null && (here.last_check_at ?? '') < there.last_check_at) {
    changes.last_check_at = row.last_check_at ?? null;
    changes.last_check_ip = there.last_check_ip;
  }
  return changes;
}

const DECIDED = [
  ...(['status', 'activation_limit', 'customer', 'expires_at', 'grace_days', 'renews_itself'] as const),
];
const DECISIONS = ['plan_id', 'reference', ...DECIDED] as const;

async function changeLicenses(job: ImportJob, differing: MatchedLicense[]): Promise<void> {
  const { actor, now } = job.options;
  // Compare again under the lock: the service may have counted a check meanwhile, or an operator revoked a licence.
  const ids = differing.flatMap(({ here }) => here?.id ?? []);
  const locked = await readLicenses(job, lockRows, ids);
  const events: LicenseEvent[] = [];
  const changed: [number, Row][] = [];
  const merged: MergedKeys[] = [];
  for (const { line, value, here: before } of differing) {
    const here = locked.get(before?.id as number) as RecordOf<'license'>;
    const { id } = here;
    const difference = licenseConflict(job, here, value);
    if (difference !== undefined) {
      conflict(job, 'license', line, difference);
      continue;
    }
    merged.push({ licenseId: id, here, there: value, merge: mergeKeys(here, value, formatTimestamp(now)) });
    tally(job, 'license', 'changed');
    const changes = licenseChanges(job, here, value);
    if (!hasChanges(changes)) continue;
    changed.push([id, changes]);
    const decided = DECISIONS.filter((field) => field in changes);
    const there = { ...value, plan_id: planOf(job, value).id };
    const pick = (from: RecordOf<'license'>) =>
      Object.fromEntries(decided.map((field) => [field, from[field]]));
    const metadata = 'metadata' in changes ? metadataDifference(here.metadata, value.metadata) : undefined;
    if (decided.length === 0 && metadata === undefined) continue;
    changes.revision = Math.max(here.revision, value.revision) + 1;
    events.push({
      licenseId: id,
      at: now,
      actor,
      action: 'import',
      before: { ...pick(here), ...(metadata && { metadata: metadata.before }) },
      after: { ...pick(there), ...(metadata && { metadata: metadata.after }) },
    });
  }
  await updateRows(job.trx, 'licenses', changed);
  if (events.length > 0) await insertEvents(job.trx, events);
  await writeKeys(job, merged);
}

/**
 * Imports activations. They are matched by licence and identifier. Stored dates, addresses and keys are kept. An
 * activation that uses a slot here becomes free if the file says so, as when its production site is activated, but
 * never the reverse. A hold is only extended.
 */
export async function importActivations(job: ImportJob, records: Numbered<'activation'>[]): Promise<void> {
  const entries: ActivationEntry[] = records.map((record) => {
    const { line, value } = record;
    if (job.activationsOf.license !== value.license_id)
      job.activationsOf = { license: value.license_id, identifiers: new Set() };
    const { identifiers } = job.activationsOf;
    if (identifiers.has(value.identifier))
      throw atLine(line, 'this identifier is already activated on its licence');
    identifiers.add(value.identifier);
    if (value.key_id !== null && job.otherKeys.get(value.key_id)?.licenseId !== value.license_id)
      throw atLine(line, `its licence has no key ${value.key_id} besides the main key`);
    return { record, licenseId: localLicenseId(job, line, value.license_id) };
  });
  let added = entries;
  /** the number of changes, keyed by the id of a licence that existed before */
  const changes = new Map<number, number>();
  const countChange = (licenseId: number) => changes.set(licenseId, (changes.get(licenseId) ?? 0) + 1);
  const look = async () => {
    const wanted = job.empty.activation ? [] : added.map(pairOf).filter(isWritten);
    const existing = await findActivations(job.trx, wanted);
    const missing: ActivationEntry[] = [];
    for (const entry of added) {
      const { name, identifier, free, held_until } = entry.record.value;
      const here = existing.get(activationKey(pairOf(entry)));
      if (here === undefined) {
        missing.push(entry);
        continue;
      }
      const isRenamed = name !== null && name !== here.name;
      const isFreed = free && !here.free;
      const heldUntil = held_until === null ? null : new Date(held_until);
      const isHeld = heldUntil !== null && (here.heldUntil === null || heldUntil > here.heldUntil);
      tally(job, 'activation', isRenamed || isFreed || isHeld ? 'changed' : 'same');
      if (!job.writes) continue;
      if (isRenamed) {
        await setActivationName(job.trx, entry.licenseId, identifier, name);
        countChange(entry.licenseId);
      }
      if (isFreed) job.last.push(() => freeActivation(job, entry));
      if (isHeld) job.last.push(() => holdActivation(job, entry, heldUntil));
    }
    added = missing;
  };
  await look();
  const insert = (ones: ActivationEntry[]) => insertActivationsOf(job, ones);
  const others = added.filter(({ licenseId }) => job.writes && !job.added.has(licenseId));
  await insert(added.filter((entry) => !others.includes(entry)));
  if (others.length > 0 || changes.size > 0)
    job.last.push(async () => {
      // New activations of these licences wait from here on. Search again for activations added before that.
      await lockRows(job.trx, 'licenses', 'id', [...new Set(others.map(({ licenseId }) => licenseId))]);
      added = others;
      await look();
      await insert(added);
      for (const { licenseId } of added) countChange(licenseId);
      await incrementRevisions(job.trx, changes);
    });
}

async function freeActivation({ trx }: ImportJob, entry: ActivationEntry): Promise<void> {
  await lockRows(trx, 'licenses', 'id', [entry.licenseId]);
  await setFree(trx, [pairOf(entry)]);
  await recountActivations(trx, [entry.licenseId]);
}

/** Extends a hold. Checks it again under the lock, because an offline file may have been issued here meanwhile. */
async function holdActivation({ trx }: ImportJob, entry: ActivationEntry, heldUntil: Date): Promise<void> {
  const { licenseId, identifier } = pairOf(entry);
  await lockRows(trx, 'licenses', 'id', [licenseId]);
  const here = await findActivation(trx, licenseId, { identifier });
  if (here === undefined || (here.heldUntil ?? heldUntil) > heldUntil) return;
  await setHeldUntil(trx, [{ licenseId, identifier, heldUntil }]);
  await incrementRevisions(trx, new Map([[licenseId, 1]]));
}

async function insertActivationsOf(job: ImportJob, added: ActivationEntry[]): Promise<void> {
  const ids = new Map(added.map(({ record, licenseId }) => [record, licenseId]));
  await insertNew(
    job,
    'activation',
    // Insert in the order of activation, so that new ids ascend in it.
    [...ids.keys()].sort((a, b) => a.value.id - b.value.id),
    (record) => {
      const { key_id } = record.value;
      return {
        license_id: ids.get(record) as number,
        key_id: key_id === null ? null : (job.otherKeys.get(key_id)?.key ?? null),
      };
    },
  );
  if (job.writes) await recountActivations(job.trx, [...new Set(ids.values())]);
}

interface ActivationEntry {
  record: Numbered<'activation'>;
  licenseId: number;
}

function pairOf({ record, licenseId }: ActivationEntry) {
  return { licenseId, identifier: record.value.identifier };
}

function isWritten({ licenseId }: { licenseId: number }): boolean {
  return licenseId !== DRY_RUN_ID;
}
