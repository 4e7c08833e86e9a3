import { describe, expect, it, test } from '@jest/globals';
import {
  endOf,
  foldLine,
  holdsOf,
  licenseEnd,
  type LineEvent,
  type Meanings,
  type OrderEventName,
  renewalOf,
  type Part,
} from '../../src/orders/fold';
import { DEFAULT_RULES, effectOf } from '../../src/orders/rules';

/** What a line's licence is, from its events alone: in any order of arrival. */

const day = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 86_400_000);

type Given = [event: OrderEventName, at: number, payment?: string | null, more?: Partial<LineEvent>];

function events(given: Given[]): LineEvent[] {
  return given.map(([event, at, payment = null, more = {}], i) => ({
    ...{ event, identity: `${i}`, at: day(at), payment },
    effect: effectOf(event, DEFAULT_RULES),
    ...{ paidUntil: null, changes: false, reduced: null, confirms: false, renewsItself: null, graceDays: 3 },
    ...more,
  }));
}

const meanings = (more: Partial<Meanings> = {}): Meanings => ({
  ...{ base: { duration: '30d', count: 1 }, upgrades: new Map(), renews: false, n: 1 },
  ...more,
});

const daysTo = (end: Date | null) => Math.round((end!.getTime() - day(0).getTime()) / 86_400_000);

/** Told in each of some orders, it comes to the same. */
function standing(given: Given[], more?: Partial<Meanings>) {
  const all = events(given);
  const fold = (told: LineEvent[]) => {
    const { state, terms } = foldLine(told, meanings(more));
    return [state, daysTo(endOf(terms))];
  };
  const first = fold(all);
  expect(fold([...all].reverse())).toEqual(first);
  expect(fold([...all.slice(1), all[0]!])).toEqual(first);
  return first;
}

const until = (n: number) => ({ paidUntil: day(n) });

test.each<[string, Given[], [string, number]]>([
  ['a payment', [['paid', 0, 'a']], ['active', 30]],
  [
    'cycle 1 refunded, cycle 2 paid',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 30, 'b', until(60)],
      ['refunded', 31, 'a'],
    ],
    ['active', 60],
  ],
  [
    'cycle 1 refunded before cycle 2 is paid',
    [
      ['paid', 0, 'a', until(30)],
      ['refunded', 20, 'a'],
      ['renewed', 30, 'b', until(60)],
    ],
    ['active', 60],
  ],
  [
    'cycle 2 refunded within cycle 1',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 20, 'b', until(60)],
      ['refunded', 25, 'b'],
    ],
    ['active', 30],
  ],
  [
    'cycle 2, whose end another message tells, refunded after cycle 1',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 30, 'b'],
      ['upgraded', 31, null, { ...until(62), confirms: true }],
      ['refunded', 35, 'b'],
    ],
    ['suspended', 30],
  ],
  [
    'cycle 2, whose end another message tells',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 30, 'b'],
      ['upgraded', 31, null, { ...until(62), confirms: true }],
      ['refunded', 35, 'a'],
    ],
    ['active', 62],
  ],
  [
    'cycle 2 refunded after cycle 1',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 30, 'b', until(60)],
      ['refunded', 35, 'b'],
    ],
    ['suspended', 30],
  ],
  [
    'cycle 2, paid ahead, refunded while it runs',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 25, 'b', until(60)],
      ['refunded', 35, 'b'],
    ],
    ['suspended', 30],
  ],
  [
    'cycle 2, by the duration of the plan, refunded while it runs',
    [
      ['paid', 0, 'a'],
      ['renewed', 30, 'b'],
      ['refunded', 35, 'b'],
    ],
    ['suspended', 30],
  ],
  [
    'cycle 2 refunded while it runs, cycle 3 paid ahead',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 30, 'b', until(60)],
      ['renewed', 34, 'c', until(90)],
      ['refunded', 35, 'b'],
    ],
    ['active', 90],
  ],
  [
    'cycle 2 refunded while it runs, cycle 3 paid later',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 30, 'b', until(60)],
      ['refunded', 35, 'b'],
      ['renewed', 60, 'c', until(90)],
    ],
    ['active', 90],
  ],
  [
    'all refunded',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 20, 'b', until(60)],
      ['refunded', 25, 'b'],
      ['refunded', 26, 'a'],
    ],
    ['suspended', 30],
  ],
  [
    'all refunded, the last first',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 20, 'b', until(60)],
      ['refunded', 25, 'a'],
      ['refunded', 26, 'b'],
    ],
    ['suspended', 60],
  ],
  [
    'a refund that failed',
    [
      ['paid', 0, 'a'],
      ['refunded', 5, 'a'],
      ['refund_failed', 6, 'a'],
    ],
    ['active', 30],
  ],
  [
    'a refund that failed in the same second',
    [
      ['paid', 0, 'a'],
      ['refund_failed', 5, 'a'],
      ['refunded', 5, 'a'],
    ],
    ['suspended', 30],
  ],
  [
    'the failure of another refund',
    [
      ['paid', 0, 'a'],
      ['refunded', 5, 'a'],
      ['refund_failed', 6, 'b'],
    ],
    ['suspended', 30],
  ],
  [
    'a refund of everything that failed',
    [
      ['paid', 0, 'a'],
      ['refunded', 5],
      ['refund_failed', 6, 'a'],
    ],
    ['active', 30],
  ],
  [
    'paid again after a refund',
    [
      ['paid', 0, 'a'],
      ['refunded', 5, 'a'],
      ['paid', 10, 'b'],
    ],
    ['active', 40],
  ],
  [
    'paid twice, the first given back',
    [
      ['paid', 0, 'a'],
      ['paid', 1, 'b'],
      ['refunded', 5, 'a'],
    ],
    ['active', 31],
  ],
  [
    'a refund of everything',
    [
      ['paid', 0, 'a'],
      ['renewed', 20, 'b'],
      ['refunded', 25],
    ],
    ['suspended', 60],
  ],
  [
    'a payment that the shop had not named',
    [
      ['paid', 0, null, until(30)],
      ['renewed', 20, 'b', until(60)],
      ['refunded', 25, 'x'],
    ],
    ['active', 60],
  ],
  [
    'a refund of an unknown payment',
    [
      ['paid', 0, 'a'],
      ['refunded', 5, 'x'],
    ],
    ['active', 30],
  ],
  [
    'a payment that failed',
    [
      ['paid', 0, 'a'],
      ['payment_failed', 5, 'b'],
    ],
    ['active', 30],
  ],
  [
    'an upgrade moves the end on',
    [
      ['paid', 0, 'a', until(30)],
      ['upgraded', 5, 'u', until(60)],
    ],
    ['active', 60],
  ],
  [
    'an upgrade moves the end never back',
    [
      ['paid', 0, 'a', until(30)],
      ['upgraded', 5, 'u', until(20)],
    ],
    ['active', 30],
  ],
  [
    'an upgrade given back',
    [
      ['paid', 0, 'a', until(30)],
      ['upgraded', 5, 'u', until(60)],
      ['refunded', 6, 'u'],
    ],
    ['active', 30],
  ],
  [
    'an upgrade that pays nothing keeps nothing paid',
    [
      ['paid', 0, 'a', until(30)],
      ['upgraded', 5, null],
      ['refunded', 6, 'a'],
    ],
    ['suspended', 30],
  ],
  [
    'seats given back once the last paid time is over',
    [
      ['paid', 0, 'a', until(30)],
      ['upgraded', 5, 'u', { changes: true }],
      ['refunded', 31, 'u'],
    ],
    ['active', 30],
  ],
  [
    'a charge-back of one payment',
    [
      ['paid', 0, 'a', until(30)],
      ['renewed', 20, 'b', until(60)],
      ['charged_back', 25, 'a'],
    ],
    ['suspended', 60],
  ],
])('%s', (_, given, expected) => {
  expect(standing(given)).toEqual(expected);
});

