import type { Row } from '../../store/export';
import { Fault, readStatus } from '../csv-licenses';
import { refusal } from '../refusals';
import { oneKey, openFile, type RowReader } from './file-source';
import { endOf, momentOf, openSiteTables, textOf, type SiteTables } from './site-tables';
import type {
  MovingSource,
  OpenSource,
  SourceContext,
  SourceItem,
  SourceLicense,
  SourceName,
  SourcePlan,
} from './source';
import { idOfKey, LeftOut, limitOf, sitesOf, type ColumnNames } from './table';

/**
 * LicenseDock and EasyCommerce, whose documentation names fields and tables, but not all columns. They are looked for by
 * the names that they may have, and the seller confirms what was found.
 */

/** By field, the names that its column may have. */
const LICENSES = {
  id: ['id', 'license_id'],
  key: ['license_key', 'key'],
  status: ['status', 'state'],
  customer: ['customer_id'],
  product: ['product_id'],
  limit: ['activation_limit', 'max_activations'],
  end: ['expires_at', 'expires', 'expiry_date'],
  start: ['created', 'created_at', 'created_on'],
  order: ['order_id'],
  test: ['is_test', 'test_mode', 'test'],
} as const;
const CUSTOMERS = { id: ['id'], email: ['email', 'customer_email'], name: ['name', 'full_name'] } as const;
const PRODUCTS = { id: ['id'], name: ['title', 'name', 'alias'] } as const;
const ACTIVATIONS = {
  id: ['id'],
  license: ['license_id'],
  site: ['identifier', 'domain'],
  status: ['status'],
  ended: ['deactivated_at'],
} as const;

interface UnseenSystem {
  name: SourceName;
  title: string;
  /** without the site's prefix */
  tables: { licenses: string; customers: string; products: string; activations: string };
}

const BATCH = 500;

function unseenSource(system: UnseenSystem): MovingSource {
  const { name, title } = system;
  return {
    ...{ name, title },
    reads: 'either',
    open: (context) =>
      context.file === undefined ? openTables(system, context) : openTable(system, context),
  };
}

export const licenseDock = unseenSource({
  name: 'licensedock',
  title: 'LicenseDock',
  tables: {
    licenses: 'licensedock_licenses',
    customers: 'licensedock_customers',
    products: 'licensedock_products',
    activations: 'licensedock_activations',
  },
});

export const easyCommerce = unseenSource({
  name: 'easycommerce',
  title: 'EasyCommerce',
  tables: {
    licenses: 'easycommerce_licenses',
    customers: 'easycommerce_customers',
    products: 'easycommerce_products',
    activations: 'easycommerce_license_activations',
  },
});

type Found<F extends string> = Partial<Record<F, string>>;

/** Reads a table by the columns that were found. */
class UnseenTable<F extends string> {
  readonly #tables: SiteTables;
  readonly #table: string;
  readonly #found: Found<F>;

