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
import type { DataOf } from '../act';
import type { OperatorCall } from '../page';

/**
 * The form of a move from another system. The file is kept between two forms in a field of the second one, because the
 * service keeps no files of its own; a large one is chosen again.
 */

/** Below the limit of a form's field (upload.ts), with a line end of two characters. */
const MAX_KEPT_BYTES = 1_900_000;

/** What a form has sent. */
export interface SentMove {
  source: MovingSource;
  fields: URLSearchParams;
  dates: DateForm | undefined;
  isConfirmed: boolean;
  /** The operation's `map` of columns; empty: by their names. */
  columns: string;
  /** of the former system, in the order of the form's fields; last those of plans taken together */
  keys: string[];
  map: PlanMap;
  /** the same as the operation takes it; empty: nothing is said */
  plans: string;
  /** a field of a plan to be made that cannot be read */
  badField: string | undefined;
  /** of the site's tables; undefined: found by itself */
  sitePrefix: string | undefined;
  table: SentFile;
  /** with the customers' addresses */
  users: SentFile;
}

export interface SentFile {
  /** undefined: none */
  bytes: Buffer | undefined;
  /** for the next form's field; undefined: none, or too large for that */
  kept: string | undefined;
}

/** The name of a plan's field. */
export const planField = (index: number) => `plan${index}`;
/** The fields of a plan that is made. The API's name before the dot selects the sentence of an error. */
export const madeFields = (index: number) =>
  ({ name: `name.${index}`, limit: `activation_limit.${index}`, duration: `duration.${index}` }) as const;
/** The name of the field that chooses a column. */
export const columnField = (field: string) => `col-${field}`;
/** The name of the field for columns of the metadata. */
export const MORE_COLUMNS = columnField('more');
export const MAKE = 'new';
export const LEAVE_OUT = '-';

/** What the operation answers for a system by its name. */
export type Moved = DataOf<typeof importOperations.importLicenses>;

/** @param files those that were chosen; undefined: that which the form kept */
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
    if (value === LEAVE_OUT) map.set(key, null);
    else if (/^\d+$/.test(value)) map.set(key, Number(value));
  const badFields: string[] = [];
  const read = (field: string, form: RegExp) => {
    const text = (fields.get(field) ?? '').trim();
    if (text === '' || form.test(text)) return text;
    badFields.push(field);
    return '';
  };
  chosen.forEach(([key, value], i) => {
    if (value !== MAKE) return;
    const { name, limit, duration } = madeFields(i);
    const [sites, period] = [read(limit, /^\d{1,9}$/), read(duration, DURATION)];
    // An empty period means a lifetime once the page has shown it.
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

/** A field that the form shows, and nobody chose, has no column. */
function columnsOf(fields: URLSearchParams): string {
  const chosen = CSV_FIELDS.flatMap((field) => {
    const column = fields.get(columnField(field));
    return column === null ? [] : [`${field}=${column}`];
  });
  return [...chosen, fields.get(MORE_COLUMNS)?.trim() ?? ''].filter(Boolean).join(',');
}

/** @param kept of the form before */
function sentFile(file: Buffer | undefined, before: string | undefined): SentFile {
  const given = file === undefined || file.length === 0 ? undefined : file;
  const read = given ?? (before === undefined ? undefined : Buffer.from(before));
  const text = read === undefined || read.length > MAX_KEPT_BYTES ? undefined : textOfCsv(read);
  // Always with the same line ends: a browser changes those of a field.
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

/** Tells this move with these plans from others: only what was looked at is imported. */
export function digestOf(sent: SentMove): string {
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

/** The query of the operation that imports it. */
export function queryOf(sent: SentMove): URLSearchParams {
  const { source, dates, isConfirmed, columns, plans, sitePrefix } = sent;
  const given = {
    from: source.name,
    dates: dates ?? '',
    plans,
    map: columns,
    confirm_columns: isConfirmed ? '1' : '',
    site_prefix: sitePrefix ?? '',
    // The preview has listed them.
    skip_bad_rows: source.name === 'csv' ? '1' : '',
  };
  return new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ''));
}

/** The name of a source in a sentence: "Move in from ...". */
export function titleOf({ moveIn }: Texts, name: string): string {
  return name === 'csv' ? moveIn.csv : (SOURCES.find((one) => one.name === name)?.title ?? name);
}

/** The name of a source by itself, as in a list. */
export function nameOf(t: Texts, name: string): string {
  return name === 'csv' ? t.moveIn.csvAlone : titleOf(t, name);
}

/** The columns of a file that may be chosen: the map has commas between its parts. */
export async function headingOf(bytes: Buffer): Promise<string[]> {
  for await (const { cells } of readCsv(asSingleChunk(bytes)))
    return cells.map((name) => name.trim()).filter(isChosen);
  return [];
}

export function isChosen(column: string): boolean {
  return column !== '' && !/[,\n]/.test(column);
}

/** What the move would do; nothing is changed. @throws OperatorError */
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

/** Customers with several plans that no plan of theirs covers, or for whom one of ours was chosen. */
export interface Cover {
  /** as the map names the plans together: `3+8` */
  key: string;
  name: string;
  customers: number;
  /** the first ones' addresses, where no plan is chosen */
  addresses: string[];
  /** the chosen plan of ours; null: the other licences get new keys */
  planId: number | null;
}

/** In the order of their keys. */
export function coversOf({ plans, warnings }: MoveReport): Cover[] {
  const covers = new Map<string, Cover>();
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
