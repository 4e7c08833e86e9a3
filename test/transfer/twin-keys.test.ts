import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { formatTimestamp } from '../../src/base/days';
import { table } from '../../src/store/engine/database';
import { canonicalKey, keyDigest } from '../../src/licensing/core/keys';
import { anyCsv } from '../../src/transfer/moving/any-csv';
import { eddCsv } from '../../src/transfer/moving/edd-csv';
import { freemiusCsv } from '../../src/transfer/moving/freemius-csv';
import { lemonSqueezyCsv } from '../../src/transfer/moving/lemonsqueezy-csv';
import { lmfwcCsv } from '../../src/transfer/moving/lmfwc-csv';
import { membershipPro } from '../../src/transfer/moving/membershippro';
import { mapOf, moveLicensesIn, type MoveOptions } from '../../src/transfer/moving/run';
import type { MovingSource } from '../../src/transfer/moving/source';
import { fillTable, makeMembershipPro } from '../support/membership-pro';
import { rows, startTestService, type TestService } from '../support/service';

/** The licence that gets a key which several rows contain, and names and keys as a seller reads them in the report. */

const KEY = 'd41d8cd98f00b204e9800998ecf8427e';
const NOW = new Date('2026-11-28T12:00:00Z');

interface Stored {
  id: number;
  reference: string;
  customer: string | null;
  status: string;
}

let service: TestService;
beforeEach(async () => {
  service = await startTestService({}, NOW);
});
afterEach(() => service.stop());

async function* bytesOf(file: string): AsyncGenerator<Buffer> {
  yield await Promise.resolve(Buffer.from(file));
}

const run = (
  source: MovingSource,
  { file, users, ...more }: Partial<Omit<MoveOptions, 'file' | 'users'>> & { file?: string; users?: string },
) =>
  moveLicensesIn(service.db, {
    ...{ source, makePlans: true, dryRun: false, secret: Buffer.alloc(32, 7), now: NOW },
    ...{ actor: 'operator:test', ...more },
    file: file === undefined ? undefined : bytesOf(file),
    users: users === undefined ? undefined : bytesOf(users),
  });
const licenses = () => rows<Stored>(service.db, 'licenses');
/** Returns the licence that has the key. */
async function owner(): Promise<Stored | undefined> {
  const stored = await service
    .db(table(service.db, 'license_keys'))
    .where({ key_digest: keyDigest(canonicalKey(KEY)) })
    .first<{ license_id: number } | undefined>();
  return (await licenses()).find(({ id }) => id === stored?.license_id);
}

const EDD = 'License ID,License Key,License Status,Customer Email,Product Name,Expiration Date\n';
const END = '1799572800';
const LMFWC = 'id,order_id,product_id,user_id,license_key,status\n';
const ORDERS =
  'order_id,billing_email,status\n7,old@example.com,wc-refunded\n8,new@example.com,wc-completed\n';
const SQUEEZY = 'id,key,status,user_email,product_name,activation_limit,expires_at\n';
const FREEMIUS = 'user_email,license_key,license_quantity,license_expires_at,download_id\n';

