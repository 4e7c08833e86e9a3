import { MAX_METADATA_NAMES, requireMetadataChange } from '../../licensing/metadata';
import { OperatorError } from '../../licensing/operator-error';
import { findByIdOrName } from '../../licensing/find-or-throw';
import { listPlans, listProducts } from '../../store/catalogue';
import type { Db } from '../../store/engine/database';
import { importError } from '../refusals';
import { oneKey, openFile, type RowReader } from './file-source';
import type { MovingSource, ReadColumn, TableOptions } from './source';
import { referenceFromKey, SkippedRow, sitesOf, type SourceTable } from './table';

/** The source for a table of any other system. Its column names suggest the fields, and the seller may correct them. */

export const CSV_FIELDS = [
  ...(['key', 'product', 'plan', 'status', 'limit', 'start', 'expiry'] as const),
  ...(['customer', 'name', 'reference', 'activations'] as const),
] as const;
type CsvField = (typeof CSV_FIELDS)[number];

const METADATA = 'metadata.';
/** A field that a column may fill, or a name in the licence's metadata. */
type CsvTarget = CsvField | `${typeof METADATA}${string}`;

/** The patterns of each field, in order of preference. A column is used only once, so the order of the fields matters too. */
const PATTERNS: [CsvField, RegExp[]][] = [
  [
    'key',
    [
      /^(licen[cs]e )?key$/,
      /(licen[cs]e|serial|purchase|activation) ?(key|code|number)/,
      /key|serial|schlüssel|seriennummer/,
      /^(licen[cs]e|lizenz)$/,
    ],
  ],
  ['customer', [/e ?mail/, /customer|kunde/]],
  ['expiry', [/expir/, /until|gültig bis|ablauf|läuft ab/, /^ends?( at| on| date)?$|^ende?$/]],
  ['start', [/(purchase|order|sale|start)s? ?(date|d? ?(at|on))|created|(kauf|bestell|start)datum|gekauft/]],
  ['limit', [/limit/, /max/, /^(slots|seats|plätze)$/]],
  ['status', [/^status$/, /status/, /state$|zustand/]],
  ['reference', [/order|bestell/, /reference|referenz/, /invoice|rechnung|payment/]],
  ['plan', [/^(plan|tarif)/, /plan|tier|variation|tarif/]],
  ['product', [/^(product|produkt)/, /product|produkt|extension|erweiterung/]],
  ['activations', [/^(sites|domains|websites|activations|urls)$/, /domain|website|webseite|active sites/]],
  ['name', [/^(customer|buyer|full|kunden|käufer|vor und nach)? ?name$/, /^(customer|buyer|kunde|käufer)$/]],
];

/** Fields that only one column may match: a wrong one could revive a refunded or ended licence, or change its customer. */
const ONE_ALONE: ReadonlySet<CsvField> = new Set(['status', 'expiry', 'customer']);

/** Names of columns that contain a number of things instead of the things */
const COUNTED = /count|number of|left|remaining|used|anzahl/;

export const anyCsv: MovingSource = {
  name: 'csv',
  title: 'CSV',
  reads: 'file',
  async open(context) {
    const options = context.table ?? { map: new Map(), ignore: [], product: undefined, plan: undefined };
    const { table, ...opened } = await openFile<CsvTarget>(
      {
        name: 'csv',
        title: 'CSV',
        rules: {
          columns: (heading) => columnsOf(heading, options),
          needed: [],
          dates: { start: 'first', expiry: 'last' },
        },
        begin: ({ db }) => readerOf(db, options),
      },
      context,
    );
    return { ...opened, readAs: readColumns(table, options) };
  },
};

/** Maps fields to columns. @throws OperatorError for a missing column, no key column, or several for one of `ONE_ALONE` */
function columnsOf(heading: string[], { map, ignore }: TableOptions): Map<CsvTarget, number> {
  const names = heading.map((name) => name.trim());
  const columns = new Map<CsvTarget, number>();
  for (const [field, name] of map)
    if (name !== '') columns.set(field as CsvTarget, requireColumn(names, name));
  const taken = new Set([...columns.values(), ...ignore.map((name) => requireColumn(names, name))]);
  const left = names.flatMap((name, at) =>
    taken.has(at)
      ? []
      : [
          {
            at,
            plain: name
              .toLowerCase()
              .replace(/[\s_\-.]+/g, ' ')
              .trim(),
          },
        ],
  );
  let several: string[] | undefined;
  for (const [field, patterns] of PATTERNS) {
    if (map.has(field)) continue;
    const fits = patterns.map((pattern) =>
      left.filter(({ plain }) => pattern.test(plain) && !COUNTED.test(plain)),
    );
    const [best] = fits.flat();
    if (best === undefined) continue;
    // Tables have customers' names and numbers next to their address, so only columns of the first pattern compete.
    const alike = new Set(field === 'customer' ? fits[0] : fits.flat());
    if (ONE_ALONE.has(field) && alike.size > 1)
      several ??= [field, ...[...alike].map(({ at }) => names[at] ?? '')];
    columns.set(field, best.at);
    left.splice(left.indexOf(best), 1);
  }
  if (!columns.has('key')) throw importError('no-key-column', [], { field: 'map' });
  // A first line with a column for keys is a heading, whose names may be shown.
  if (several !== undefined) throw importError('several-columns', several, { field: 'map' });
  const twice = [...columns.values()]
    .map((at) => names[at] ?? '')
    .find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined) throw importError('column-twice', [twice], { field: 'file' });
  return columns;
}

