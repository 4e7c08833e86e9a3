import { normalizeIdentifier } from '../licensing/identifiers';
import { normalizeCustomer, requireKey } from '../licensing/issue';
import { isSentWhole, keyDigest, keyHint } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import { sealKey } from '../licensing/sealing';
import { liveStatus, type StoredStatus } from '../licensing/states';
import { formatTimestampOrNull, isDay, isStorable } from '../licensing/timestamps';
import { activationKey, findActivations } from '../store/activations';
import { listPlans, listProducts, type Plan, type Product } from '../store/catalogue';
import type { Db, Transaction } from '../store/database';
import { isDuplicate } from '../store/errors';
import { insertEvents, type LicenseEvent } from '../store/events';
import { inSnapshot } from '../store/export';
import { findRows, inImportTransaction, insertInChunks } from '../store/import';
import { toSqlTime } from '../store/time';
import { readCsv, type CsvRow } from './csv';
import { fromRow, type RecordOf } from './records';

/** What a column can be taken for. */
export const CSV_FIELDS = [
  'key',
  'product',
  'plan',
  'status',
  'limit',
  'expiry',
  'customer',
  'reference',
  'activations',
] as const;
export type CsvField = (typeof CSV_FIELDS)[number];

export interface CsvImportOptions {
  /** by field, the name of the column in the first line */
  map: Map<CsvField, string>;
  /** names of columns that are left out on purpose */
  ignore: string[];
  /** one character; undefined: detected */
  delimiter: string | undefined;
  /** between the activations in a cell; undefined: see `splitIdentifiers` */
  separator: string | undefined;
  /** id or name, for rows that name none */
  product: string | undefined;
  plan: string | undefined;
  /** import the others when some rows do not fit */
  skipBadRows: boolean;
  dryRun: boolean;
  secret: Buffer | undefined;
  actor: string;
  now: Date;
  onProgress?: (rows: number) => void;
}

interface Remark {
  line: number;
  message: string;
}

export interface CsvImportReport {
  rows: number;
  new: number;
  /** there already, and as the row says */
  same: number;
  bad: number;
  /** rows that were imported with more activations than slots */
  overLimit: number;
  /** rows whose key Joomla's updater cannot send */
  notSentWhole: number;
  /** names of columns that were neither mapped nor ignored */
  unmappedColumns: string[];
  /** the first of each */
  badRows: Remark[];
  overLimitRows: Remark[];
  notSentWholeLines: number[];
}

const BATCH = 200;
const MAX_REMARKS = 50;

/**
 * Takes over licences of another system from a table: all rows, or with `skipBadRows` all that fit, in one
 * transaction. The rules stand in docs/export-format.md. No message repeats a cell, which may be a key.
 *
 * @throws OperatorError when refused; nothing has changed then
 */
export function importCsv(
  db: Db,
  source: AsyncIterable<Buffer>,
  options: CsvImportOptions,
): Promise<CsvImportReport> {
  const work = async (trx: Transaction) => {
    const job = await startJob(trx, options);
    let columns: Columns | undefined;
    let batch: Candidate[] = [];
    for await (const row of readCsv(source, options.delimiter)) {
      if (columns === undefined) {
        columns = findColumns(row.cells, options.map);
        job.report.unmappedColumns = findUnmapped(row.cells, columns, options.ignore);
        refuseOverlooked(job.report.unmappedColumns, options.map);
        job.width = row.cells.length;
        continue;
      }
      job.report.rows++;
      const candidate = readRow(job, columns, row);
      if (candidate) batch.push(candidate);
      if (batch.length < BATCH) continue;
      await importBatch(job, batch);
      batch = [];
      options.onProgress?.(job.report.rows);
    }
    if (columns === undefined) throw new OperatorError('The file is empty. Nothing was imported.');
    await importBatch(job, batch);
    if (job.report.bad > 0 && !options.skipBadRows && !options.dryRun) throw refusal(job.report);
    return job.report;
  };
  return options.dryRun ? inSnapshot(db, work) : inImportTransaction(db, work);
}

