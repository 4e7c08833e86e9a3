import { quantity } from '../quantity';
import { storedCustomer } from '../licensing/customer-email';
import { isSentWhole } from '../licensing/core/keys';
import { storedMetadata } from '../licensing/metadata';
import { OperatorError } from '../licensing/operator-error';
import { findNamed } from '../licensing/find-or-refuse';
import type { PlacedSite } from '../licensing/staging-sites';
import { liveStatus } from '../licensing/core/states';
import { dayOf, formatTimestampOrNull } from '../licensing/timestamps';
import { activationKey, findActivations } from '../store/activations';
import { listPlans, listProducts, sharePlans, type Plan, type Product } from '../store/catalogue';
import type { Db, Transaction } from '../store/database';
import { withKeys } from '../store/export';
import { findRows } from '../store/import';
import { findKeysByFoldedDigests } from '../store/license-keys';
import { findOwners } from '../store/licenses';
import { readCsv } from './csv';
import {
  Fault,
  type RowFault,
  readHeading,
  readRow,
  type Candidate,
  type CsvTable,
  type CsvTableOptions,
} from './csv-licenses';
import { describeRemarks, keepFirst, keepRemark, type Remark } from './lines';
import { insertNewLicenses, placeAll, type NewLicense } from './new-licenses';
import { fromRow, type RecordOf } from './records';
import { inReadCommitted, inSnapshot } from '../store/transaction';
import { refusal } from './refusals';

interface CsvImportOptions extends CsvTableOptions {
  /** one character; undefined: detected */
  delimiter: string | undefined;
  /** import the other rows when some have faults */
  skipBadRows: boolean;
  dryRun: boolean;
  secret: Buffer | undefined;
  actor: string;
  /** the source can be read several times: after a lock conflict the import runs again */
  readsAgain?: boolean;
  onProgress?: (rows: number) => void;
  /** the most rows; undefined: any number */
  maxRows?: number;
  /** called for each thing that is wrong with a row */
  onFault?: (line: number, fault: RowFault) => void;
  /** called for each key that differs from another in case or hyphens alone */
  onTwin?: (line: number, message: string) => void;
}

export interface CsvImportReport {
  rows: number;
  new: number;
  /** already stored, as the row says */
  same: number;
  bad: number;
  /** rows imported with more activations than slots */
  overLimit: number;
  /** rows whose key Joomla's updater cannot send */
  notSentWhole: number;
  /** rows whose key differs from another in case or hyphens alone: each works only as it is written */
  twins: number;
  /** names of columns neither mapped nor ignored */
  unmappedColumns: string[];
  /** the first remarks of each kind */
  badRows: Remark[];
  overLimitRows: Remark[];
  twinRows: Remark[];
  notSentWholeLines: number[];
}

const BATCH = 200;

/**
 * Imports another system's licences in one transaction: all rows, or with `skipBadRows` those without faults
 * (docs/import-csv.md). Messages never repeat a cell. @throws OperatorError when refused, with nothing changed
 */
export function importCsv(
  db: Db,
  source: AsyncIterable<Buffer>,
  options: CsvImportOptions,
): Promise<CsvImportReport> {
  const work = async (trx: Transaction) => {
    const job = await startCsvJob(trx, options);
    let table: CsvTable | undefined;
    let batch: Candidate[] = [];
    for await (const row of readCsv(source, options.delimiter)) {
      if (table === undefined) {
        table = readHeading(row.cells, job, options);
        job.report.unmappedColumns = table.unmapped;
        continue;
      }
      if (++job.report.rows > (options.maxRows ?? Infinity)) throw tooManyRows(options.maxRows);
      const candidate = readRow(table, row);
      if (candidate instanceof Fault) refuseRow(job, row.line, candidate);
      else {
        remarkNotSentWhole(job, candidate);
        batch.push(candidate);
      }
      if (batch.length < BATCH) continue;
      await importBatch(job, batch);
      batch = [];
      options.onProgress?.(job.report.rows);
    }
    if (table === undefined) throw refusal('empty-file', [], { field: 'file' });
    await importBatch(job, batch);
    if (job.report.bad > 0 && !options.skipBadRows && !options.dryRun) throw badRows(job.report);
    return job.report;
  };
  return options.dryRun ? inSnapshot(db, work) : inReadCommitted(db, work, { isOnce: !options.readsAgain });
}

