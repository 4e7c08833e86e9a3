import { createHash } from 'node:crypto';
import { asSingleChunk, type importOperations } from '../../../operations/imports';
import { DURATION } from '../../../licensing/durations';
import type { Texts } from '../../../texts/operators/texts';
import { readCsv, textOfCsv } from '../../../transfer/csv';
import { CSV_FIELDS, readCsvMap } from '../../../transfer/moving/any-csv';
import { writePlanMap, type PlanMap } from '../../../transfer/moving/plan-map';
import type { MoveReport } from '../../../transfer/moving/report';
import { moveLicensesIn } from '../../../transfer/moving/run';
import { DATE_FORMS, type DateForm, type MovingSource } from '../../../transfer/moving/source';
import { SOURCES } from '../../../transfer/moving/sources';
import type { DataOf } from '../submit';
import type { OperatorCall } from '../page';

/**
 * The form of an import from another system. The service stores no uploaded file, so the second form contains the first
 * one's file in a hidden field. A large file must be chosen again.
 */

/** Less than the limit of a form field (upload.ts), because a browser sends a line end as two characters. */
const MAX_KEPT_BYTES = 1_900_000;

/** The submitted form. */
export interface SentMove {
  source: MovingSource;
  fields: URLSearchParams;
  dates: DateForm | undefined;
  isConfirmed: boolean;
  /** the operation's `map` of columns; empty to recognize columns by their names */
  columns: string;
  /** the source system's plans, in the order of the form's fields; combined plans are last */
  keys: string[];
  map: PlanMap;
  /** `map` as a parameter of the operation; empty if no plan was chosen */
  plans: string;
  /** an invalid field of a new plan */
  badField: string | undefined;
  /** the prefix of the site's tables; undefined to detect it */
  sitePrefix: string | undefined;
  table: SentFile;
  /** the table with the customers' addresses */
  users: SentFile;
}

export interface SentFile {
  /** undefined if no file was sent */
  bytes: Buffer | undefined;
  /** the text for the next form's hidden field; undefined if no file was sent, or if it is too large or not a text */
  kept: string | undefined;
}

/** Returns the name of a plan's field. */
export const planField = (index: number) => `plan${index}`;
/**
 * Returns the names of a new plan's fields. The API's name before the dot selects the sentence of a validation error.
 */
export const newPlanFields = (index: number) =>
  ({ name: `name.${index}`, limit: `activation_limit.${index}`, duration: `duration.${index}` }) as const;
/** Returns the name of the field that chooses the column of a CSV field. */
export const columnField = (field: string) => `col-${field}`;
/** The name of the field for the columns of the metadata. */
export const MORE_COLUMNS = columnField('more');
export const NEW_PLAN = 'new';
export const SKIP_PLAN = '-';

/** The result of the import operation. */
export type MoveInResult = DataOf<typeof importOperations.importLicenses>;

/** Reads the submitted form. @param files the chosen files; undefined for the file that the form contains */
export function readSent(
  source: MovingSource,
  { table, users_table: usersTable, ...others }: Record<string, string>,
  files: { file: Buffer | undefined; users: Buffer | undefined },
): SentMove {
  const fields = new URLSearchParams(others);
  const keys = keysOf(fields.get('keys'));
  const chosen = keys.map((key, i) => [key, fields.get(planField(i)) ?? ''] as const);
  const map: PlanMap = new Map();
  for (const [key, value] of chosen)
    if (value === SKIP_PLAN) map.set(key, null);
    else if (/^\d+$/.test(value)) map.set(key, Number(value));
  const badFields: string[] = [];
  const read = (field: string, form: RegExp) => {
    const text = (fields.get(field) ?? '').trim();
    if (text === '' || form.test(text)) return text;
    badFields.push(field);
    return '';
  };
  chosen.forEach(([key, value], i) => {
    if (value !== NEW_PLAN) return;
    const { name, limit, duration } = newPlanFields(i);
    const [sites, period] = [read(limit, /^\d{1,9}$/), read(duration, DURATION)];
    // Once the page has shown the fields, an empty period means a lifetime.
    const isShown = sites !== '';
    map.set(key, {
      limit: isShown ? Number(sites) : undefined,
      duration: period || (isShown && !badFields.includes(duration) ? null : undefined),
      name: read(name, /\S/) || undefined,
    });
  });
  return {
    source,
    fields,
    keys,
    table: sentFile(files.file, table),
    users: sentFile(files.users, usersTable),
    dates: DATE_FORMS.find((form) => form === fields.get('dates')),
    isConfirmed: fields.get('confirm_columns') === '1',
    columns: source.name === 'csv' ? columnsOf(fields) : '',
    sitePrefix: fields.get('site_prefix') || undefined,
    map,
    plans: writePlanMap(map),
    badField: badFields[0],
  };
}

/** Returns the `map` of columns. A field that the form shows without a choice has no column. */
function columnsOf(fields: URLSearchParams): string {
  const chosen = CSV_FIELDS.flatMap((field) => {
    const column = fields.get(columnField(field));
    return column === null ? [] : [`${field}=${column}`];
  });
  return [...chosen, fields.get(MORE_COLUMNS)?.trim() ?? ''].filter(Boolean).join(',');
}

