import type { LiveStatus } from '../../licensing/core/states';
import { keepFirst } from '../lines';
import type { MappedPlan } from './plan-map';
import { skipCodeOf, type SkipCode, type SkipReason, type WarningCode } from './import-messages';
import type { ReadColumn, SourceName, SourceWarning } from './source';

/** The result of a run or a dry run, from which the seller decides. It never contains a whole key. */
export interface MoveReport {
  /** the run's id; null for a dry run */
  id: number | null;
  dryRun: boolean;
  source: SourceName;
  /** the source's plans that have licences or were named */
  plans: MappedPlan[];
  /** the number of licences for each product, plan and status here */
  counts: { product: string; plan: string; state: LiveStatus; licenses: number }[];
  new: number;
  changed: number;
  /** licences that already equal the source */
  same: number;
  /** licences with a field that was changed here since the last run, and is kept */
  kept: number;
  keptLicenses: UnchangedLicense[];
  leftOut: Group[];
  warnings: Warning[];
  samples: Sample[];
  /** the columns found in a source whose tables are not fully known, until the seller confirms them; otherwise null */
  columns: string[] | null;
  /** the columns of a `csv`, each with the field that it was read as */
  readAs: ReadColumn[] | null;
  madeProducts: number;
  madePlans: number;
}

export interface UnchangedLicense {
  license: number;
  reference: string;
  /** the API's names of the fields that differ from the source */
  fields: string[];
}

export interface Group {
  code: SkipCode;
  facts: string[];
  count: number;
  /** the first line numbers or ids at the source */
  rows: number[];
}

export interface Warning {
  code: WarningCode;
  facts: string[];
  count: number;
  rows: number[];
  /** the first customers to check, if the source contains customers */
  customers: string[];
}

/** The hint for a key that is too short to show its end. */
export const TOO_SHORT = '';

/** A licence at the source, and the same licence here after the import. Keys are shown by their ends. */
export interface Sample {
  before: SampleBefore;
  after: SampleAfter;
}

export interface SampleBefore {
  id: string;
  plan: string;
  customer: string | null;
  status: string;
  startsAt: Date | null;
  /** undefined if the plan's duration here decides */
  expiresAt: Date | null | undefined;
  keys: string[];
  sites: string[];
}

export interface SampleAfter {
  reference: string;
  product: string;
  plan: string;
  customer: string | null;
  status: LiveStatus;
  expiresAt: Date | null;
  activationLimit: number;
  /** null for a new key */
  keys: (string | null)[];
  sites: string[];
}

const MAX_ROWS = 10;
const MAX_SAMPLES = 10;

/** The collector of a report's contents, within limits. */
export interface Reporter {
  tally(outcome: 'new' | 'changed' | 'same' | 'kept', many?: number): void;
  count(product: string, plan: string, state: LiveStatus): void;
  leaveOut(reason: SkipReason, row: number): void;
  warn(code: WarningCode, row: number, more?: Pick<SourceWarning, 'facts' | 'customer'>): void;
  keep(license: UnchangedLicense): void;
  /** Adds a sample. The first sample of each plan and status takes precedence */
  sample(of: string, sample: () => Sample): void;
  finish(): Pick<
    MoveReport,
    'counts' | 'new' | 'changed' | 'same' | 'kept' | 'keptLicenses' | 'leftOut' | 'warnings' | 'samples'
  >;
}

export function createReporter(): Reporter {
  const tallies = { new: 0, changed: 0, same: 0, kept: 0 };
  const counts = new Map<string, MoveReport['counts'][number]>();
  const leftOut = new Map<string, Group>();
  const warnings = new Map<string, Warning>();
  const keptLicenses: UnchangedLicense[] = [];
  const kinds = new Set<string>();
  const [ofEachKind, others]: [Sample[], Sample[]] = [[], []];
  const note = (group: { count: number; rows: number[] }, row: number) => {
    group.count++;
    if (group.rows.length < MAX_ROWS) group.rows.push(row);
  };
  return {
    tally: (outcome, many = 1) => {
      tallies[outcome] += many;
    },
    count: (product, plan, state) => {
      const key = `${product}\n${plan}\n${state}`;
      const count = counts.get(key) ?? { product, plan, state, licenses: 0 };
      count.licenses++;
      counts.set(key, count);
    },
    leaveOut: (reason, row) => {
      const key = String(reason);
      const group = leftOut.get(key) ?? { ...skipCodeOf(reason), count: 0, rows: [] };
      note(group, row);
      leftOut.set(key, group);
    },
    warn: (code, row, { facts = [], customer } = {}) => {
      const key = String([code, ...facts]);
      const warning = warnings.get(key) ?? { code, facts, count: 0, rows: [], customers: [] };
      note(warning, row);
      if (customer !== undefined && warning.customers.length < MAX_ROWS) warning.customers.push(customer);
      warnings.set(key, warning);
    },
    keep: (license) => {
      tallies.kept++;
      keepFirst(keptLicenses, license);
    },
    sample: (of, sample) => {
      const isNew = !kinds.has(of);
      kinds.add(of);
      const list = isNew ? ofEachKind : others;
      if (list.length < MAX_SAMPLES) list.push(sample());
    },
    finish: () => ({
      ...tallies,
      counts: [...counts.values()].sort(
        (a, b) => compare(a.product, b.product) || compare(a.plan, b.plan) || compare(a.state, b.state),
      ),
      keptLicenses,
      leftOut: [...leftOut.values()],
      warnings: [...warnings.values()],
      samples: [...ofEachKind, ...others].slice(0, MAX_SAMPLES),
    }),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
