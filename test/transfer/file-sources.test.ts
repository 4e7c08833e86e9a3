import { describe, expect, it } from '@jest/globals';
import { moved } from '../../src/texts/operators/en/moved';
import { skipCodeOf, importMessageOf } from '../../src/transfer/moving/import-messages';
import { OperatorError } from '../../src/licensing/operator-error';
import type { Db } from '../../src/store/engine/database';
import { eddCsv } from '../../src/transfer/moving/edd-csv';
import { freemiusCsv } from '../../src/transfer/moving/freemius-csv';
import { gumroadCsv } from '../../src/transfer/moving/gumroad-csv';
import { lemonSqueezyCsv } from '../../src/transfer/moving/lemonsqueezy-csv';
import { lmfwcCsv } from '../../src/transfer/moving/lmfwc-csv';
import type {
  DateForm,
  MovingSource,
  SourceItem,
  SourceLicense,
  SourcePlan,
} from '../../src/transfer/moving/source';

/** Exports of other systems in the form that their exporters write, and the licences that they mean. */

interface Given {
  file?: string | Buffer;
  users?: string;
  dates?: DateForm;
}

interface Read {
  plans: SourcePlan[];
  licenses: SourceLicense[];
  leftOut: Record<string, number[]>;
  warnings: Record<string, number[]>;
}

async function* bytesOf(text: string | Buffer): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  // Two chunks, because a file arrives in chunks.
  await Promise.resolve();
  yield bytes.subarray(0, 100);
  yield bytes.subarray(100);
}

async function read(source: MovingSource, { file, users, dates }: Given): Promise<Read> {
  const opened = await source.open({
    // A source that reads files does not use the database.
    db: undefined as unknown as Db,
    sitePrefix: undefined,
    file: file === undefined ? undefined : bytesOf(file),
    users: users === undefined ? undefined : bytesOf(users),
    dates,
    confirmed: false,
    now: new Date('2026-11-27T12:00:00Z'),
  });
  const all: SourceItem[] = [];
  for await (const item of opened.items()) all.push(item);
  const rowsBy = (kinds: [string, number][]) => {
    const rows: Record<string, number[]> = {};
    for (const [kind, row] of kinds) (rows[kind] ??= []).push(row);
    return rows;
  };
  return {
    plans: opened.plans,
    licenses: all.filter((item): item is SourceLicense => 'keys' in item),
    leftOut: rowsBy(
      all.flatMap((item) =>
        'leftOut' in item ? [[importMessageOf(moved.leftOut, skipCodeOf(item.leftOut)), item.row]] : [],
      ),
    ),
    warnings: rowsBy(all.flatMap((item) => ('warning' in item ? [[item.warning, item.row]] : []))),
  };
}

function csv(heading: string[], rows: (string | number | null)[][], by = ','): string {
  const cell = (value: string | number | null) => `"${String(value ?? '').replaceAll('"', '""')}"`;
  return [heading, ...rows].map((row) => row.map(cell).join(by)).join('\r\n');
}

/** Returns the fields of a licence that the tests compare. */
const short = ({ id, plan, customer, keys, status, startsAt, expiresAt, limit, sites }: SourceLicense) => [
  ...[id, plan, customer, keys.map(({ key }) => key).join('+'), status],
  ...[startsAt?.toISOString().slice(0, 19), expiresAt?.toISOString().slice(0, 19) ?? null, limit],
  sites.join(' '),
];

const KEY = 'd41d8cd98f00b204e9800998ecf8427e';
const OTHER = 'c41d8cd98f00b204e9800998ecf8427e';

