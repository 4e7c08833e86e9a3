import type { Includes } from '../licensing/bundles';
import { listPlans, sharePlans, type Plan } from '../store/catalogue';
import type { Transaction } from '../store/engine/database';
import type { Row } from '../store/export';
import { insertInChunks, isEmptyTable, updateRow } from '../store/import';
import { keepRemark, type GroupedWarning } from './lines';
import { atLine, type Numbered } from './record-reader';
import { RECORD_TYPES, RECORDS, toRow, type RecordType } from './records';

export interface ImportOptions {
  /** the path of this service's packages folder */
  packagesDir: string;
  /** the path of a folder with the packages of the file's releases; undefined to import no packages */
  packagesFrom: string | undefined;
  secret: Buffer | undefined;
  /** true to leave out sealed keys: such licences work, but their keys cannot be revealed */
  withoutSealedKeys: boolean;
  dryRun: boolean;
  actor: string;
  now: Date;
  /** Returns the reason that a setting cannot be stored here; undefined if it can */
  settingFault: (name: string, value: string) => string | undefined;
  /** Reports whether a shop of this kind runs on its own site, which receives its API key */
  isOnSite: (kind: string) => boolean;
  /** true if the source can be read several times: then the import is retried after a lock conflict */
  readsAgain?: boolean;
  onProgress?: (type: RecordType, count: number) => void;
}

interface Tally {
  new: number;
  same: number;
  changed: number;
  conflicting: number;
}

export interface ImportReport {
  records: Record<RecordType, Tally>;
  conflicts: GroupedWarning[];
  conflicting: number;
  /** settings that cannot be stored here, and API keys that must be entered again */
  leftOut: GroupedWarning[];
  leftOutCount: number;
  /** the number of licences whose sealed key cannot be checked without a secret here */
  sealedUnchecked: number;
  /** the number of releases whose package is missing here */
  packagesMissing: number;
}

export interface ImportJob {
  trx: Transaction;
  options: ImportOptions;
  report: ImportReport;
  /** false in a dry run, and from the first conflict on, because later writes would be rolled back */
  writes: boolean;
  /** whether each table was empty at the start: then nothing is matched, and the file's ids are kept */
  empty: Record<RecordType, boolean>;
  products: Set<number>;
  /** the file's bundles, collected until all products are read */
  bundles: { line: number; id: number; includes: Includes; counted: 'new' | 'same' | 'changed' }[];
  /** the plans in the database at the start */
  plansHere: Plan[];
  /** the products and names of the file's plans that were read so far */
  planNames: Set<string>;
  /** the plans here, keyed by their id in the file */
  plans: Map<number, LocalPlan>;
  localPlans: Map<number, LocalPlan>;
  /** the id here, keyed by the id in the file; DRY_RUN_ID for a new licence while nothing is written */
  licenses: Map<number, number>;
  /** the id here of each key, keyed by its id in the file; DRY_RUN_ID as for licences, and for new keys of licences here */
  keys: Map<number, number>;
  /** the keys in the file except main keys: their licence there, and the key here of their activations (null: the main key) */
  otherKeys: Map<number, { licenseId: number; key: number | null }>;
  /** the id here of each order, keyed by its id in the file; DRY_RUN_ID as for licences */
  orders: Map<number, number>;
  /** the ids of licences here that were matched with a record */
  matched: Set<number>;
  /** the ids of licences that this import has added */
  added: Set<number>;
  /** work that locks existing licences, done last so that requests for them wait only briefly */
  last: (() => Promise<void>)[];
  /** the kids of the file's signing keys that were read so far */
  signingKeys: Set<string>;
  /** the line of each value that must be unique */
  digests: Map<string, number>;
  references: Map<string, number>;
  versions: Map<number, string[]>;
  /** the product and version of each release, keyed by its id in the file */
  releases: Map<number, { product: number; version: string }>;
  /** the licence whose activations are being read, and the identifiers read so far */
  activationsOf: { license: number; identifiers: Set<string> };
}

