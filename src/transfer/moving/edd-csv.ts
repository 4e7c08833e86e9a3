import { fileSource, oneKey, type RowReader } from './file-source';
import type { SourceLicense } from './source';
import { referenceFromKey, SkippedRow, sitesOf, type SourceRow } from './table';

/**
 * Easy Digital Downloads, Software Licensing: its own export of licences (class EDD_SL_License_Export). Headings are in
 * the site's language, states are not. Ends are unix seconds, or `lifetime`.
 */

const COLUMNS = {
  id: ['License ID', 'Lizenz-ID', 'Lizenznummer'],
  key: ['License Key', 'Lizenzschlüssel', 'Lizenz-Schlüssel', 'Lizenzkey'],
  status: ['License Status', 'Lizenzstatus', 'Lizenz-Status', 'Status der Lizenz'],
  email: [
    ...['Customer Email', 'Kunden-E-Mail', 'E-Mail des Kunden', 'Kunden-E-Mail-Adresse'],
    ...['E-Mail-Adresse des Kunden', 'Kunden-Email', 'Kundenmail'],
  ],
  name: ['Customer Name', 'Kundenname', 'Name des Kunden', 'Kunden-Name'],
  product: ['Product Name', 'Produktname', 'Name des Produkts', 'Produkt-Name', 'Produkt'],
  price: ['Price ID', 'Preis-ID', 'Preisnummer', 'Preis-Nummer'],
  date: ['Purchase Date', 'Kaufdatum', 'Datum des Kaufs', 'Bestelldatum'],
  end: ['Expiration Date', 'Ablaufdatum', 'Ablauf-Datum', 'Verfallsdatum', 'Gültig bis'],
  limit: ['Activation Limit', 'Aktivierungslimit', 'Aktivierungsgrenze', 'Aktivierungs-Limit'],
  urls: ['Activated URLs', 'Aktivierte URLs', 'Aktive URLs', 'Aktivierte Adressen'],
} as const;
type Field = keyof typeof COLUMNS;

/** `inactive` was never activated, `disabled` was refunded or revoked (docs.easydigitaldownloads.com/article/1237). */
const STATES: Record<string, SourceLicense['status']> = {
  active: 'active',
  inactive: 'active',
  expired: 'expired',
  disabled: 'revoked',
  revoked: 'revoked',
  inaktiv: 'active',
  'nicht aktiviert': 'active',
  deaktiviert: 'revoked',
};

export const eddCsv = fileSource<Field>({
  name: 'edd-csv',
  title: 'EDD Software Licensing',
  rules: {
    columns: COLUMNS,
    needed: [['key'], ['status'], ['product'], ['end']],
    dates: { date: 'first', end: 'last' },
  },
  begin: () => Promise.resolve(reader),
});

const reader: RowReader<Field> = {
  id: (row) => row.text('id') || referenceFromKey(row.text('key')),
  customer: (row) => row.text('email'),
  plan: (row) => {
    const product = row.text('product');
    if (product === '') throw new SkippedRow('no-product');
    const price = row.text('price');
    return price === ''
      ? { key: product, name: product, product }
      : { key: `${product}:${price}`, name: product, product };
  },
  isEnded: (row) => stateOf(row) === 'revoked',
  *read(row) {
    const key = row.text('key');
    if (key === '') throw new SkippedRow('no-key');
    yield oneKey(key, {
      customer: row.text('email') || null,
      customerName: row.text('name') || null,
      status: row.status('status', STATES) ?? 'active',
      startsAt: row.date('date'),
      expiresAt: row.end('end'),
      limit: row.limit('limit'),
      sites: sitesOf(row.text('urls')),
    });
  },
};

function stateOf(row: SourceRow<Field>): string | undefined {
  const text = row.text('status').toLowerCase();
  return Object.hasOwn(STATES, text) ? STATES[text] : undefined;
}