describe('EDD Software Licensing', () => {
  const HEADING = [
    ...['License ID', 'License Key', 'License Status', 'Customer ID', 'Customer Email', 'Customer Name'],
    ...['User ID', 'Product Name', 'Price ID', 'Purchase Date', 'Expiration Date', 'Activation Limit'],
    ...['Activation Count', 'Activated URLs'],
  ];
  const row = (id: number, more: Partial<Record<string, string | number>> = {}) =>
    HEADING.map((name) => {
      const usual: Record<string, string | number> = {
        ...{ 'License ID': id, 'License Key': `${id}${KEY}`.slice(-32), 'License Status': 'active' },
        ...{ 'Customer ID': 5, 'Customer Email': 'Jane@Example.com', 'Customer Name': 'Jane Roe' },
        ...{ 'User ID': 0, 'Product Name': 'Gallery', 'Price ID': '', 'Activation Limit': 1 },
        ...{ 'Purchase Date': '2024-03-01 10:00:00', 'Expiration Date': 1798761599, 'Activation Count': 0 },
      };
      return more[name] ?? usual[name] ?? '';
    });

  it('reads states, ends, limits and sites as EDD means them', async () => {
    const { plans, licenses, leftOut, warnings } = await read(eddCsv, {
      file: csv(HEADING, [
        row(1, { 'Activated URLs': 'example.com/, shop.example.com/blog/', 'Activation Limit': 2 }),
        row(2, { 'License Status': 'inactive', 'Expiration Date': 'lifetime', 'Activation Limit': 0 }),
        row(3, { 'License Status': 'disabled', 'Price ID': 2 }),
        row(4, { 'License Status': 'expired', 'Expiration Date': 1577836799 }),
        row(5, { 'Customer Email': 'nobody', 'Expiration Date': 0, 'Activation Limit': '' }),
        row(6, { 'License Status': 'weird' }),
        row(7, { 'License Key': '' }),
        row(8, { 'Product Name': '' }),
      ]),
    });
    const key = (id: number) => `${id}${KEY}`.slice(-32);
    expect(licenses.map(short)).toEqual([
      [
        ...['1', 'Gallery', 'Jane@Example.com', key(1), 'active'],
        ...['2024-03-01T10:00:00', '2026-12-31T23:59:59', 2, 'example.com/ shop.example.com/blog/'],
      ],
      ['2', 'Gallery', 'Jane@Example.com', key(2), 'active', '2024-03-01T10:00:00', null, 0, ''],
      [
        ...['3', 'Gallery:2', 'Jane@Example.com', key(3), 'revoked'],
        ...['2024-03-01T10:00:00', '2026-12-31T23:59:59', 1, ''],
      ],
      [
        ...['4', 'Gallery', 'Jane@Example.com', key(4), 'expired'],
        ...['2024-03-01T10:00:00', '2019-12-31T23:59:59', 1, ''],
      ],
      ['5', 'Gallery', 'nobody', key(5), 'active', '2024-03-01T10:00:00', null, undefined, ''],
    ]);
    expect(licenses[0]?.customerName).toBe('Jane Roe');
    expect(plans.map(({ key: name, product }) => [name, product])).toEqual([
      ['Gallery', 'Gallery'],
      ['Gallery:2', 'Gallery'],
    ]);
    expect(warnings).toEqual({});
    expect(leftOut).toEqual({
      'License Status: this state is not known': [7],
      'the key is missing': [8],
      'the product is missing': [9],
    });
  });

  it('lets a disabled row win over an active one of the same licence, in any order of rows', async () => {
    for (const states of [
      ['active', 'disabled', 'inactive'],
      ['disabled', 'active', 'inactive'],
    ]) {
      const { licenses, leftOut } = await read(eddCsv, {
        file: csv(
          HEADING,
          states.map((state) => row(1, { 'License Status': state })),
        ),
      });
      expect(licenses.map(({ status }) => status)).toEqual(['revoked']);
      expect(leftOut['another row of the same licence counts']).toHaveLength(2);
    }
  });

  it('reads the German export in Windows-1252 with semicolons, as Excel saves it', async () => {
    const heading = [
      ...['Lizenz-ID', 'Lizenzschlüssel', 'Lizenzstatus', 'Kunden-ID', 'Kunden-E-Mail', 'Kundenname'],
      ...['Benutzer-ID', 'Produktname', 'Preis-ID', 'Kaufdatum', 'Ablaufdatum', 'Aktivierungslimit'],
      ...['Anzahl der Aktivierungen', 'Aktivierte URLs'],
    ];
    const cells = row(1, {
      ...{ 'Customer Name': 'Jürgen Groß', 'Purchase Date': '13.02.2024 10:00', 'License Status': 'Inaktiv' },
      ...{ 'Expiration Date': '31.01.2027', 'Product Name': 'Größe', 'License Key': KEY },
    });
    const { licenses } = await read(eddCsv, {
      file: Buffer.from(`sep=;\r\n${csv(heading, [cells], ';')}`, 'latin1'),
    });
    expect(licenses.map(short)).toEqual([
      [
        ...['1', 'Größe', 'Jane@Example.com', KEY, 'active'],
        ...['2024-02-13T10:00:00', '2027-01-31T23:59:59', 1, ''],
      ],
    ]);
    expect(licenses[0]?.customerName).toBe('Jürgen Groß');
  });

  it('leaves out a row that is shorter or longer than the heading', async () => {
    const { licenses, leftOut } = await read(eddCsv, {
      file: csv(HEADING, [row(1).slice(0, 9), [...row(2), ''], [...row(3), 'x']]),
    });
    expect(licenses.map(({ id }) => id)).toEqual(['2']);
    expect(leftOut).toEqual({ 'the row has another number of cells than the first line': [2, 4] });
  });

  it.each([
    [undefined, 'The file of EDD Software Licensing is missing.'],
    ['', 'The file is empty'],
    [
      `${KEY},active\n`,
      'This is not the table that EDD Software Licensing exports: its first line has no column "License Key", "License Status", "Product Name", "Expiration Date"',
    ],
  ])('refuses %j without repeating its text', async (file, message) => {
    await expect(read(eddCsv, file === undefined ? {} : { file })).rejects.toThrow(message);
    await expect(read(eddCsv, file === undefined ? {} : { file })).rejects.not.toThrow(KEY);
  });

  describe('whose dates were changed by a spreadsheet', () => {
    const withEnds = (...ends: (string | number)[]) =>
      csv(
        HEADING,
        ends.map((end, i) => row(i + 1, { 'Expiration Date': end })),
      );
    const endsOf = async (given: Given) =>
      (await read(eddCsv, given)).licenses.map(({ expiresAt }) => expiresAt?.toISOString().slice(0, 10));

    it.each<[string, (string | number)[], DateForm | undefined, (string | undefined)[]]>([
      ['seconds', [1798761599, 'lifetime'], undefined, ['2026-12-31', undefined]],
      ['years first', ['2027-01-31', '2027-02-01T10:00:00+02:00'], undefined, ['2027-01-31', '2027-02-01']],
      ['dots', ['1.2.2027', '31.01.27'], undefined, ['2027-02-01', '2027-01-31']],
      ['days first by one row', ['01/02/2027', '31/01/2027'], undefined, ['2027-02-01', '2027-01-31']],
      [
        'months first by one row',
        ['01/02/2027', '1/31/2027 11:59 PM'],
        undefined,
        ['2027-01-02', '2027-01-31'],
      ],
      ['days first as asked', ['01/02/2027', '03/04/2027'], 'dmy', ['2027-02-01', '2027-04-03']],
      ['months first as asked', ['01/02/2027', '03/04/2027'], 'mdy', ['2027-01-02', '2027-03-04']],
      ['one form alone, whatever is asked', ['13/02/2027'], 'mdy', ['2027-02-13']],
    ])('reads %s', async (_what, ends, dates, expected) => {
      expect(await endsOf({ file: withEnds(...ends), ...(dates && { dates }) })).toEqual(expected);
    });

    it('asks for the form of the dates when both fit, or neither fits nearly all rows, with an example of each', async () => {
      const refusal = async (...ends: (string | number)[]) =>
        read(eddCsv, { file: withEnds(...ends) }).then(
          () => undefined,
          (error: unknown) => error,
        );
      const ambiguous = await refusal('01/02/2027', '03/04/2027', 'lifetime');
      expect(ambiguous).toBeInstanceOf(OperatorError);
      expect(ambiguous).toMatchObject({
        field: 'dates',
        message:
          'Which comes first in the dates of column "Expiration Date": the day (03/04/2027 is 2027-04-03), or the month (03/04/2027 is 2027-03-04)? Nothing was imported.',
      });
      expect(await refusal('13/02/2027', '02/13/2027')).toMatchObject({
        message: expect.stringContaining('the day (13/02/2027 is 2027-02-13)'),
      });
    });

    it('leaves out rows whose dates are in another form than the seller chose', async () => {
      const { licenses, leftOut } = await read(eddCsv, {
        file: withEnds('2027-01-31', 'soon'),
        dates: 'iso',
      });
      expect(licenses).toHaveLength(1);
      expect(leftOut).toEqual({ 'Expiration Date: this is not a date': [3] });
    });
  });

  it.each(['NULL', '\\N', '-', 'n/a', 'none', 'never', 'undefined', ' '])(
    'reads %j as empty in every column',
    async (nothing) => {
      const { licenses, plans } = await read(eddCsv, {
        file: csv(HEADING, [
          row(1, {
            ...{ 'Price ID': nothing, 'Expiration Date': nothing, 'Activation Limit': nothing },
            ...{ 'Customer Email': nothing, 'Customer Name': nothing, 'Activated URLs': nothing },
            ...{ 'License Status': nothing, 'Purchase Date': nothing, 'License Key': `="${KEY}"` },
          }),
        ]),
      });
      expect(licenses.map(short)).toEqual([
        ['1', 'Gallery', null, KEY, 'active', undefined, null, undefined, ''],
      ]);
      expect(licenses[0]?.customerName).toBeNull();
      expect(plans).toHaveLength(1);
    },
  );
});

