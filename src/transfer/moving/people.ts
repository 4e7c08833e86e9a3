import { SourceTable, type SourceRow } from './table';
import type { DateForm, SourceWarning } from './source';

/**
 * Reads a second table, for exports without addresses (`--users`): `wp_users` or another list of accounts, or the
 * shop's orders, which also contain dates and states.
 */

const COLUMNS = {
  id: ['ID', 'user_id'],
  order: ['order_id', 'Order ID', 'Order Number', 'order_number', 'Bestellnummer', 'Bestell-ID'],
  user: ['customer_id', 'customer_user', 'Customer User ID', 'Customer ID', 'user_id'],
  email: [
    ...['user_email', 'billing_email', 'Billing Email', 'Billing Email Address', 'Email (Billing)'],
    ...['Customer Email', 'Email', 'E-Mail', 'E-Mail-Adresse', 'Rechnungs-E-Mail'],
  ],
  name: ['display_name', 'billing_name', 'Customer Name', 'Name', 'Full Name (Billing)'],
  login: ['user_login'],
  status: ['order_status', 'Order Status', 'post_status', 'status', 'Bestellstatus'],
  date: [
    ...['date_completed', 'Completed Date', 'date_paid', 'Paid Date', 'order_date', 'Order Date'],
    ...['date_created', 'post_date', 'Bestelldatum'],
  ],
} as const;
type Field = keyof typeof COLUMNS;

export interface SourcePerson {
  /** null if the table contains no address */
  email: string | null;
  name: string | null;
}

export interface SourceOrder extends SourcePerson {
  /** the date as the cell contains it, which `dateOf` reads */
  date: string;
  isRefunded: boolean;
}

export interface People {
  users: Map<string, SourcePerson>;
  orders: Map<string, SourceOrder>;
  /** warnings about rows that are not read, because their number of cells differs from the first line */
  oddRows: SourceWarning[];
  /** Returns an order's date; undefined if the order has no date. @throws SkippedRow */
  dateOf(order: SourceOrder): Date | undefined;
}

const REFUNDED = new Set(['refunded', 'cancelled', 'canceled', 'failed', 'erstattet', 'storniert']);

/** Reads a table of accounts or orders. @throws OperatorError for any other table */
export async function readPeople(
  file: AsyncIterable<Buffer> | undefined,
  asked: DateForm | undefined,
): Promise<People | undefined> {
  if (file === undefined) return undefined;
  const users = new Map<string, SourcePerson>();
  const orders = new Map<string, SourceOrder>();
  const table = await SourceTable.open<Field>(
    file,
    {
      title: '',
      part: 'users' as const,
      columns: COLUMNS,
      needed: [['id', 'order'], ['email']],
      dates: { date: 'first' },
      asked,
    },
    (row, opened) => note(row, !isOfOrders(opened), { users, orders }),
  );
  return {
    users,
    orders,
    oddRows: table.oddLines.map((row) => ({ row, warning: 'users-cells' })),
    dateOf: ({ date }) => (date === '' || date === '0' ? undefined : table.dateOf(date, 'date')),
  };
}

function isOfOrders(table: SourceTable<Field>): boolean {
  return (
    !table.has('login') && (['order', 'user', 'status', 'date'] as const).some((field) => table.has(field))
  );
}

function note(
  row: SourceRow<Field>,
  isUser: boolean,
  { users, orders }: Pick<People, 'users' | 'orders'>,
): void {
  const person = { email: row.text('email') || null, name: row.text('name') || null };
  if (isUser) {
    if (person.email !== null) users.set(row.text('id'), person);
    return;
  }
  const order = row.text('order') || row.text('id');
  const status = row.text('status').toLowerCase().replace(/^wc-/, '');
  orders.set(order, { ...person, date: row.text('date'), isRefunded: REFUNDED.has(status) });
  const user = row.text('user');
  // Guests have the user id 0.
  if (person.email !== null && user !== '' && user !== '0') users.set(user, person);
}
