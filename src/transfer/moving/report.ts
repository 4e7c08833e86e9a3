import type { LiveStatus } from '../../licensing/core/states';
import { keepFirst } from '../lines';
import type { MappedPlan } from './plan-map';
import { codeOf, type LeftOutCode, type LeftOutReason, type WarningCode } from './sayings';
import type { ReadColumn, SourceName, SourceWarning } from './source';

/** What a run did, or would do, for somebody who decides by it. Never with a whole key. */
export interface MoveReport {
  /** of the run; null: a dry run */
  id: number | null;
  dryRun: boolean;
  source: SourceName;
  /** the source's plans that have licences, or were named */
  plans: MappedPlan[];
  /** by our product and plan, and the state here */
  counts: { product: string; plan: string; state: LiveStatus; licenses: number }[];
  new: number;
  changed: number;
  /** here already, as the source has it */
  same: number;
  /** with something that was changed here since the last run, and stays so */
  kept: number;
  keptLicenses: KeptLicense[];
  leftOut: Group[];
  warnings: Warning[];
  samples: Sample[];
  /** of a source that cannot be seen whole: the columns that were found, which nobody has confirmed */
  columns: string[] | null;
  /** The columns of a `csv`, and what each was read as. */
  readAs: ReadColumn[] | null;
  madeProducts: number;
  madePlans: number;
}

export interface KeptLicense {
  license: number;
  reference: string;
  /** the names that the API has for what differs from the source */
  fields: string[];
}

export interface Group {
  code: LeftOutCode;
  facts: string[];
  count: number;
  /** the first lines or ids at the source */
  rows: number[];
}

export interface Warning {
  code: WarningCode;
  facts: string[];
  count: number;
  rows: number[];
  /** the first customers to look at, where the source names some */
  customers: string[];
}

/** The hint of a key that is too short to show its end. */
export const TOO_SHORT = '';

/** A licence as the source has it, and as it is here or would be. Keys by their ends. */
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
  /** undefined: by the plan's duration here */
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
  /** null: a new key */
  keys: (string | null)[];
  sites: string[];
}

const MAX_ROWS = 10;
const MAX_SAMPLES = 10;

/** Gathers what a report says, within bounds. */
export interface Reporter {
  tally(outcome: 'new' | 'changed' | 'same' | 'kept', many?: number): void;
  count(product: string, plan: string, state: LiveStatus): void;
  leaveOut(reason: LeftOutReason, row: number): void;
  warn(code: WarningCode, row: number, more?: Pick<SourceWarning, 'facts' | 'customer'>): void;
  keep(license: KeptLicense): void;
  /** one of each plan and state first */
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
  const keptLicenses: KeptLicense[] = [];
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
      const group = leftOut.get(key) ?? { ...codeOf(reason), count: 0, rows: [] };
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