describe('License Manager for WooCommerce', () => {
  const HEADING = [
    ...['id', 'order_id', 'product_id', 'user_id', 'license_key', 'expires_at', 'valid_for', 'status'],
    ...['times_activated', 'times_activated_max', 'created_at', 'created_by', 'updated_at', 'updated_by'],
  ];
  const row = (
    id: number,
    order: number | string,
    user: number | string,
    status: string,
    { end = '', days = '', key = `${id}${KEY}`, limit = '' } = {},
  ) => [
    ...[id, order, 7, user, key, end, days, status, '', limit],
    ...['2025-01-01 08:00:00', 1, '2025-01-01 08:00:00', 1],
  ];
  const USERS = csv(
    ['ID', 'user_login', 'user_pass', 'user_nicename', 'user_email', 'display_name'],
    [[3, 'jane', '$P$x', 'jane', 'jane@example.com', 'Jane Roe']],
  );
  const ORDERS = csv(
    ['order_id', 'order_date', 'status', 'customer_user', 'billing_email', 'billing_name'],
    [
      [100, '2025-02-01 12:00:00', 'completed', 3, 'jane@example.com', 'Jane Roe'],
      [101, '2025-02-02 12:00:00', 'wc-refunded', 0, 'guest@example.com', 'A Guest'],
      [102, '2025-02-03 12:00:00', 'completed', 0, 'guest@example.com', ''],
    ],
  );

  it('leaves out unsold stock and encrypted keys, and suspends a licence whose state is unknown', async () => {
    const { plans, licenses, leftOut, warnings } = await read(lmfwcCsv, {
      file: csv(HEADING, [
        row(1, 100, 3, 'SOLD', { limit: '2' }),
        row(2, 100, 3, 'DELIVERED'),
        row(3, 100, 3, 'ACTIVE'),
        row(4, '', '', 'ACTIVE'),
        row(5, 0, 0, 'INACTIVE'),
        row(6, 100, 3, 'INACTIVE'),
        row(7, 100, 3, '5'),
        row(8, 100, 3, ''),
        row(9, 100, 3, 'SOLD', { key: `def50200${'ab'.repeat(80)}` }),
        row(10, '', 3, 'ACTIVE'),
      ]),
      users: USERS,
    });
    expect(licenses.map(({ id, status, customer, limit }) => [id, status, customer, limit])).toEqual([
      ['1', 'active', 'jane@example.com', 2],
      ['2', 'active', 'jane@example.com', undefined],
      ['3', 'active', 'jane@example.com', undefined],
      ['6', 'suspended', 'jane@example.com', undefined],
      ['7', 'suspended', 'jane@example.com', undefined],
      ['8', 'suspended', 'jane@example.com', undefined],
      ['10', 'active', 'jane@example.com', undefined],
    ]);
    expect(plans).toEqual([
      expect.objectContaining({ key: '7', name: 'Product 7', product: 'Product 7', covers: ['Product 7'] }),
    ]);
    expect(leftOut).toEqual({
      'stock that was never sold': [5, 6],
      'the key is encrypted: export the licences in the plugin, which decrypts them': [10],
    });
    expect(warnings).toEqual({ 'no-state': [9], 'no-order': [11] });
  });

  it('takes guests, refunds and the day from which a key is valid from the table of orders', async () => {
    const { licenses, leftOut } = await read(lmfwcCsv, {
      file: csv(HEADING, [
        row(1, 100, 3, 'SOLD', { days: '365' }),
        row(2, 101, 0, 'DELIVERED', { end: '2027-01-31 10:00:00', days: '365' }),
        row(3, 102, 0, 'SOLD'),
        row(4, 999, 3, 'SOLD', { days: '30' }),
        row(5, 100, 3, 'SOLD', { days: 'a year' }),
      ]),
      users: ORDERS,
    });
    expect(licenses.map(short).map((all) => [all[0], ...all.slice(2, 3), ...all.slice(4, 7)])).toEqual([
      ['1', 'jane@example.com', 'active', '2025-02-01T12:00:00', '2026-02-01T12:00:00'],
      ['2', 'guest@example.com', 'cancelled', '2025-02-02T12:00:00', '2027-01-31T10:00:00'],
      ['3', 'guest@example.com', 'active', '2025-02-03T12:00:00', null],
      ['4', 'jane@example.com', 'active', '2025-01-01T08:00:00', '2025-01-31T08:00:00'],
    ]);
    expect(licenses[0]).toMatchObject({ customerName: 'Jane Roe', metadata: { woocommerce_order: '100' } });
    expect(leftOut).toEqual({ 'valid_for: this is not a number of days': [6] });
  });

  it('has no customers without a second table', async () => {
    const { licenses, warnings } = await read(lmfwcCsv, { file: csv(HEADING, [row(1, 100, 3, 'SOLD')]) });
    expect(licenses.map(({ customer }) => customer)).toEqual([null]);
    expect(warnings).toEqual({});
  });

  it('also reads the export of Digital License Manager', async () => {
    const { licenses, plans } = await read(lmfwcCsv, {
      file: csv(
        [
          ...['id', 'license_key_partial', 'product_id', 'product_name', 'order_id', 'user_id', 'user_email'],
          ...['status', 'activations_limit', 'activations_count', 'valid_for', 'expires_at', 'created_at'],
          ...['updated_at', 'source', 'source_label', 'decrypted_license_key'],
        ],
        [
          [
            ...[4, 'd41d****427e', 7, 'Gallery', 100, 3, 'jane@example.com', 'delivered', 3, 1, 0],
            ...['2027-01-31 10:00:00', '2025-01-01 08:00:00', '', 1, 'Generator', KEY],
          ],
        ],
      ),
    });
    expect(licenses.map(short)).toEqual([
      [
        ...['4', '7', 'jane@example.com', KEY, 'active'],
        ...['2025-01-01T08:00:00', '2027-01-31T10:00:00', 3, ''],
      ],
    ]);
    expect(plans.map(({ name }) => name)).toEqual(['Gallery']);
  });

  it('refuses a second table that has neither users nor orders', async () => {
    await expect(read(lmfwcCsv, { file: csv(HEADING, []), users: 'a,b\n1,2\n' })).rejects.toThrow(
      'its first line has no column "ID" or "order_id", "user_email"',
    );
  });
});