function badRows({ bad, badRows: rows }: CsvImportReport): OperatorError {
  return new OperatorError(
    `Nothing was imported: ${bad === 1 ? 'one row does' : `${bad} rows do`} not fit.`,
    { facts: { reason: 'bad-rows', rows: describeRemarks(rows, bad) } },
  );
}

function tooManyRows(most = 0): OperatorError {
  return new OperatorError(`The file has more than ${most} rows. Nothing was imported.`, {
    field: 'file',
    facts: { reason: 'too-many-rows' },
  });
}

interface CsvJob {
  trx: Transaction;
  options: CsvImportOptions;
  report: CsvImportReport;
  products: Product[];
  plans: Plan[];
  /** false from the first row on that makes the whole import fail */
  writes: boolean;
}

async function startCsvJob(trx: Transaction, options: CsvImportOptions): Promise<CsvJob> {
  if (!options.map.has('key'))
    throw new OperatorError('Which column has the key?', {
      code: 'INVALID_REQUEST',
      field: 'map',
      facts: { reason: 'no-key-column' },
    });
  if (!options.map.has('plan') && options.plan === undefined)
    throw new OperatorError('Which plan are the licences on?', {
      code: 'INVALID_REQUEST',
      facts: { reason: 'no-plan-column' },
    });
  const products = await listProducts(trx);
  if (options.product !== undefined && findNamed(products, options.product) === undefined)
    throw new OperatorError('There is no product of this id or name.', {
      code: 'NOT_FOUND',
      field: 'product',
      facts: { reason: 'no-product' },
    });
  return {
    trx,
    options,
    report: {
      rows: 0,
      new: 0,
      same: 0,
      bad: 0,
      overLimit: 0,
      notSentWhole: 0,
      twins: 0,
      unmappedColumns: [],
      badRows: [],
      overLimitRows: [],
      twinRows: [],
      notSentWholeLines: [],
    },
    products,
    plans: await (options.dryRun ? listPlans(trx) : sharePlans(trx)),
    writes: !options.dryRun,
  };
}

function refuseRow(job: CsvJob, line: number, { text, parts }: Fault): void {
  const { report, options } = job;
  report.bad++;
  keepRemark(report.badRows, line, text);
  for (const part of parts) options.onFault?.(line, part);
  if (!options.skipBadRows) job.writes = false;
}

function faultOf(field: RowFault['field'], text: string): Fault {
  return new Fault(text, [{ field, text }]);
}

function remarkNotSentWhole({ report }: CsvJob, { line, key }: Candidate): void {
  if (isSentWhole(key)) return;
  report.notSentWhole++;
  keepFirst(report.notSentWholeLines, line);
}

async function importBatch(job: CsvJob, batch: Candidate[]): Promise<void> {
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
    if (owner && owner.id !== license?.id)
      refuseRow(
        job,
        line,
        faultOf(
          'reference',
          `the reference belongs to licence ${owner.id ?? ''} here, which has another key`,
        ),
      );
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
          faultOf(
            'key',
            `the key is that of licence ${license.id}, which is here already and differs in: ${differences.join(', ')}`,
          ),
        );
    }
  }
  await remarkTwins(job, added);
  const placed = added.map(place);
  for (const one of placed) remarkOverLimit(job, one);
  job.report.new += added.length;
  if (job.writes && added.length > 0) await insertCandidates(job, placed);
}

