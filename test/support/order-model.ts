import { expect } from '@jest/globals';
import { addPlan, addProduct, PLAN_DEFAULTS } from '../../src/licensing/catalogue';
import { table, type Db } from '../../src/store/engine/database';
import type { ManageClient, Thing } from './manage';
import { sendHook, signStandard } from './shop-senders';
import { rows } from './service';

/**
 * Generates orders with random events, sent in any order and repeatedly, and has a model of each licence's final state.
 * The model is written from the contract, without the code that it checks.
 */

export const PLAN_DAYS = 300;
const DAY_MS = 86_400_000;
/** The slots of the plans that licences are sold on and upgraded to. */
const SLOTS = [3, 5, 9];

/** Creates the plans of a sale, all of one product. */
export async function giveModelPlans(db: Db): Promise<number[]> {
  const now = new Date('2026-01-01T00:00:00Z');
  const { id: productId } = await addProduct(db, { name: 'Model', element: null }, now);
  const plans: number[] = [];
  for (const activationLimit of SLOTS) {
    const terms = { activationType: 'domain', duration: `${PLAN_DAYS}d` } as const;
    const name = `With ${activationLimit}`;
    plans.push((await addPlan(db, { ...PLAN_DEFAULTS, ...terms, productId, name, activationLimit }, now)).id);
  }
  return plans;
}

interface Told {
  order: string;
  event: string;
  /** seconds after the earliest possible event */
  at: number;
  id: string;
  partial: boolean;
  /** the payment of the event: a payment's own; for a refund one of the order's, or undefined for all of them */
  payment: string | undefined;
  /** the plan after an upgrade */
  plan: number;
  renews: string | undefined;
}

/** An order that issues a licence, and the orders that renew it. */
interface Group {
  base: Told[];
  renewals: Told[][];
}

export interface Sale {
  groups: Group[];
  /** the messages in the order of sending, each event at least once */
  messages: Thing[];
  /** the number of events, without repetitions */
  distinct: number;
}

/** Returns numbers from 0 to 1 that are the same for the same seed. */
export function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The probability of each event except the payment, high enough that most orders have a conflict of some kind. */
const LIKELY: [event: string, likely: number][] = [
  ['paid', 0.25],
  ['renewed', 0.4],
  ['renewed', 0.2],
  ['upgraded', 0.3],
  ['upgraded', 0.15],
  ['refunded', 0.3],
  ['refunded', 0.3],
  ['refunded', 0.2],
  ['refund_failed', 0.25],
  ['payment_failed', 0.1],
  ['charged_back', 0.25],
  ['chargeback_reversed', 0.2],
  ['subscription_ended', 0.15],
  ['cancelled', 0.1],
];
/** The number of seconds, low enough that events often have the same one. */
const SECONDS = 12;

/** Generates a sale. @param plans the ids of one product's plans: `PLAN_DAYS` long, with 3, 5 and 9 slots */
export function makeSale(
  random: () => number,
  { orders, shop, plans, first }: { orders: number; shop: string; plans: number[]; first: Date },
): Sale {
  const pick = (below: number) => Math.floor(random() * below);
  let made = 0;
  const eventsOf = (order: string, renews?: string): Told[] => {
    const wanted = ['paid', ...LIKELY.filter(([, likely]) => random() < likely).map(([event]) => event)];
    const taken = new Map<string, Set<number>>([
      ['upgraded', new Set()],
      ['refunded', new Set()],
    ]);
    return wanted
      .filter((event) => renews === undefined || event !== 'upgraded')
      .map((event, i) => {
        let at = pick(SECONDS);
        // Use another second, because the order of two upgrades or refunds in one second is undefined.
        while (taken.get(event)?.has(at)) at = (at + 1) % SECONDS;
        taken.get(event)?.add(at);
        const partial = event === 'refunded' && random() < 0.25;
        // Name payments after their event.
        const names = wanted.flatMap((one, k) => (/^(paid|renewed)$/.test(one) ? [`pay_${k}`] : []));
        const payment = /^(paid|renewed)$/.test(event)
          ? `pay_${i}`
          : event === 'refund_failed' || (event === 'refunded' && random() < 0.7)
            ? names[pick(names.length)]
            : undefined;
        return { order, event, at, id: `evt_${i}`, partial, payment, plan: pick(plans.length), renews };
      });
  };
  const groups: Group[] = [];
  while (made < orders) {
    const name = `W-${made}`;
    const group: Group = { base: eventsOf(name), renewals: [] };
    made++;
    for (let n = pick(3); n > 0 && made < orders; n--) {
      group.renewals.push(eventsOf(`W-${made}`, name));
      made++;
    }
    groups.push(group);
  }
  const all = groups.flatMap(({ base, renewals }) => [base, ...renewals].flat());
  const told = [...all, ...all.filter(() => random() < 0.3)];
  for (let i = told.length - 1; i > 0; i--) {
    const other = pick(i + 1);
    [told[i], told[other]] = [told[other]!, told[i]!];
  }
  const messages = told.map(({ order, event, at, id, partial, payment, plan, renews }): Thing => {
    const line = {
      line: '1',
      ...(event === 'paid' && { plan_id: plans[0] }),
      ...(event === 'upgraded' && { plan_id: plans[plan] }),
      ...(event === 'paid' && renews !== undefined && { renews }),
    };
    return {
      ...{ shop, order, event, event_id: id, at: new Date(first.getTime() + at * 1_000).toISOString() },
      ...(partial && { partial }),
      ...(payment !== undefined && { payment }),
      lines: [line],
    };
  });
  return { groups, messages, distinct: all.length };
}