describe('a line that renews itself', () => {
  const renews = { renewsItself: true };

  it.each<[string, Given[], [end: number, grace: number]]>([
    ['has the grace of its shop', [['paid', 0, 'a', renews]], [30, 3]],
    ['has none when it does not say so', [['paid', 0, 'a']], [30, 0]],
    [
      'counts a late renewal from the paid end',
      [
        ['paid', 0, 'a', renews],
        ['renewed', 32, 'b'],
      ],
      [60, 3],
    ],
    [
      'counts a renewal at the end of the grace from the paid end',
      [
        ['paid', 0, 'a', renews],
        ['renewed', 33, 'b'],
      ],
      [60, 3],
    ],
    [
      'counts a renewal after the grace from its own time',
      [
        ['paid', 0, 'a', renews],
        ['renewed', 34, 'b'],
      ],
      [64, 3],
    ],
    [
      'adds the grace once, however often it is renewed late',
      [
        ['paid', 0, 'a', renews],
        ['renewed', 31, 'b'],
        ['renewed', 62, 'c'],
        ['renewed', 93, 'd'],
      ],
      [120, 3],
    ],
    [
      'loses the grace with the subscription',
      [
        ['paid', 0, 'a', renews],
        ['subscription_ended', 30, null, { renewsItself: false }],
      ],
      [30, 0],
    ],
    [
      'counts from its own time what is taken up again after the end',
      [
        ['paid', 0, 'a', renews],
        ['subscription_ended', 30, null, { renewsItself: false }],
        ['renewed', 31, 'b', renews],
      ],
      [61, 3],
    ],
    [
      'has the grace that the shop had at the last payment',
      [
        ['paid', 0, 'a', renews],
        ['renewed', 30, 'b', { graceDays: 5 }],
        ['payment_failed', 60, 'c', { graceDays: 9, renewsItself: false }],
      ],
      [60, 5],
    ],
    [
      'is late by the grace that was promised, not by the one of the renewal',
      [
        ['paid', 0, 'a', { ...renews, graceDays: 1 }],
        ['renewed', 32, 'b', { graceDays: 5 }],
      ],
      [62, 5],
    ],
    [
      'has a grace after an end that the shop told, too',
      [
        ['paid', 0, 'a', { ...renews, ...until(31) }],
        ['renewed', 32, 'b', until(62)],
      ],
      [62, 3],
    ],
  ])('%s', (_, given, expected) => {
    const all = events(given);
    for (const told of [all, [...all].reverse()]) {
      const { terms, graceDays } = foldLine(told, meanings());
      expect([daysTo(endOf(terms)), graceDays]).toEqual(expected);
    }
  });
});

