import { decodeHTMLStrict } from 'entities';
import { listPlans, sharePlans } from '../../store/catalogue';
import type { Db, Transaction } from '../../store/engine/database';
import { insertImport, insertImported, listImports, setImport, type ImportRun } from '../../store/imports';
import { inReadCommitted, inSnapshot } from '../../store/engine/transaction';
import { applyBatch, applyUpdates, applyNames, type ApplyState, type IncomingLicense } from './apply';
import { ALL } from './any-csv';
import {
  keysMap,
  openPlanTable,
  readPlanMap,
  writePlanMap,
  type MappedPlan,
  type PlanMap,
  type PlanTable,
} from './plan-map';
import { createReporter, type Group, type MoveReport } from './report';
import type { SkipCode } from './import-messages';
import { survey } from './survey';
import type { DateForm, MovingSource, SourceItem, TableOptions } from './source';
import { SOURCES } from './sources';
import { toDesiredLicense } from './desired-license';
import { allSites } from './import-baseline';
import { importError } from '../refusals';

export interface MoveOptions {
  source: MovingSource;
  /** the plan map (`readPlanMap`); undefined for the map of this source's latest run */
  plans?: string | undefined;
  /** true to create products and plans with the source's names for plans that the map does not contain */
  makePlans?: boolean;
  /** Formats a number of sites for the name of a plan to create; English by default */
  sites?: (count: number) => string;
  dryRun: boolean;
  /** the table of a CSV source */
  file?: AsyncIterable<Buffer> | undefined;
  users?: AsyncIterable<Buffer> | undefined;
  dates?: DateForm | undefined;
  /** true if the seller has confirmed the columns of a source whose tables are not fully known */
  confirmed?: boolean;
  /** the options of a `csv` */
  table?: TableOptions | undefined;
  /** true to refuse the whole import if a row does not fit */
  refusesBadRows?: boolean;
  /** the prefix of the site's tables; undefined to detect it */
  sitePrefix?: string | undefined;
  /** true if the files can be read again: then the import is retried after a lock conflict */
  readsAgain?: boolean;
  secret: Buffer | undefined;
  actor: string;
  now: Date;
  onProgress?: (licenses: number) => void;
}

/** The maximum numbers of licences, and of their sites, in a batch. */
const BATCH = 200;
const SITES_OF_BATCH = 1_000;

/**
 * Imports another system's licences. All that fit are written in one transaction, or none in a dry run. A repeated run
 * is idempotent: it takes what is new or changed there, and keeps what was changed here.
 * @throws OperatorError when the map is wrong or incomplete, or the source does not exist; nothing has changed then
 */
export function moveLicensesIn(db: Db, options: MoveOptions): Promise<MoveReport> {
  const { source, dryRun, file, users } = options;
  if (source.reads === 'file' && file === undefined)
    throw importError('no-file', [source.title], { field: 'file' });
  // A file that the source would ignore is a mistake of the caller.
  if (source.reads === 'tables' && file !== undefined)
    throw importError('file-not-read', [source.title], { field: 'file' });
  if (users !== undefined && !source.readsUsers)
    throw importError('users-not-read', [source.title, readersOfUsers()], { field: 'users' });
  const work = (trx: Transaction) => run(trx, options);
  const isOnce = file !== undefined && !options.readsAgain;
  return dryRun ? inSnapshot(db, work) : inReadCommitted(db, work, { isOnce });
}

function readersOfUsers(): string {
  return SOURCES.flatMap(({ title, readsUsers }) => (readsUsers ? [title] : [])).join(', ');
}