const RANK = [
  ...['paid', 'renewed', 'upgraded', 'payment_failed', 'charged_back', 'chargeback_reversed'],
  ...['subscription_ended', 'refund_failed', 'refunded', 'cancelled'],
];

interface Fate {
  isCancelled: boolean;
  isPaid: boolean;
  /** the times of full refunds that were not reversed */
  refunds: number[];
  /** the time at which the last remaining payment was refunded; undefined if a payment remains */
  givenBackAt: number | undefined;
  isChargedBack: boolean;
  /** the times of payments that were not refunded */
  payments: number[];
  /** the time from which the paid periods count, and their number */
  begins: number;
  terms: number;
  plan: number;
}

/** Returns the outcome of an order's own events, by the time at which they happened. */
function fateOf(events: Told[]): Fate {
  const sorted = [...events].sort(
    (a, b) => a.at - b.at || RANK.indexOf(a.event) - RANK.indexOf(b.event) || (a.id < b.id ? -1 : 1),
  );
  const first = sorted.findIndex(({ event }) => event === 'paid');
  const isPayment = ({ event }: Told, i: number) =>
    first !== -1 && i >= first && /^(paid|renewed)$/.test(event);
  const isRefund = ({ event, partial }: Told) => event === 'refunded' && !partial;
  /** Returns the refund of a payment that was not reversed. */
  const returnOf = (payment: string | undefined): number => {
    const about = sorted.findLastIndex(
      (told) =>
        told.payment === payment && (isRefund(told) || /^(paid|renewed|refund_failed)$/.test(told.event)),
    );
    return about !== -1 && isRefund(sorted[about]!) ? about : -1;
  };
  const stands = ({ payment }: Told) => returnOf(payment) === -1;
  const lastPayment = sorted.findLastIndex((told, i) => isPayment(told, i) && stands(told));
  const lastReversal = sorted.findLastIndex(({ event }) => event === 'chargeback_reversed');
  const lastFailure = sorted.findLastIndex(({ event }) => event === 'refund_failed');
  // Ignore a renewal before the payment, which pays for nothing.
  const paying = sorted.filter(isPayment);
  const isAnyLeft = paying.some(stands);
  const returns = paying.map(({ payment }) => returnOf(payment));
  const counted = isAnyLeft
    ? paying.filter(stands)
    : paying.filter(({ payment }) => returnOf(payment) === Math.max(...returns));
  const firstPaid = counted.findIndex(({ event }) => event === 'paid');
  const terms = counted.filter(({ event }, i) => event === 'renewed' || i === firstPaid);
  return {
    isCancelled: sorted.some(({ event }) => event === 'cancelled'),
    isPaid: first !== -1,
    refunds: sorted.flatMap((told, i) =>
      isRefund(told) && told.payment === undefined && i > lastPayment && i > lastFailure ? [told.at] : [],
    ),
    // Each paid period is longer than the time in which all events happen.
    givenBackAt: isAnyLeft ? undefined : sorted[Math.max(...returns)]?.at,
    isChargedBack: sorted.some(({ event }, i) => event === 'charged_back' && i > lastReversal),
    payments: paying.filter(stands).map(({ at }) => at),
    begins: terms[0]?.at ?? 0,
    terms: terms.length,
    plan: sorted.findLast(({ event }) => event === 'upgraded')?.plan ?? 0,
  };
}

const isInForce = ({ isPaid, isCancelled, refunds, givenBackAt, isChargedBack }: Fate) =>
  isPaid && !isCancelled && refunds.length === 0 && givenBackAt === undefined && !isChargedBack;

interface Expected {
  /** `none` or this state: whether the licence was ever issued depends on the first message */
  states: string[];
  days: number | undefined;
  /** the second from which the days count */
  begins: number;
  plan: number;
}

