import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Change } from '../../src/orders/decision';
import { decideOrder } from '../../src/orders/decide';
import type { OrderFacts } from '../../src/orders/facts';
import { MAX_LINES } from '../../src/orders/message';
import { skuDigest } from '../../src/orders/names';
import {
  LINE_PROBLEMS,
  ORDER_EVENTS,
  type OrderEventName,
  type StoredLine,
} from '../../src/orders/order-events';
import { DEFAULT_RULES, effectOf } from '../../src/orders/rules';
import type { Order, OrderEvent } from '../../src/store/orders/orders';
import type { Shop } from '../../src/store/orders/shops';
import { LATEST_TIME } from '../../src/store/engine/time';

/** Tests decisions about orders, from random facts and without a database. */

const NOW = new Date('2026-06-01T00:00:00Z');
const SHOP = 'shop';
const DAY = 86_400_000;

const ORDER: Order = {
  id: 7,
  shop: SHOP,
  number: '1001',
  digest: 'd'.repeat(64),
  owner: 'plugin',
  ownOnly: false,
  customer: 'jo@example.com',
  customerName: null,
  language: null,
  mail: null,
  isTest: false,
  state: 'done',
  failure: null,
  failedAt: null,
  retryAt: null,
  confirmedAt: null,
  createdAt: NOW,
};

const plan = (id: number, duration: string | null) => ({
  id,
  productId: 1,
  name: `Plan ${id}`,
  activationType: id === 3 ? 'machine' : 'domain',
  activationLimit: id,
  duration,
  createdAt: NOW,
  afterExpiry: 'nothing' as const,
  freeStaging: false,
  selfServiceMoves: 0,
  upgradeUrl: null,
});

/** The mapped articles: `A` and `B` as licences, and `C` as slots. `D` is not mapped. */
const SKUS = ['A', 'B', 'C'].map((sku, i) => ({
  id: i + 1,
  shop: SHOP,
  sku,
  awaited: skuDigest(SHOP, sku),
  planId: i + 1,
  quantity: sku === 'C' ? 'slots' : 'licenses',
  createdAt: NOW,
}));

function factsOf(events: OrderEvent[], more: Partial<OrderFacts> = {}): OrderFacts {
  return {
    now: NOW,
    actor: 'token:test',
    graceDays: 3,
    order: ORDER,
    shop: { id: 1, name: SHOP, kind: 'api', mail: null, rulesJson: null, testPlanId: null } as Shop,
    lines: [],
    events,
    links: [],
    licenses: [],
    others: [],
    renewed: {},
    owners: [],
    plans: [plan(1, '1y'), plan(2, '30d'), plan(3, null)],
    skus: SKUS,
    usedReferences: [],
    unmatched: [],
    mailsOnce: [],
    hasMail: true,
    ...more,
  };
}

interface Told {
  event: OrderEventName;
  /** The event's second. There are so few that events share one. */
  at: number;
  items: StoredLine[] | null;
  payment: string | null;
  renews: boolean | null;
  amount: number | null;
  currency: string;
}

function toEvent({ event, at, items, payment, renews, amount, currency }: Told, i: number): OrderEvent {
  const effect = effectOf(event, DEFAULT_RULES);
  return {
    id: i + 1,
    orderId: ORDER.id,
    event,
    eventId: `e${i}`,
    identity: `e${i}`,
    at: new Date(NOW.getTime() - 100 * DAY + at * 500),
    atMs: (at * 500) % 1000,
    receivedAt: NOW,
    actor: 'token:test',
    partial: event === 'refunded' && amount !== null,
    payment,
    renewsItself: renews,
    reduced: 'none',
    graceDays: 3,
    isTest: false,
    effect,
    linesJson: items === null ? null : JSON.stringify(items),
    amount,
    currency: amount === null ? null : currency,
    outcomeJson: null,
  };
}

const until = fc.date({ min: new Date('1000-01-01'), max: LATEST_TIME, noInvalidDate: true });
const item = fc.record(
  {
    line: fc.constantFrom('1', '2', '3'),
    sku: fc.constantFrom('A', 'B', 'C', 'D'),
    quantity: fc.integer({ min: 1, max: 4 }),
    paid_until: until.map((end) => `${end.toISOString().slice(0, 19)}Z`),
    problem: fc.constantFrom(undefined, undefined, undefined, ...LINE_PROBLEMS),
  },
  { requiredKeys: ['line'] },
);
const told: fc.Arbitrary<Told> = fc.record({
  event: fc.constantFrom('paid' as const, ...ORDER_EVENTS),
  at: fc.integer({ min: 0, max: 6 }),
  items: fc.option(fc.uniqueArray(item, { selector: ({ line }) => line, minLength: 1, maxLength: 3 })),
  payment: fc.option(fc.constantFrom('a', 'b')),
  renews: fc.option(fc.boolean()),
  amount: fc.option(fc.integer({ min: 0, max: 10_000 })),
  currency: fc.constantFrom('EUR', 'USD'),
});
const events = fc.array(told, { minLength: 1, maxLength: 9 }).map((all) => all.map(toEvent));

