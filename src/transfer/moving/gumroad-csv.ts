import { endAfter } from './dates';
import { fileSource, oneKey, type RowReader } from './file-source';
import type { SourceLicense } from './source';
import { referenceFromKey, SkippedRow, type SourceRow } from './table';

/**
 * Gumroad: its export of sales (Exports::PurchaseExportService). A subscription has one row per charge, all with the
 * key of the first charge. The last row contains totals.
 */

const COLUMNS = {
  id: ['Purchase ID'],
  product: ['Item Name'],
  variants: ['Variants'],
  name: ['Buyer Name'],
  email: ['Purchase Email'],
  buyer: ['Buyer Email'],
  giftee: ['Giftee Email'],
  time: ['Purchase Time (UTC timezone)'],
  date: ['Purchase Date'],
  refunded: ['Fully Refunded?'],
  disputed: ['Disputed?'],
  won: ['Dispute Won?'],
  revoked: ['Access Revoked?'],
  recurring: ['Recurring Charge?'],
  trial: ['Free trial purchase?'],
  preorder: ['Pre-order authorization?'],
  order: ['Order Number'],
  quantity: ['Quantity'],
  recurrence: ['Recurrence'],
  ended: ['Subscription End Date'],
  key: ['License Key'],
  enabled: ['License Key Enabled?'],
} as const;
type Field = keyof typeof COLUMNS;

/** The longest free trial of Gumroad, which offers a week and a month. */
const TRIAL = '1m';

const PERIODS: Record<string, string> = {
  monthly: '1m',
  quarterly: '3m',
  biannually: '6m',
  yearly: '1y',
  every_two_years: '2y',
};

/** The facts that all charges with one subscription's key contain. */
interface Charges {
  /** the times in the cells' form, including refunded charges, because a refund of a charge ends nothing */
  times: [text: string, field: 'time' | 'date', isTrial: boolean][];
  /** the interval, such as `yearly` */
  recurrence: string;
  ended: string;
}

export const gumroadCsv = fileSource<Field>({
  name: 'gumroad-csv',
  title: 'Gumroad',
  rules: {
    columns: COLUMNS,
    needed: [['key'], ['product'], ['email'], ['refunded'], ['disputed'], ['won'], ['date']],
    dates: { time: 'first', date: 'first', ended: 'last' },
  },
  begin: () => Promise.resolve(readerOf(new Map())),
});

function readerOf(sales: Map<string, Charges>): RowReader<Field> {
  return {
    // The charges of a subscription share its key, but have separate ids.
    id: (row) => {
      if (row.text('id') === 'Totals') throw new SkippedRow('totals');
      if (row.text('key') === '') throw new SkippedRow('no-license-key');
      return referenceFromKey(row.text('key'));
    },
    plan: (row) => {
      const product = row.text('product');
      if (product === '') throw new SkippedRow('no-product');
      const variants = row.text('variants').replace(/^\((.*)\)$/, '$1');
      return variants === ''
        ? { key: product, name: product, product }
        : { key: `${product}:${variants}`, name: `${product}, ${variants}`, product };
    },
    isEnded: (row) => endedAs(row) !== undefined,
    isLesser: (row) => row.isSet('recurring'),
    note: (row, id) => {
      if (!isSubscription(row) && !sales.has(id)) return;
      const sale = sales.get(id) ?? { times: [], recurrence: '', ended: '' };
      sale.times.push(timeOf(row));
      sale.recurrence = row.text('recurrence').toLowerCase() || sale.recurrence;
      sale.ended = row.text('ended') || sale.ended;
      sales.set(id, sale);
    },
    *read(row, id, table) {
      if (row.isSet('preorder')) throw new SkippedRow('preorder');
      const giftee = row.text('giftee');
      const { times, recurrence, ended } = sales.get(id) ?? {
        times: [timeOf(row)],
        recurrence: '',
        ended: '',
      };
      const charged = times
        .filter(([text]) => text !== '')
        .map(([text, field]) => table.dateOf(text, field).getTime());
      const isTrial = times.every(([, , one]) => one);
      const period = Object.hasOwn(PERIODS, recurrence) ? PERIODS[recurrence] : undefined;
      if (recurrence !== '' && period === undefined) throw new SkippedRow('recurrence');
      const goesOn = period !== undefined && ended === '' && charged.length > 0;
      const expiresAt = goesOn
        ? endAfter(new Date(Math.max(...charged)), isTrial ? TRIAL : period)
        : ended === ''
          ? null
          : table.dateOf(ended, 'ended');
      if (expiresAt === undefined) throw new SkippedRow('bad-end');
      const status = endedAs(row) ?? 'active';
      if (goesOn && status === 'active')
        yield {
          row: row.line,
          warning: isTrial ? 'trial' : 'renews-elsewhere',
        };
      if (/^\d+$/.test(row.text('quantity')) && Number(row.text('quantity')) > 1)
        yield {
          row: row.line,
          warning: 'several-seats',
        };
      const order = row.text('order');
      yield oneKey(row.text('key'), {
        customer: giftee || row.text('email') || row.text('buyer') || null,
        // The buyer's name does not belong to the gift's recipient.
        customerName: giftee === '' ? row.text('name') || null : null,
        status,
        startsAt: charged.length === 0 ? undefined : new Date(Math.min(...charged)),
        expiresAt,
        metadata: order === '' ? {} : { gumroad_order: order },
      });
    },
  };
}

function isSubscription(row: SourceRow<Field>): boolean {
  return row.isSet('recurring') || row.text('recurrence') !== '' || row.text('ended') !== '';
}

function timeOf(row: SourceRow<Field>): Charges['times'][number] {
  const time = row.text('time');
  const isTrial = row.isSet('trial');
  return time === '' ? [row.text('date'), 'date', isTrial] : [time, 'time', isTrial];
}

/** Returns the status of a sale that was revoked or refunded; undefined for a valid sale. */
function endedAs(row: SourceRow<Field>): SourceLicense['status'] | undefined {
  if (row.isDenied('enabled') || row.isSet('revoked')) return 'revoked';
  if (row.isSet('disputed') && !row.isSet('won')) return 'revoked';
  // A refund of a later charge returns its money, without ending the right.
  return row.isSet('refunded') && !row.isSet('recurring') ? 'cancelled' : undefined;
}