describe('a key that two rows have', () => {
  it.each<[string, MovingSource, { file: string; users?: string }]>([
    [
      'EDD',
      eddCsv,
      {
        file: `${EDD}1,${KEY},disabled,old@example.com,Gallery,1736499600\n2,${KEY},active,new@example.com,Gallery,${END}\n`,
      },
    ],
    [
      'EDD, of a table without ids',
      eddCsv,
      {
        file: `${EDD.replace('License ID,', '')}${KEY},disabled,old@example.com,Gallery,1736499600\n${KEY},active,new@example.com,Gallery,${END}\n`,
      },
    ],
    [
      'License Manager for WooCommerce',
      lmfwcCsv,
      { file: `${LMFWC}1,7,9,,${KEY},2\n2,8,9,,${KEY},2\n`, users: ORDERS },
    ],
    [
      'Lemon Squeezy',
      lemonSqueezyCsv,
      {
        file: `${SQUEEZY}1,${KEY},expired,old@example.com,Gallery,,2025-01-31\n2,${KEY},active,new@example.com,Gallery,,2027-01-31\n`,
      },
    ],
    [
      'Freemius',
      freemiusCsv,
      { file: `${FREEMIUS}old@example.com,${KEY},1,2025-01-31,17\nnew@example.com,${KEY},1,2027-01-31,17\n` },
    ],
  ])('goes to the row that works, from %s', async (_, source, given) => {
    const moved = await run(source, given);
    expect(moved).toMatchObject({
      new: 1,
      leftOut: [{ code: 'keys-elsewhere', count: 1, rows: [expect.any(Number)] }],
    });
    expect(await owner()).toMatchObject({ customer: 'new@example.com' });
    expect(await run(source, given)).toMatchObject({ new: 0, changed: 0, same: 1 });
  });

  it('stays with the first of two rows that work, and the report names the new key of the other', async () => {
    const file = `${EDD}1,${KEY},active,first@example.com,Gallery,${END}\n2,${KEY},active,second@example.com,Gallery,${END}\n`;
    const dry = await run(eddCsv, { file, dryRun: true });
    const moved = await run(eddCsv, { file });
    for (const report of [dry, moved]) {
      expect(report).toMatchObject({ new: 2, leftOut: [] });
      expect(report.warnings).toContainEqual(
        expect.objectContaining({ code: 'key-twice', rows: [3], customers: ['second@example.com'] }),
      );
      expect(report.samples.map(({ after }) => after.keys)).toEqual([['ECF8427E'], [null]]);
    }
    expect(await owner()).toMatchObject({ customer: 'first@example.com' });
    expect(await rows(service.db, 'license_keys')).toHaveLength(2);
    expect(await run(eddCsv, { file })).toMatchObject({ new: 0, changed: 0, same: 2 });
  });

  it('moves to the other row when the row that had it stops working', async () => {
    const file = (first: string, second: string) =>
      `${EDD}1,${KEY},${first},first@example.com,Gallery,${END}\n2,${KEY},${second},second@example.com,Gallery,${END}\n`;
    await run(eddCsv, { file: file('active', 'disabled') });
    expect(await owner()).toMatchObject({ customer: 'first@example.com' });
    await run(eddCsv, { file: file('disabled', 'active') });
    expect(await owner()).toMatchObject({ customer: 'second@example.com' });
  });
});

type Row = [customer: string, works: boolean, end?: string];
/** For each system, writes a table without ids whose rows have the same key. */
const SAME_KEY: [string, MovingSource, (rows: Row[]) => string][] = [
  [
    'any table',
    anyCsv,
    (some) =>
      `Key,Customer E-mail,Order,State,Expires\n${some.map(([who, works, end = '2027-12-20']) => `${KEY},${who},${who[0]}${end}${works},${works ? 'active' : 'refunded'},${end}\n`).join('')}`,
  ],
  [
    'EDD',
    eddCsv,
    (some) =>
      `${EDD.replace('License ID,', '')}${some.map(([who, works, end = '2027-12-20']) => `${KEY},${works ? 'active' : 'disabled'},${who},Gallery,${end}\n`).join('')}`,
  ],
  [
    'License Manager for WooCommerce',
    lmfwcCsv,
    (some) =>
      `order_id,product_id,user_email,license_key,status,expires_at\n${some.map(([who, works, end = '2027-12-20']) => `${who.startsWith('a') ? 1 : 2},9,${who},${KEY},${works ? 2 : 5},${end}\n`).join('')}`,
  ],
  [
    'Lemon Squeezy',
    lemonSqueezyCsv,
    (some) =>
      `${SQUEEZY.replace('id,', '')}${some.map(([who, works, end = '2027-12-20']) => `${KEY},${works ? 'active' : 'expired'},${who},Gallery,,${end}\n`).join('')}`,
  ],
  [
    'Freemius',
    freemiusCsv,
    (some) =>
      `${FREEMIUS.replace('\n', ',is_cancelled\n')}${some.map(([who, works, end = '2027-12-20']) => `${who},${KEY},1,${end},17,${works ? 0 : 1}\n`).join('')}`,
  ],
];