async function run(trx: Transaction, options: MoveOptions): Promise<MoveReport> {
  const { source, dryRun, actor, secret, now, confirmed = false } = options;
  const ours = await (dryRun ? listPlans(trx) : sharePlans(trx));
  const given = readPlanMap(options.plans ?? '');
  const runs = await listImports(trx, { source: source.name });
  const former = formerMap(runs);
  const opened = await source.open({
    db: trx,
    file: options.file,
    users: options.users,
    dates: options.dates,
    confirmed,
    now,
    sitePrefix: options.sitePrefix,
    table: options.table,
    ranBefore: runs.length > 0,
    ...keysMap(former, given),
  });
  const columns = confirmed ? null : (opened.columns ?? null);
  if (columns !== null && !dryRun)
    throw importError('confirm-columns', [source.title, columns.join(', ')], { field: 'confirm_columns' });
  const sold = opened.plans.map(({ key, name, product, ...plan }) => ({
    ...plan,
    key: decodeHTMLStrict(key),
    name: decodeHTMLStrict(name),
    product: decodeHTMLStrict(product),
  }));
  const read = () => withoutEntities(opened.items());
  const plans = await openPlanTable(trx, sold, ours, {
    given: keysWithoutEntities(given),
    former: keysWithoutEntities(former),
    makePlans: options.makePlans ?? false,
    sites: options.sites,
    writes: !dryRun,
    now,
  });
  const report = createReporter();
  const job: ApplyState = {
    trx,
    report,
    writes: !dryRun,
    actor,
    secret,
    now,
    importId: dryRun
      ? 0
      : await insertImport(trx, { source: source.name, at: now, actor, plansJson: '{}', countsJson: '{}' }),
    keyRows: await survey(read(), plans, { db: trx, source: source.name, now }),
    folded: new Map(),
    later: [],
    names: [],
    sites: new Set(),
    runs: new Set((await listImports(trx, { source: source.name })).map(({ id }) => id)),
    plans: { find: (id) => ours.find((plan) => plan.id === id) },
  };
  await readItems(job, read(), plans, options);
  const unsaid = [...plans.all.values()].filter(isUnsaid);
  if (unsaid.length > 0 && !dryRun) throw incomplete(unsaid);
  if (!dryRun && options.refusesBadRows) refuseBadRows(report.finish().leftOut);
  await applyNames(job);
  await applyUpdates(job);
  const { products: madeProducts, plans: madePlans } = plans.made;
  const finished: MoveReport = {
    id: dryRun ? null : job.importId,
    dryRun,
    source: source.name,
    columns,
    ...report.finish(),
    readAs: opened.readAs ?? null,
    plans: [...plans.all.values()].filter(
      ({ licenses, leftOut, target }) => licenses > 0 || leftOut || target !== null,
    ),
    madeProducts: madeProducts.length,
    madePlans: madePlans.length,
  };
  if (dryRun) return finished;
  const items = [
    ...madeProducts.map((itemId) => ({ kind: 'product' as const, itemId })),
    ...madePlans.map((itemId) => ({ kind: 'plan' as const, itemId })),
  ];
  await insertImported(
    trx,
    items.map((item) => ({ ...item, importId: job.importId, broughtJson: null })),
  );
  await setImport(trx, job.importId, {
    plansJson: JSON.stringify(Object.fromEntries(plans.map())),
    countsJson: JSON.stringify(countsOf(finished)),
  });
  return finished;
}

/** The reasons that are not faults: the seller left the row out, or another row of its id was chosen. */
const FITTING: ReadonlySet<string> = new Set<SkipCode>(['left-out-plan', 'other-row']);

function refuseBadRows(leftOut: Group[]): void {
  const bad = leftOut.filter(({ code }) => !FITTING.has(code));
  const rows = bad.flatMap(({ rows: some }) => some.map(String));
  const count = bad.reduce((sum, one) => sum + one.count, 0);
  if (count > 0) throw importError('bad-rows', [String(count), ...rows], { field: 'file' });
}

/** The numbers of a report, for the list of runs. */
export interface MoveCounts {
  new: number;
  changed: number;
  same: number;
  kept: number;
  leftOut: number;
  products: number;
  plans: number;
}

function countsOf({
  new: added,
  changed,
  same,
  kept,
  leftOut,
  madeProducts,
  madePlans,
}: MoveReport): MoveCounts {
  return {
    new: added,
    changed,
    same,
    kept,
    products: madeProducts,
    plans: madePlans,
    leftOut: leftOut.reduce((sum, { count }) => sum + count, 0),
  };
}