function requireColumn(names: string[], name: string): number {
  const exact = names.indexOf(name);
  const at = exact === -1 ? names.findIndex((one) => one.toLowerCase() === name.toLowerCase()) : exact;
  if (at === -1) throw importError('no-column', [name, String(names.length)], { field: 'file' });
  return at;
}

/** Returns the columns and their fields. The names may be shown, because a line with a column for keys is a heading. */
function readColumns(table: SourceTable<CsvTarget>, { map }: TableOptions): ReadColumn[] {
  const fields = [...CSV_FIELDS, ...map.keys()].filter((field) => table.has(field as CsvTarget));
  const byName = new Map(fields.map((field) => [table.nameOf(field as CsvTarget), field]));
  return table.names
    .map((name) => name.trim())
    .filter((name) => name !== '')
    .map((column) => ({ column: column.replace(/\p{Cc}/gu, '\uFFFD'), field: byName.get(column) ?? null }));
}

/** The plan map's key for rows without product and plan. It is not remembered: the next table may contain another product. */
export const ALL = '*';

async function readerOf(db: Db, options: TableOptions): Promise<RowReader<CsvTarget>> {
  const [products, plans] = [await listProducts(db), await listPlans(db)];
  if (options.product !== undefined && findByIdOrName(products, options.product) === undefined)
    throw importError('no-product-here', [options.product], { field: 'product' });
  const here = (product: string, plan: string): number | undefined => {
    const found = product === '' ? undefined : findByIdOrName(products, product);
    if (plan === '' || (product !== '' && found === undefined)) return undefined;
    return findByIdOrName(found ? plans.filter(({ productId }) => productId === found.id) : plans, plan)?.id;
  };
  if (options.plan !== undefined && here(options.product ?? '', options.plan) === undefined)
    throw importError('no-plan-here', [options.plan], { field: 'plan' });
  // Tables contain the names of plans and products in different case.
  const spelled = new Map<string, ReturnType<RowReader<CsvTarget>['plan']>>();
  return {
    id(row) {
      const key = row.text('key');
      if (key === '') throw new SkippedRow('no-key');
      return referenceFromKey(key);
    },
    customer: (row) => row.text('customer'),
    order: (row) => row.text('reference'),
    plan(row, table) {
      const [product, plan] = [row.text('product') || options.product, row.text('plan') || options.plan];
      const key = [product, plan].filter(Boolean).join(':') || ALL;
      if (product === undefined && key === ALL && (table.has('product') || table.has('plan')))
        throw new SkippedRow('no-product');
      const known = spelled.get(key.toLowerCase());
      if (known !== undefined) return known;
      const name = plan || product || 'Licences';
      const made = { key, name, product: product || name, here: here(product ?? '', plan ?? '') };
      spelled.set(key.toLowerCase(), made);
      return made;
    },
    isEnded: (row) => ['revoked', 'cancelled'].includes(row.status('status', {}) ?? ''),
    remarks: (table) => (table.has('status') ? [] : [{ row: 1, warning: 'no-states' }]),
    *read(row, _, table) {
      const customer = row.text('customer');
      const sites = row.text('activations');
      const metadata = [...options.map.keys()].filter((field) => field.startsWith(METADATA));
      const texts = metadata.map((field) => [field.slice(METADATA.length), row.text(field as CsvTarget)]);
      const order = row.text('reference');
      yield oneKey(row.text('key'), {
        customer: customer || null,
        customerName: row.text('name') || nameOf(customer),
        status: row.status('status', {}) ?? 'active',
        startsAt: row.date('start'),
        // Without this column, the plan's duration counts from the start. Without a start either, the licence never ends.
        expiresAt: table.has('expiry') ? row.end('expiry') : table.has('start') ? undefined : null,
        limit: row.limit('limit'),
        // A number in the cell counts the sites, without naming them.
        sites: /^\d*$/.test(sites) ? [] : sitesOf(sites),
        metadata: Object.fromEntries([...texts, ...(order === '' ? [] : [['order', order]])]) as Record<
          string,
          string
        >,
      });
    },
  };
}

/** Returns the name in `"Jane Roe" <jane@example.com>`; null without a name. */
function nameOf(customer: string): string | null {
  const at = customer.indexOf('<');
  if (at === -1 || !customer.endsWith('>')) return null;
  return customer.slice(0, at).trim().replace(/^"|"$/g, '').trim() || null;
}

/**
 * Parses `field=Column,...`. An entry `field=` states that the table has no such column.
 * @param before the entries of earlier parts, which are extended
 * @throws OperatorError for an unknown field, or a field that occurs twice
 */
export function readCsvMap(text: string, before = new Map<string, string>()): Map<string, string> {
  const wrong = (message: string) => new OperatorError(message, { code: 'INVALID_REQUEST', field: 'map' });
  for (const part of text.split(',')) {
    const at = part.indexOf('=');
    const [field, column] = [part.slice(0, at).trim(), part.slice(at + 1).trim()];
    if (at === -1 || (!(CSV_FIELDS as readonly string[]).includes(field) && !isMetadata(field)))
      throw wrong(`It must be FIELD=COLUMN, with commas between; the fields are ${CSV_FIELDS.join(', ')}.`);
    if (before.has(field)) throw wrong(`${field} appears twice.`);
    before.set(field, column);
  }
  if ([...before.keys()].filter(isMetadata).length > MAX_METADATA_NAMES)
    throw wrong(`A licence has at most ${MAX_METADATA_NAMES} names in its metadata.`);
  return before;
}

/** Reports whether a field is one of the metadata. @throws OperatorError for a name that metadata cannot have */
function isMetadata(field: string): boolean {
  if (!field.startsWith(METADATA)) return false;
  requireMetadataChange(field.slice(METADATA.length), null);
  return true;
}
