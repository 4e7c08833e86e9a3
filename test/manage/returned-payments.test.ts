import { afterEach, describe, expect, test } from '@jest/globals';
import { migrate } from '../../src/setup/database';
import { openDatabase, table } from '../../src/store/engine/database';
import { NOW, startManaged } from '../support/manage';
import { DATABASE_KINDS, givePlan, newPlace, rows, testConfig } from '../support/service';

/** Tests that an upgrade marks the licences whose payments were given back before, as orders do since. */

const SHOP = 'hikashop';
/** The names of the migrations that an installation of the version before lacks. */
const LATER = ['003_security_updates', '007_returned_payments'];

const euros = (amount: number) => ({ amount: amount * 100, currency: 'EUR' });
const line = (name: string) => ({ line: name });

interface More {
  lines?: { line: string }[];
  payment?: string;
  partial?: true;
  amount?: number;
  currency?: string;
}
type Messages = [event: string, more?: More][];

/** The events of each order, and whether all payments of its licences were given back. */
const ORDERS: Record<string, { events: Messages; returned: number[] }> = {
  kept: { events: [['paid']], returned: [0] },
  refunded: { events: [['paid'], ['refunded']], returned: [1] },
  'partly refunded': {
    events: [
      ['paid', { ...euros(90), payment: 'a' }],
      ['refunded', { ...euros(30), payment: 'a', partial: true }],
    ],
    returned: [0],
  },
  'refunded in parts': {
    events: [
      ['paid', { ...euros(90), payment: 'a' }],
      ['refunded', { ...euros(30), payment: 'a', partial: true }],
      ['refunded', { ...euros(60), payment: 'a' }],
    ],
    returned: [1],
  },
  'failed refund': { events: [['paid'], ['refunded'], ['refund_failed']], returned: [0] },
  'charged back': { events: [['paid'], ['charged_back']], returned: [1] },
  'reversed chargeback': {
    events: [['paid'], ['charged_back'], ['chargeback_reversed']],
    returned: [0],
  },
  'refunded renewal': {
    events: [
      ['paid', { payment: 'a' }],
      ['renewed', { payment: 'b' }],
      ['refunded', { payment: 'b' }],
    ],
    returned: [0],
  },
  'refunded with its renewal': {
    events: [
      ['paid', { payment: 'a' }],
      ['renewed', { payment: 'b' }],
      ['refunded', { payment: 'b' }],
      ['refunded', { payment: 'a' }],
    ],
    returned: [1],
  },
  'one of two lines': {
    events: [
      ['paid', { lines: [line('1'), line('2')] }],
      ['refunded', { lines: [line('2')] }],
    ],
    returned: [0, 1],
  },
  'one of two lines charged back': {
    events: [
      ['paid', { lines: [line('1'), line('2')] }],
      ['charged_back', { lines: [line('1')] }],
    ],
    returned: [1, 0],
  },
  'renewed by a later order': { events: [['paid'], ['refunded']], returned: [0] },
  'renewed by a later order, both refunded': { events: [['paid'], ['refunded']], returned: [1] },
};

/** The orders that renew the licence of another order. */
const RENEWALS: Record<string, Messages> = {
  'renewed by a later order': [['paid']],
  'renewed by a later order, both refunded': [['paid'], ['refunded']],
};

describe.each(DATABASE_KINDS)('an upgrade on %s', (kind) => {
  let stop: () => Promise<unknown>;
  afterEach(() => stop());

  test('marks the licences whose payments were all given back, and again after it was killed', async () => {
    const place = await newPlace(kind);
    const service = await startManaged(place);
    stop = () => service.stop();
    const plan = await givePlan(service.db, {}, service.clock.now);
    let at = NOW.getTime() - 3_600_000;
    const post = async (order: string, events: Messages, more: { renews?: string } = {}) => {
      for (const [event, { lines, ...others } = {}] of events) {
        const sold = (lines ?? [line('1')]).map((one) => ({ ...one, plan_id: plan, ...more }));
        const message = {
          ...{ shop: SHOP, order, event, at: new Date((at += 1_000)).toISOString(), ...others },
          ...(event === 'paid' ? { lines: sold, customer: { email: 'jo@example.com' } } : lines && { lines }),
        };
        await service.issue.ok('POST /orders', message);
      }
    };
    for (const [name, { events }] of Object.entries(ORDERS)) {
      await post(name, events);
      if (RENEWALS[name]) await post(`${name}, later`, RENEWALS[name], { renews: name });
    }
    const marks = async (db = service.db) =>
      Object.fromEntries(
        (await rows<{ reference: string; all_returned: number }>(db, 'licenses')).map((row) => [
          row.reference,
          row.all_returned,
        ]),
      );
    const expected = Object.fromEntries(
      Object.entries(ORDERS).flatMap(([name, { returned }]) =>
        returned.map((one, i) => [`${SHOP}:${name}:${i + 1}`, one]),
      ),
    );
    // The orders themselves have set the marks.
    expect(await marks()).toEqual(expected);
    await stop();

    const { database, tablePrefix } = testConfig(place);
    const db = openDatabase(database, tablePrefix, 2);
    stop = () => db.destroy();
    const undone = (names: string[]) => db(table(db, 'migrations')).whereIn('name', names).delete();
    await db.schema.alterTable(table(db, 'licenses'), (licenses) => licenses.dropColumn('all_returned'));
    await undone(LATER);
    const seen: number[][] = [];
    expect(await migrate(db, database, (...progress) => seen.push(progress))).toEqual(LATER);
    const count = Object.keys(expected).length;
    expect(seen).toEqual([[count, count]]);
    expect(await marks(db)).toEqual(expected);
    // Leave the tables as a killed migration does: filled in part, but not recorded.
    await undone(LATER.slice(1));
    await db(table(db, 'licenses'))
      .where({ reference: `${SHOP}:refunded:1` })
      .update({ all_returned: 0 });
    await migrate(db, database);
    expect(await marks(db)).toEqual(expected);
  });
});
