import { fileSource, oneKey, type RowReader } from './file-source';
import type { SourceLicense } from './source';
import { referenceFromKey, SkippedRow, type SourceRow } from './table';

/**
 * Lemon Squeezy: its licence keys. The columns have the names of the attributes of the API's object `license-keys`
 * (docs.lemonsqueezy.com/api/license-keys), which do not include sites.
 */

const COLUMNS = {
  id: ['id', 'License Key ID'],
  key: ['key', 'License Key'],
  status: ['status', 'License Key Status'],
  disabled: ['disabled'],
  email: ['user_email', 'Customer Email', 'Email'],
  name: ['user_name', 'Customer Name', 'Name', 'Customer'],
  product: ['product_name', 'Product'],
  productId: ['product_id'],
  variant: ['variant_name', 'Variant'],
  order: ['order_id', 'Order ID', 'Order Number', 'Order'],
  refunded: ['refunded', 'Order Refunded'],
  limit: ['activation_limit'],
  date: ['created_at', 'Date', 'Created'],
  end: ['expires_at', 'Expires', 'Expiration Date', 'Expiry Date'],
} as const;
type Field = keyof typeof COLUMNS;

/** The states: `inactive` was never activated; `disabled` was set by hand, and can be reversed. */
const STATES: Record<string, SourceLicense['status']> = {
  active: 'active',
  inactive: 'active',
  expired: 'expired',
  disabled: 'suspended',
  inaktiv: 'active',
  deaktiviert: 'suspended',
};

export const lemonSqueezyCsv = fileSource<Field>({
  name: 'lemonsqueezy-csv',
  title: 'Lemon Squeezy',
  rules: {
    columns: COLUMNS,
    needed: [['key'], ['status'], ['product', 'productId'], ['end']],
    // License Manager for WooCommerce has all of these columns too, but with other states.
    foreign: ['valid_for', 'times_activated', 'times_activated_max', 'activations_limit', 'user_id'],
    dates: { date: 'first', end: 'last' },
  },
  begin: () => Promise.resolve(reader),
});

const reader: RowReader<Field> = {
  id: (row) => row.text('id') || referenceFromKey(row.text('key')),
  customer: (row) => row.text('email'),
  plan: (row) => {
    const product = row.text('product') || row.text('productId');
    if (product === '') throw new SkippedRow('no-product');
    const variant = row.text('variant');
    // A product without variants has one variant with this name.
    return variant === '' || variant === 'Default'
      ? { key: product, name: product, product }
      : { key: `${product}:${variant}`, name: `${product}, ${variant}`, product };
  },
  isEnded: (row) => isRefunded(row),
  *read(row, _id, table) {
    const key = row.text('key');
    if (key === '') throw new SkippedRow('no-key');
    const status = row.status('status', STATES) ?? 'active';
    const order = row.text('order');
    yield oneKey(key, {
      customer: row.text('email') || null,
      customerName: row.text('name') || null,
      status: isRefunded(row) ? 'cancelled' : row.isSet('disabled') ? 'suspended' : status,
      startsAt: row.date('date'),
      expiresAt: row.end('end'),
      // An empty limit means unlimited. Without the column, the plan sets the limit.
      limit: table.has('limit') ? (row.limit('limit') ?? 0) : undefined,
      metadata: order === '' ? {} : { lemonsqueezy_order: order },
    });
  },
};

function isRefunded(row: SourceRow<Field>): boolean {
  return row.isSet('refunded') || row.text('status').toLowerCase() === 'refunded';
}
