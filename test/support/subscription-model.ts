import { expect } from '@jest/globals';
import { addPlan, addProduct, PLAN_DEFAULTS } from '../../src/licensing/catalogue';
import type { Db } from '../../src/store/engine/database';
import type { ManageClient, Thing } from './manage';
import { rows } from './service';

/**
 * Generates more than a year of a subscription from its shop's view: renewals on time and late, failed cards, changes
 * of seats, monthly to yearly and back, refunds of any payment, disputes, and resumption after an end. The model gives
 * the licence's final state. It is written from the contract, without the code that it checks.
 */

export const GRACE_DAYS = 3;
/** The articles with the days of their plans and the slots of a seat. */
export const ARTICLES = { M: { days: 30, slots: 3 }, Y: { days: 365, slots: 5 } };
export type Article = keyof typeof ARTICLES;

/** An event of the shop; times are seconds after the first payment. */
export interface ToldEvent {
  event: string;
  id: string;
  at: number;
  payment?: string;
  until?: number;
  sku?: Article;
  quantity?: number;
  renewsItself?: boolean;
}

export interface Expected {
  state: 'active' | 'suspended';
  /** the end of the paid time */
  paid: number;
  renewsItself: boolean;
  sku: Article;
  seats: number;
}

export interface Year {
  events: ToldEvent[];
  expected: Expected;
}

const DAY = 86_400;
const YEAR = 400 * DAY;

/** A payment for a period in the shop's books. */
interface Payment {
  id: string;
  at: number;
  until: number;
  /** the time of its refund, if that was not reversed */
  refundedAt?: number;
}

/** A change of the article or the seats. */
interface Change {
  at: number;
  payment?: string;
  sku?: Article;
  quantity?: number;
}

/** The events that a sender lacks, or reports differently. */
export interface Dialect {
  /** true if each payment states its paid-through date */
  saysEnds?: true;
  /** true if an ended subscription cannot be resumed */
  endsForGood?: true;
  neverFailsToRefund?: true;
  neverDisputes?: true;
  /** true if nothing is paid for a change, and only the next payment differs */
  changesWithNextPayment?: true;
  /** the values that a change reports: its seats, or all: another article, or other seats */
  tells?: 'seats' | 'all';
  /** true if a period begins with its payment, which may be late */
  countsFromPayment?: true;
}