describe('Freemius', () => {
  const HEADING = [
    ...['index', 'user_email', 'user_name', 'is_email_verified', 'license_created', 'license_key'],
    ...['license_quantity', 'license_expires_at', 'business_name', 'website_url', 'tax_id'],
    ...['address_street_1', 'address_street_2', 'address_city', 'address_country_code', 'address_state'],
    ...['address_zip', 'download_id'],
  ];
  const row = (index: number, key: string, quantity: string, end: string) => [
    ...[index, 'jane@example.com', 'Jane Roe', 'false', '2024-03-01 10:00:00', key, quantity, end],
    ...['', '', '', '', '', '', '', '', '', 17],
  ];

  it('reads the form that the importer of Freemius takes: an empty end is lifetime, an empty quota is unlimited', async () => {
    const { plans, licenses, warnings } = await read(freemiusCsv, {
      file: csv(HEADING, [
        row(0, KEY, '5', '2027-01-31 10:00:00'),
        row(1, OTHER, '', ''),
        row(2, 'sk_aB#c&%dE+f1', '0', ''),
      ]),
    });
    const start = '2024-03-01T10:00:00';
    expect(licenses.map(short).map((all) => all.slice(1, 8))).toEqual([
      ['17', 'jane@example.com', KEY, 'active', start, '2027-01-31T10:00:00', 5],
      ['17', 'jane@example.com', OTHER, 'active', start, null, 0],
      ['17', 'jane@example.com', 'sk_aB#c&%dE+f1', 'active', start, null, 0],
    ]);
    expect(plans.map(({ key, name }) => [key, name])).toEqual([['17', 'Product 17']]);
    expect(warnings).toEqual({ 'no-states': [1] });
  });

  it('recognizes a licence in a later export in which its row has another number', async () => {
    const first = await read(freemiusCsv, { file: csv(HEADING, [row(0, KEY, '', '')]) });
    const next = await read(freemiusCsv, {
      file: csv(HEADING, [row(0, OTHER, '', ''), row(1, KEY, '', '')]),
    });
    expect(next.licenses[1]?.id).toBe(first.licenses[0]?.id);
    expect(next.licenses[0]?.id).not.toBe(first.licenses[0]?.id);
    expect(first.licenses[0]?.id).toMatch(/^key-[0-9a-f]{16}$/);
    expect(KEY).not.toContain(first.licenses[0]?.id.slice(4));
  });

  it('also reads licences as the API of Freemius returns them, with a table of users', async () => {
    const { plans, licenses, warnings } = await read(freemiusCsv, {
      file: csv(
        [
          'id',
          'plugin_id',
          'user_id',
          'plan_id',
          'quota',
          'expiration',
          'secret_key',
          'is_cancelled',
          'created',
        ],
        [
          [8, 17, 3, 20, 1, '2027-01-31 10:00:00', 'sk_abcdefghijklmnop', 0, '2024-03-01 10:00:00'],
          [9, 17, 4, 20, 'null', 'null', 'sk_bcdefghijklmnopq', 'true', '2024-03-01 10:00:00'],
        ],
      ),
      users: csv(['id', 'email', 'first'], [[3, 'jane@example.com', 'Jane']]),
    });
    expect(licenses.map(short).map((all) => [...all.slice(0, 3), all[4], all[7]])).toEqual([
      ['8', '20', 'jane@example.com', 'active', 1],
      ['9', '20', null, 'cancelled', 0],
    ]);
    expect(plans.map(({ name, product }) => [name, product])).toEqual([['Product 17', 'Product 17']]);
    expect(warnings).toEqual({});
  });
});