  constructor(tables: SiteTables, table: string, names: Record<F, readonly string[]>) {
    this.#tables = tables;
    this.#table = table;
    this.#found = Object.fromEntries(
      (Object.keys(names) as F[]).flatMap((field) => {
        const column = names[field].find((one) => tables.has(table, one));
        return column === undefined ? [] : [[field, column]];
      }),
    ) as Found<F>;
  }

  /** for the seller, such as `licensedock_licenses.expires as end` */
  get described(): string[] {
    return (Object.entries(this.#found) as [F, string][]).map(
      ([field, column]) => `${this.#table}.${column} as ${field}`,
    );
  }

  /** as the table calls it */
  nameOf(field: F): string {
    return this.#found[field] ?? '';
  }

  has(...fields: F[]): boolean {
    return fields.every((field) => this.#found[field] !== undefined);
  }

  get #columns(): string[] {
    return Object.values<string>(this.#found as Record<string, string>);
  }

  /** in the order of ids */
  read(id: F): AsyncGenerator<Row> {
    return this.#tables.read(this.#table, this.#columns, [this.#found[id] as string]);
  }

  find(field: F, values: string[]): Promise<Row[]> {
    return this.#tables.find(this.#table, this.#columns, this.#found[field] as string, values);
  }

  /** as it is stored; undefined: there is no such column */
  value(row: Row, field: F): Row[string] | undefined {
    const column = this.#found[field];
    return column === undefined ? undefined : row[column];
  }

  text(row: Row, field: F): string {
    return textOf(this.value(row, field));
  }
}

async function openTables(system: UnseenSystem, { db, sitePrefix }: SourceContext): Promise<OpenSource> {
  const { title, tables: names } = system;
  const tables = await openSiteTables(db, title, sitePrefix, { [names.licenses]: [] }, [
    ...[names.customers, names.products, names.activations],
  ]);
  const licenses = new UnseenTable(tables, names.licenses, LICENSES);
  const customers = new UnseenTable(tables, names.customers, CUSTOMERS);
  const products = new UnseenTable(tables, names.products, PRODUCTS);
  const activations = new UnseenTable(tables, names.activations, ACTIVATIONS);
  if (!licenses.has('id', 'key', 'status', 'product', 'end'))
    throw refusal('unseen-columns', [title, names.licenses, licenses.described.join(', ')], {
      field: 'from',
    });
  const plans = new Map<string, SourcePlan>();
  if (products.has('id', 'name'))
    for await (const row of products.read('id'))
      addPlan(plans, products.text(row, 'id'), products.text(row, 'name'));
  // Of products that were removed since.
  for await (const row of licenses.read('id')) addPlan(plans, licenses.text(row, 'product'), '');
  return {
    plans: [...plans.values()],
    columns: [licenses, customers, products, activations].flatMap(({ described }) => described),
    async *items() {
      let rows: Row[] = [];
      const flush = async () => {
        const items = await itemsOf(rows, { licenses, customers, activations });
        rows = [];
        return items;
      };
      for await (const row of licenses.read('id')) {
        rows.push(row);
        if (rows.length >= BATCH) yield* await flush();
      }
      yield* await flush();
    },
  };
}

function addPlan(plans: Map<string, SourcePlan>, key: string, title: string): void {
  const name = title || `Product ${key}`;
  if (!plans.has(key))
    plans.set(key, { ...{ key, name, product: name, covers: [key] }, duration: undefined, limit: undefined });
}

interface Tables {
  licenses: UnseenTable<keyof typeof LICENSES>;
  customers: UnseenTable<keyof typeof CUSTOMERS>;
  activations: UnseenTable<keyof typeof ACTIVATIONS>;
}

async function itemsOf(rows: Row[], { licenses, customers, activations }: Tables): Promise<SourceItem[]> {
  const idsOf = (field: 'id' | 'customer') => [...new Set(rows.map((row) => licenses.text(row, field)))];
  const people = customers.has('id', 'email') ? await customers.find('id', idsOf('customer')) : [];
  const byId = new Map(people.map((row) => [customers.text(row, 'id'), row]));
  const sites = new Map<string, string[]>();
  if (activations.has('license', 'site'))
    for (const row of await activations.find('license', idsOf('id'))) {
      const license = activations.text(row, 'license');
      if (isHeld(activations, row))
        sites.set(license, [...(sites.get(license) ?? []), activations.text(row, 'site')]);
    }
  return rows.map((row): SourceItem => {
    const id = licenses.text(row, 'id');
    const status = readStatus(licenses.text(row, 'status'));
    const person = byId.get(licenses.text(row, 'customer'));
    if (status instanceof Fault) return { row: Number(id), leftOut: 'no-state' };
    if (Number(licenses.value(row, 'test') ?? 0) === 1) return { row: Number(id), leftOut: 'test-order' };
    const expiresAt = endOf(licenses.value(row, 'end'));
    if (expiresAt === undefined) return { row: Number(id), leftOut: 'bad-end' };
    const limit = limitOf(licenses.text(row, 'limit'));
    if (limit === null) return { row: Number(id), leftOut: ['no-number', licenses.nameOf('limit')] };
    const order = licenses.text(row, 'order');
    return {
      ...{ id, row: Number(id), plan: licenses.text(row, 'product') },
      ...oneKey(licenses.text(row, 'key'), {
        customer: (person && customers.text(person, 'email')) || null,
        customerName: (person && customers.text(person, 'name')) || null,
        status: status ?? 'active',
        startsAt: momentOf(licenses.value(row, 'start')),
        ...{ expiresAt, limit },
        sites: sites.get(id) ?? [],
        metadata: order === '' || order === '0' ? {} : { former_order: order },
      }),
    };
  });
}

function isHeld(activations: Tables['activations'], row: Row): boolean {
  const status = activations.text(row, 'status').toLowerCase();
  return activations.text(row, 'ended') === '' && ['', '1', 'active'].includes(status);
}

/** As LicenseDock's own import takes them (its documentation, "Imports"), which EasyCommerce's fields are like. */
const COLUMNS = {
  id: ['id', 'license_id'],
  key: ['license_key', 'key', 'license', 'serial', 'serial_number', 'license_code'],
  email: ['customer_email', 'email', 'buyer_email', 'email_address', 'customer'],
  name: ['customer_name', 'name', 'full_name', 'buyer_name'],
  product: ['product_alias', 'product', 'product_title', 'product_slug', 'product_sku', 'sku', 'product_id'],
  status: ['status', 'license_status'],
  order: ['order_number', 'order_id', 'order_no'],
  limit: ['activation_limit', 'max_activations', 'seats', 'seat_count'],
  sites: ['activations', 'domains', 'identifiers', 'sites'],
  end: ['expires_at', 'expires', 'expiry', 'expiry_date', 'end_date', 'valid_until', 'expiration_date'],
  start: ['created', 'created_at', 'purchase_date', 'order_date', 'date'],
} as const satisfies ColumnNames<string>;
type Field = keyof typeof COLUMNS;

async function openTable({ title }: UnseenSystem, context: SourceContext): Promise<OpenSource> {
  const { table, ...opened } = await openFile<Field>(
    {
      title,
      rules: {
        columns: COLUMNS,
        needed: [['key'], ['status'], ['product'], ['end']],
        dates: { start: 'first', end: 'last' },
      },
      begin: () => Promise.resolve(reader),
    },
    context,
  );
  const fields = (Object.keys(COLUMNS) as Field[]).filter((field) => table.has(field));
  return { ...opened, columns: fields.map((field) => `${table.nameOf(field)} as ${field}`) };
}

const ENDED: ReadonlySet<SourceLicense['status'] | undefined> = new Set(['revoked', 'cancelled']);

const reader: RowReader<Field> = {
  id: (row) => row.text('id') || idOfKey(row.text('key')),
  plan: (row) => {
    const product = row.text('product');
    if (product === '') throw new LeftOut('no-product');
    return { key: product, name: product, product };
  },
  isEnded: (row) => ENDED.has(row.status('status', {})),
  *read(row) {
    const key = row.text('key');
    if (key === '') throw new LeftOut('no-key');
    const order = row.text('order');
    // A number says how many there are, and not which.
    const sites = row.text('sites');
    yield oneKey(key, {
      customer: row.text('email') || null,
      customerName: row.text('name') || null,
      status: row.status('status', {}) ?? 'active',
      startsAt: row.date('start'),
      expiresAt: row.end('end'),
      limit: row.limit('limit'),
      sites: /^\d*$/.test(sites) ? [] : sitesOf(sites),
      metadata: order === '' ? {} : { former_order: order },
    });
  },
};
