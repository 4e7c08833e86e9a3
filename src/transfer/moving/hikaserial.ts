import { decodeHTMLStrict } from 'entities';
import { canonicalKey, isNativeKey } from '../../licensing/core/keys';
import type { Row } from '../../store/export';
import { openSiteTables, trimmed, type SiteTables } from './site-tables';
import type { MovingSource, OpenSource, SourceContext, SourceItem, SourcePlan } from './source';

/**
 * HikaSerial, an extension of HikaShop. A serial belongs to a pack, and an ordered product delivers a serial of one of
 * its packs. Neither has an end: the plan's duration counts from the assignment.
 */

const NEEDED = {
  hikaserial_serial: [
    ...['serial_id', 'serial_pack_id', 'serial_data', 'serial_status', 'serial_assign_date'],
    ...['serial_order_id', 'serial_user_id', 'serial_order_product_id'],
  ],
  hikaserial_pack: ['pack_id', 'pack_name'],
  // HikaShop's users instead of Joomla's, which include no guests.
  hikashop_user: ['user_id', 'user_email'],
};
const OPTIONAL = [
  ...['hikaserial_config', 'hikaserial_product_pack'],
  ...['hikashop_product', 'hikashop_order', 'hikashop_order_product'],
];

/** HikaShop's order states for a refund or cancellation. */
const REFUNDED = new Set(['refunded', 'cancelled', 'canceled', 'erstattet', 'storniert']);
const BATCH = 500;

export const hikaSerial: MovingSource = {
  name: 'hikaserial',
  title: 'HikaSerial',
  reads: 'tables',
  open,
};

interface Site {
  tables: SiteTables;
  /** the states of serials that customers have */
  sold: ReadonlySet<string>;
  packs: Map<string, string>;
  /** the product of each pack that only one product delivers */
  onlyProducts: Map<string, string>;
  products: Map<string, string>;
}

/** A serial, with the rows of other tables that describe it. */
interface Serial {
  row: Row;
  plan: Pick<SourcePlan, 'key' | 'name'>;
  email: string | undefined;
  order: Row | undefined;
}

async function open({ db, sitePrefix }: SourceContext): Promise<OpenSource> {
  const tables = await openSiteTables(db, hikaSerial.title, sitePrefix, NEEDED, OPTIONAL);
  const site: Site = {
    tables,
    sold: await readSoldStates(tables),
    packs: await readNames(tables, 'hikaserial_pack', 'pack_id', 'pack_name'),
    onlyProducts: await readOnlyProducts(tables),
    products: await readNames(tables, 'hikashop_product', 'product_id', 'product_name'),
  };
  const plans = new Map<string, SourcePlan>();
  for await (const { row, plan } of serialsOf(site))
    if (site.sold.has(trimmed(row.serial_status)) && !plans.has(plan.key))
      plans.set(plan.key, {
        ...plan,
        product: plan.name,
        covers: [plan.key],
        // HikaShop does not store either of these.
        duration: undefined,
        limit: undefined,
      });
  return { plans: [...plans.values()], items: () => readItems(site) };
}

/** Reads the names of the states of sold serials, which a seller may have changed. */
async function readSoldStates(tables: SiteTables): Promise<Set<string>> {
  const names = { assigned_serial_status: 'assigned', used_serial_status: 'used' };
  const rows = tables.has('hikaserial_config')
    ? await tables.find(
        'hikaserial_config',
        ['config_namekey', 'config_value'],
        'config_namekey',
        Object.keys(names),
      )
    : [];
  const set = new Map(rows.map((row) => [trimmed(row.config_namekey), trimmed(row.config_value)]));
  return new Set(Object.entries(names).map(([name, usual]) => set.get(name) || usual));
}

async function readNames(
  tables: SiteTables,
  table: string,
  id: string,
  name: string,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  if (tables.has(table))
    for await (const row of tables.read(table, [id, name], [id]))
      names.set(trimmed(row[id]), trimmed(row[name]));
  return names;
}

async function readOnlyProducts(tables: SiteTables): Promise<Map<string, string>> {
  const products = new Map<string, Set<string>>();
  if (tables.has('hikaserial_product_pack'))
    for await (const { pack_id, product_id } of tables.read(
      'hikaserial_product_pack',
      ['pack_id', 'product_id'],
      ['pack_id', 'product_id'],
    )) {
      const pack = trimmed(pack_id);
      products.set(pack, (products.get(pack) ?? new Set()).add(trimmed(product_id)));
    }
  return new Map(
    [...products].flatMap(([pack, all]) => (all.size === 1 ? [[pack, [...all][0] as string] as const] : [])),
  );
}