describe('licences of a line that an upgrade gives more', () => {
  const more = {
    upgrades: new Map([
      ['1', { duration: '30d', count: 3 }],
      ['2', { duration: '30d', count: 2 }],
    ]),
  };
  const change = { changes: true };

  it.each<[string, Given[], number, string]>([
    [
      'the third is in force',
      [
        ['paid', 0, 'a'],
        ['upgraded', 5, 'u', change],
      ],
      3,
      'active',
    ],
    [
      'the third was given back',
      [
        ['paid', 0, 'a'],
        ['upgraded', 5, 'u', change],
        ['refunded', 6, 'u'],
      ],
      3,
      'suspended',
    ],
    [
      'the first stays then',
      [
        ['paid', 0, 'a'],
        ['upgraded', 5, 'u', change],
        ['refunded', 6, 'u'],
      ],
      1,
      'active',
    ],
    [
      'the third stays after a reduction',
      [
        ['paid', 0, 'a'],
        ['upgraded', 5, 'u', change],
        ['upgraded', 6, 'v', { ...change, reduced: 'none' }],
      ],
      3,
      'active',
    ],
    [
      'the third is cancelled by a rule',
      [
        ['paid', 0, 'a'],
        ['upgraded', 5, 'u', change],
        ['upgraded', 6, 'v', { ...change, reduced: 'cancel' }],
      ],
      3,
      'cancelled',
    ],
  ])('%s', (_, given, n, expected) => {
    const { state } = foldLine(events(given), meanings({ ...more, n }));
    expect(state).toBe(expected);
  });
});

describe('a licence of two orders', () => {
  const part = (id: number, role: Part['role'], given: Given[]): Part => ({
    ...{ id, role, baseEndsAt: day(30) },
    standing: foldLine(events(given), meanings({ renews: role === 'renewed' })),
  });

  it('is not held back by a refund while the other order covers the time', () => {
    const parts = [
      part(1, 'issued', [
        ['paid', 0, 'a', until(30)],
        ['refunded', 20, 'a'],
      ]),
      part(2, 'renewed', [['paid', 10, 'b', until(60)]]),
    ];
    expect([...holdsOf(parts).keys()]).toEqual([]);
    expect(licenseEnd(parts)).toEqual(day(60));
  });

  it('goes back to what the first order paid when the renewal is refunded', () => {
    const parts = [
      part(1, 'issued', [['paid', 0, 'a', until(30)]]),
      part(2, 'renewed', [
        ['paid', 10, 'b', until(60)],
        ['refunded', 20, 'b'],
      ]),
    ];
    expect([...holdsOf(parts).keys()]).toEqual([]);
    expect(licenseEnd(parts)).toEqual(day(30));
  });

  it('has the grace of whichever order renews it by itself', () => {
    const own: Given[] = [['paid', 0, 'a', { ...until(30), renewsItself: true }]];
    const ended: Given = ['subscription_ended', 30, null, { renewsItself: false }];
    const renewal: Given[] = [['paid', 30, 'b', { ...until(60), renewsItself: true, graceDays: 7 }]];
    const givenBack: Given[] = [...renewal, ['refunded', 31, 'b']];
    expect(renewalOf([part(1, 'issued', own), part(2, 'renewed', [['paid', 10, 'b']])])).toEqual({
      renewsItself: true,
      graceDays: 3,
    });
    expect(renewalOf([part(1, 'issued', [...own, ended]), part(2, 'renewed', renewal)]).graceDays).toBe(7);
    expect(renewalOf([part(1, 'issued', [...own, ended]), part(2, 'renewed', givenBack)])).toEqual({
      renewsItself: false,
      graceDays: 0,
    });
  });

  it('is upgraded by an order of its own', () => {
    const given: Given[] = [['upgraded', 10, 'u', { changes: true }]];
    const upgrades = new Map([['0', { duration: '365d', count: 1 }]]);
    const standing = foldLine(events(given), meanings({ renews: true, upgrades }));
    const parts = [part(1, 'issued', [['paid', 0, 'a', until(30)]]), { ...part(2, 'renewed', []), standing }];
    expect(standing).toMatchObject({ state: 'active', upgrade: { identity: '0' } });
    expect(licenseEnd(parts)).toEqual(day(375));
  });
});
