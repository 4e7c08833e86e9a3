import { describe, expect, it, test } from '@jest/globals';
import { keysMap, readPlanMap, combinedPlanKey, writePlanMap } from '../../src/transfer/moving/plan-map';
import { assignKeys, mapOfKeys, type Right } from '../../src/transfer/moving/rights';
import type { SourceKey, SourcePlan } from '../../src/transfer/moving/source';
import { rightOfPeriods } from '../../src/transfer/moving/subscriptions';

/** Tests moving in: the plan map, and which licence gets a customer's keys. */

const plan = (key: string, ...covers: string[]): [string, SourcePlan] => [
  key,
  { key, name: `Plan ${key}`, product: 'P', covers, duration: '1y', limit: 0 },
];
const PLANS = new Map([
  plan('3', 'pro'),
  plan('4', 'pro'),
  plan('8', 'forms'),
  plan('9', 'pro', 'forms'),
  plan('0'),
]);

const right = (id: string, on: string, ends: number | null, standing: Right['standing'] = 0): Right => ({
  license: {
    ...{ id, row: Number(id), plan: on, customer: 'a@example.com', customerName: null, keys: [], sites: [] },
    ...{ status: 'active', startsAt: undefined, limit: undefined, metadata: {} },
    expiresAt: ends === null ? null : new Date(Date.UTC(ends, 0, 1)),
  },
  standing,
});
const KEYS: SourceKey[] = [{ key: 'K', limit: undefined, sites: [] }];

describe('a customer’s keys', () => {
  const give = (rights: Right[], map = '') => {
    const { licenses, warnings } = assignKeys(
      rights,
      KEYS,
      PLANS,
      mapOfKeys(keysMap(new Map(), readPlanMap(map))),
    );
    const bearers = licenses.filter(({ keys }) => keys.length > 0);
    return {
      bearers: bearers.map(({ id, plan: on }) => [id, on]),
      warnings: warnings.map(({ warning }) => warning),
    };
  };

  test.each<[string, Right[], string]>([
    ['the only one', [right('1', '3', 2030)], '1'],
    ['the one that covers most', [right('1', '3', 2033), right('2', '9', 2030)], '2'],
    ['of equals the one that ends last', [right('1', '3', 2030), right('2', '4', 2031)], '2'],
    ['of equals the one for life', [right('1', '4', null), right('2', '3', 2031)], '1'],
    ['of equals in all the first', [right('10', '3', 2030), right('9', '4', 2030)], '9'],
    ['a running one before a larger one that ended', [right('1', '9', 2020, 2), right('2', '3', 2030)], '2'],
    [
      'the running one before a larger one that was bought ahead',
      [right('1', '3', 2027), right('2', '9', 2028, 1)],
      '1',
    ],
    [
      'where none runs, the one that was bought ahead',
      [right('1', '9', 2021, 2), right('2', '3', 2028, 1)],
      '2',
    ],
    ['where none runs, the largest', [right('1', '3', 2021, 2), right('2', '9', 2020, 2)], '2'],
    ['not a plan of nothing', [right('1', '0', null), right('2', '3', 2030)], '2'],
  ])('go to %s', (_, rights, id) => {
    expect(give(rights)).toEqual({
      bearers: [[id, rights.find(({ license }) => license.id === id)?.license.plan]],
      warnings: [],
    });
  });

  it('need a plan for both rights if neither covers the other', () => {
    const rights = [right('1', '3', 2030), right('2', '8', 2031)];
    expect(give(rights)).toEqual({ bearers: [['2', '8']], warnings: ['no-cover'] });
    expect(give(rights, '8 + 3=7')).toEqual({ bearers: [['2', '3+8']], warnings: [] });
    // An ended right does not need a plan.
    expect(give([right('1', '3', 2030), right('2', '8', 2020, 2)])).toEqual({
      bearers: [['1', '3']],
      warnings: [],
    });
  });

  it('never go to a licence that the map leaves out', () => {
    const rights = [right('1', '9', null), right('2', '3', 2030), right('3', '8', 2031)];
    expect(give(rights)).toEqual({ bearers: [['1', '9']], warnings: [] });
    expect(give(rights, '9=-')).toEqual({ bearers: [['3', '8']], warnings: ['no-cover'] });
    expect(give(rights, '9=-,8=-')).toEqual({ bearers: [['2', '3']], warnings: [] });
    // They do not even go to a licence that is the only one still running.
    expect(give([right('1', '9', null), right('2', '3', 2020, 2)], '9=-').bearers).toEqual([['2', '3']]);
    expect(give([right('1', '9', null)], '9=-').bearers).toEqual([]);
    expect(give(rights, '9=-,3+8=-').warnings).toEqual(['no-cover']);
  });

  it('are on no licence if the customer has no keys', () => {
    expect(assignKeys([right('1', '3', 2030)], [], PLANS, mapOfKeys({})).licenses).toMatchObject([
      { keys: [] },
    ]);
  });
});