/** Returns the chosen file. @param before the text that the form contains, if no file was chosen */
function sentFile(file: Buffer | undefined, before: string | undefined): SentFile {
  const given = file === undefined || file.length === 0 ? undefined : file;
  const read = given ?? (before === undefined ? undefined : Buffer.from(before));
  const text = read === undefined || read.length > MAX_KEPT_BYTES ? undefined : textOfCsv(read);
  // Normalize line ends, because a browser changes those of a field.
  const bytes = text === undefined ? read : Buffer.from(text);
  const isKept =
    text !== undefined && Buffer.byteLength(text) < MAX_KEPT_BYTES && !/(?![\n\t])\p{Cc}/u.test(text);
  return { bytes, kept: isKept ? text : undefined };
}

function keysOf(text: string | null): string[] {
  try {
    const keys: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(keys) ? keys.filter((key): key is string => typeof key === 'string') : [];
  } catch {
    return [];
  }
}

/** Returns a digest of the import with its plans. Only an import whose dry run was shown is performed. */
export function moveInDigest(sent: SentMove): string {
  const { source, dates, isConfirmed, columns, plans, sitePrefix, table, users } = sent;
  const files = [table, users].map(({ bytes }) =>
    bytes === undefined ? null : createHash('sha256').update(bytes).digest('hex'),
  );
  return createHash('sha256')
    .update(
      JSON.stringify([
        ...[source.name, dates ?? null, isConfirmed, plans, sitePrefix ?? null, columns],
        ...files,
      ]),
    )
    .digest('base64url');
}

/** Returns the query of the import operation. */
export function moveInQuery(sent: SentMove): URLSearchParams {
  const { source, dates, isConfirmed, columns, plans, sitePrefix } = sent;
  const given = {
    from: source.name,
    dates: dates ?? '',
    plans,
    map: columns,
    confirm_columns: isConfirmed ? '1' : '',
    site_prefix: sitePrefix ?? '',
    // The dry run has listed them.
    skip_bad_rows: source.name === 'csv' ? '1' : '',
  };
  return new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ''));
}

/** Returns the name of a source within a sentence: "Move in from ...". */
export function sourceTitle({ moveIn }: Texts, name: string): string {
  return name === 'csv' ? moveIn.csv : (SOURCES.find((one) => one.name === name)?.title ?? name);
}

/** Returns the name of a source outside a sentence, such as in a list. */
export function sourceName(t: Texts, name: string): string {
  return name === 'csv' ? t.moveIn.csvAlone : sourceTitle(t, name);
}

/**
 * Returns the columns of a file that can be chosen. A column's name must not contain the comma that separates the map's
 * parts.
 */
export async function csvColumns(bytes: Buffer): Promise<string[]> {
  for await (const { cells } of readCsv(asSingleChunk(bytes)))
    return cells.map((name) => name.trim()).filter(isSelectableColumn);
  return [];
}

export function isSelectableColumn(column: string): boolean {
  return column !== '' && !/[,\n]/.test(column);
}

/** Reports what the import would do (dry run), without changing anything. @throws OperatorError */
export function previewMove(
  { db, at, caller, settings, view: { t, format } }: OperatorCall,
  sent: SentMove,
): Promise<MoveReport> {
  return moveLicensesIn(db, {
    source: sent.source,
    dates: sent.dates,
    confirmed: sent.isConfirmed,
    sites: (count) => t.moveIn.planSites(count, format.number(count)),
    table: {
      map: sent.columns === '' ? new Map() : readCsvMap(sent.columns),
      ignore: [],
      product: undefined,
      plan: undefined,
    },
    plans: sent.plans === '' ? undefined : sent.plans,
    sitePrefix: sent.sitePrefix,
    file: sent.table.bytes && asSingleChunk(sent.table.bytes),
    users: sent.users.bytes && asSingleChunk(sent.users.bytes),
    dryRun: true,
    secret: settings.keySecret,
    actor: caller.actor,
    now: at,
  });
}

/**
 * Customers with the same several plans. None of these includes the others, or a plan of this service was chosen for
 * them.
 */
export interface PlanCombination {
  /** the combined plans, as in the map: `3+8` */
  key: string;
  name: string;
  customers: number;
  /** the addresses of the first customers, if no plan is chosen */
  addresses: string[];
  /** the chosen plan of this service; null to give the other licences new keys */
  planId: number | null;
}

/** Returns the combined plans, sorted by key. */
export function planCombinations({ plans, warnings }: MoveReport): PlanCombination[] {
  const covers = new Map<string, PlanCombination>();
  for (const { key, name, licenses, target, isTogether } of plans)
    if (isTogether)
      covers.set(key, { key, name, customers: licenses, addresses: [], planId: target?.plan.id ?? null });
  for (const { code, facts, count, customers } of warnings) {
    if (code !== 'no-cover') continue;
    const [name = '', , key = ''] = facts;
    const known = covers.get(key) ?? { key, name, customers: 0, addresses: [], planId: null };
    known.customers += count;
    known.addresses.push(...customers);
    covers.set(key, known);
  }
  return [...covers.values()].sort((a, b) => a.key.localeCompare(b.key, 'en', { numeric: true }));
}
