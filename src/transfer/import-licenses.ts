import { findEmail } from '../licensing/customer-email';
import { metadataDifference, storedMetadata } from '../licensing/metadata';
import { isSealedWith } from '../licensing/sealing';
import { isFinal } from '../licensing/states';
import { activationKey, findActivations, setActivationName } from '../store/activations';
import { recountActivations } from '../store/counters';
import { insertEvents, type LicenseEvent } from '../store/events';
import type { Row } from '../store/export';
import { findRows, lockRows, updateRows } from '../store/import';
import { raiseRevisions } from '../store/licenses';
import {
  conflict,
  hasChanges,
  insertNew,
  licenseHere,
  NOT_WRITTEN,
  tally,
  type Job,
  type LocalPlan,
} from './import-job';
import { noteLine } from './lines';
import { atLine, type Numbered } from './record-reader';
import { fromRow, toRow, type RecordOf } from './records';

/** Licences are matched by the key's digest. */
export async function importLicenses(job: Job, records: Numbered<'license'>[]): Promise<void> {
  for (const record of records) checkLicense(job, record);
  const values = records.map(({ value }) => value);
  const digests = values.map(({ key_digest }) => key_digest);
  const references = values.flatMap(({ reference }) => reference ?? []);
  const [matches, owners] = job.empty.license
    ? [[], []]
    : [
        await findRows(job.trx, 'licenses', 'key_digest', digests),
        await findRows(job.trx, 'licenses', 'reference', references),
      ];
  const here = new Map(matches.map((row) => [row.key_digest, fromRow('license', row)]));
  const ownerOf = new Map(owners.map((row) => [row.reference, fromRow('license', row)]));
  const added: Numbered<'license'>[] = [];
  const differing: [Numbered<'license'>, RecordOf<'license'>][] = [];
  for (const record of records) {
    const { line, value } = record;
    const match = here.get(value.key_digest);
    const owner = value.reference === null ? undefined : ownerOf.get(value.reference);
    if (owner && owner.key_digest !== value.key_digest)
      conflict(
        job,
        'license',
        line,
        `its reference belongs to licence ${owner.id} here, which has another key`,
      );
    else if (match === undefined) added.push(record);
    else {
      const difference = licenseConflict(job, match, value);
      if (difference !== undefined) conflict(job, 'license', line, difference);
      else if (hasChanges(licenseChanges(job, match, value))) differing.push([record, match]);
      else tally(job, 'license', 'same');
    }
    job.licenses.set(value.id, match?.id ?? NOT_WRITTEN);
  }
  await insertNew(job, 'license', added, ({ value }) => ({ plan_id: planOf(job, value).id }));
  if (job.writes) await rememberLicenses(job, added);
  if (job.writes) job.last.push(() => changeLicenses(job, differing));
  else tally(job, 'license', 'changed', differing.length);
}

function checkLicense(job: Job, { line, value }: Numbered<'license'>): void {
  // Exports from before addresses were required may hold another text, which stays unchanged.
  if (value.customer !== null) value.customer = findEmail(value.customer) ?? value.customer;
  if (!job.plans.has(value.plan_id)) throw atLine(line, `the file has no plan ${value.plan_id}`);
  once(job.digests, value.key_digest, line, 'key');
  if (value.reference !== null) once(job.references, value.reference, line, 'reference');
  const { secret, withoutSealedKeys } = job.options;
  if (withoutSealedKeys) value.key_sealed = null;
  if (value.key_sealed === null) return;
  if (secret === undefined) job.report.sealedUnchecked++;
  else if (!isSealedWith(value.key_sealed, secret))
    throw atLine(
      line,
      'the key of this licence is sealed with another LICENSING_KEY_SECRET than the one set here',
      { reason: 'sealed-elsewhere' },
    );
}

function once(lines: Map<string, number>, key: string, line: number, what: string): void {
  const before = noteLine(lines, key, line);
  if (before !== undefined) throw atLine(line, `this licence has the same ${what} as that of line ${before}`);
}

function planOf(job: Job, { plan_id }: RecordOf<'license'>): LocalPlan {
  return job.plans.get(plan_id) as LocalPlan;
}

async function rememberLicenses(job: Job, added: Numbered<'license'>[]): Promise<void> {
  if (job.empty.license)
    for (const { value } of added) {
      job.licenses.set(value.id, value.id);
      job.added.add(value.id);
    }
  else {
    const digests = added.map(({ value }) => value.key_digest);
    const ids = new Map(
      (await findRows(job.trx, 'licenses', 'key_digest', digests)).map((row) => [
        row.key_digest,
        row.id as number,
      ]),
    );
    for (const { value } of added) {
      const id = ids.get(value.key_digest) as number;
      job.licenses.set(value.id, id);
      job.added.add(id);
    }
  }
}