/** Before these rows are inserted, so that the keys here are others. */
async function remarkTwins({ trx, options, report }: CsvJob, added: Candidate[]): Promise<void> {
  const stored = await findKeysByFoldedDigests(
    trx,
    added.flatMap(({ folded }) => folded ?? []),
  );
  const licenses = new Map(stored.map(({ foldedDigest, licenseId }) => [foldedDigest, licenseId]));
  for (const { line, folded = '', twinLine } of added) {
    const license = licenses.get(folded);
    if (twinLine === undefined && license === undefined) continue;
    const other = twinLine === undefined ? `a key of licence ${license} here` : `that of line ${twinLine}`;
    const message = `the key differs from ${other} in case or hyphens alone`;
    report.twins++;
    keepRemark(report.twinRows, line, message);
    options.onTwin?.(line, message);
  }
}

type LicenseRecord = RecordOf<'license'>;

/** By the digest of any key. Does not join the plans: MariaDB would read all licences of a plan in a table just grown. */
async function licensesOf(job: CsvJob, batch: Candidate[]): Promise<Map<string, LicenseRecord>> {
  const owners = await findOwners(
    job.trx,
    batch.map(({ digest }) => digest),
  );
  const rows = await withKeys(
    job.trx,
    await findRows(job.trx, 'licenses', 'id', [...new Set(owners.values())]),
  );
  const byId = new Map(rows.map((row) => [row.id as number, fromRow('license', row)]));
  return new Map([...owners].map(([digest, id]) => [digest, byId.get(id) as LicenseRecord]));
}

function differencesOf(candidate: Candidate, license: LicenseRecord, now: Date): string[] {
  const { plan, status, limit, expiresAt, customer, reference } = candidate;
  const metadata = storedMetadata(candidate.metadata);
  const live = liveStatus(
    { status: license.status, expiresAt: license.expires_at === null ? null : new Date(license.expires_at) },
    now,
  );
  const expected = status === 'active' && expiresAt && expiresAt <= now ? 'expired' : status;
  const differs: Record<string, boolean> = {
    plan: plan.id !== license.plan_id,
    status: expected !== undefined && expected !== live,
    limit: limit !== undefined && limit !== license.activation_limit,
    expiry: differsInExpiry(candidate, license.expires_at),
    customer: customer !== null && customer !== storedCustomer(license.customer ?? ''),
    reference: reference !== null && reference !== license.reference,
    metadata: metadata !== null && metadata !== storedMetadata(license.metadata),
  };
  return Object.keys(differs).filter((name) => differs[name]);
}

function differsInExpiry({ status, expiresAt }: Candidate, stored: string | null): boolean {
  if (expiresAt === undefined) return false;
  if (status !== 'expired') return formatTimestampOrNull(expiresAt) !== stored;
  // A licence expired without a date, or on the day of its import, got the time of its import.
  return expiresAt !== null && dayOf(expiresAt) !== stored?.slice(0, 10);
}

function limitOf({ limit, plan }: Candidate): number {
  return limit ?? plan.activationLimit;
}

/** A row with its activations as they are stored. */
interface Placed {
  candidate: Candidate;
  sites: PlacedSite[];
  /** slots taken */
  used: number;
}

function place(candidate: Candidate): Placed {
  return { candidate, ...placeAll(candidate.plan, limitOf(candidate), candidate.identifiers) };
}

function remarkOverLimit({ report }: CsvJob, { candidate, used }: Placed): void {
  const limit = limitOf(candidate);
  if (limit === 0 || used <= limit) return;
  report.overLimit++;
  const slots = quantity(limit, 'slot');
  keepRemark(report.overLimitRows, candidate.line, `${quantity(used, 'activation')} on ${slots}`);
}

async function insertCandidates(job: CsvJob, added: Placed[]): Promise<void> {
  const licenses = added.map(({ candidate, sites }): NewLicense => {
    const { key, plan, status, customer, reference, metadata } = candidate;
    return {
      ...{ key, plan, customer, reference, metadata, sites, otherKeys: [] },
      status: status === 'expired' ? 'active' : (status ?? 'active'),
      activationLimit: limitOf(candidate),
      expiresAt: expiryOf(candidate, job.options.now),
    };
  });
  await insertNewLicenses(job.trx, licenses, job.options);
}

function expiryOf({ status, expiresAt }: Candidate, now: Date): Date | null {
  return status === 'expired' && !(expiresAt && expiresAt <= now) ? now : (expiresAt ?? null);
}