/** Returns the plan map of the source's latest run that was not undone. */
function formerMap(runs: ImportRun[]): PlanMap {
  const former = runs.find(({ undoneAt }) => undoneAt === null);
  const plans = JSON.parse(former?.plansJson ?? '{}') as Record<string, number | null>;
  return new Map(Object.entries(plans).filter(([key]) => key !== ALL));
}

/** Decodes HTML entities in names, because systems store and export them: `O&#039;Brien`. */
async function* withoutEntities(items: AsyncIterable<SourceItem>): AsyncGenerator<SourceItem, void> {
  for await (const item of items)
    if ('keys' in item)
      yield {
        ...item,
        plan: decodeHTMLStrict(item.plan),
        customer: item.customer === null ? null : decodeHTMLStrict(item.customer),
        customerName: item.customerName === null ? null : decodeHTMLStrict(item.customerName),
      };
    else if ('warning' in item && item.facts)
      yield { ...item, facts: item.facts.map((fact) => decodeHTMLStrict(fact)) };
    else yield item;
}

function keysWithoutEntities(map: PlanMap): PlanMap {
  return new Map([...map].map(([key, target]) => [decodeHTMLStrict(key), target]));
}

async function readItems(
  job: ApplyState,
  items: AsyncIterable<SourceItem>,
  plans: PlanTable,
  { source, onProgress, now }: MoveOptions,
): Promise<void> {
  const { report } = job;
  const ids = new Set<string>();
  let batch: IncomingLicense[] = [];
  let [read, sites] = [0, 0];
  const flush = async () => {
    await applyBatch(job, batch);
    [batch, sites] = [[], 0];
    onProgress?.(read);
  };
  for await (const item of items) {
    if ('leftOut' in item) report.leaveOut(item.leftOut, item.row);
    else if ('warning' in item) report.warn(item.warning, item.row, item);
    else {
      read++;
      const mapped = await plans.of(item.plan);
      mapped.licenses++;
      const { target } = mapped;
      if (ids.has(item.id)) report.leaveOut('same-id', item.row);
      else if (mapped.leftOut) report.leaveOut(['left-out-plan', nameOf(mapped)], item.row);
      else if (target === null) {
        report.leaveOut(['unsaid-plan', nameOf(mapped)], item.row);
        // Nothing will be written. The remaining licences are only counted.
        job.writes = false;
      } else {
        ids.add(item.id);
        const wanted = toDesiredLicense(item, source.name, target.plan, report, now);
        if ('leftOut' in wanted) report.leaveOut(wanted.leftOut, item.row);
        else {
          batch.push({ item, wanted, target });
          sites += allSites(wanted).length;
        }
      }
      if (batch.length >= BATCH || sites >= SITES_OF_BATCH) await flush();
    }
  }
  await flush();
}

function isUnsaid({ licenses, leftOut, target }: MappedPlan): boolean {
  return licenses > 0 && !leftOut && target === null;
}

function nameOf({ key, name }: MappedPlan): string {
  return key === name ? key : `${key} (${name})`;
}

function incomplete(unsaid: MappedPlan[]): Error {
  const map = unsaid.map(({ key }) => `${key}=PLAN`).join(',');
  const named = unsaid.map((plan) => `${nameOf(plan)}: ${plan.licenses}`);
  return importError('unsaid-plans', [map, ...named], { field: 'plans' });
}

/** Formats a report's map for `--plans`, with `?` for a plan that the map does not contain, and new plans in full. */
export function mapOf({ plans }: Pick<MoveReport, 'plans'>): string {
  const targetOf = ({ target }: MappedPlan) => {
    if (target === null || target.plan.id > 0) return target?.plan.id ?? null;
    const { activationLimit: limit, duration, name } = target.plan;
    return { limit, duration, name };
  };
  const said = plans.filter((plan) => !isUnsaid(plan));
  const map = writePlanMap(new Map(said.map((plan) => [plan.key, targetOf(plan)])));
  return [map, ...plans.filter(isUnsaid).map(({ key }) => `${key}=?`)]
    .filter((part) => part !== '')
    .join(',');
}