/** Remarks in words, a line each. */
export function describeRemarks(remarks: Remark[], total: number): string {
  const more = total - remarks.length;
  return [
    ...[...remarks].sort((a, b) => a.line - b.line).map(({ line, message }) => `  line ${line}: ${message}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}

function refusal({ bad, badRows }: CsvImportReport): OperatorError {
  return new OperatorError(
    `Nothing was imported: ${bad === 1 ? 'one row does' : `${bad} rows do`} not fit. --skip-bad-rows imports the others.\n${describeRemarks(badRows, bad)}`,
  );
}

interface Job {
  trx: Transaction;
  options: CsvImportOptions;
  report: CsvImportReport;
  products: Product[];
  plans: Plan[];
  /** columns */
  width: number;
  /** lines by what may be there once */
  digests: Map<string, number>;
  references: Map<string, number>;
  /** ends with the first row that makes the whole be refused */
  writes: boolean;
}

/** A row that makes sense by itself. What it does not say is undefined. */
interface Candidate {
  line: number;
  key: string;
  digest: string;
  plan: Plan;
  status: StoredStatus | 'expired' | undefined;
  limit: number | undefined;
  expiresAt: Date | null | undefined;
  customer: string | null;
  reference: string | null;
  identifiers: string[];
}

type Columns = Map<CsvField, { at: number; name: string }>;

async function startJob(trx: Transaction, options: CsvImportOptions): Promise<Job> {
  if (!options.map.has('key'))
    throw new OperatorError('--map must say which column has the key: key=COLUMN.');
  if (!options.map.has('plan') && options.plan === undefined)
    throw new OperatorError(
      'Which plan are the licences on? Say it with plan=COLUMN in --map, or with --plan.',
    );
  const job: Job = {
    trx,
    options,
    report: {
      rows: 0,
      new: 0,
      same: 0,
      bad: 0,
      overLimit: 0,
      notSentWhole: 0,
      unmappedColumns: [],
      badRows: [],
      overLimitRows: [],
      notSentWholeLines: [],
    },
    products: await listProducts(trx),
    plans: await listPlans(trx),
    width: 0,
    digests: new Map(),
    references: new Map(),
    writes: !options.dryRun,
  };
  if (options.product !== undefined && findProduct(job, options.product) instanceof Fault)
    throw new OperatorError(
      'There is no product of the id or name --product gives: "licensing product list".',
    );
  return job;
}

/** The names themselves are not repeated: a file without a heading has a key there. */
function findColumns(heading: string[], map: Map<CsvField, string>): Columns {
  const names = heading.map((name) => name.trim());
  return new Map(
    [...map].map(([field, name]) => {
      const at = requireColumn(names, name);
      if (names.includes(names[at] as string, at + 1))
        throw new OperatorError(`The file has two columns "${name}". Nothing was imported.`);
      return [field, { at, name }];
    }),
  );
}

/** Where a column is that an option names, if need be in other letters. */
function requireColumn(names: string[], name: string): number {
  const exact = names.indexOf(name);
  const at = exact === -1 ? names.findIndex((one) => one.toLowerCase() === name.toLowerCase()) : exact;
  if (at === -1)
    throw new OperatorError(
      `The first line of the file, which must have the columns' names, has no column "${name}" (it has ${names.length} columns). Nothing was imported.`,
    );
  return at;
}

/** These names can be repeated: a line with all that --map names is a heading. */
function findUnmapped(heading: string[], columns: Columns, ignore: string[]): string[] {
  const names = heading.map((name) => name.trim());
  for (const name of ignore) requireColumn(names, name);
  const mapped = new Set([...columns.values()].map(({ at }) => at));
  const ignored = new Set(['', ...ignore.map((name) => name.toLowerCase())]);
  return names
    .filter((name, at) => !mapped.has(at) && !ignored.has(name.toLowerCase()))
    .map((name) => name.replace(/\p{Cc}/gu, '\uFFFD'));
}

/** Without them a refunded licence would work, an expired one for ever, and nobody would know whose it is. */
const NEEDED: [CsvField, RegExp][] = [
  ['status', /stat(us|e)/i],
  ['expiry', /expir|until/i],
  ['customer', /customer|e-?mail/i],
];

/** An import cannot be taken back, so what looks like one of these fields is left out on purpose only. */
function refuseOverlooked(unmapped: string[], map: Map<CsvField, string>): void {
  const overlooked = NEEDED.filter(([field]) => !map.has(field)).flatMap(([field, pattern]) =>
    unmapped.filter((name) => pattern.test(name)).map((name) => ({ field, name })),
  );
  if (overlooked.length === 0) return;
  const { field, name: first } = overlooked[0] as { field: string; name: string };
  throw new OperatorError(
    `--map leaves out what licences may need: ${overlooked.map((one) => `${one.field} in column "${one.name}"`).join(', ')}. ` +
      `Map it, as ${field}=${first}, or leave it out on purpose: --ignore "${overlooked.map(({ name }) => name).join(',')}". Nothing was imported.`,
  );
}

function refuseRow(job: Job, line: number, message: string): undefined {
  const { report, options } = job;
  report.bad++;
  if (report.badRows.length < MAX_REMARKS) report.badRows.push({ line, message });
  if (!options.skipBadRows) job.writes = false;
  return undefined;
}

/** What a reader of a cell says instead of a value. */
class Fault {
  constructor(readonly text: string) {}
}

function readRow(job: Job, columns: Columns, { line, cells }: CsvRow): Candidate | undefined {
  const faults: string[] = [];
  const cell = (field: CsvField) => cells[columns.get(field)?.at ?? -1]?.trim() ?? '';
  const read = <T>(field: CsvField, reader: (text: string) => T | Fault): T | undefined => {
    const value = reader(cell(field));
    if (!(value instanceof Fault)) return value;
    const name = columns.get(field)?.name;
    faults.push(name === undefined ? value.text : `${name}: ${value.text}`);
    return undefined;
  };
  if (cells.length < job.width || cells.slice(job.width).some((extra) => extra.trim() !== ''))
    faults.push(`the row has ${cells.length} cells, and the first line ${job.width} columns`);
  const key = read('key', readKey);
  const plan = read('plan', (text) => findRowPlan(job, text, cell('product')));
  const status = read('status', readStatus);
  const limit = read('limit', readLimit);
  const expiresAt = columns.has('expiry') ? read('expiry', readExpiry) : undefined;
  const customer = read('customer', (text) => readLabel(normalizeCustomer(text)));
  const reference = read('reference', (text) => readLabel(text || null));
  const identifiers =
    plan && read('activations', (text) => readIdentifiers(plan, text, job.options.separator));
  if (status === 'expired' && expiresAt && expiresAt > job.options.now)
    faults.push('the status says expired, and the date is in the future');
  const digest = key === undefined ? '' : keyDigest(key);
  if (key !== undefined) {
    const twin = claim(job.digests, digest, line);
    if (twin !== undefined) faults.push(`the key is the same as in line ${twin}`);
  }
  if (reference) {
    const twin = claim(job.references, reference, line);
    if (twin !== undefined) faults.push(`the reference is the same as in line ${twin}`);
  }
  if (faults.length > 0 || key === undefined || plan === undefined || identifiers === undefined)
    return refuseRow(job, line, faults.join('; '));
  if (!isSentWhole(key)) {
    job.report.notSentWhole++;
    if (job.report.notSentWholeLines.length < MAX_REMARKS) job.report.notSentWholeLines.push(line);
  }
  return {
    line,
    key,
    digest,
    plan,
    status,
    limit,
    expiresAt,
    customer: customer ?? null,
    reference: reference ?? null,
    identifiers,
  };
}

/** @returns the line that has it already */
function claim(lines: Map<string, number>, value: string, line: number): number | undefined {
  const before = lines.get(value);
  if (before === undefined) lines.set(value, line);
  return before;
}

function readKey(text: string): string | Fault {
  if (text === '') return new Fault('there is no key');
  try {
    return requireKey(text);
  } catch (error) {
    if (error instanceof OperatorError)
      return new Fault('this is no key: it is longer than 350 bytes, or has characters that cannot be typed');
    throw error;
  }
}

/** By id, else by name; a name in other letters counts when it is the only one. */
function findProduct(job: Job, text: string): Product | Fault {
  return (
    findNamed(job.products, text) ??
    new Fault('there is no product of this id or name ("licensing product list" shows them)')
  );
}

function findRowPlan(job: Job, planText: string, productText: string): Plan | Fault {
  const { options } = job;
  const [plan, product] = [planText || options.plan, productText || options.product];
  if (plan === undefined) return new Fault('there is no plan');
  const found = product === undefined ? undefined : findProduct(job, product);
  if (found instanceof Fault) return found;
  const plans = found ? job.plans.filter(({ productId }) => productId === found.id) : job.plans;
  return (
    findNamed(plans, plan) ??
    new Fault(
      found
        ? `product ${found.id} has no plan, or several, of this id or name ("licensing plan list" shows them)`
        : 'there is no plan of this id, and no single one of this name ("licensing plan list" shows them)',
    )
  );
}

function findNamed<T extends { id: number; name: string }>(all: T[], text: string): T | undefined {
  const byId = /^\d+$/.test(text) ? all.find(({ id }) => id === Number(text)) : undefined;
  if (byId) return byId;
  const exact = all.filter(({ name }) => name === text);
  if (exact.length > 0) return exact.length === 1 ? exact[0] : undefined;
  const similar = all.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  return similar.length === 1 ? similar[0] : undefined;
}

/** How other systems write a state. What ends a licence for a while is never taken for what ends it for good. */
const STATUSES: Record<StoredStatus | 'expired', string[]> = {
  active: ['active', 'activated', 'enabled', 'valid', 'ok', 'delivered', 'sold', 'paid', '1', 'yes', 'true'],
  expired: ['expired'],
  suspended: [
    'suspended',
    'inactive',
    'disabled',
    'deactivated',
    'paused',
    'blocked',
    'on-hold',
    'on hold',
    '0',
    'no',
    'false',
  ],
  revoked: ['revoked', 'banned', 'terminated'],
  cancelled: ['cancelled', 'canceled', 'refunded'],
};
const STATUS_BY_SPELLING = new Map(
  Object.entries(STATUSES).flatMap(([status, spellings]) =>
    spellings.map((spelling) => [spelling, status as StoredStatus | 'expired'] as const),
  ),
);

function readStatus(text: string): StoredStatus | 'expired' | undefined | Fault {
  if (text === '') return undefined;
  return (
    STATUS_BY_SPELLING.get(text.toLowerCase()) ??
    new Fault('this status is not known; active, expired, suspended, revoked and cancelled are')
  );
}

function readLimit(text: string): number | undefined | Fault {
  if (text === '') return undefined;
  if (text === '-1' || text === '∞' || text.toLowerCase() === 'unlimited') return 0;
  return /^\d{1,10}$/.test(text) && Number(text) <= 0xffff_ffff
    ? Number(text)
    : new Fault('the limit must be a whole number, 0 or "unlimited" for no limit');
}

const LIFETIME = new Set([
  '',
  '0',
  '-',
  'lifetime',
  'never',
  'none',
  'null',
  '0000-00-00',
  '0000-00-00 00:00:00',
]);
const DATE = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?)?$/i;