function licenseConflict(
  job: Job,
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
  if (here.status !== there.status && isFinal(here.status))
    return `${name} is ${here.status} here, which is final, and ${there.status} in the file`;
  if (here.reference !== null && there.reference !== null && here.reference !== there.reference)
    return `${name} has another reference here`;
  return undefined;
}

/**
 * The operator's decisions come from the file. Of two counts the greater stays, so that no use is lost. A file without
 * metadata removes none, because an older one has none.
 */
function licenseChanges(job: Job, here: RecordOf<'license'>, there: RecordOf<'license'>): Row {
  const row = toRow('license', there);
  const changes: Row = {};
  for (const field of ['status', 'activation_limit', 'customer', 'expires_at'] as const)
    if (here[field] !== there[field]) changes[field] = row[field] ?? null;
  const plan = planOf(job, there);
  if (plan.id !== here.plan_id) changes.plan_id = plan.id;
  for (const field of ['reference', 'key_sealed'] as const)
    if (here[field] === null && there[field] !== null) changes[field] = row[field] ?? null;
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

const DECISIONS = ['status', 'plan_id', 'activation_limit', 'customer', 'reference', 'expires_at'] as const;

async function changeLicenses(
  job: Job,
  differing: [Numbered<'license'>, RecordOf<'license'>][],
): Promise<void> {
  const { actor, now } = job.options;
  const ids = differing.map(([, { id }]) => id);
  // Compare again under the lock: the service may have counted a check, or an operator revoked a licence.
  const locked = new Map(
    (await lockRows(job.trx, 'licenses', 'id', ids)).map((row) => [row.id, fromRow('license', row)]),
  );
  const events: LicenseEvent[] = [];
  const changed: [number, Row][] = [];
  for (const [{ line, value }, { id }] of differing) {
    const here = locked.get(id) as RecordOf<'license'>;
    const difference = licenseConflict(job, here, value);
    if (difference !== undefined) {
      conflict(job, 'license', line, difference);
      continue;
    }
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
}

/** Activations are matched by licence and identifier. Stored dates and addresses stay. */
export async function importActivations(job: Job, records: Numbered<'activation'>[]): Promise<void> {
  const entries: ActivationEntry[] = records.map((record) => {
    const { line, value } = record;
    if (job.activationsOf.license !== value.license_id)
      job.activationsOf = { license: value.license_id, identifiers: new Set() };
    const { identifiers } = job.activationsOf;
    if (identifiers.has(value.identifier))
      throw atLine(line, 'this identifier is activated on its licence already');
    identifiers.add(value.identifier);
    return { record, licenseId: licenseHere(job, line, value.license_id) };
  });
  let added = entries;
  /** by the id of a licence that was here before */
  const changes = new Map<number, number>();
  const countChange = (licenseId: number) => changes.set(licenseId, (changes.get(licenseId) ?? 0) + 1);
  const look = async () => {
    const wanted = job.empty.activation ? [] : added.map(pairOf).filter(isWritten);
    const existing = await findActivations(job.trx, wanted);
    const missing: ActivationEntry[] = [];
    for (const entry of added) {
      const { name, identifier } = entry.record.value;
      const here = existing.get(activationKey(pairOf(entry)));
      if (here === undefined) missing.push(entry);
      else if (name !== null && name !== here.name) {
        tally(job, 'activation', 'changed');
        if (!job.writes) continue;
        await setActivationName(job.trx, entry.licenseId, identifier, name);
        countChange(entry.licenseId);
      } else tally(job, 'activation', 'same');
    }
    added = missing;
  };
  await look();
  const insert = (ones: ActivationEntry[]) => insertActivationsOf(job, ones);
  const others = added.filter(({ licenseId }) => job.writes && !job.added.has(licenseId));
  await insert(added.filter((entry) => !others.includes(entry)));
  if (others.length > 0 || changes.size > 0)
    job.last.push(async () => {
      // Whoever activates on these licences waits from here on; what they did before is looked at once more.
      await lockRows(job.trx, 'licenses', 'id', [...new Set(others.map(({ licenseId }) => licenseId))]);
      added = others;
      await look();
      await insert(added);
      for (const { licenseId } of added) countChange(licenseId);
      await raiseRevisions(job.trx, changes);
    });
}

async function insertActivationsOf(job: Job, added: ActivationEntry[]): Promise<void> {
  const ids = new Map(added.map(({ record, licenseId }) => [record, licenseId]));
  await insertNew(
    job,
    'activation',
    // New ids follow the order of activation.
    [...ids.keys()].sort((a, b) => a.value.id - b.value.id),
    (record) => ({ license_id: ids.get(record) as number }),
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
  return licenseId !== NOT_WRITTEN;
}