describe.each(SAME_KEY)('a key of several rows without ids, of %s', (_, source, write) => {
  const [a, b] = ['a@example.com', 'b@example.com'];
  const rowsOf = (...customers: string[]) => customers.map((who): Row => [who, true]);
  const here = async () => (await licenses()).map(({ id, reference, customer }) => [id, reference, customer]);

  it('stays with its customer in any order of rows', async () => {
    await run(source, { file: write(rowsOf(a, b)) });
    const before = await here();
    expect(before.map(([, , customer]) => customer)).toEqual([a, b]);
    const other = await run(source, { file: write(rowsOf(b, a)) });
    expect(other).toMatchObject({ new: 0, changed: 0, same: 2 });
    expect(await owner()).toMatchObject({ customer: a });
    await run(source, { file: write(rowsOf(b)) });
    expect(await here()).toEqual(before);
  });

  it('stays with its customer when a later file has a row of another customer above it', async () => {
    await run(source, { file: write(rowsOf(a)) });
    const moved = await run(source, { file: write(rowsOf(b, a)) });
    expect(moved).toMatchObject({ new: 1, changed: 0, same: 1 });
    expect((await here()).map(([, , customer]) => customer)).toEqual([a, b]);
    expect(await owner()).toMatchObject({ customer: a });
  });

  it('follows the row of its customer that works, and otherwise the one that ends last', async () => {
    for (const states of [
      [false, true],
      [true, false],
    ]) {
      const some = states.map((works): Row => [a, works]);

      const moved = await run(source, { file: write(some), dryRun: true });
      expect(moved).toMatchObject({ new: 1, leftOut: [{ code: 'other-row', count: 1 }] });
      expect(moved.samples).toMatchObject([{ after: { status: 'active' } }]);
    }
    const ends = ['2026-12-20', '2027-12-20'];
    for (const some of [ends, [...ends].reverse()]) {
      const moved = await run(source, { file: write(some.map((end) => [a, true, end])), dryRun: true });
      expect(moved).toMatchObject({ new: 1, leftOut: [{ code: 'other-row', count: 1 }] });
      expect(JSON.stringify(moved.samples)).toContain('2027-12-20');
    }
  });
});

it('reports a row that cannot be read, even if another one of its licence counts', async () => {
  const file = `Key,State,Expires\n${KEY},active,soon\n${KEY},expired,2025-01-31\n`;
  expect(await run(anyCsv, { file, dryRun: true })).toMatchObject({ new: 1, leftOut: [{ code: 'no-date' }] });
});

describe('a plan that was bought ahead', () => {
  const later = new Date('2027-02-01T12:00:00Z');
  const subscriber = (id: number, plan_id: number, year: number) => ({
    ...{ id, plan_id, user_id: 101, email: 'jane@example.com', plan_main_record: 1 },
    ...{ plan_subscription_status: 1, plan_subscription_from_date: `${year}-01-10 00:00:00` },
    plan_subscription_to_date: `${year + 1}-01-10 00:00:00`,
  });

  it('does not work before it begins, and takes over the keys on that day', async () => {
    await makeMembershipPro(service.db, 'jos_');
    await fillTable(service.db, 'jos_', {
      osmembership_plans: [
        { id: 1, title: 'Pro &amp; more' },
        { id: 2, title: 'Agency' },
      ],
      osmembership_subscribers: [subscriber(1, 1, 2026), subscriber(2, 2, 2027)],
      osmembership_downloadids: [{ id: 1, user_id: 101, download_id: KEY, published: 1 }],
    });
    const moved = await run(membershipPro, {});
    expect(moved.warnings).toContainEqual(expect.objectContaining({ code: 'begins-later', rows: [2] }));
    expect(moved.plans.map(({ name }) => name)).toEqual(['Pro & more', 'Agency']);
    const here = await licenses();
    expect(here.map(({ reference, status }) => [reference, status]).sort()).toEqual([
      ['membershippro:1', 'active'],
      ['membershippro:2', 'suspended'],
    ]);
    expect(await owner()).toMatchObject({ reference: 'membershippro:1' });
    await run(membershipPro, { now: later });
    expect(await owner()).toMatchObject({ reference: 'membershippro:2' });
    expect((await licenses()).map(({ status }) => status)).toEqual(['active', 'active']);
  });

  it('begins at least a day later: a shop far to the east has another date', async () => {
    const at = (hours: number) => formatTimestamp(new Date(NOW.getTime() + hours * 3_600_000));
    const heading = EDD.replace('Expiration', 'Purchase Date,Expiration');
    const row = (id: number, hours: number) =>
      `${id},${id}${KEY},active,a@example.com,Gallery,${at(hours)},${END}\n`;
    await run(eddCsv, { file: heading + row(1, 14) + row(2, 48) });
    expect((await licenses()).map(({ status }) => status)).toEqual(['active', 'suspended']);
  });
});

