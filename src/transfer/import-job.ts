import type { Includes } from '../licensing/bundles';
import { listPlans, sharePlans, type Plan } from '../store/catalogue';
import type { Transaction } from '../store/engine/database';
import type { Row } from '../store/export';
import { insertInChunks, isEmptyTable, updateRow } from '../store/import';
import { keepRemark, type Remark } from './lines';
import { atLine, type Numbered } from './record-reader';
import { RECORD_TYPES, RECORDS, toRow, type RecordType } from './records';

export interface ImportOptions {
  /** this service's packages folder */
  packagesDir: string;
  /** a folder with the packages of the file's releases; undefined: packages are not imported */
  packagesFrom: string | undefined;
  secret: Buffer | undefined;
  /** leave sealed keys out: such licences work, but their keys cannot be revealed */
  withoutSealedKeys: boolean;
  dryRun: boolean;
  actor: string;
  now: Date;
  /** the reason that keeps a setting from being stored here; undefined: none */
  settingFault: (name: string, value: string) => string | undefined;
  /** reports whether a shop of this kind runs on a site of its own, which its API key is sent to */
  isOnSite: (kind: string) => boolean;
  /** the source can be read several times: after a lock conflict the import runs again */
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
  conflicts: Remark[];
  conflicting: number;
  /** settings that cannot be stored here, and API keys that must be given again */
  leftOut: Remark[];
  leftOutCount: number;
  /** licences with a sealed key that cannot be checked without a secret here */
  sealedUnchecked: number;
  /** releases whose package is missing here */
  packagesMissing: number;
}

export interface Job {
  trx: Transaction;
  options: ImportOptions;
  report: ImportReport;
  /** false from the first conflict on, because later writes would be rolled back */
  writes: boolean;
  /** tables that were empty at the start: nothing is matched, and the file's ids are kept */
  empty: Record<RecordType, boolean>;
  products: Set<number>;
  /** products of the file that include others, until all products are read */
  bundles: { line: number; id: number; includes: Includes; counted: 'new' | 'same' | 'changed' }[];
  /** the plans at the start */
  plansHere: Plan[];
  /** products and names of the file's plans read so far */
  planNames: Set<string>;
  /** by id in the file */
  plans: Map<number, LocalPlan>;
  localPlans: Map<number, LocalPlan>;
  /** the id here by the id in the file; NOT_WRITTEN for a new licence while nothing is written */
  licenses: Map<number, number>;
  /** the id here of each key by its id in the file; NOT_WRITTEN as for licences, and for new keys of licences here */
  keys: Map<number, number>;
  /** by the ids in the file of keys that are not main keys: whose they are, and what their activations here come by */
  otherKeys: Map<number, { licenseId: number; key: number | null }>;
  /** the id here of each order by its id in the file; NOT_WRITTEN as for licences */
  orders: Map<number, number>;
  /** licences here that a record was matched with */
  matched: Set<number>;
  /** the licences that this import has added */
  added: Set<number>;
  /** what locks licences that were here before: done last, so that their requests wait only for a moment */
  last: (() => Promise<void>)[];
  /** the kids of the file's signing keys */
  signingKeys: Set<string>;
  /** the lines of values that must be unique */
  digests: Map<string, number>;
  references: Map<string, number>;
  versions: Map<number, string[]>;
  /** the licence whose activations are being read, and those read so far */
  activationsOf: { license: number; identifiers: Set<string> };
}

export interface LocalPlan {
  id: number;
  productId: number;
  activationType: string;
}

export const NOT_WRITTEN = 0;

export async function startJob(trx: Transaction, options: ImportOptions): Promise<Job> {
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
    activationsOf: { license: 0, identifiers: new Set() },
  };
}

/** Counts records by outcome. */
export function tally(job: Job, type: RecordType, outcome: keyof Tally, count = 1): void {
  job.report.records[type][outcome] += count;
}

/** Counts and reports a record that cannot be imported. The whole import will be rolled back. */
export function conflict(job: Job, type: RecordType, line: number, message: string): void {
  tally(job, type, 'conflicting');
  job.writes = false;
  job.report.conflicting++;
  keepRemark(job.report.conflicts, line, message);
}

/** Counts records as new, and inserts them while the import writes; `extra` columns replace or extend theirs. */
export async function insertNew<T extends RecordType>(
  job: Job,
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

/** Counts a record as changed, and updates its row while the import writes. `id` is the row's id here. */
export async function changeRow(job: Job, type: RecordType, id: number, changes: Row): Promise<void> {
  tally(job, type, 'changed');
  if (job.writes) await updateRow(job.trx, RECORDS[type].table, id, changes);
}

export function hasChanges(changes: Row): boolean {
  return Object.keys(changes).length > 0;
}

/** The id here of a licence in the file, or NOT_WRITTEN. @throws OperatorError when the file has no such licence */
export function licenseHere(job: Job, line: number, id: number): number {
  const here = job.licenses.get(id);
  if (here === undefined) throw atLine(line, `the file has no licence ${id}`);
  return here;
}

/** The id here of a key in the file, or NOT_WRITTEN. @throws OperatorError when the file has no such key */
export function keyHere(job: Job, line: number, id: number): number {
  const here = job.keys.get(id);
  if (here === undefined) throw atLine(line, `the file has no key ${id}`);
  return here;
}
