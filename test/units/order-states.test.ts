import { describe, expect, it, test } from '@jest/globals';
import {
  holdsOf,
  isInForce,
  licenseEnd,
  renewalOf,
  termsOf,
  type Contribution,
} from '../../src/orders/license-state';
import { foldLine, type LineState, type Meanings } from '../../src/orders/line-state';
import { byTime, type LineEvent, type OrderEventName } from '../../src/orders/order-events';
import { endOfTerms, isLater, movedEnd } from '../../src/orders/paid-time';
import { DEFAULT_RULES, effectOf } from '../../src/orders/rules';

/** Tests that a line's events alone decide its licence, in any order of arrival. */

const day = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 86_400_000);

type Given = [event: OrderEventName, at: number, payment?: string | null, more?: Partial<LineEvent>];

function events(given: Given[]): LineEvent[] {
  return given.map(([event, at, payment = null, more = {}], i) => ({
    ...{ event, identity: `${i}`, at: day(at), payment },
    effect: effectOf(event, DEFAULT_RULES),
    ...{
      paidUntil: null,
      changes: false,
      reduced: null,
      isMinor: false,
      confirms: false,
      renewsItself: null,
      graceDays: 3,
    },
    ...more,
  }));
}

const meanings = (more: Partial<Meanings> = {}): Meanings => ({
  ...{ base: { duration: '30d', count: 1 }, upgrades: new Map(), renews: false, n: 1 },
  ...more,
});

const daysTo = (end: Date | null) => Math.round((end!.getTime() - day(0).getTime()) / 86_400_000);