/** UTC where no zone is given. null: lifetime */
function readExpiry(text: string): Date | null | Fault {
  if (LIFETIME.has(text.toLowerCase())) return null;
  const [, day = '', time = '00:00', seconds = ':00', zone = 'Z'] = DATE.exec(text) ?? [];
  const offset = /^(z|utc)$/i.test(zone) ? 'Z' : zone.replace(/^(...)(\d\d)$/, '$1:$2');
  const date = new Date(`${day}T${time}${seconds}${offset}`);
  return isDay(day) && isStorable(date)
    ? date
    : new Fault('this is no date as 2027-01-31 or 2027-01-31 12:00:00 (empty for lifetime)');
}

function readLabel(text: string | null): string | null | Fault {
  if (text === null) return null;
  return Array.from(text).length <= 190 && !/\p{Cc}/u.test(text)
    ? text
    : new Fault('the text has more than 190 characters, or more than one line');
}

function readIdentifiers(plan: Plan, text: string, separator: string | undefined): string[] | Fault {
  const type = plan.activationType;
  const identifiers = new Set<string>();
  for (const [index, part] of splitIdentifiers(type, text, separator).entries()) {
    const identifier = normalizeIdentifier(type, part);
    if (identifier === undefined || /\p{Cc}/u.test(identifier))
      return new Fault(`number ${index + 1} is no valid ${type}`);
    identifiers.add(identifier);
  }
  return [...identifiers];
}

