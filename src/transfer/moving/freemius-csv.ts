import { fileSource, oneKey, type RowReader } from './file-source';
import { readPeople, type People } from './people';
import { referenceFromKey, SkippedRow } from './table';

/**
 * Freemius: the table that its importer takes and its exporter for EDD writes (FS_EDD_Export), or a table of its API's
 * licences. Keys have capital and small letters, and signs. The first table has no states, the second no addresses.
 */

const COLUMNS = {
  id: ['license_id', 'id'],
  key: ['license_key', 'secret_key'],
  email: ['user_email', 'email'],
  name: ['user_name', 'name'],
  user: ['user_id'],
  product: ['download_id', 'plugin_id', 'product_id'],
  plan: ['plan_id'],
  date: ['license_created', 'created'],
  end: ['license_expires_at', 'expiration'],
  limit: ['license_quantity', 'quota'],
  cancelled: ['is_cancelled'],
} as const;
type Field = keyof typeof COLUMNS;

export const freemiusCsv = fileSource<Field>({
  name: 'freemius-csv',
  title: 'Freemius',
  readsUsers: true,
  rules: {
    columns: COLUMNS,
    needed: [['key'], ['end'], ['limit'], ['product', 'plan']],
    dates: { date: 'first', end: 'last' },
  },
  begin: async ({ users, dates }) => readerOf(await readPeople(users, dates)),
});

function readerOf(people: People | undefined): RowReader<Field> {
  return {
    // Ignore `index`, the row's place in the table, which changes with each export.
    id: (row) => row.text('id') || referenceFromKey(row.text('key')),
    customer: (row) => row.text('email') || (people?.users.get(row.text('user'))?.email ?? ''),
    plan: (row) => {
      const product = row.text('product');
      const plan = row.text('plan');
      const name = product === '' ? `Plan ${plan}` : `Product ${product}`;
      if (plan !== '') return { key: plan, name, product: name };
      if (product === '') throw new SkippedRow('no-product');
      return { key: product, name, product: name };
    },
    isEnded: (row) => row.isSet('cancelled'),
    remarks: (table) => [
      ...(people?.oddRows ?? []),
      ...(table.has('cancelled') ? [] : [{ row: 1, warning: 'no-states' } as const]),
    ],
    *read(row) {
      const key = row.text('key');
      if (key === '') throw new SkippedRow('no-key');
      const user = people?.users.get(row.text('user'));
      yield oneKey(key, {
        customer: row.text('email') || (user?.email ?? null),
        customerName: row.text('name') || (user?.name ?? null),
        status: row.isSet('cancelled') ? 'cancelled' : 'active',
        startsAt: row.date('date'),
        expiresAt: row.end('end'),
        // An empty limit means unlimited.
        limit: row.limit('limit') ?? 0,
      });
    },
  };
}