/** Folds events in several orders of arrival, which must give the same result. */
function standing(given: Given[], more?: Partial<Meanings>) {
  const all = events(given);
  const fold = (told: LineEvent[]) => {
    const { state, terms } = foldLine(told, meanings(more));
    return [state, daysTo(endOfTerms(terms))];
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
    'paid twice',
    [
      ['paid', 0, 'a'],
      ['paid', 1, 'b'],
    ],
    ['active', 30],
  ],
  [
    'a refund of an unknown payment after the end',
    [
      ['paid', 0, 'a', until(30)],
      ['refunded', 35, 'x'],
    ],
    ['active', 30],
  ],
  [
    'a refund of the only payment, which the shop had not named',
    [
      ['paid', 0, null, until(30)],
      ['refunded', 25, 'x'],
    ],
    ['suspended', 30],
  ],
  [
    'a failed refund that names no payment',
    [
      ['paid', 0, 'a'],
      ['refunded', 5, 'a'],
      ['refund_failed', 6],
    ],
    ['active', 30],
  ],
  [
    'paid again after a refund, for a time that is over',
    [
      ['paid', 0, 'a', until(30)],
      ['refunded', 5, 'a'],
      ['paid', 10, 'b', until(4)],
    ],
    ['active', 4],
  ],
  [
    'an upgrade to an article that has no meaning',
    [
      ['paid', 0, 'a', until(30)],
      ['upgraded', 5, 'u', { ...until(60), changes: true }],
    ],
    ['active', 30],
  ],
  [
    'an upgrade that pays keeps the rest paid',
    [
      ['paid', 0, 'a', until(30)],
      ['upgraded', 5, 'u', until(60)],
      ['refunded', 6, 'a'],
    ],
    ['active', 60],
  ],
  [
    'a session does not say until when it pays, its invoice does',
    [
      ['paid', 0, 'a'],
      ['paid', 1, 'a', until(45)],
    ],
    ['active', 45],
  ],
  [
    'a session says until when it pays, and its invoice something else',
    [
      ['paid', 0, 'a', until(40)],
      ['paid', 1, 'a', until(45)],
    ],
    ['active', 40],
  ],
  [
    'the invoice of another session',
    [
      ['paid', 0, 'a'],
      ['paid', 1, 'b', until(45)],
    ],
    ['active', 30],
  ],
  [
    'two payments without a name',
    [
      ['paid', 0],
      ['paid', 1, null, until(45)],
    ],
    ['active', 30],
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

const dayOf = (at: Date | null | undefined) =>
  at && Math.round((at.getTime() - day(0).getTime()) / 86_400_000);

/** The expected fields of a line, with times in days. */
interface Said {
  state?: LineState['state'];
  by?: OrderEventName | undefined;
  holds?: [OrderEventName, number][];
  returnedAt?: number | undefined;
  paidAt?: number | undefined;
  /** The number of terms. */
  terms?: number;
  end?: number;
  isPaid?: boolean;
  /** The identity of the upgrade. */
  upgrade?: string | undefined;
}

const stops = { effect: 'suspend' } as const;
const cancels = { effect: 'cancel' } as const;
const sixty = { upgrades: new Map([['1', { duration: '60d', count: 1 }]]) };

describe('the state of a line', () => {
  it.each<[string, Given[], Said, Partial<Meanings>?]>([
    [
      'a payment',
      [['paid', 3, 'a']],
      { state: 'active', by: undefined, paidAt: 3, isPaid: true, upgrade: undefined },
    ],
    [
      'a renewal',
      [
        ['paid', 0, 'a'],
        ['renewed', 20, 'b'],
      ],
      { paidAt: 20, terms: 2 },
    ],
    [
      'a payment that was given back',
      [
        ['paid', 0, 'a'],
        ['refunded', 5, 'a'],
      ],
      { state: 'suspended', by: 'refunded', returnedAt: 5, paidAt: undefined, isPaid: false, holds: [] },
    ],
    [
      'a renewal of nothing',
      [['renewed', 5, 'b']],
      { state: 'none', paidAt: undefined, terms: 0, isPaid: false },
    ],
    [
      'a renewal before the payment',
      [
        ['renewed', 0, 'b'],
        ['paid', 10, 'a'],
        ['refunded', 12, 'a'],
      ],
      { state: 'suspended', terms: 1, isPaid: false },
    ],
    [
      'an upgrade before the payment',
      [
        ['upgraded', 0, 'u', until(20)],
        ['paid', 10, 'a', until(30)],
        ['refunded', 12, 'a'],
      ],
      { state: 'suspended', terms: 1, isPaid: false },
    ],
    ['an upgrade of nothing', [['upgraded', 0, 'u', until(30)]], { state: 'none', terms: 0 }],
    [
      'an upgrade that pays is not when it was last paid',
      [
        ['paid', 0, 'a', until(30)],
        ['upgraded', 5, 'u', until(60)],
      ],
      { paidAt: 0, terms: 2 },
    ],
    [
      'an upgrade that is an order of its own, and one after it that pays nothing',
      [
        ['upgraded', 0, 'u', until(30)],
        ['upgraded', 10, null, { changes: true }],
      ],
      { state: 'active', paidAt: 0, terms: 1, upgrade: '1' },
      { ...sixty, renews: true },
    ],
    [
      'a renewal before the upgrade that is an order of its own',
      [
        ['renewed', 0, 'b'],
        ['upgraded', 10, 'u', until(30)],
        ['refunded', 12, 'u'],
      ],
      { state: 'suspended', isPaid: false },
      { renews: true },
    ],
    [
      'an upgrade that confirms nothing, given back by a name of which the shop had not told',
      [
        ['upgraded', 0, null, { ...until(30), confirms: true }],
        ['refunded', 5, 'x'],
      ],
      { state: 'suspended', isPaid: false },
      { renews: true },
    ],
    [
      'what was bought stays once all was given back',
      [
        ['paid', 0, 'a'],
        ['upgraded', 5, null, { changes: true }],
        ['refunded', 6, 'a'],
      ],
      { state: 'suspended', upgrade: '1' },
      sixty,
    ],
    [
      'an upgrade that was given back last does not count',
      [
        ['paid', 0, 'a', until(30)],
        ['upgraded', 5, 'u', { ...until(60), changes: true }],
        ['refunded', 6, 'a'],
        ['refunded', 7, 'u'],
      ],
      { state: 'suspended', isPaid: false, upgrade: undefined },
      sixty,
    ],
    [
      'the invoice of a session after a renewal',
      [
        ['paid', 0, 'a'],
        ['renewed', 10, 'b'],
        ['paid', 20, 'a', until(45)],
      ],
      { state: 'active', terms: 2, end: 75, paidAt: 20 },
    ],
    [
      'a payment that comes again after its refund',
      [
        ['paid', 0, 'a', until(30)],
        ['refunded', 5, 'a'],
        ['renewed', 10, 'a', until(60)],
      ],
      { state: 'active', terms: 2, isPaid: true },
    ],
    [
      'another payment without a name after a refund',
      [
        ['paid', 0, null, until(30)],
        ['refunded', 5, 'x'],
        ['renewed', 10, null, until(60)],
      ],
      { state: 'active', terms: 1, isPaid: true },
    ],
    [
      'a part of the money',
      [
        ['paid', 0, 'a'],
        ['refunded', 5, 'a', { effect: 'none' }],
      ],
      { state: 'active', isPaid: true, returnedAt: undefined },
    ],
    [
      'a refund that failed',
      [
        ['paid', 0, 'a'],
        ['refunded', 5, 'a'],
        ['refund_failed', 6, 'a'],
      ],
      { state: 'active', isPaid: true, returnedAt: undefined },
    ],
    [
      'a payment that failed pays nothing',
      [
        ['paid', 0, 'a'],
        ['payment_failed', 5, 'b', until(60)],
        ['refunded', 6, 'a'],
      ],
      { state: 'suspended', isPaid: false },
    ],
    [
      'a charge-back',
      [
        ['paid', 0, 'a'],
        ['charged_back', 5, 'a'],
        ['payment_failed', 6],
      ],
      { state: 'suspended', by: 'charged_back', holds: [['charged_back', 5]], isPaid: true },
    ],
    [
      'a charge-back, whatever is paid besides',
      [
        ['paid', 0, 'a'],
        ['charged_back', 5, 'a'],
        ['renewed', 10, 'b'],
      ],
      { state: 'suspended', holds: [['charged_back', 5]] },
    ],
    [
      'a charge-back that was reversed',
      [
        ['paid', 0, 'a'],
        ['charged_back', 5, 'a'],
        ['chargeback_reversed', 6, 'a'],
      ],
      { state: 'active', holds: [] },
    ],
    [
      'the end of a subscription, which a later payment lifts',
      [
        ['paid', 0, 'a'],
        ['subscription_ended', 5, null, stops],
        ['renewed', 10, 'b'],
      ],
      { state: 'active', holds: [] },
    ],
    [
      'a hold that comes again is the latest',
      [
        ['paid', 0, 'a'],
        ['charged_back', 5, 'a'],
        ['subscription_ended', 6, null, stops],
        ['charged_back', 7, 'a'],
      ],
      {
        by: 'charged_back',
        holds: [
          ['subscription_ended', 6],
          ['charged_back', 7],
        ],
      },
    ],
    [
      'a charge-back after the money was given back',
      [
        ['paid', 0, 'a'],
        ['refunded', 5, 'a'],
        ['charged_back', 7, 'a'],
      ],
      { by: 'charged_back', returnedAt: 5 },
    ],
    [
      'a charge-back before the money was given back',
      [
        ['paid', 0, 'a'],
        ['charged_back', 5, 'a'],
        ['refunded', 7, 'a'],
      ],
      { by: 'refunded', returnedAt: 7 },
    ],
    [
      'a charge-back in the same second',
      [
        ['paid', 0, 'a'],
        ['charged_back', 5, 'a'],
        ['refunded', 5, 'a'],
      ],
      { by: 'charged_back', returnedAt: 5 },
    ],
    [
      'an order that never became valid',
      [
        ['paid', 0, 'a'],
        ['cancelled', 5],
        ['renewed', 6, 'b'],
      ],
      { state: 'cancelled', by: 'cancelled', paidAt: 0 },
    ],
    [
      'a refund that cancels by a rule',
      [
        ['paid', 0, 'a'],
        ['refunded', 5, 'a', cancels],
        ['paid', 10, 'b'],
      ],
      { state: 'cancelled', by: 'refunded' },
    ],
    [
      'a refund that would cancel, while another payment covers the time',
      [
        ['paid', 0, 'a', until(30)],
        ['renewed', 20, 'b', until(60)],
        ['refunded', 25, 'a', cancels],
      ],
      { state: 'active', returnedAt: undefined },
    ],
    [
      'a refund that cancels, since the other payment has run out',
      [
        ['paid', 0, 'a', until(30)],
        ['renewed', 30, 'b', until(60)],
        ['refunded', 35, 'b', cancels],
      ],
      { state: 'cancelled', by: 'refunded' },
    ],
    [
      'a refund of an unknown payment that would cancel',
      [
        ['paid', 0, 'a', until(30)],
        ['refunded', 35, 'x', cancels],
      ],
      { state: 'active' },
    ],
  ])('%s', (_, given, said, more = {}) => {
    const { terms, holds, returnedAt, paidAt, upgrade, ...rest } = foldLine(events(given), meanings(more));
    expect({
      ...rest,
      terms: terms.length,
      end: dayOf(endOfTerms(terms)),
      holds: [...holds].map(([name, at]) => [name, dayOf(at)]),
      returnedAt: dayOf(returnedAt),
      paidAt: dayOf(paidAt),
      upgrade: upgrade?.identity,
    }).toMatchObject(said);
  });
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
      expect([daysTo(endOfTerms(terms)), graceDays]).toEqual(expected);
    }
  });
});

