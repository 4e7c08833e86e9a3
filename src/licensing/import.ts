import type { Db, Transaction } from '../store/database';
import { activationKey, setActivationName } from '../store/activations';
import { listPlans, lockProduct } from '../store/catalogue';
import { isDuplicate } from '../store/errors';
import { insertEvents } from '../store/events';
import { inSnapshot, type Row } from '../store/export';
import {
  findActivationNames,
  findEventRows,
  findRows,
  inImportTransaction,
  insertRows,
  isEmptyTable,
  lockRows,
  recountActivations,
  updateRow,
} from '../store/import';
import { statPackage } from '../store/package-files';
import { needsPackage, RELEASE_STATES } from '../store/releases';
import { bringPackage, packageFault } from './export';
import { OperatorError } from './operator-error';
import { atLine, readRecords, type AnyBatch, type Numbered } from './record-reader';
import { fromRow, RECORD_TYPES, RECORDS, toRow, type RecordOf, type RecordType } from './records';
import { isSealedWith } from './sealing';
import { isFinal } from './states';
import { compareVersions, isVersion, versionOrder } from './versions';

export interface ImportOptions {
  /** where packages lie here */
  packagesDir: string;
  /** a folder with the packages of the file's releases; undefined: they are not brought along */
  packagesFrom: string | undefined;
  secret: Buffer | undefined;
  /** leave sealed keys out: their licences work, and cannot be revealed */
  withoutSealedKeys: boolean;
  /** look only */
  dryRun: boolean;
  actor: string;
  now: Date;
  onProgress?: (type: RecordType, count: number) => void;
}

export interface Tally {
  new: number;
  same: number;
  changed: number;
  conflicting: number;
}

export interface ImportReport {
  records: Record<RecordType, Tally>;
  /** the first of them */
  conflicts: { line: number; message: string }[];
  conflicting: number;
  /** licences with a sealed key, when there is no secret here to judge it by */
  sealedUnchecked: number;
  /** releases that need their package, which is not here */
  packagesMissing: number;
}

const MAX_CONFLICTS = 50;

/**
 * Reads an export file into the database: adds what is missing, changes what differs where that is allowed, removes
 * nothing. All of it in one transaction, or nothing. The rules stand in docs/export-format.md.
 *
 * @returns what was done, or with `dryRun` what would be done, conflicts included
 * @throws OperatorError when the file or something in it is refused; nothing has changed then
 */
export function importRecords(
  db: Db,
  source: AsyncIterable<Buffer>,
  options: ImportOptions,
): Promise<ImportReport> {
  const work = async (trx: Transaction) => {
    const job = await startJob(trx, options);
    for await (const batch of readRecords(source)) {
      await importBatch(job, batch);
      const { new: added, same, changed, conflicting } = job.report.records[batch.type];
      options.onProgress?.(batch.type, added + same + changed + conflicting);
    }
    if (job.report.conflicting > 0 && !options.dryRun) throw refusal(job.report);
    return job.report;
  };
  return options.dryRun ? inSnapshot(db, work) : inImportTransaction(db, work);
}