/** Generates a year. @param random returns numbers from 0 to 1 */
export function makeYear(random: () => number, dialect: Dialect = {}): Year {
  const events: ToldEvent[] = [];
  const taken = new Set<number>();
  // Give each event its own second: test/units/order-fold.test.ts tests the order within one.
  const free = (at: number, takes = true) => {
    let second = Math.round(at);
    while (taken.has(second)) second++;
    if (takes) taken.add(second);
    return second;
  };
  const tell = (event: string, at: number, more: Omit<ToldEvent, 'event' | 'id' | 'at'> = {}) => {
    const second = free(at);
    events.push({ event, id: `evt_${events.length}`, at: second, ...more });
    return second;
  };
  const maybe = (likely: number) => random() < likely;
  const between = (from: number, to: number) => from + random() * (to - from);
  const payments: Payment[] = [];
  const changes: Change[] = [];
  const givenBack = new Set<string>();
  const names = new Set<string>();
  const nameOf = (kind: string) => {
    const name = `${kind}_${names.size}`;
    names.add(name);
    return name;
  };
  /** If plans determine ends, a refund moves all of them: then the shop states each end. */
  const saysEnds = dialect.saysEnds ?? maybe(0.7);
  let renewsItself = true;
  let sku: Article = 'M';
  let seats = 1 + Math.floor(random() * 3);
  const pay = (
    event: string,
    at: number,
    from: number,
    more: Omit<ToldEvent, 'event' | 'id' | 'at'> = {},
  ) => {
    const payment = nameOf('pay');
    const until = (dialect.countsFromPayment ? free(at, false) : Math.round(from)) + ARTICLES[sku].days * DAY;
    const paidAt = tell(event, at, { payment, renewsItself: true, ...(saysEnds && { until }), ...more });
    payments.push({ id: payment, at: paidAt, until });
    return until;
  };
  let end = pay('paid', 0, 0, { sku, quantity: seats });
  // Begin the period with its payment, which may be late.
  let begin = 0;
  while (end < YEAR) {
    if (maybe(0.3)) {
      seats = Math.max(1, seats + (maybe(0.6) ? 1 : -1));
      const isPaid = maybe(0.6) && !dialect.changesWithNextPayment;
      const payment = isPaid ? { payment: nameOf('seats') } : {};
      const change = { quantity: seats, ...(dialect.tells === 'all' && { sku }), ...payment };
      const at = tell('upgraded', between(begin + DAY, end - DAY), { renewsItself: true, ...change });
      changes.push({ at, ...change });
    }
    if (saysEnds && maybe(0.15)) {
      sku = sku === 'M' ? 'Y' : 'M';
      const at = between(begin + DAY, end - DAY);
      const change = { sku, ...(dialect.tells && { quantity: seats }) };
      if (sku === 'Y' && !dialect.changesWithNextPayment) {
        // A new period begins with the change.
        const until = Math.round(at) + ARTICLES.Y.days * DAY;
        const payment = nameOf('pay');
        const paidAt = tell('upgraded', at, { payment, until, renewsItself: true, ...change });
        payments.push({ id: payment, at: paidAt, until });
        changes.push({ at: paidAt, payment, ...change });
        end = until;
      } else changes.push({ at: tell('upgraded', at, { renewsItself: true, ...change }), ...change });
      if (end >= YEAR) break;
    }
    // The card works, works after some tries, or never again.
    const tries = maybe(0.3) ? 1 + Math.floor(random() * 2) : 0;
    for (let i = 0; i < tries; i++) tell('payment_failed', end + i * DAY, { payment: nameOf('try') });
    if (maybe(0.85)) {
      begin = end + tries * DAY + between(0, DAY / 2);
      end = pay('renewed', begin, end);
      continue;
    }
    tell('subscription_ended', end + tries * DAY + between(0, DAY / 2));
    renewsItself = false;
    if (dialect.endsForGood || !maybe(0.5)) break;
    // Resume the subscription without the unpaid time.
    begin = Math.round(end + tries * DAY + between(DAY, 40 * DAY));
    renewsItself = true;
    end = pay('renewed', begin, begin);
  }
  const last = Math.max(...events.map(({ at }) => at));
  if (saysEnds)
    for (const { event, payment, at } of [...events]) {
      if (payment === undefined || event === 'payment_failed' || !maybe(0.15)) continue;
      const refundedAt = tell('refunded', between(at + 60, Math.min(last, at + 60 * DAY) + DAY), { payment });
      if (maybe(0.2) && !dialect.neverFailsToRefund)
        tell('refund_failed', refundedAt + between(60, DAY), { payment });
      else {
        givenBack.add(payment);
        for (const one of payments) if (one.id === payment) one.refundedAt = refundedAt;
      }
    }
  let isDisputed = false;
  if (maybe(0.15) && !dialect.neverDisputes) {
    const at = tell('charged_back', between(DAY, last));
    isDisputed = !maybe(0.5);
    if (!isDisputed) tell('chargeback_reversed', at + between(60, 20 * DAY));
  }
  return { events, expected: judge() };

  function judge(): Expected {
    const standing = payments.filter(({ refundedAt }) => refundedAt === undefined);
    const refunds = payments.flatMap(({ refundedAt }) => refundedAt ?? []);
    const lastRefund = Math.max(-Infinity, ...refunds);
    // Without a remaining payment, the last refund decides the end.
    const paid =
      standing.length > 0
        ? Math.max(...standing.map(({ until }) => until))
        : payments.find(({ refundedAt }) => refundedAt === lastRefund)!.until;
    const isCovered =
      refunds.length === 0 ||
      standing.some(({ at }) => at > lastRefund) ||
      (standing.length > 0 && paid > lastRefund);
    const counts = changes
      .filter(({ payment }) => payment === undefined || !givenBack.has(payment))
      .sort((a, b) => a.at - b.at);
    const first = events[0]!;
    return {
      state: isDisputed || !isCovered ? 'suspended' : 'active',
      paid,
      renewsItself,
      sku: counts.findLast((one) => one.sku !== undefined)?.sku ?? first.sku!,
      seats: counts.findLast((one) => one.quantity !== undefined)?.quantity ?? first.quantity!,
    };
  }
}