describe('licences of a line that an upgrade gives more', () => {
  const more = {
    upgrades: new Map([
      ['1', { duration: '30d', count: 3 }],
      ['2', { duration: '30d', count: 2 }],
      ['3', { duration: '30d', count: 2 }],
    ]),
  };
  const change = { changes: true };
  const reduced: Given[] = [
    ['paid', 0, 'a'],
    ['upgraded', 5, 'u', change],
    ['upgraded', 6, 'v', { ...change, reduced: 'cancel' }],
  ];

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
    ['the third is cancelled by a rule', reduced, 3, 'cancelled'],
    ['the second is not, which is still paid', reduced, 2, 'active'],
    ['nor is the first', reduced, 1, 'active'],
    [
      'the third stays cancelled after an upgrade that does not reach it',
      [...reduced, ['upgraded', 7, 'w', { ...change, reduced: 'none' }]],
      3,
      'cancelled',
    ],
  ])('%s', (_, given, n, expected) => {
    const { state } = foldLine(events(given), meanings({ ...more, n }));
    expect(state).toBe(expected);
  });

  it('stays cancelled by the reduction if a later rise does not reach it', () => {
    const counts = [4, 2, 3].map((count, i) => [`${i + 1}`, { duration: '30d', count }] as const);
    const given: Given[] = [...reduced, ['upgraded', 7, 'w', { ...change, reduced: 'none' }]];
    const { state, by } = foldLine(events(given), meanings({ upgrades: new Map(counts), n: 4 }));
    expect([state, by]).toEqual(['cancelled', 'upgraded']);
  });

  it('is held back since the last refund of its payments', () => {
    const given: Given[] = [
      ['paid', 0, 'a'],
      ['upgraded', 5, 'u', change],
      ['upgraded', 6, 'v', change],
      ['refunded', 7, 'u'],
      ['refunded', 8, 'v'],
    ];
    expect(foldLine(events(given), meanings({ ...more, n: 3 }))).toMatchObject({
      state: 'suspended',
      returnedAt: day(8),
    });
  });
});