/** The conflicts in words, a line each. */
export function describeConflicts({ conflicts, conflicting }: ImportReport): string {
  const more = conflicting - conflicts.length;
  return [
    ...conflicts.map(({ line, message }) => `  line ${line}: ${message}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}

function refusal(report: ImportReport): OperatorError {
  const { conflicting } = report;
  return new OperatorError(
    `Nothing was imported: ${conflicting === 1 ? 'one record of the file conflicts' : `${conflicting} records of the file conflict`} with this database.\n${describeConflicts(report)}`,
  );
}

/** An import under way. */
interface Job {
  trx: Transaction;
  options: ImportOptions;
  report: ImportReport;
  /** ends with the first conflict: what is written after it would be rolled back anyway */
  writes: boolean;
  /** tables without a row at the start: the ids of the file are kept there, and nothing has to be matched */
  empty: Record<RecordType, boolean>;
  products: Set<number>;
  /** by their id in the file */
  plans: Map<number, LocalPlan>;
  /** by their id here */
  localPlans: Map<number, LocalPlan>;
  /** the id here by the id in the file; NOT_WRITTEN for one that would be new */
  licenses: Map<number, number>;
  /** lines by what must be there once */
  digests: Map<string, number>;
  references: Map<string, number>;
  versions: Map<number, string[]>;
  /** the licence whose activations are being read, and those read */
  activationsOf: { license: number; identifiers: Set<string> };
}

interface LocalPlan {
  id: number;
  productId: number;
  activationType: string;
}

const NOT_WRITTEN = 0;

async function startJob(trx: Transaction, options: ImportOptions): Promise<Job> {
  const entries = async <T>(value: (type: RecordType) => T | Promise<T>) => {
    const pairs: [RecordType, T][] = [];
    for (const type of RECORD_TYPES) pairs.push([type, await value(type)]);
    return Object.fromEntries(pairs) as Record<RecordType, T>;
  };
  return {
    trx,
    options,
    report: {
      records: await entries(() => ({ new: 0, same: 0, changed: 0, conflicting: 0 })),
      conflicts: [],
      conflicting: 0,
      sealedUnchecked: 0,
      packagesMissing: 0,
    },
    writes: !options.dryRun,
    empty: await entries((type) => isEmptyTable(trx, RECORDS[type].table)),
    products: new Set(),
    plans: new Map(),
    localPlans: new Map((await listPlans(trx)).map((plan) => [plan.id, plan])),
    licenses: new Map(),
    digests: new Map(),
    references: new Map(),
    versions: new Map(),
    activationsOf: { license: 0, identifiers: new Set() },
  };
}

async function importBatch(job: Job, batch: AnyBatch): Promise<void> {
  try {
    switch (batch.type) {
      case 'product':
        return await importProducts(job, batch.records);
      case 'plan':
        return await importPlans(job, batch.records);
      case 'release':
        return await importReleases(job, batch.records);
      case 'license':
        return await importLicenses(job, batch.records);
      case 'activation':
        return await importActivations(job, batch.records);
      case 'event':
        return await importEvents(job, batch.records);
      case 'access':
        return await importAccesses(job, batch.records);
    }
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const [first, last] = [batch.records[0]?.line ?? 0, batch.records.at(-1)?.line ?? 0];
    throw new OperatorError(
      `Lines ${first} to ${last}: an id or another record that may be there once only is there twice, or somebody else wrote one meanwhile. Nothing was imported; if the service is in use, try again.`,
    );
  }
}

function tally(job: Job, type: RecordType, outcome: keyof Tally, count = 1): void {
  job.report.records[type][outcome] += count;
}

function conflict(job: Job, type: RecordType, line: number, message: string): void {
  tally(job, type, 'conflicting');
  job.writes = false;
  job.report.conflicting++;
  if (job.report.conflicts.length < MAX_CONFLICTS) job.report.conflicts.push({ line, message });
}

/** Inserts records as rows; their ids are kept where the table was empty. */
async function insertNew<T extends RecordType>(
  job: Job,
  type: T,
  records: Numbered<T>[],
  extra: (record: Numbered<T>) => Row = () => ({}),
): Promise<void> {
  tally(job, type, 'new', records.length);
  if (!job.writes || records.length === 0) return;
  await insertRows(
    job.trx,
    RECORDS[type].table,
    records.map((record) => {
      const { id, ...row } = { ...toRow(type, record.value), ...extra(record) };
      return job.empty[type] ? { id: id as number, ...row } : row;
    }),
  );
}

async function changeRow(job: Job, type: RecordType, id: number, changes: Row): Promise<void> {
  tally(job, type, 'changed');
  if (job.writes) await updateRow(job.trx, RECORDS[type].table, id, changes);
}

function hasChanges(changes: Row): boolean {
  return Object.keys(changes).length > 0;
}

/** A product's id is its key: it is part of the addresses customers' sites know. */
async function importProducts(job: Job, records: Numbered<'product'>[]): Promise<void> {
  const ids = records.map(({ value }) => value.id);
  const existing = new Map((await findRows(job.trx, 'products', 'id', ids)).map((row) => [row.id, row]));
  const added: Numbered<'product'>[] = [];
  for (const record of records) {
    const { line, value } = record;
    job.products.add(value.id);
    const row = existing.get(value.id);
    if (row === undefined) added.push(record);
    else {
      const here = fromRow('product', row);
      if (here.name !== value.name)
        conflict(
          job,
          'product',
          line,
          `product ${value.id} has another name here. If it is the same one, give it one name in both places`,
        );
      else if (here.element !== null && value.element !== null && here.element !== value.element)
        conflict(job, 'product', line, `product ${value.id} has another element here`);
      else {
        const row = toRow('product', value);
        // What is said about the update XML here, with a path of this machine, stays; nothing is overwritten.
        const missing = (['element', 'update_xml'] as const).filter(
          (field) => here[field] === null && value[field] !== null,
        );
        if (missing.length === 0) tally(job, 'product', 'same');
        else
          await changeRow(
            job,
            'product',
            value.id,
            Object.fromEntries(missing.map((field) => [field, row[field] ?? null])),
          );
      }
    }
  }
  tally(job, 'product', 'new', added.length);
  if (job.writes && added.length > 0)
    await insertRows(
      job.trx,
      'products',
      added.map(({ value }) => toRow('product', value)),
    );
}

/** By product and name; the same id decides where a name is there twice. */
async function importPlans(job: Job, records: Numbered<'plan'>[]): Promise<void> {
  const here = job.empty.plan
    ? []
    : (await listPlans(job.trx)).map(
        ({ id, productId, name, activationType, activationLimit, duration }) => ({
          id,
          name,
          product_id: productId,
          activation_type: activationType,
          activation_limit: activationLimit,
          duration,
        }),
      );
  const key = (plan: { product_id: number; name: string }) => `${plan.product_id} ${plan.name}`;
  for (const { line, value } of records) {
    if (!job.products.has(value.product_id))
      throw atLine(line, `the file has no product ${value.product_id}`);
    const known = (id: number) => {
      const plan = { id, productId: value.product_id, activationType: value.activation_type };
      job.plans.set(value.id, plan);
      job.localPlans.set(id, plan);
    };
    const namesakes = here.filter((plan) => key(plan) === key(value));
    const twins = records.filter((other) => key(other.value) === key(value)).length;
    const match =
      namesakes.find(({ id }) => id === value.id) ??
      (namesakes.length === 1 && twins === 1 ? namesakes[0] : undefined);
    if (match === undefined) {
      if (!job.empty.plan && (namesakes.length > 0 || twins > 1)) {
        conflict(
          job,
          'plan',
          line,
          `product ${value.product_id} has several plans of this name, and which is meant cannot be told. Give each a name of its own`,
        );
        known(NOT_WRITTEN);
      } else {
        await insertNew(job, 'plan', [{ line, value }]);
        known(job.writes ? await findPlanId(job, value) : NOT_WRITTEN);
      }
      continue;
    }
    known(match.id);
    if (match.activation_type !== value.activation_type) {
      conflict(
        job,
        'plan',
        line,
        `plan ${match.id} counts by ${match.activation_type} here, and by ${value.activation_type} in the file`,
      );
      continue;
    }
    const changes: Row = {};
    if (match.activation_limit !== value.activation_limit) changes.activation_limit = value.activation_limit;
    if (match.duration !== value.duration) changes.duration = value.duration;
    if (hasChanges(changes)) await changeRow(job, 'plan', match.id, changes);
    else tally(job, 'plan', 'same');
  }
}

async function findPlanId(job: Job, plan: RecordOf<'plan'>): Promise<number> {
  if (job.empty.plan) return plan.id;
  return Math.max(
    ...(await listPlans(job.trx, plan.product_id))
      .filter(({ name }) => name === plan.name)
      .map(({ id }) => id),
  );
}

/** By product and version. What customers may hold never changes; a draft may, and may be published. */
async function importReleases(job: Job, records: Numbered<'release'>[]): Promise<void> {
  const added: Numbered<'release'>[] = [];
  const productIds = [...new Set(records.map(({ value }) => value.product_id))].sort((a, b) => a - b);
  // Whoever publishes on these products waits from here on: no version may be there twice in two spellings.
  if (job.writes) for (const id of productIds) await lockProduct(job.trx, id);
  const here = new Map<string, RecordOf<'release'>>();
  // Locked where they may be written: one that is withdrawn after it was judged here would be published again.
  const find = job.writes ? lockRows : findRows;
  for (const row of job.empty.release ? [] : await find(job.trx, 'releases', 'product_id', productIds)) {
    const release = fromRow('release', row);
    here.set(versionKey(release), release);
  }
  for (const record of records) {
    const { line, value } = record;
    if (!job.products.has(value.product_id))
      throw atLine(line, `the file has no product ${value.product_id}`);
    if (!isVersion(value.version)) throw atLine(line, '"version" is not a version');
    const versions = job.versions.get(value.product_id) ?? [];
    if (versions.some((other) => compareVersions(other, value.version) === 0))
      throw atLine(
        line,
        `version ${value.version} of product ${value.product_id} was there before, or one that is the same to Joomla`,
      );
    job.versions.set(value.product_id, [...versions, value.version]);
    await lookAtPackage(job, record);
    const match = here.get(versionKey(value));
    if (match === undefined) {
      added.push(record);
      continue;
    }
    const difference = releaseConflict(match, value);
    const changes = releaseChanges(match, value);
    if (difference !== undefined) conflict(job, 'release', line, difference);
    else if (hasChanges(changes)) await changeRow(job, 'release', match.id, changes);
    else tally(job, 'release', 'same');
  }
  await insertNew(job, 'release', added, ({ value }) => ({ version_order: versionOrder(value.version) }));
}

/** Equal for versions that are the same to Joomla. */
function versionKey({ product_id, version }: { product_id: number; version: string }): string {
  return `${product_id} ${isVersion(version) ? versionOrder(version) : version}`;
}

const PACKAGE_FIELDS = ['file_name', 'file_size', 'sha256', 'sha384', 'sha512'] as const;

function releaseConflict(here: RecordOf<'release'>, there: RecordOf<'release'>): string | undefined {
  const name = `version ${there.version} of product ${there.product_id}`;
  if (here.version !== there.version)
    return `${name} is the same to Joomla as version ${here.version}, which is here`;
  if (RELEASE_STATES.indexOf(here.state) > RELEASE_STATES.indexOf(there.state))
    return `${name} is ${here.state} here and ${there.state} in the file, and there is no way back`;
  if (here.state !== 'draft' && PACKAGE_FIELDS.some((field) => here[field] !== there[field]))
    return `${name} has another package here, and customers' updaters check it against the one they were told`;
  return undefined;
}

function releaseChanges(here: RecordOf<'release'>, there: RecordOf<'release'>): Row {
  const fields = ['state', 'changelog', 'published_at', ...PACKAGE_FIELDS] as const;
  const row = toRow('release', there);
  return Object.fromEntries(
    fields.filter((field) => here[field] !== there[field]).map((field) => [field, row[field] ?? null]),
  );
}

async function lookAtPackage(job: Job, { line, value }: Numbered<'release'>): Promise<void> {
  const { packagesFrom, packagesDir, dryRun } = job.options;
  if (packagesFrom === undefined) {
    if (needsPackage(value.state) && !(await statPackage(packagesDir, value.sha256)))
      job.report.packagesMissing++;
    return;
  }
  const fault = dryRun
    ? (await packageFault(packagesDir, value.sha256)) && (await packageFault(packagesFrom, value.sha256))
    : await bringPackage(packagesFrom, packagesDir, value.sha256);
  if (fault !== undefined && needsPackage(value.state))
    throw atLine(
      line,
      `the package ${value.sha256}.zip of version ${value.version} is ${fault} in ${packagesFrom}`,
    );
}

/** By the key's digest. */
async function importLicenses(job: Job, records: Numbered<'license'>[]): Promise<void> {
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
  await changeLicenses(job, differing);
}

/** What is wrong with a licence whatever the database holds. */
function checkLicense(job: Job, { line, value }: Numbered<'license'>): void {
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
      'the key of this licence is sealed with another LICENSING_KEY_SECRET than the one set here. Set the one of the installation the file comes from; or, when this database has keys sealed with its own, import with --without-sealed-keys: the licences work, and only "license reveal" cannot show their keys',
    );
}

function once(lines: Map<string, number>, key: string, line: number, what: string): void {
  const before = lines.get(key);
  if (before !== undefined) throw atLine(line, `this licence has the same ${what} as that of line ${before}`);
  lines.set(key, line);
}

function planOf(job: Job, { plan_id }: RecordOf<'license'>): LocalPlan {
  return job.plans.get(plan_id) as LocalPlan;
}

async function rememberLicenses(job: Job, added: Numbered<'license'>[]): Promise<void> {
  if (job.empty.license) for (const { value } of added) job.licenses.set(value.id, value.id);
  else {
    const digests = added.map(({ value }) => value.key_digest);
    const ids = new Map(
      (await findRows(job.trx, 'licenses', 'key_digest', digests)).map((row) => [
        row.key_digest,
        row.id as number,
      ]),
    );
    for (const { value } of added) job.licenses.set(value.id, ids.get(value.key_digest) as number);
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

/** What an operator decides is as in the file; what is counted is the greater, so that no use is lost. */
function licenseChanges(job: Job, here: RecordOf<'license'>, there: RecordOf<'license'>): Row {
  const row = toRow('license', there);
  const changes: Row = {};
  for (const field of ['status', 'activation_limit', 'customer', 'expires_at'] as const)
    if (here[field] !== there[field]) changes[field] = row[field] ?? null;
  const plan = planOf(job, there);
  if (plan.id !== here.plan_id) changes.plan_id = plan.id;
  for (const field of ['reference', 'key_sealed'] as const)
    if (here[field] === null && there[field] !== null) changes[field] = row[field] ?? null;
  if (there.check_count > here.check_count) changes.check_count = there.check_count;
  if (there.last_check_at !== null && (here.last_check_at ?? '') < there.last_check_at) {
    changes.last_check_at = row.last_check_at ?? null;
    changes.last_check_ip = there.last_check_ip;
  }
  return changes;
}

/** The changes that belong into a licence's history. */
const DECISIONS = ['status', 'plan_id', 'activation_limit', 'customer', 'reference', 'expires_at'] as const;

async function changeLicenses(
  job: Job,
  differing: [Numbered<'license'>, RecordOf<'license'>][],
): Promise<void> {
  if (!job.writes) {
    tally(job, 'license', 'changed', differing.length);
    return;
  }
  const { actor, now } = job.options;
  const ids = differing.map(([, { id }]) => id);
  // Judged once more under the lock: the service may have counted a check meanwhile, an operator have revoked one.
  const locked = new Map(
    (await lockRows(job.trx, 'licenses', 'id', ids)).map((row) => [row.id, fromRow('license', row)]),
  );
  const events = [];
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
    await updateRow(job.trx, 'licenses', id, changes);
    const decided = DECISIONS.filter((field) => field in changes);
    const there = { ...value, plan_id: planOf(job, value).id };
    const pick = (from: RecordOf<'license'>) =>
      Object.fromEntries(decided.map((field) => [field, from[field]]));
    if (decided.length > 0)
      events.push({
        licenseId: id,
        at: now,
        actor,
        action: 'import',
        before: pick(here),
        after: pick(there),
      });
  }
  if (events.length > 0) await insertEvents(job.trx, events);
}

function licenseHere(job: Job, line: number, id: number): number {
  const here = job.licenses.get(id);
  if (here === undefined) throw atLine(line, `the file has no licence ${id}`);
  return here;
}

/** By licence and identifier. When and from where it was activated stays as it is known here. */
async function importActivations(job: Job, records: Numbered<'activation'>[]): Promise<void> {
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
  const look = async () => {
    const existing = job.empty.activation
      ? []
      : await findActivationNames(job.trx, added.map(pairOf).filter(isWritten));
    const names = new Map(existing.map((one) => [activationKey(one), one.name]));
    const missing: ActivationEntry[] = [];
    for (const entry of added) {
      const { name, identifier } = entry.record.value;
      const nameHere = names.get(activationKey(pairOf(entry)));
      if (nameHere === undefined) missing.push(entry);
      else if (name !== null && name !== nameHere) {
        tally(job, 'activation', 'changed');
        if (job.writes) await setActivationName(job.trx, entry.licenseId, identifier, name);
      } else tally(job, 'activation', 'same');
    }
    added = missing;
  };
  await look();
  if (job.writes && !job.empty.license && added.length > 0) {
    // Whoever activates on these licences waits from here on; what they did before is looked at once more.
    await lockRows(job.trx, 'licenses', 'id', [...new Set(added.map(({ licenseId }) => licenseId))]);
    await look();
  }
  const ids = new Map(added.map(({ record, licenseId }) => [record, licenseId]));
  await insertNew(
    job,
    'activation',
    // As they were activated, where they get ids of their own.
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

/** Events have no key: there are to be as many of the same content as the file has. */
async function importEvents(job: Job, records: Numbered<'event'>[]): Promise<void> {
  await importCounted(
    job,
    'event',
    records.map((record) => {
      const license_id = licenseHere(job, record.line, record.value.license_id);
      return { record, row: { ...toRow('event', record.value), license_id } };
    }),
    (rows) => {
      const ids = [...new Set(rows.map((row) => row.license_id as number))].filter(
        (id) => id !== NOT_WRITTEN,
      );
      return findEventRows(job.trx, ids, [...new Set(rows.map((row) => row.at as string))]);
    },
  );
}

/** As with events. */
async function importAccesses(job: Job, records: Numbered<'access'>[]): Promise<void> {
  await importCounted(
    job,
    'access',
    records.map((record) => {
      const { license_id: id } = record.value;
      const license_id = id === null ? null : licenseHere(job, record.line, id);
      return { record, row: { ...toRow('access', record.value), license_id } };
    }),
    (rows) => findRows(job.trx, 'access_log', 'at', [...new Set(rows.map((row) => row.at as string))]),
  );
}

async function importCounted<T extends 'event' | 'access'>(
  job: Job,
  type: T,
  entries: { record: Numbered<T>; row: Row }[],
  find: (rows: Row[]) => Promise<Row[]>,
): Promise<void> {
  const found = job.empty[type] ? [] : await find(entries.map(({ row }) => row));
  const here = new Map<string, number>();
  for (const row of found) {
    const content = contentOf(toRow(type, fromRow(type, row)));
    here.set(content, (here.get(content) ?? 0) + 1);
  }
  const added = entries.filter(({ row }) => {
    const content = contentOf(row);
    const left = here.get(content) ?? 0;
    here.set(content, left - 1);
    return left <= 0;
  });
  tally(job, type, 'same', entries.length - added.length);
  const rows = new Map(added.map(({ record, row }) => [record, row]));
  await insertNew(job, type, [...rows.keys()], (record) => rows.get(record) as Row);
}

function contentOf({ id: _id, ...row }: Row): string {
  return JSON.stringify(row);
}