function expectedOf({ base, renewals }: Group): Expected {
  const own = fateOf(base);
  const inForce = renewals.map(fateOf).filter(isInForce);
  const lifted = Math.max(-1, ...inForce.flatMap(({ payments }) => payments));
  if (own.isCancelled) return { states: ['none', 'cancelled'], days: undefined, begins: 0, plan: own.plan };
  if (!own.isPaid) return { states: ['none'], days: undefined, begins: 0, plan: own.plan };
  const isLeft = own.givenBackAt === undefined;
  const isHeld =
    own.isChargedBack || own.refunds.some((at) => at >= lifted) || (!isLeft && inForce.length === 0);
  const counted = [...(isLeft || inForce.length === 0 ? [own] : []), ...inForce];
  return {
    states: [...(isInForce(own) ? [] : ['none']), isHeld ? 'suspended' : 'active'],
    days: counted.reduce((sum, one) => sum + one.terms, 0) * PLAN_DAYS,
    begins: counted[0] === own ? own.begins : Math.min(...inForce.map(({ begins }) => begins)),
    plan: own.plan,
  };
}

/** A client that sends an order's event, by a token or to a receiver. @returns the status */
export type Teller = (message: Thing) => Promise<number>;

/** Returns a client of the operator's API. */
export function byToken(client: Pick<ManageClient, 'send'>): Teller {
  return async (message) => (await client.send('POST /orders', { body: message })).status;
}

/** Returns a sender by Standard Webhooks to the shop's receiver. */
export function bySignature(url: string, secret: string): Teller {
  return async ({ event, ...data }) => {
    const { shop, order, event_id: id } = data as Record<string, string>;
    const message = { type: `order.${event as string}`, timestamp: new Date().toISOString(), data };
    const signed = signStandard(message, secret, new Date(), `${order}.${id}`);
    return (await sendHook(url, shop as string, signed)).status;
  };
}

/** Sends each message until it is accepted, several at once, each again with the chance that its answer was lost. */
export async function tellAll(
  messages: Thing[],
  tellers: () => Teller[],
  atOnce: number,
): Promise<{ sent: number; lost: number }> {
  const left = [...messages];
  const count = { sent: 0, lost: 0 };
  const sender = async () => {
    for (let message = left.pop(); message !== undefined; message = left.pop()) {
      const open = tellers();
      const tell = open[count.sent++ % open.length]!;
      const status = await tell(message).catch(() => 0);
      if (status === 200) continue;
      // Without an answer, or if the service is busy, send the message again, as a shop does.
      expect([0, 429, 503]).toContain(status);
      count.lost++;
      left.unshift(message);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sender));
  return count;
}

interface StoredLicense {
  reference: string;
  status: string;
  expires_at: string | null;
  plan_id: number;
  activation_limit: number;
}

/** Compares the stored data with the model. @returns the number of licences in each state */
export async function judgeSale(
  db: Db,
  { groups, distinct }: Sale,
  { shop, plans, first }: { shop: string; plans: number[]; first: Date },
): Promise<Record<string, number>> {
  const licenses = new Map(
    (await rows<StoredLicense>(db, 'licenses')).map((license) => [license.reference, license]),
  );
  const waiting = new Set(
    await db(table(db, 'orders')).where({ shop, state: 'waiting' }).pluck<string[]>('number'),
  );
  const counts: Record<string, number> = {};
  const wrong: object[] = [];
  for (const group of groups) {
    const expected = expectedOf(group);
    const order = group.base[0]!.order;
    const license = licenses.get(`${shop}:${order}:1`);
    const state = license?.status ?? 'none';
    counts[state] = (counts[state] ?? 0) + 1;
    const { days, plan } = expected;
    const is = license && {
      days: daysAfter(first, expected.begins, license.expires_at),
      plan: plans.indexOf(license.plan_id),
      slots: license.activation_limit,
    };
    const hasTerms = is === undefined || (is.days === days && is.plan === plan && is.slots === SLOTS[plan]);
    if (!expected.states.includes(state) || (state !== 'cancelled' && !hasTerms))
      wrong.push({ expected, state, is, events: [group.base, ...group.renewals] });
    // Each line has a plan, so an order that renews nothing does not wait.
    if (waiting.has(order)) wrong.push({ order, waits: true });
  }
  expect(wrong).toEqual([]);
  // Each event must be stored once, even if it was repeated, and each licence must be issued once.
  expect(await rows(db, 'order_events')).toHaveLength(distinct);
  const events = await rows<{ action: string; license_id: number }>(db, 'events');
  const issued = events.filter(({ action }) => action === 'issue');
  expect(new Set(issued.map(({ license_id }) => license_id)).size).toBe(issued.length);
  expect(issued).toHaveLength(licenses.size);
  return counts;
}

/** Returns the days of a licence from a second on. */
function daysAfter(first: Date, begins: number, end: string | null): number | null {
  if (end === null) return null;
  return (Date.parse(`${end.replace(' ', 'T')}Z`) - first.getTime() - begins * 1_000) / DAY_MS;
}