describe('a licence of two orders', () => {
  const part = (id: number, role: Contribution['role'], given: Given[]): Contribution => ({
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

  it('goes back to the time that the first order paid when the renewal is refunded', () => {
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

  it('has the grace of the order that renews it automatically', () => {
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

  const paid = part(2, 'renewed', [['paid', 10, 'b', until(60)]]);

  it.each<[string, Partial<LineState>, boolean]>([
    ['paid', {}, true],
    ['not paid', { state: 'none' }, false],
    ['cancelled', { state: 'cancelled' }, false],
    ['held back', { holds: new Map([['charged_back', day(12)]]) }, false],
    ['given back', { isPaid: false }, false],
    ['without a time', { terms: [] }, false],
  ])('is renewed by an order that is %s', (_, differs, given) => {
    expect(isInForce({ ...paid, standing: { ...paid.standing, ...differs } })).toBe(given);
    expect(isInForce({ ...paid, role: 'issued', standing: { ...paid.standing, ...differs } })).toBe(true);
  });

  const issued = (...given: Given[]) => part(1, 'issued', [['paid', 0, 'a', until(30)], ...given]);
  const renewed = (id: number, at: number, more: Partial<LineEvent> = {}) =>
    part(id, 'renewed', [['paid', at, `p${id}`, more]]);
  const returned = part(2, 'renewed', [
    ['paid', 10, 'b', until(60)],
    ['refunded', 20, 'b'],
  ]);

  it.each<[string, Contribution[], number[]]>([
    [
      'the order that issued it, then the others by time',
      [renewed(3, 20), renewed(2, 25), issued()],
      [1, 3, 2],
    ],
    ['those of one second as they came', [renewed(3, 20), renewed(2, 20), issued()], [1, 2, 3]],
    ['no renewal that was given back', [issued(), returned], [1]],
    ['not what was given back while a renewal stands', [issued(['refunded', 5, 'a']), renewed(2, 10)], [2]],
    ['what was given back while nothing else stands', [issued(['refunded', 5, 'a'])], [1]],
    ['not what was given back beside a renewal that was', [issued(['refunded', 5, 'a']), returned], [1]],
  ])('has the terms of %s', (_, parts, ids) => {
    expect(termsOf(parts).map(({ part: id }) => id)).toEqual(ids);
  });

  it.each<[string, Contribution[], number | null]>([
    ['the end before the first renewal is known', [renewed(2, 10)], 60],
    ['the first of two', [{ ...renewed(3, 20), baseEndsAt: day(50) }, renewed(2, 10)], 90],
    ['a licence for life', [{ ...renewed(2, 10), baseEndsAt: null }], null],
    ['the order that issued it is known', [renewed(2, 10), part(1, 'issued', [['paid', 0, 'a']])], 60],
  ])('ends by its orders: %s', (_, parts, end) => {
    expect(dayOf(licenseEnd(parts))).toBe(end);
  });

  it.each<[string, Contribution[], [OrderEventName, number][]]>([
    [
      'a renewal alone',
      [
        part(2, 'renewed', [
          ['paid', 0, 'b'],
          ['charged_back', 5, 'b'],
        ]),
      ],
      [],
    ],
    ['money that was given back', [issued(['refunded', 20, 'a'])], [['refunded', 20]]],
    ['a renewal that was given back too', [issued(['refunded', 15, 'a']), returned], [['refunded', 15]]],
    [
      'a renewal before that covers the time since',
      [renewed(2, 10, until(60)), issued(['refunded', 20, 'a'])],
      [],
    ],
    [
      'a renewal before that has run out',
      [issued(['refunded', 20, 'a']), renewed(2, 10, until(15))],
      [['refunded', 20]],
    ],
    ['a renewal after it', [issued(['refunded', 20, 'a']), renewed(2, 25, until(19))], []],
    [
      'a renewal in its second',
      [issued(['refunded', 20, 'a']), renewed(2, 20, until(19))],
      [['refunded', 20]],
    ],
    ['a refund of everything before a renewal', [issued(['refunded', 5]), renewed(2, 10)], []],
    [
      'a refund of everything after a renewal',
      [issued(['refunded', 15]), renewed(2, 10)],
      [['refunded', 15]],
    ],
    ['a refund of everything in its second', [issued(['refunded', 10]), renewed(2, 10)], [['refunded', 10]]],
    [
      'a charge-back before a renewal',
      [issued(['charged_back', 5, 'a']), renewed(2, 10)],
      [['charged_back', 5]],
    ],
    ['two refunds, the payment first', [issued(['refunded', 20, 'a'], ['refunded', 22])], [['refunded', 22]]],
    ['two refunds, the payment last', [issued(['refunded', 18], ['refunded', 20, 'a'])], [['refunded', 20]]],
  ])('is held back by a refund or dispute that nothing has undone: %s', (_, parts, holds) => {
    expect([...holdsOf(parts)].map(([name, at]) => [name, dayOf(at)])).toEqual(holds);
  });
});

test.each<[string, Given, Given]>([
  ['time', ['refunded', 1], ['paid', 2]],
  ['kind', ['paid', 1], ['refunded', 1]],
  ['identity', ['paid', 1, null, { identity: '8' }], ['paid', 1, null, { identity: '9' }]],
])('events are sorted by %s', (_, first, second) => {
  const [a, b] = events([
    [first[0], first[1], null, { identity: '9', ...first[3] }],
    [second[0], second[1], null, { identity: '8', ...second[3] }],
  ]) as [LineEvent, LineEvent];
  expect([a, b].sort(byTime)).toEqual([a, b]);
  expect([b, a].sort(byTime)).toEqual([a, b]);
});

type TermGiven = [at: number, until: number | null, duration: string | null, isUpgrade?: boolean];

test.each<[string, TermGiven[], number | null | undefined, number | null]>([
  ['nothing', [], undefined, null],
  ['nothing, after an end', [], 5, 5],
  ['for life', [[0, null, null]], undefined, null],
  ['an upgrade alone', [[0, null, '30d', true]], undefined, 30],
  ['a duration after the end', [[10, null, '30d']], 5, 40],
  ['a duration before the end', [[10, null, '30d']], 20, 50],
  ['a duration of a licence for life', [[10, null, '30d']], null, null],
  ['a payment for life of a licence with an end', [[10, null, null]], 20, 20],
  ['a date before the end', [[10, 15, '30d']], 20, 15],
  ['a date of a licence for life', [[10, 15, null]], null, 15],
  ['an upgrade for life', [[10, null, null, true]], 20, null],
  ['an upgrade of a licence for life', [[10, 60, null, true]], null, null],
])('paid times end: %s', (_, given, base, end) => {
  const terms = given.map(([at, paid, duration, isUpgrade = false], i) => ({
    ...{ identity: `${i}`, at: day(at), duration, isUpgrade, graceDays: 0 },
    until: paid === null ? null : day(paid),
  }));
  const ends = endOfTerms(terms, typeof base === 'number' ? day(base) : base);
  expect(ends && dayOf(ends)).toBe(end);
});

test.each<[stored: number | null, before: number | null, after: number | null, moved: number | null]>([
  [7, 30, 30, 7],
  [null, null, null, null],
  [30, 30, 60, 60],
  [30, 30, null, null],
  [null, null, 60, 60],
  [35, 30, 60, 65],
  [25, 30, 20, 15],
  [null, 30, 60, null],
  [35, null, 60, 35],
  [35, 30, null, 35],
])('an end %p goes with the orders from %p to %p: %p', (stored, before, after, moved) => {
  const at = (n: number | null) => (n === null ? null : day(n));
  expect(movedEnd(at(stored), at(before), at(after))).toEqual(at(moved));
});

test.each<[Date | null, Date | null, boolean]>([
  [null, null, false],
  [null, day(1), true],
  [day(1), null, false],
  [day(2), day(1), true],
  [day(1), day(1), false],
  [day(1), day(2), false],
])('%p is later than %p: %p', (a, b, later) => {
  expect(isLater(a, b)).toBe(later);
});