export interface LocalPlan {
  id: number;
  productId: number;
  activationType: string;
}

export const DRY_RUN_ID = 0;

export async function startJob(trx: Transaction, options: ImportOptions): Promise<ImportJob> {
  const entries = async <T>(value: (type: RecordType) => T | Promise<T>) => {
    const pairs: [RecordType, T][] = [];
    for (const type of RECORD_TYPES) pairs.push([type, await value(type)]);
    return Object.fromEntries(pairs) as Record<RecordType, T>;
  };
  const plansHere = await (options.dryRun ? listPlans(trx) : sharePlans(trx));
  return {
    trx,
    options,
    report: {
      records: await entries(() => ({ new: 0, same: 0, changed: 0, conflicting: 0 })),
      conflicts: [],
      conflicting: 0,
      leftOut: [],
      leftOutCount: 0,
      sealedUnchecked: 0,
      packagesMissing: 0,
    },
    writes: !options.dryRun,
    empty: await entries((type) => isEmptyTable(trx, RECORDS[type].table)),
    products: new Set(),
    bundles: [],
    plansHere,
    planNames: new Set(),
    plans: new Map(),
    localPlans: new Map(plansHere.map((plan) => [plan.id, plan])),
    licenses: new Map(),
    keys: new Map(),
    otherKeys: new Map(),
    orders: new Map(),
    matched: new Set(),
    added: new Set(),
    last: [],
    signingKeys: new Set(),
    digests: new Map(),
    references: new Map(),
    versions: new Map(),
    releases: new Map(),
    activationsOf: { license: 0, identifiers: new Set() },
  };
}

/** Counts records by outcome. */
export function tally(job: ImportJob, type: RecordType, outcome: keyof Tally, count = 1): void {
  job.report.records[type][outcome] += count;
}

/** Counts and reports a record that cannot be imported. The whole import will be rolled back. */
export function conflict(job: ImportJob, type: RecordType, line: number, message: string): void {
  tally(job, type, 'conflicting');
  job.writes = false;
  job.report.conflicting++;
  keepRemark(job.report.conflicts, line, message);
}

/** Counts records as new, and inserts them while the import writes. `extra` columns replace or extend their own. */
export async function insertNew<T extends RecordType>(
  job: ImportJob,
  type: T,
  records: Numbered<T>[],
  extra: (record: Numbered<T>) => Row = () => ({}),
): Promise<void> {
  tally(job, type, 'new', records.length);
  if (!job.writes || records.length === 0) return;
  await insertInChunks(
    job.trx,
    RECORDS[type].table,
    records.map((record) => {
      const { id, ...row } = { ...toRow(type, record.value), ...extra(record) };
      return job.empty[type] ? { id: id as number, ...row } : row;
    }),
  );
}

/** Counts a record as changed, and updates the row with this `id` while the import writes. */
export async function changeRow(job: ImportJob, type: RecordType, id: number, changes: Row): Promise<void> {
  tally(job, type, 'changed');
  if (job.writes) await updateRow(job.trx, RECORDS[type].table, id, changes);
}

export function hasChanges(changes: Row): boolean {
  return Object.keys(changes).length > 0;
}

/** Returns the id here of a licence in the file, or DRY_RUN_ID. @throws OperatorError when the file has no such licence */
export function localLicenseId(job: ImportJob, line: number, id: number): number {
  const here = job.licenses.get(id);
  if (here === undefined) throw atLine(line, `the file has no licence ${id}`);
  return here;
}

/** Returns the id here of a key in the file, or DRY_RUN_ID. @throws OperatorError when the file has no such key */
export function localKeyId(job: ImportJob, line: number, id: number): number {
  const here = job.keys.get(id);
  if (here === undefined) throw atLine(line, `the file has no key ${id}`);
  return here;
}