async function* serialsOf(site: Site): AsyncGenerator<Serial, void> {
  let rows: Row[] = [];
  const columns = [...NEEDED.hikaserial_serial, 'serial_published'];
  for await (const row of site.tables.read('hikaserial_serial', columns, ['serial_id'])) {
    rows.push(row);
    if (rows.length < BATCH) continue;
    yield* await withOthers(site, rows);
    rows = [];
  }
  yield* await withOthers(site, rows);
}

async function withOthers(site: Site, rows: Row[]): Promise<Serial[]> {
  const by = async (table: string, id: string, column: string, columns: string[]) => {
    const ids = [...new Set(rows.map((row) => Number(row[column])).filter((one) => one > 0))];
    const found =
      site.tables.has(table) && ids.length > 0
        ? await site.tables.find(table, [id, ...columns], id, ids)
        : [];
    return new Map(found.map((row) => [trimmed(row[id]), row]));
  };
  const users = await by('hikashop_user', 'user_id', 'serial_user_id', ['user_email']);
  const orders = await by('hikashop_order', 'order_id', 'serial_order_id', ['order_status', 'order_number']);
  const bought = await by('hikashop_order_product', 'order_product_id', 'serial_order_product_id', [
    ...['product_id', 'order_product_name'],
  ]);
  return rows.map((row) => {
    const email = users.get(trimmed(row.serial_user_id))?.user_email;
    return {
      row,
      plan: planOf(site, row, bought.get(trimmed(row.serial_order_product_id))),
      email: trimmed(email) || undefined,
      order: orders.get(trimmed(row.serial_order_id)),
    };
  });
}

/** Returns the product bought. For a serial of a whole order, it is the only product that delivers the serial's pack. */
function planOf({ packs, onlyProducts, products }: Site, row: Row, bought: Row | undefined) {
  const pack = trimmed(row.serial_pack_id);
  const product = trimmed(bought?.product_id) || onlyProducts.get(pack);
  if (product === undefined || product === '0')
    return { key: `pack:${pack}`, name: packs.get(pack) || `Pack ${pack}` };
  const name =
    products.get(product) || plainText(trimmed(bought?.order_product_name)) || `Product ${product}`;
  return { key: product, name };
}

async function* readItems(site: Site): AsyncGenerator<SourceItem, void> {
  for await (const serial of serialsOf(site)) yield itemOf(site, serial);
}

function itemOf({ sold }: Site, { row, plan, email, order }: Serial): SourceItem {
  const id = Number(row.serial_id);
  if (!sold.has(trimmed(row.serial_status))) return { row: id, leftOut: 'stock' };
  const lines = plainText(trimmed(row.serial_data))
    .split('\n')
    .filter((line) => line !== '');
  const whole = canonicalKey(lines.join('\n'));
  const key = lines.length === 1 ? lines[0] : isNativeKey(whole) ? whole : undefined;
  if (key === undefined)
    return {
      row: id,
      leftOut: lines.length === 0 ? 'empty-serial' : 'several-lines',
    };
  const assigned = Number(row.serial_assign_date);
  const isRefunded = REFUNDED.has(trimmed(order?.order_status).toLowerCase());
  const number = trimmed(order?.order_number) || trimmed(row.serial_order_id);
  return {
    id: String(id),
    row: id,
    plan: plan.key,
    customer: email ?? null,
    customerName: null,
    keys: [{ key, limit: undefined, sites: [] }],
    status: isRefunded
      ? 'cancelled'
      : row.serial_published !== null && Number(row.serial_published) === 0
        ? 'suspended'
        : 'active',
    startsAt: assigned > 0 ? new Date(assigned * 1_000) : undefined,
    expiresAt: undefined,
    limit: undefined,
    sites: [],
    metadata: number === '' || number === '0' ? {} : { hikashop_order: number },
  };
}

/** Returns the visible lines of HTML. A text without tags stays as it is. */
function plainText(text: string): string {
  const isHtml = /<\/?[a-z][^<>]*>/i.test(text);
  const bare = isHtml
    ? decodeHTMLStrict(
        text.replace(/<(?:br|\/p|\/div|\/li|\/tr|\/h\d)\b[^<>]*>/gi, '\n').replace(/<[^<>]*>/g, ''),
      )
    : text;
  return bare
    .split(/\r\n?|\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}
