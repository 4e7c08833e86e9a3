import { createHash } from 'node:crypto';
import { listProducts, plansOf } from '../../../licensing/catalogue';
import { readCsv, textOfCsv } from '../../../transfer/csv';
import { guessCsvColumns } from '../../../transfer/csv-guess';
import { CSV_FIELDS, readCsvMap, type CsvField, type CsvTarget } from '../../../transfer/csv-licenses';
import { importCsv, type CsvImportReport } from '../../../transfer/import-csv';
import { CSV_UPLOAD, MAX_ROWS, oneChunk } from '../../../operations/imports';
import { receiveUpload } from '../../api/upload';
import type { OperatorCall } from '../page';

/**
 * The table that an import's form has sent. It is kept between two forms in a field of the second one, because the service
 * keeps no files of its own; a large one is chosen again.
 */

export interface SentTable {
  /** its columns are guessed, and nobody has looked at them */
  isGuessed: boolean;
  /** the form's fields, without the table */
  fields: URLSearchParams;
  bytes: Buffer;
  /** for the next form's field; undefined: it is too large for that, or no text */
  kept: string | undefined;
  /** the columns that may be chosen */
  columns: string[];
  map: string;
  product: string;
  plan: string;
}

/** What a dry run tells. */
export interface Preview {
  report: CsvImportReport;
  rejected: Rejected[];
}

export interface Rejected {
  row: number;
  field: string | null;
  message: string;
}

/** Below the limit of a form's field (upload.ts), with a line end of two characters. */
const MAX_KEPT_BYTES = 1_900_000;
const MAX_COLUMNS = 200;

/** @returns 'no-file' when none was chosen @throws ManageError, and OperatorError for what is no table */
export async function receiveTable(call: OperatorCall): Promise<SentTable | 'no-file'> {
  const { fields: sent, file } = await receiveUpload(call.ctx, ['text/csv'], CSV_UPLOAD);
  const { table, ...others } = sent;
  const given = file === undefined || file.length === 0 ? undefined : file;
  const read = given ?? (table === undefined ? undefined : Buffer.from(table));
  if (read === undefined) return 'no-file';
  const text = textOfCsv(read);
  // Always with the same line ends: a browser changes those of a field.
  const bytes = text === undefined ? read : Buffer.from(text);
  const isKept = text !== undefined && bytes.length < MAX_KEPT_BYTES && !/(?![\n\t])\p{Cc}/u.test(text);
  const heading = await readHeading(bytes);
  const isGuessed = others.key === undefined;
  const fields = new URLSearchParams(isGuessed ? await guess(call, heading) : others);
  return {
    ...{ isGuessed, fields, bytes, kept: isKept ? text : undefined },
    // The map has commas between its parts.
    columns: heading.filter((name) => name !== '' && !/[,\n]/.test(name)),
    map: mapOf(fields),
    product: fields.get('product_id') ?? '',
    plan: fields.get('plan_id') ?? '',
  };
}

async function readHeading(bytes: Buffer): Promise<string[]> {
  for await (const { cells } of readCsv(oneChunk(bytes), undefined))
    return [...new Set(cells.slice(0, MAX_COLUMNS).map((name) => name.trim()))];
  return [];
}

async function guess({ db }: OperatorCall, heading: string[]): Promise<Record<string, string>> {
  const columns = guessCsvColumns(heading);
  const guessed = Object.fromEntries(CSV_FIELDS.map((field) => [field, columns[field] ?? '']));
  const plans = await plansOf(db, undefined);
  const products = await listProducts(db);
  return {
    ...guessed,
    // Where there is only one, it is meant.
    ...(columns.plan === undefined && plans.length === 1 ? { plan_id: String(plans[0]?.id) } : {}),
    ...(columns.product === undefined && products.length === 1
      ? { product_id: String(products[0]?.id) }
      : {}),
  };
}

function mapOf(fields: URLSearchParams): string {
  const chosen = CSV_FIELDS.map((field: CsvField) => [field, fields.get(field) ?? ''] as const)
    .filter(([, column]) => column !== '')
    .map(([field, column]) => `${field}=${column}`);
  return [...chosen, fields.get('more')?.trim() ?? ''].filter(Boolean).join(',');
}

/** Tells this table with these columns from others: only what was checked is imported. */
export function digestOf({ bytes, map, product, plan }: SentTable): string {
  const table = createHash('sha256').update(bytes).digest('hex');
  return createHash('sha256')
    .update(JSON.stringify([table, map, product, plan]))
    .digest('base64url');
}

/** What an import would do; nothing is changed. @throws OperatorError */
export async function previewTable(
  { db, at, caller, settings }: OperatorCall,
  { bytes, map, product, plan }: SentTable,
): Promise<Preview> {
  const rejected: Rejected[] = [];
  const report = await importCsv(db, oneChunk(bytes), {
    map: map === '' ? new Map<CsvTarget, string>() : readCsvMap(map),
    ignore: [],
    delimiter: undefined,
    separator: undefined,
    product: product || undefined,
    plan: plan || undefined,
    skipBadRows: false,
    dryRun: true,
    secret: settings.keySecret,
    actor: caller.actor,
    now: at,
    maxRows: MAX_ROWS,
    onFault: (row, { field, text }) => rejected.push({ row, field, message: text }),
  });
  return { report, rejected: rejected.sort((a, b) => a.row - b.row) };
}

/** The query of the operation that imports it. */
export function queryOf({ map, product, plan }: SentTable, skipBadRows: boolean): URLSearchParams {
  const given = { map, product, plan, skip_bad_rows: skipBadRows ? '1' : '' };
  return new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ''));
}