/** Returns the facts after their decision is applied. */
function applied(facts: OrderFacts): OrderFacts {
  const { draft, changes } = decideOrder(facts);
  const id = (ref: number) => (ref < 0 ? 1_000 * facts.events.length - ref : ref);
  const kept = changes.flatMap((change) => (change.type === 'keep_unmatched' ? [change] : []));
  const dropped = changes.flatMap((change) => (change.type === 'drop_unmatched' ? change.ids : []));
  const rows = kept.map(({ digest, event, reason, at }, i) => ({
    id: 500 * facts.events.length + i,
    shop: SHOP,
    digest,
    orderId: ORDER.id,
    messageId: null,
    event,
    reason,
    at,
    state: 'open' as const,
    actedBy: null,
    actedAt: null,
    licenseId: null,
  }));
  return {
    ...facts,
    order: draft.order,
    events: draft.events,
    lines: draft.lines.map((line) => ({ ...line, id: id(line.id) })),
    links: draft.links.map((link) => ({
      ...link,
      id: id(link.id),
      lineId: id(link.lineId),
      licenseId: id(link.licenseId),
    })),
    licenses: [...draft.licenses.values()].map((license) => ({ ...license, id: id(license.id) })),
    unmatched: [...facts.unmatched.filter((one) => !dropped.includes(one.id)), ...rows],
  };
}

/** Applies the events one after another, as if each arrived in a message of its own. */
function arriving(all: OrderEvent[]): OrderFacts {
  return all.reduce((facts, event) => applied({ ...facts, events: [...facts.events, event] }), factsOf([]));
}

const licensesOf = ({ licenses }: OrderFacts) =>
  licenses
    .map(({ reference, status, expiresAt, graceDays, planId, activationLimit, renewsItself }) => ({
      reference,
      status,
      // Cancelling is final and freezes the end, which then depends on the order of arrival.
      expiresAt: status === 'cancelled' ? null : expiresAt,
      graceDays: status === 'cancelled' ? 0 : graceDays,
      planId,
      activationLimit,
      renewsItself: status !== 'cancelled' && renewsItself,
    }))
    .sort((a, b) => ((a.reference ?? '') < (b.reference ?? '') ? -1 : 1));

/** Returns every date and number in a value. */
function valuesIn(value: unknown): (Date | number)[] {
  if (value instanceof Date || typeof value === 'number') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(valuesIn) : [];
}

