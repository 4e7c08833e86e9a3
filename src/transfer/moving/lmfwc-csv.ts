import { endAfter } from './dates';
import { fileSource, oneKey, type RowReader } from './file-source';
import { readPeople, type SourceOrder, type People, type SourcePerson } from './people';
import type { SourceLicense } from './source';
import { referenceFromKey, SkippedRow, type SourceRow } from './table';

/**
 * License Manager for WooCommerce, and its fork Digital License Manager: the export of keys, which the plugin decrypts.
 * It contains no addresses: `--users` provides the site's users or orders.
 */

const COLUMNS = {
  id: ['id'],
  order: ['order_id', 'order_num'],
  product: ['product_id'],
  productName: ['product_name'],
  user: ['user_id'],
  email: ['user_email'],
  name: ['user_name'],
  key: ['license_key', 'decrypted_license_key'],
  end: ['expires_at'],
  validFor: ['valid_for'],
  status: ['status'],
  limit: ['times_activated_max', 'activations_limit'],
  date: ['created_at'],
} as const;
type Field = keyof typeof COLUMNS;

/**
 * The plugin's numbers and words for states. Active keys are in stock until they belong to an order. A sold key that
 * the seller switches off can be switched on again.
 */
const STATES: Record<string, SourceLicense['status']> = {
  1: 'active',
  2: 'active',
  3: 'active',
  4: 'suspended',
  5: 'suspended',
  sold: 'active',
  delivered: 'active',
  active: 'active',
  inactive: 'suspended',
  disabled: 'suspended',
};
const SOLD = new Set(['1', '2', 'sold', 'delivered', 'verkauft', 'ausgeliefert']);

/** The beginning of every text that Defuse, the plugin's cipher, encrypts. */
const CIPHERTEXT = /^def50200[0-9a-f]+$/i;

export const lmfwcCsv = fileSource<Field>({
  name: 'lmfwc-csv',
  title: 'License Manager for WooCommerce',
  readsUsers: true,
  rules: {
    columns: COLUMNS,
    needed: [['key'], ['status'], ['order'], ['product', 'productName']],
    dates: { date: 'first', end: 'last' },
  },
  begin: async ({ users, dates }) => readerOf(await readPeople(users, dates)),
});

function readerOf(people: People | undefined): RowReader<Field> {
  const orderOf = (row: SourceRow<Field>): SourceOrder | undefined => people?.orders.get(row.text('order'));
  return {
    id: (row) => row.text('id') || referenceFromKey(row.text('key')),
    customer: (row) => personOf(row, orderOf(row), people).email ?? '',
    plan: (row) => {
      const name = row.text('productName');
      const id = row.text('product') || name;
      if (!isSold(row)) throw new SkippedRow('stock');
      if (id === '') throw new SkippedRow('no-product');
      return { key: id, name: name || `Product ${id}`, product: name || `Product ${id}` };
    },
    remarks: () => people?.oddRows ?? [],
    isEnded: (row) => orderOf(row)?.isRefunded ?? false,
    *read(row) {
      const key = row.text('key');
      if (key === '') throw new SkippedRow('no-key');
      if (CIPHERTEXT.test(key)) throw new SkippedRow('encrypted');
      const order = orderOf(row);
      const person = personOf(row, order, people);
      if (isEmpty(row, 'order')) yield { row: row.line, warning: 'no-order' };
      const state = row.status('status', STATES);
      if (state === undefined)
        yield {
          row: row.line,
          warning: 'no-state',
        };
      const startsAt = (order && people?.dateOf(order)) ?? row.date('date');
      yield oneKey(key, {
        customer: person.email,
        customerName: person.name,
        status: order?.isRefunded ? 'cancelled' : (state ?? 'suspended'),
        startsAt,
        expiresAt: endOf(row, startsAt),
        limit: row.limit('limit'),
        metadata: isEmpty(row, 'order') ? {} : { woocommerce_order: row.text('order') },
      });
    },
  };
}

function isSold(row: SourceRow<Field>): boolean {
  return !isEmpty(row, 'order') || !isEmpty(row, 'user') || SOLD.has(row.text('status').toLowerCase());
}

function isEmpty(row: SourceRow<Field>, field: 'order' | 'user'): boolean {
  return ['', '0'].includes(row.text(field));
}

function personOf(
  row: SourceRow<Field>,
  order: SourceOrder | undefined,
  people: People | undefined,
): SourcePerson {
  const own = { email: row.text('email') || null, name: row.text('name') || null };
  // A guest's order has an address, but no user.
  const all = [own, order, people?.users.get(row.text('user'))];
  return all.find((one): one is SourcePerson => one !== undefined && one.email !== null) ?? own;
}

/** Returns the end of a licence. A number of days counts from the order. */
function endOf(row: SourceRow<Field>, startsAt: Date | undefined): Date | null {
  const end = row.end('end');
  const days = row.text('validFor');
  if (end !== null || days === '' || days === '0') return end;
  if (!/^\d{1,5}$/.test(days)) throw new SkippedRow('no-days');
  if (startsAt === undefined) throw new SkippedRow('days-from-nowhere');
  const counted = endAfter(startsAt, `${Number(days)}d`);
  if (counted === undefined) throw new SkippedRow('bad-end');
  return counted;
}