/** Returns a shop's messages for these events. @param first the time of the first payment */
export function messagesOf(
  events: ToldEvent[],
  { shop, order, first }: { shop: string; order: string; first: Date },
): Thing[] {
  const timeOf = (seconds: number) => new Date(first.getTime() + seconds * 1_000).toISOString();
  return events.map(({ event, id, at, payment, until, sku, quantity, renewsItself }) => {
    const line = {
      ...(sku !== undefined && { sku }),
      ...(quantity !== undefined && { quantity }),
      ...(until !== undefined && { paid_until: timeOf(until) }),
    };
    return {
      ...{ shop, order, event, event_id: id, at: timeOf(at) },
      ...(payment !== undefined && { payment }),
      ...(renewsItself !== undefined && { renews_itself: renewsItself }),
      ...(Object.keys(line).length > 0 && { lines: [{ line: '1', ...line }] }),
    };
  });
}

/** Returns the items in random order. */
export function shuffled<T>(all: T[], random: () => number): T[] {
  const told = [...all];
  for (let i = told.length - 1; i > 0; i--) {
    const other = Math.floor(random() * (i + 1));
    [told[i], told[other]] = [told[other]!, told[i]!];
  }
  return told;
}

interface StoredLicense {
  reference: string;
  status: string;
  expires_at: string;
  grace_days: number;
  renews_itself: number;
  plan_id: number;
  activation_limit: number;
}

/** Creates the articles' plans for `shop`. @returns the plans by article */
export async function givePlans(
  db: Db,
  write: ManageClient,
  { shop, skuOf, first }: { shop: string; skuOf?: (article: Article) => string; first: Date },
): Promise<Map<Article, number>> {
  const { id: productId } = await addProduct(db, { name: `Years of ${shop}`, element: null }, first);
  const plans = new Map<Article, number>();
  for (const article of ['M', 'Y'] as const) {
    const { days, slots: activationLimit } = ARTICLES[article];
    const terms = { activationType: 'domain', duration: `${days}d`, activationLimit } as const;
    const { id } = await addPlan(db, { ...PLAN_DEFAULTS, ...terms, productId, name: article }, first);
    plans.set(article, id);
    const sku = skuOf?.(article) ?? article;
    await write.ok(`POST /shops/${shop}/map`, { sku, plan_id: id, quantity: 'slots' }, 201);
  }
  return plans;
}

/** Compares each licence with the model. @param referenceOf returns the reference of a year's licence */
export async function judgeYears<T extends Year>(
  db: Db,
  years: T[],
  {
    referenceOf,
    ...of
  }: {
    referenceOf: (year: T) => string;
    plans: Map<Article, number>;
    first: Date;
    now: Date;
    /** true if a refund may be received before its payment, so that no licence is issued */
    mayMiss?: boolean;
  },
): Promise<void> {
  const licenses = new Map(
    (await rows<StoredLicense>(db, 'licenses')).map((license) => [license.reference, license]),
  );
  for (const { events, expected, ...year } of years) {
    const license = licenses.get(referenceOf({ events, expected, ...year } as T));
    if (license === undefined && of.mayMiss && expected.state === 'suspended') continue;
    if (license === undefined)
      throw new Error(JSON.stringify({ ...year, events, expected, is: 'not issued' }));
    const end = Date.parse(`${license.expires_at.replace(' ', 'T')}Z`);
    const hasEnded = end <= of.now.getTime();
    const grace = expected.renewsItself ? GRACE_DAYS : 0;
    const is = {
      paid: (end - of.first.getTime()) / 1_000 - license.grace_days * DAY,
      ...{ grace: license.grace_days, renewsItself: license.renews_itself === 1 },
      ...{ plan: license.plan_id, slots: license.activation_limit },
      // An ended licence is not suspended, so its state depends on the first message.
      state: hasEnded ? 'ended' : license.status,
    };
    expect({ ...year, events, ...is }).toEqual({
      ...{ ...year, events, paid: expected.paid, grace, renewsItself: expected.renewsItself },
      plan: of.plans.get(expected.sku),
      slots: ARTICLES[expected.sku].slots * expected.seats,
      state: hasEnded ? 'ended' : expected.state,
    });
  }
}