describe('Lemon Squeezy', () => {
  const HEADING = [
    ...['id', 'store_id', 'customer_id', 'order_id', 'order_item_id', 'product_id', 'user_name'],
    ...['user_email', 'key', 'key_short', 'activation_limit', 'instances_count', 'disabled', 'status'],
    ...['status_formatted', 'expires_at', 'created_at', 'updated_at'],
  ];
  const KEY_HERE = '80E15DB5-C796-436B-850C-8F9C98A48ABE';
  const row = (id: number, status: string, { limit = '', end = '', disabled = 'false' } = {}) => [
    ...[id, 1, 2, 300, 400, 17, 'Jane Roe', 'jane@example.com', KEY_HERE.replace('80E1', `80E${id}`)],
    ...['XXXX-8F9C98A48ABE', limit, 0, disabled, status, status, end, '2024-03-01T10:00:00.000000Z', ''],
  ];

  it('reads keys that were never activated as active, and an empty limit as unlimited', async () => {
    const { plans, licenses } = await read(lemonSqueezyCsv, {
      file: csv(HEADING, [
        row(1, 'inactive', { limit: '3', end: '2027-01-31T10:00:00.000000Z' }),
        row(2, 'active'),
        row(3, 'expired', { end: '2025-01-31T10:00:00.000000Z' }),
        row(4, 'disabled'),
        row(5, 'active', { disabled: 'true' }),
      ]),
    });
    expect(licenses.map(short).map((all) => [...all.slice(0, 2), ...all.slice(4, 8)])).toEqual([
      ['1', '17', 'active', '2024-03-01T10:00:00', '2027-01-31T10:00:00', 3],
      ['2', '17', 'active', '2024-03-01T10:00:00', null, 0],
      ['3', '17', 'expired', '2024-03-01T10:00:00', '2025-01-31T10:00:00', 0],
      ['4', '17', 'suspended', '2024-03-01T10:00:00', null, 0],
      ['5', '17', 'suspended', '2024-03-01T10:00:00', null, 0],
    ]);
    expect(licenses[0]).toMatchObject({ metadata: { lemonsqueezy_order: '300' }, customerName: 'Jane Roe' });
    expect(plans.map(({ key }) => key)).toEqual(['17']);
  });

  it('reads products by title, and variants and refunds if the file has them', async () => {
    const { plans, licenses } = await read(lemonSqueezyCsv, {
      file: csv(
        ['License Key', 'Status', 'Product', 'Variant', 'Customer Email', 'Refunded', 'Expires At'],
        [
          [KEY_HERE, 'Active', 'Gallery', 'Agency', 'jane@example.com', 'No', ''],
          [KEY_HERE.replace('8', '9'), 'Active', 'Gallery', 'Default', 'jane@example.com', 'Yes', ''],
        ],
      ),
    });
    expect(licenses.map(({ plan, status }) => [plan, status])).toEqual([
      ['Gallery:Agency', 'active'],
      ['Gallery', 'cancelled'],
    ]);
    expect(plans.map(({ product }) => product)).toEqual(['Gallery', 'Gallery']);
  });
});