describe('the texts of a report', () => {
  it('shows names of products, plans and customers without HTML', async () => {
    const heading = EDD.replace('Product', 'Customer Name,Product');
    const file = `${heading}1,${KEY},active,O&#039;Brien@example.com,Jane O&#039;Brien,Forms &amp; Fields &#8217;Pro&#8217;,${END}\n`;
    const moved = await run(eddCsv, { file });
    expect(moved.plans).toMatchObject([{ key: 'Forms & Fields ’Pro’', product: 'Forms & Fields ’Pro’' }]);
    expect(await rows(service.db, 'products')).toMatchObject([{ name: 'Forms & Fields ’Pro’' }]);
    expect(await licenses()).toMatchObject([{ customer: "o'brien@example.com" }]);
    expect(await rows(service.db, 'customers')).toMatchObject([{ name: "Jane O'Brien" }]);
    // The map of plans is accepted in the escaped form of the table and in the form that the list prints.
    for (const key of ['Forms &amp; Fields &#8217;Pro&#8217;', 'Forms & Fields ’Pro’'])
      expect(await run(eddCsv, { file, plans: `${key}=-`, dryRun: true })).toMatchObject({
        leftOut: [{ code: 'left-out-plan' }],
      });
  });

  it('states that a short key is kept', async () => {
    const file = `${EDD}1,ACME-AAAA-0001,active,a@example.com,Gallery,${END}\n`;
    const { samples } = await run(eddCsv, { file, dryRun: true });
    expect(samples).toMatchObject([{ before: { keys: [''] }, after: { keys: [''] } }]);
  });
});

describe('plans that a move creates', () => {
  const heading =
    'License ID,License Key,License Status,Customer Email,Product Name,Price ID,Purchase Date,Expiration Date,Activation Limit\n';
  const row = (id: number, price: string, start: string, end: string, limit: string) =>
    `${id},${id}${KEY},active,a@example.com,Gallery Pro,${price},${start},${end},${limit}\n`;
  const FILE = [
    heading,
    row(1, '1', '2026-01-31 10:00:00', '2027-01-31 23:59:59', '1'),
    row(2, '2', '2026-01-31 10:00:00', '2027-01-31 23:59:59', '2'),
    row(3, '2', '2026-02-28 10:00:00', '2027-02-28 23:59:59', '2'),
    row(4, '2', '2024-02-29 10:00:00', '2027-02-28 23:59:59', '10'),
    row(5, '3', '2026-02-28 10:00:00', 'lifetime', '1'),
    row(6, '4', '2026-10-01 10:00:00', '2027-04-01 10:00:00', '0'),
    row(7, '5', '2026-10-01 10:00:00', '2027-10-01 10:00:00', '1'),
  ].join('');
  interface Made {
    name: string;
    activation_limit: number;
    duration: string | null;
  }
  const made = async () =>
    (await rows<Made>(service.db, 'plans')).map((one) => [one.name, one.activation_limit, one.duration]);

  it('have the limit and the period of most of their licences, and distinct names', async () => {
    const dry = await run(eddCsv, { file: FILE, dryRun: true });
    const shown = dry.plans.flatMap(({ target }) => target?.plan ?? []);
    await run(eddCsv, { file: FILE });
    expect(await made()).toEqual([
      ['Gallery Pro, 1 site', 1, '1y'],
      ['Gallery Pro, 2 sites', 2, '1y'],
      ['Gallery Pro, 1 site, lifetime', 1, null],
      ['Gallery Pro', 0, '6m'],
      ['Gallery Pro, 1 site, 1y', 1, '1y'],
    ]);
    expect(shown.map((one) => [one.name, one.activationLimit, one.duration])).toEqual(await made());
    expect(await run(eddCsv, { file: FILE, makePlans: false })).toMatchObject({ same: 7, changed: 0 });
  });

  it('follow the map, which the dry run prints', async () => {
    const file = heading + row(1, '1', '', '2027-01-31', '3');
    const plans = mapOf(await run(eddCsv, { file, dryRun: true }));
    expect(plans).toBe('Gallery Pro:1=new:3:1y:"Gallery Pro, 3 sites"');
    const edited = plans.replace('3:1y:"Gallery Pro, 3 sites"', '5:2y:"Agency"');
    expect(await run(eddCsv, { file, plans: edited, makePlans: false })).toMatchObject({
      ...{ new: 1, madePlans: 1 },
    });
    expect(await made()).toEqual([['Agency', 5, '2y']]);
    await expect(run(eddCsv, { file, plans: 'a+b=new', makePlans: false })).rejects.toMatchObject({
      facts: { code: 'no-plan-there' },
    });
  });
});
