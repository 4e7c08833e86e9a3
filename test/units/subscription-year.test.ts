import { expect, test } from '@jest/globals';
import { foldLine } from '../../src/orders/line-state';
import type { LineEvent, OrderEventName } from '../../src/orders/order-events';
import { endOfTerms } from '../../src/orders/paid-time';
import { DEFAULT_RULES, effectOf } from '../../src/orders/rules';
import { chance } from '../support/order-model';
import { ARTICLES, GRACE_DAYS, makeYear, shuffled, type Year } from '../support/subscription-model';

/** Compares a year of a subscription, folded from its events in any order, with the model. */

const FIRST = new Date('2026-01-01T00:00:00Z');
const RUNS = 1_000;

test(`${RUNS} subscriptions end as the model says`, () => {
  const seen = new Map<string, number>();
  for (let seed = 1; seed <= RUNS; seed++) {
    const random = chance(seed);
    const year = makeYear(random);
    const { expected } = year;
    const folded = foldYear({ ...year, events: shuffled(year.events, random) });
    expect({ seed, ...folded }).toEqual({
      seed,
      state: expected.state,
      paid: expected.paid,
      renewsItself: expected.renewsItself,
      graceDays: expected.renewsItself ? GRACE_DAYS : 0,
    });
    for (const { event } of year.events) seen.set(event, (seen.get(event) ?? 0) + 1);
    const what = `${expected.state}, ${expected.renewsItself ? 'goes on' : 'ended'}`;
    seen.set(what, (seen.get(what) ?? 0) + 1);
  }
  // Each case must be frequent enough to prove something.
  const all = ['paid', 'renewed', 'upgraded', 'payment_failed', 'refunded', 'refund_failed', 'charged_back'];
  all.push(
    'chargeback_reversed',
    'subscription_ended',
    'active, ended',
    'suspended, ended',
    'active, goes on',
  );
  for (const what of [...all, 'suspended, goes on'])
    expect([what, seen.get(what)! > 50]).toEqual([what, true]);
});

function foldYear({ events }: Year) {
  const toDate = (seconds: number) => new Date(FIRST.getTime() + seconds * 1_000);
  const told = events.map(({ event, id, at, payment, until, sku, quantity, renewsItself }): LineEvent => {
    const name = event as OrderEventName;
    return {
      event: name,
      identity: id,
      at: toDate(at),
      effect: effectOf(name, DEFAULT_RULES),
      paidUntil: until === undefined ? null : toDate(until),
      payment: payment ?? null,
      changes: sku !== undefined || quantity !== undefined,
      reduced: null,
      isMinor: false,
      confirms: false,
      renewsItself: name === 'subscription_ended' ? false : (renewsItself ?? null),
      graceDays: GRACE_DAYS,
    };
  });
  const upgrades = new Map(
    events
      .filter(({ event }) => event === 'upgraded')
      .map(({ id, sku = 'M' }) => [id, { duration: `${ARTICLES[sku].days}d`, count: 1 }]),
  );
  const base = { duration: `${ARTICLES.M.days}d`, count: 1 };
  const { state, terms, renewsItself, graceDays } = foldLine(told, { base, upgrades, renews: false, n: 1 });
  const paid = (endOfTerms(terms)!.getTime() - FIRST.getTime()) / 1_000;
  return { state, paid, renewsItself, graceDays };
}
