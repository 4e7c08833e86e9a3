import { expect } from '@jest/globals';
import { addPlan, addProduct, PLAN_DEFAULTS } from '../../src/licensing/catalogue';
import { table, type Db } from '../../src/store/engine/database';
import type { ManageClient, Thing } from './manage';
import { sendHook, signStandard } from './shop-senders';
import { rows } from './service';

/**
 * Orders with events made by chance, told in any order and more than once, and a model that says what each licence has to
 * be at the end. The model is written after the contract, without the code that it judges.
 */

export const PLAN_DAYS = 300;
const DAY_MS = 86_400_000;
/** The slots of the plans that licences are sold on and upgraded to. */
const SLOTS = [3, 5, 9];

/** The plans of a sale, of one product. */
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
  /** seconds after the first that may be */
  at: number;
  id: string;
  partial: boolean;
  /** the payment that it is about: of a payment its own; of a refund one of the order's, or undefined: all of them */
  payment: string | undefined;
  /** of an upgrade: which of the plans */
  plan: number;
  renews: string | undefined;
}

/** An order that issues a licence, and those that renew it. */
interface Group {
  base: Told[];
  renewals: Told[][];
}

export interface Sale {
  groups: Group[];
  /** what is sent, in the order of sending: each event at least once */
  messages: Thing[];
  /** what each event of an order is called */
  distinct: number;
}

/** Numbers from 0 to 1 that are the same for the same seed. */
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

/** How likely each event is, the payment aside; so many that most orders have a conflict of some kind. */
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
/** So few seconds that events often share one. */
const SECONDS = 12;

/** @param plans ids of plans of one product: `PLAN_DAYS` long, with 3, 5 and 9 slots */
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
        // Which of two upgrades or refunds in one second comes last is left open.
        while (taken.get(event)?.has(at)) at = (at + 1) % SECONDS;
        taken.get(event)?.add(at);
        const partial = event === 'refunded' && random() < 0.25;
        // Payments have the name of their event.
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
  /** when the refunds of everything happened that nothing has undone */
  refunds: number[];
  /** when the last payment was given back that something was still paid by; undefined: something is */
  givenBackAt: number | undefined;
  isChargedBack: boolean;
  /** when payments were made that stand */
  payments: number[];
  /** when the paid times begin to count, and how many there are */
  begins: number;
  terms: number;
  plan: number;
}

/** What an order's own events come to, by when they happened. */
function fateOf(events: Told[]): Fate {
  const sorted = [...events].sort(
    (a, b) => a.at - b.at || RANK.indexOf(a.event) - RANK.indexOf(b.event) || (a.id < b.id ? -1 : 1),
  );
  const first = sorted.findIndex(({ event }) => event === 'paid');
  const isPayment = ({ event }: Told, i: number) =>
    first !== -1 && i >= first && /^(paid|renewed)$/.test(event);
  const isRefund = ({ event, partial }: Told) => event === 'refunded' && !partial;
  /** the refund of a payment that nothing has undone */
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
  // A renewal before the payment pays for nothing.
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
    // Each paid time is longer than all the seconds in which something happens.
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
  /** `none` or that state: whether the licence was ever issued depends on what was told first */
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

/** Whoever takes an order's event: a token's client, or a receiver. @returns the status */
export type Teller = (message: Thing) => Promise<number>;

/** By the operator's API. */
export function byToken(client: Pick<ManageClient, 'send'>): Teller {
  return async (message) => (await client.send('POST /orders', { body: message })).status;
}

/** By Standard Webhooks, to the receiver of the shop. */
export function bySignature(url: string, secret: string): Teller {
  return async ({ event, ...data }) => {
    const { shop, order, event_id: id } = data as Record<string, string>;
    const message = { type: `order.${event as string}`, timestamp: new Date().toISOString(), data };
    const signed = signStandard(message, secret, new Date(), `${order}.${id}`);
    return (await sendHook(url, shop as string, signed)).status;
  };
}

/** Sends each message until it is taken, several at once, each again with the chance that its answer was lost. */
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
      // Nobody was there, or is busy: a shop keeps what was not taken, and comes again.
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

/** Compares what is stored with what the model says. @returns how many licences are in each state */
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
    // Each line has a plan: an order that renews nothing waits for nothing.
    if (waiting.has(order)) wrong.push({ order, waits: true });
  }
  expect(wrong).toEqual([]);
  // Each event is stored once, whatever was told again, and each licence was issued once.
  expect(await rows(db, 'order_events')).toHaveLength(distinct);
  const events = await rows<{ action: string; license_id: number }>(db, 'events');
  const issued = events.filter(({ action }) => action === 'issue');
  expect(new Set(issued.map(({ license_id }) => license_id)).size).toBe(issued.length);
  expect(issued).toHaveLength(licenses.size);
  return counts;
}

/** The days that a licence runs from a second on. */
function daysAfter(first: Date, begins: number, end: string | null): number | null {
  if (end === null) return null;
  return (Date.parse(`${end.replace(' ', 'T')}Z`) - first.getTime() - begins * 1_000) / DAY_MS;
}