describe('periods of a subscription', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  const at = (year: number) => new Date(Date.UTC(year, 0, 1));
  const period = (from: number, to: number | null, more: object = {}) => ({
    ...{
      row: from,
      plan: '3',
      startsAt: at(from),
      endsAt: to === null ? null : at(to),
      isGood: true,
      isRefunded: false,
    },
    ...more,
  });
  const taken = { isGood: false, isRefunded: true };
  test.each<[string, ReturnType<typeof period>[], object]>([
    [
      'a later one extends the end',
      [period(2025, 2026), period(2026, 2028)],
      { status: 'active', startsAt: at(2025), expiresAt: at(2028) },
    ],
    [
      'one that was taken back ends itself alone',
      [period(2025, 2027), period(2027, 2028, taken)],
      { status: 'active', expiresAt: at(2027) },
    ],
    [
      'one that was bought ahead begins after a pause',
      [period(2024, 2025), period(2027, 2028), period(2028, 2029)],
      { status: 'active', startsAt: at(2027), expiresAt: at(2029) },
    ],
    ['all were taken back', [period(2025, 2027, taken)], { status: 'cancelled' }],
    ['one is for life', [period(2024, 2025), period(2025, null)], { status: 'active', expiresAt: null }],
    ['all are over', [period(2020, 2021)], { status: 'active', expiresAt: at(2021) }],
  ])('%s', (_, periods, expected) => {
    expect(rightOfPeriods('s-', 7, periods, now).license).toMatchObject({ id: 's-7-3', ...expected });
  });
});

describe('the plan map', () => {
  it('takes names with commas, equals signs and blanks', () => {
    const map = readPlanMap(' 3=7, 4 = 8,Pro, yearly=9,a=b=1,old=-,3+8=9');
    expect([...map]).toEqual([
      ['3', 7],
      ['4', 8],
      ['Pro, yearly', 9],
      ['a=b', 1],
      ['old', null],
      ['3+8', 9],
    ]);
    expect(readPlanMap(writePlanMap(map))).toEqual(map);
    expect(keysMap(readPlanMap('8 + 3=1'), map)).toEqual({ together: [['3', '8']], leftOut: ['old'] });
    expect(keysMap(map, readPlanMap('8+3=-')).together).toEqual([]);
    expect(combinedPlanKey(['10', '9'])).toBe('9+10');
  });

  it('accepts new plans, with the fields that it gives', () => {
    const map = readPlanMap('a=new,b=new:2,c=new:0:lifetime,d=new::6m:"Pro, \\"2=3\\", sites",e,f=-');
    expect(Object.fromEntries(map)).toEqual({
      ...{ a: {}, b: { limit: 2 }, c: { limit: 0, duration: null } },
      ...{ d: { duration: '6m', name: 'Pro, "2=3", sites' }, 'e,f': null },
    });
    expect(readPlanMap(writePlanMap(map))).toEqual(map);
  });

  test.each(['3', '3=', '=7', '3=x', '3=7,3=8', '3=0', '3=new:x', '3=new:1:2w', '3=new:9999999999'])(
    'refuses %s',
    (text) => {
      expect(() => readPlanMap(text)).toThrow(/THEIRS=OURS|twice/);
    },
  );
});