describe('a decision about an order', () => {
  it('changes nothing when it is made again', () => {
    fc.assert(
      fc.property(events, (all) => {
        const once = applied(factsOf(all));
        expect(decideOrder(once).changes).toEqual([]);
        expect(decideOrder(arriving(all)).changes).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('writes only dates and numbers that can be stored, and only about licences of its facts', () => {
    fc.assert(
      fc.property(events, (all) => {
        const facts = arriving(all.slice(0, -1));
        const { changes } = decideOrder({ ...facts, events: [...facts.events, ...all.slice(-1)] });
        for (const value of valuesIn(changes))
          if (value instanceof Date) {
            expect(value.getTime()).toBeLessThanOrEqual(LATEST_TIME.getTime());
            expect(value.getUTCFullYear()).toBeGreaterThanOrEqual(1000);
          } else expect(Number.isSafeInteger(value)).toBe(true);
        const known = new Set(facts.licenses.map(({ id }) => id));
        for (const change of changes)
          for (const id of licensesIn(change)) expect(id < 0 || known.has(id)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('is the same for events of one moment in any order of arrival', () => {
    const moment = fc.array(told, { minLength: 2, maxLength: 5 }).map((all) => {
      // The order was paid earlier, so the later payments change the end, not the articles.
      const renewals = all.map((one) => ({ ...one, items: null, at: 4, event: asLater(one.event) }));
      const paid: Told = {
        ...renewals[0]!,
        event: 'paid',
        at: 0,
        items: [{ line: '1', sku: 'A' }],
        payment: 'a',
      };
      return [paid, ...renewals].map(toEvent);
    });
    fc.assert(
      fc.property(moment, ([paid, ...others]) => {
        const first = licensesOf(arriving([paid!, ...others]));
        const back = licensesOf(arriving([paid!, ...[...others].reverse()]));
        expect(back).toEqual(first);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps an order of too many lines waiting until it is confirmed, before a line is written', () => {
    const items = Array.from({ length: MAX_LINES + 1 }, (_, i) => ({ line: `${i}`, sku: 'A' }));
    const [paid] = [toEvent({ ...PAID, items }, 0)];
    const { changes, draft } = decideOrder(factsOf([paid]));
    expect(changes).toMatchObject([
      { type: 'set_order', changes: { state: 'waiting', failure: 'too_many' } },
    ]);
    expect(draft.events[0]?.outcomeJson).toBeNull();
    const confirmed = applied(factsOf([paid], { order: { ...draft.order, confirmedAt: NOW } }));
    expect(confirmed.licenses).toHaveLength(items.length);
    expect(confirmed.order).toMatchObject({ state: 'done', failure: null });
  });

  it('applies the lines that it can read, and lets the others wait until the money is back', () => {
    const items: StoredLine[] = [
      { line: '1', sku: 'A' },
      { line: '2', problem: 'no_article' },
      { line: '3', sku: 'B', problem: 'bad_quantity' },
    ];
    const facts = arriving([toEvent({ ...PAID, items }, 0)]);
    expect(facts.lines.map(({ waitsFor }) => waitsFor)).toEqual([null, 'no_article', 'bad_quantity']);
    expect(facts.licenses).toMatchObject([{ planId: 1, status: 'active' }]);
    expect(facts.unmatched.map(({ reason }) => reason)).toEqual(['no_article', 'bad_quantity']);
    const refund = toEvent({ ...PAID, event: 'refunded', at: 5, items: null }, 1);
    const refunded = applied({ ...facts, events: [...facts.events, refund] });
    expect(refunded.lines.map(({ waitsFor }) => waitsFor)).toEqual([null, null, null]);
    expect(refunded).toMatchObject({
      order: { state: 'done' },
      licenses: [{ status: 'suspended' }],
      unmatched: [],
    });
    const settled = facts.unmatched.map((one) => ({ ...one, state: 'left' as const }));
    expect(applied({ ...facts, unmatched: settled }).order.state).toBe('done');
  });

  it.each<[string, [number, string, string | null][], string]>([
    ['a part of the money', [[4_000, 'EUR', 'a']], 'active'],
    ['all of the money', [[4_900, 'EUR', 'a']], 'suspended'],
    [
      'parts that come to all of it',
      [
        [2_000, 'EUR', 'a'],
        [2_900, 'EUR', 'a'],
      ],
      'suspended',
    ],
    ['more of another currency', [[5_500, 'USD', 'a']], 'active'],
    ['all of the money of no payment', [[4_900, 'EUR', null]], 'suspended'],
  ])('recognizes a refund of %s', (_, refunds, status) => {
    const paid = { ...PAID, amount: 4_900 };
    const all = refunds.map(([amount, currency, payment], i): Told => {
      return { ...PAID, event: 'refunded', at: 2 + i, items: null, amount, currency, payment };
    });
    const forward = [paid, ...all].map(toEvent);
    expect(arriving(forward).licenses).toMatchObject([{ status }]);
    const backward = arriving([...forward].reverse()).licenses;
    expect(backward).toMatchObject(status === 'active' ? [{ status }] : []);
  });

  it('takes away only the grace when a renewal stops, and gives it back when it resumes', () => {
    const paid = {
      ...PAID,
      renews: true,
      items: [{ line: '1', sku: 'A', paid_until: '2027-01-01T00:00:00Z' }],
    };
    const stopped: Told = {
      ...PAID,
      event: 'renewal_stopped',
      at: 3,
      items: null,
      renews: false,
      payment: null,
    };
    const resumed: Told = { ...stopped, event: 'renewal_resumed', at: 4, renews: true };
    const graced = {
      status: 'active',
      graceDays: 3,
      renewsItself: true,
      expiresAt: new Date('2027-01-04T00:00:00Z'),
    };
    expect(arriving([paid].map(toEvent)).licenses).toMatchObject([graced]);
    const off = arriving([paid, stopped].map(toEvent));
    expect(off.licenses).toMatchObject([
      { status: 'active', graceDays: 0, renewsItself: false, expiresAt: new Date('2027-01-01T00:00:00Z') },
    ]);
    expect(off.events[1]?.outcomeJson).toContain('"renewal"');
    expect(arriving([paid, stopped, resumed].map(toEvent)).licenses).toMatchObject([graced]);
  });
});

const PAID: Told = {
  event: 'paid',
  at: 0,
  items: [{ line: '1', sku: 'A' }],
  payment: 'a',
  renews: null,
  amount: null,
  currency: 'EUR',
};

const asLater = (event: OrderEventName) => (event === 'paid' || event === 'upgraded' ? 'renewed' : event);

function licensesIn(change: Change): number[] {
  if ('license' in change) return [change.license];
  return change.type === 'mail_keys' || change.type === 'note_failed_payment' ? change.licenses : [];
}