/** One a line, or with `|` between; domains also with a comma or semicolon, which no domain has. */
function splitIdentifiers(type: string, text: string, separator: string | undefined): string[] {
  const parts = text.split(separator ?? (type === 'domain' ? /[\n|,;]/ : /[\n|]/));
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

async function importBatch(job: Job, batch: Candidate[]): Promise<void> {
  const existing = await licensesOf(job, batch);
  const owners = new Map(
    (
      await findRows(
        job.trx,
        'licenses',
        'reference',
        batch.flatMap(({ reference }) => reference ?? []),
      )
    ).map((row) => [row.reference, row]),
  );
  const here = batch.flatMap((candidate) => {
    const license = existing.get(candidate.digest);
    return license ? [{ candidate, license }] : [];
  });
  const activated = await findActivations(
    job.trx,
    here.flatMap(({ candidate, license }) =>
      candidate.identifiers.map((identifier) => ({ licenseId: license.id, identifier })),
    ),
  );
  const added: Candidate[] = [];
  for (const candidate of batch) {
    const { line, digest, reference, identifiers } = candidate;
    const license = existing.get(digest);
    const owner = reference === null ? undefined : owners.get(reference);
    if (owner && owner.key_digest !== digest)
      refuseRow(job, line, `the reference belongs to licence ${owner.id ?? ''} here, which has another key`);
    else if (license === undefined) added.push(candidate);
    else {
      const differences = differencesOf(candidate, license, job.options.now);
      if (
        identifiers.some((identifier) => !activated.has(activationKey({ licenseId: license.id, identifier })))
      )
        differences.push('activations');
      if (differences.length === 0) job.report.same++;
      else
        refuseRow(
          job,
          line,
          `the key is that of licence ${license.id}, which is here already and differs in: ${differences.join(', ')}`,
        );
    }
  }
  for (const candidate of added) remarkOverLimit(job, candidate);
  job.report.new += added.length;
  if (job.writes && added.length > 0) await insertCandidates(job, added);
}

/**
 * By the key's digest. Without the plan: of a join with the few plans, MariaDB would read all licences of a plan in
 * a table that has just grown.
 */
async function licensesOf(job: Job, batch: Candidate[]): Promise<Map<string, RecordOf<'license'>>> {
  const digests = batch.map(({ digest }) => digest);
  const found = await findRows(job.trx, 'licenses', 'key_digest', digests);
  return new Map(found.map((row) => [row.key_digest as string, fromRow('license', row)]));
}

/** Only what the row says is compared. */
function differencesOf(candidate: Candidate, license: RecordOf<'license'>, now: Date): string[] {
  const { plan, status, limit, expiresAt, customer, reference } = candidate;
  const live = liveStatus(
    { status: license.status, expiresAt: license.expires_at === null ? null : new Date(license.expires_at) },
    now,
  );
  const expected = status === 'active' && expiresAt && expiresAt <= now ? 'expired' : status;
  // A licence that had expired without a date got the day of its import as one.
  const dateless = status === 'expired' && !expiresAt;
  const differs: Record<string, boolean> = {
    plan: plan.id !== license.plan_id,
    status: expected !== undefined && expected !== live,
    limit: limit !== undefined && limit !== license.activation_limit,
    expiry: expiresAt !== undefined && !dateless && formatTimestampOrNull(expiresAt) !== license.expires_at,
    customer: customer !== null && customer !== license.customer,
    reference: reference !== null && reference !== license.reference,
  };
  return Object.keys(differs).filter((name) => differs[name]);
}

function sqlTime(date: Date | null): string | null {
  return date && toSqlTime(date);
}

function limitOf({ limit, plan }: Candidate): number {
  return limit ?? plan.activationLimit;
}

function remarkOverLimit(job: Job, candidate: Candidate): void {
  const { line, identifiers } = candidate;
  const limit = limitOf(candidate);
  if (limit === 0 || identifiers.length <= limit) return;
  const { report } = job;
  report.overLimit++;
  if (report.overLimitRows.length < MAX_REMARKS)
    report.overLimitRows.push({ line, message: `${identifiers.length} activations on ${limit} slots` });
}

async function insertCandidates(job: Job, added: Candidate[]): Promise<void> {
  const { trx, options } = job;
  const { now, secret, actor } = options;
  const createdAt = toSqlTime(now);
  const rows = added.map((candidate) => {
    const { key, digest, plan, status, customer, reference, identifiers } = candidate;
    return {
      key_digest: digest,
      key_hint: keyHint(key),
      key_sealed: secret ? sealKey(key, digest, secret) : null,
      plan_id: plan.id,
      status: status === 'expired' ? 'active' : (status ?? 'active'),
      activation_limit: limitOf(candidate),
      activations_used: identifiers.length,
      customer,
      reference,
      expires_at: sqlTime(expiryOf(candidate, now)),
      created_at: createdAt,
    };
  });
  try {
    await insertInChunks(trx, 'licenses', rows);
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new OperatorError(
      'Somebody else issued a licence with one of these keys or references meanwhile. Nothing was imported; try again.',
    );
  }
  const inserted = await licensesOf(job, added);
  const events: LicenseEvent[] = [];
  const activations = [];
  for (const { digest, identifiers } of added) {
    const license = inserted.get(digest) as RecordOf<'license'>;
    events.push(importEvent(license, identifiers.length, actor, now));
    for (const identifier of identifiers)
      activations.push({ license_id: license.id, identifier, name: null, ip: null, activated_at: createdAt });
  }
  await insertEvents(trx, events);
  if (activations.length > 0) await insertInChunks(trx, 'activations', activations);
}

function expiryOf({ status, expiresAt }: Candidate, now: Date): Date | null {
  return status === 'expired' ? (expiresAt ?? now) : (expiresAt ?? null);
}

function importEvent(
  license: RecordOf<'license'>,
  activationsUsed: number,
  actor: string,
  now: Date,
): LicenseEvent {
  const { id, status, plan_id, activation_limit, customer, reference, expires_at } = license;
  const after = {
    status,
    plan_id,
    activation_limit,
    activations_used: activationsUsed,
    customer,
    reference,
    expires_at,
  };
  return { licenseId: id, at: now, actor, action: 'import', before: null, after };
}