describe('Gumroad', () => {
  const HEADING = [
    ...['Purchase ID', 'Item Name', 'Buyer Name', 'Purchase Email', 'Buyer Email', 'Do not contact?'],
    ...['Purchase Date', 'Purchase Time (UTC timezone)', 'Subtotal ($)', 'Refunded?', 'Partial Refund ($)'],
    ...['Fully Refunded?', 'Disputed?', 'Dispute Won?', 'Access Revoked?', 'Variants', 'Recurring Charge?'],
    ...[
      'Free trial purchase?',
      'Pre-order authorization?',
      'Product ID',
      'Order Number',
      'Giftee Email',
      'Quantity',
      'Recurrence',
    ],
    ...['Cancellation Date', 'Subscription End Date', 'License Key', 'License Key Activation Count'],
    ...['License Key Enabled?', 'License Key'],
  ];
  const key = (n: number) => `${n}F1C7E4B-A0C54B1D-8A8D6C2D-4A3F0E9B`;
  const row = (id: string, n: number, more: Partial<Record<string, string | number>> = {}) =>
    HEADING.map((name, at) => {
      const usual: Record<string, string | number> = {
        ...{ 'Purchase ID': id, 'Item Name': 'Gallery', 'Buyer Name': 'Jane Roe', Quantity: 1 },
        ...{ 'Purchase Email': 'jane@example.com', 'Purchase Date': '2025-03-01', 'Order Number': 77 },
        ...{ 'Purchase Time (UTC timezone)': '2025-03-01 10:00:00 UTC', 'Subtotal ($)': 19, 'Refunded?': 0 },
        ...{ 'Fully Refunded?': 0, 'Disputed?': 0, 'Dispute Won?': 0, 'Access Revoked?': 0 },
        ...{ 'Recurring Charge?': 0, 'Pre-order authorization?': 0, 'Product ID': 'abc' },
        ...{ 'License Key': key(n), 'License Key Enabled?': 1 },
      };
      // A seller can add a custom field with the name of one of Gumroad's own columns.
      if (at === HEADING.length - 1) return 'typed by the buyer';
      return more[name] ?? usual[name] ?? '';
    });
  const totals = HEADING.map((name) => (name === 'Purchase ID' ? 'Totals' : name.includes('$') ? 99.5 : ''));

  it('ends a licence that is disabled, revoked, fully refunded, or whose dispute was not won', async () => {
    const { licenses, leftOut, warnings, plans } = await read(gumroadCsv, {
      file: csv(HEADING, [
        row('A==', 1),
        row('B==', 2, { 'License Key Enabled?': 0 }),
        row('C==', 3, { 'Access Revoked?': 1 }),
        row('D==', 4, { 'Refunded?': 1, 'Fully Refunded?': 1 }),
        row('E==', 5, { 'Refunded?': 1, 'Partial Refund ($)': 5 }),
        row('F==', 6, { 'Disputed?': 1 }),
        row('G==', 7, { 'Disputed?': 1, 'Dispute Won?': 1 }),
        row('H==', 8, { 'Giftee Email': 'friend@example.com', Variants: '(Agency)', Quantity: 5 }),
        row('I==', 9, { 'License Key': '' }),
        row('J==', 9, { 'Pre-order authorization?': 1 }),
        totals,
      ]),
    });
    expect(licenses.map(({ keys, status, expiresAt }) => [keys[0]?.key, status, expiresAt])).toEqual([
      [key(1), 'active', null],
      [key(2), 'revoked', null],
      [key(3), 'revoked', null],
      [key(4), 'cancelled', null],
      [key(5), 'active', null],
      [key(6), 'revoked', null],
      [key(7), 'active', null],
      [key(8), 'active', null],
    ]);
    expect(licenses[0]).toMatchObject({
      ...{ customer: 'jane@example.com', customerName: 'Jane Roe', metadata: { gumroad_order: '77' } },
      startsAt: new Date('2025-03-01T10:00:00Z'),
      limit: undefined,
    });
    expect(licenses[7]).toMatchObject({ customer: 'friend@example.com', customerName: null });
    expect(plans.map(({ key: name }) => name)).toEqual(['Gallery', 'Gallery:Agency']);
    expect(leftOut).toEqual({
      'the sale has no licence key': [10],
      'a pre-order that is not charged yet': [11],
      'the row has totals': [12],
    });
    expect(warnings).toEqual({ 'several-seats': [9] });
  });

  it('makes one licence of all charges of a subscription, paid until the last charge, even if that one was refunded', async () => {
    const charge = (id: string, n: number, day: string, more = {}) =>
      row(id, n, {
        ...{ 'Purchase Time (UTC timezone)': `${day} 10:00:00 UTC`, Recurrence: 'yearly' },
        ...more,
      });
    const later = { 'Recurring Charge?': 1 };
    const { licenses, leftOut, warnings } = await read(gumroadCsv, {
      file: csv(HEADING, [
        charge('A==', 1, '2024-05-01'),
        charge('B==', 1, '2025-05-01', later),
        charge('C==', 1, '2026-05-01', { ...later, 'Fully Refunded?': 1 }),
        charge('D==', 2, '2025-05-01', { ...later, 'Subscription End Date': '2026-05-01' }),
        charge('E==', 3, '2024-05-01', { 'Fully Refunded?': 1 }),
        charge('F==', 3, '2025-05-01', later),
        charge('G==', 4, '2024-05-01'),
        charge('H==', 4, '2025-05-01', { ...later, 'Disputed?': 1 }),
        charge('I==', 5, '2026-05-01', { Recurrence: 'every full moon' }),
      ]),
    });
    expect(licenses.map(short).map((all) => [all[3], ...all.slice(4, 7)])).toEqual([
      [key(1), 'active', '2024-05-01T10:00:00', '2027-05-01T10:00:00'],
      [key(2), 'active', '2025-05-01T10:00:00', '2026-05-01T23:59:59'],
      [key(3), 'cancelled', '2024-05-01T10:00:00', '2026-05-01T10:00:00'],
      [key(4), 'revoked', '2024-05-01T10:00:00', '2026-05-01T10:00:00'],
    ]);
    expect(leftOut).toEqual({
      'another row of the same licence counts': [3, 4, 7, 8],
      'this recurrence is not known': [10],
    });
    expect(warnings).toEqual({ 'renews-elsewhere': [2] });
  });

  it('ends a free trial after a month instead of the whole period, unless a charge was paid', async () => {
    const trial = { Recurrence: 'yearly', 'Free trial purchase?': 1 };
    const at = (time: string) => ({ 'Purchase Time (UTC timezone)': `${time} 10:00:00 UTC` });
    const { licenses, warnings } = await read(gumroadCsv, {
      file: csv(HEADING, [
        row('A==', 1, { ...trial, ...at('2026-11-20') }),
        row('B==', 2, { ...trial, ...at('2026-05-01') }),
        row('C==', 2, { Recurrence: 'yearly', 'Recurring Charge?': 1, ...at('2026-05-08') }),
        row('D==', 3, { ...trial, ...at('2026-11-20'), 'Subscription End Date': '2026-11-27' }),
      ]),
    });
    expect(licenses.map(short).map((all) => [all[3], ...all.slice(4, 7)])).toEqual([
      [key(1), 'active', '2026-11-20T10:00:00', '2026-12-20T10:00:00'],
      [key(2), 'active', '2026-05-01T10:00:00', '2027-05-08T10:00:00'],
      [key(3), 'active', '2026-11-20T10:00:00', '2026-11-27T23:59:59'],
    ]);
    expect(warnings).toEqual({ trial: [2], 'renews-elsewhere': [3] });
  });
});
