import type { Db } from '../../store/engine/database';
import type { Row } from '../../store/export';
import { importError } from '../refusals';
import { parseEnd, momentOf, openSiteTables, trimmed, type SiteTables } from './site-tables';
import type { Right } from './rights';
import { sourceStandingOf } from './standing';
import type { SourceLicense, SourceOmission, SourcePlan, SourceWarning } from './source';

/**
 * Reads what the users of a site have bought, for a source that only identifies users. It is stored by Akeeba
 * Subscriptions, Payplans or RD-Subscriptions; a site without one of them has only user groups.
 */

export interface RightsByUser {
  plans: SourcePlan[];
  /** the columns of a component whose tables are not fully known */
  columns?: string[];
  /** Yields each user once */
  byUser(): AsyncIterable<{ user: number; rights: Right[] } | SourceOmission | SourceWarning>;
}

interface Context {
  confirmed: boolean;
  now: Date;
}

/** Opens the only component that exists and has rows. Without a component, opens the site's user groups. */
export async function openRights(db: Db, prefix: string, context: Context): Promise<RightsByUser> {
  const found = [];
  for (const one of COMPONENTS) {
    const { length } = Object.keys(await db(`${prefix}${one.table}`).columnInfo());
    if (length > 0 && (await db(`${prefix}${one.table}`).first()) !== undefined) found.push(one);
  }
  if (found.length > 1)
    throw importError('several-components', [found.map(({ title }) => title).join(', ')], { field: 'from' });
  const [only] = found;
  return only === undefined ? openGroups(db, prefix) : only.open(db, prefix, context);
}

interface Component {
  title: string;
  table: string;
  open(db: Db, prefix: string, context: Context): Promise<RightsByUser>;
}

const COMPONENTS: Component[] = [
  { title: 'Akeeba Subscriptions', table: 'akeebasubs_subscriptions', open: openAkeeba },
  { title: 'Payplans', table: 'payplans_subscription', open: openPayplans },
  { title: 'RD-Subscriptions', table: 'rd_subs_product2user', open: openRdSubscriptions },
];

/** A period that a user has bought. */
interface Period {
  row: number;
  plan: string;
  startsAt: Date | undefined;
  /** null if it never ends; undefined if unknown */
  endsAt: Date | null | undefined;
  /** whether it is paid, and neither switched off nor refunded */
  isGood: boolean;
  /** whether it was refunded */
  isRefunded: boolean;
}

/** Merges the periods of a plan into one licence: the good periods from first start to last end, otherwise all periods. */
export function rightOfPeriods(source: string, user: number, periods: Period[], now: Date): Right {
  const good = periods.filter(({ isGood }) => isGood);
  const counted = good.length > 0 ? good : periods;
  const ends = counted.map(({ endsAt }) => endsAt);
  const expiresAt = ends.includes(null)
    ? null
    : ends.reduce<Date | undefined>((last, end) => (end && (!last || end > last) ? end : last), undefined);
  const startsOf = (some: Period[]) =>
    some.flatMap(({ startsAt }) => startsAt ?? []).sort((a, b) => a.getTime() - b.getTime());
  // After a pause, the licence begins with the next period.
  const open = counted.filter(({ endsAt }) => !endsAt || endsAt > now);
  const isPaused = open.length > 0 && open.every(({ startsAt: start }) => start !== undefined && start > now);
  const [startsAt] = startsOf(isPaused ? open : counted);
  const isRefunded = good.length === 0 && counted.some((one) => one.isRefunded);
  const isOver = expiresAt !== null && expiresAt !== undefined && expiresAt <= now;
  const [first] = periods as [Period];
  const license: SourceLicense = {
    // There, a renewal is a new row. Here, it is the same licence.
    id: `${source}${user}-${first.plan}`,
    row: first.row,
    plan: first.plan,
    customer: null,
    customerName: null,
    keys: [],
    sites: [],
    metadata: {},
    status: good.length > 0 ? 'active' : isRefunded ? 'cancelled' : isOver ? 'expired' : 'suspended',
    startsAt,
    expiresAt,
    limit: undefined,
  };
  return { license, standing: sourceStandingOf(license, now) };
}

async function* periodsByUser(
  rows: AsyncIterable<Row>,
  source: string,
  now: Date,
  periodOf: (row: Row) => Period | SourceOmission,
): AsyncGenerator<{ user: number; rights: Right[] } | SourceOmission> {
  let user: number | undefined;
  let periods = new Map<string, Period[]>();
  const finish = () => {
    const rights = [...periods.values()].map((some) => rightOfPeriods(source, user as number, some, now));
    periods = new Map();
    return rights;
  };
  for await (const row of rows) {
    const next = Number(row.user_id ?? row.userid);
    if (user !== undefined && user !== next && periods.size > 0) yield { user, rights: finish() };
    user = next;
    const period = periodOf(row);
    if ('leftOut' in period) yield period;
    else periods.set(period.plan, [...(periods.get(period.plan) ?? []), period]);
  }
  if (user !== undefined && periods.size > 0) yield { user, rights: finish() };
}

/**
 * Opens Akeeba Subscriptions, which has one row per payment. A paid row that starts later extends the end. A refunded
 * row (`X`) ends only its own payment. `N` and `P` were never paid.
 */
async function openAkeeba(db: Db, prefix: string, { now }: Context): Promise<RightsByUser> {
  const tables = await openSiteTables(db, 'Akeeba Subscriptions', prefix, {
    akeebasubs_subscriptions: [
      ...['akeebasubs_subscription_id', 'user_id', 'akeebasubs_level_id', 'publish_up', 'publish_down'],
      ...['enabled', 'state', 'processor_key'],
    ],
    akeebasubs_levels: ['akeebasubs_level_id', 'title', 'duration'],
  });
  const plans: SourcePlan[] = [];
  const columns = ['akeebasubs_level_id', 'title', 'duration', 'forever'];
  for await (const row of tables.read('akeebasubs_levels', columns, ['akeebasubs_level_id'])) {
    const days = Number(row.duration);
    plans.push(
      planOf(
        row.akeebasubs_level_id,
        row.title,
        Number(row.forever) === 1 ? null : days > 0 ? `${days}d` : undefined,
      ),
    );
  }
  const known = new Set(plans.map(({ key }) => key));
  const wanted = [
    ...['akeebasubs_subscription_id', 'user_id', 'akeebasubs_level_id', 'publish_up', 'publish_down'],
    ...['state', 'processor_key', 'enabled'],
  ];
  const order = ['user_id', 'akeebasubs_subscription_id'];
  const refunded = await refundedPayments(tables);
  return {
    plans,
    byUser: () =>
      periodsByUser(tables.read('akeebasubs_subscriptions', wanted, order), 'akeebasubs-', now, (row) => {
        const id = Number(row.akeebasubs_subscription_id);
        const plan = trimmed(row.akeebasubs_level_id);
        const state = trimmed(row.state);
        if (!known.has(plan)) return { row: id, leftOut: 'level-gone' };
        const isRefunded = state === 'X' || refunded.has(paymentOf(row));
        if (state !== 'C' && !isRefunded) return { row: id, leftOut: 'new-or-pending' };
        const ends = parseEnd(row.publish_down);
        if (ends === undefined) return { row: id, leftOut: 'bad-end' };
        const [startsAt, end] = [momentOf(row.publish_up), ends ?? undefined];
        // A row that is over or begins later is not enabled either.
        const isRunning = (startsAt === undefined || startsAt <= now) && (end === undefined || end > now);
        const isOff = isRunning && Number(row.enabled) !== 1;
        return {
          row: id,
          plan,
          startsAt,
          isRefunded,
          isGood: !isRefunded && !isOff,
          endsAt: end && end.getUTCFullYear() >= LIFETIME ? null : end,
        };
      }),
  };
}

/** The first year in which an end means that there is no end. */
const LIFETIME = 2037;

/** Returns the refunded payments, whose other rows do not count either. */
async function refundedPayments(tables: SiteTables): Promise<Set<string>> {
  const refunded = new Set<string>();
  const wanted = ['akeebasubs_subscription_id', 'user_id', 'akeebasubs_level_id', 'processor_key', 'state'];
  const rows = tables.read('akeebasubs_subscriptions', wanted, ['akeebasubs_subscription_id'], {
    state: 'X',
  });
  for await (const row of rows) if (trimmed(row.processor_key) !== '') refunded.add(paymentOf(row));
  return refunded;
}

function paymentOf(row: Row): string {
  const key = trimmed(row.processor_key);
  return key === '' ? '' : `${trimmed(row.user_id)} ${trimmed(row.akeebasubs_level_id)} ${key}`;
}

/** Opens Payplans: one row per subscription, which renewals extend. 1601 is active, 1602 on hold, 1603 expired, 0 none. */
async function openPayplans(db: Db, prefix: string, { now }: Context): Promise<RightsByUser> {
  const tables = await openSiteTables(db, 'Payplans', prefix, {
    payplans_subscription: [
      ...['subscription_id', 'user_id', 'plan_id', 'status', 'subscription_date', 'expiration_date'],
    ],
    payplans_plan: ['plan_id', 'title'],
  });
  const plans: SourcePlan[] = [];
  for await (const row of tables.read('payplans_plan', ['plan_id', 'title'], ['plan_id']))
    plans.push(planOf(row.plan_id, row.title, undefined));
  const known = new Set(plans.map(({ key }) => key));
  const wanted = ['subscription_id', 'user_id', 'plan_id', 'status', 'subscription_date', 'expiration_date'];
  return {
    plans,
    byUser: () =>
      periodsByUser(
        tables.read('payplans_subscription', wanted, ['user_id', 'subscription_id']),
        'payplans-',
        now,
        (row) => {
          const [id, plan, status] = [Number(row.subscription_id), trimmed(row.plan_id), Number(row.status)];
          if (!known.has(plan)) return { row: id, leftOut: 'plan-gone' };
          if (![1601, 1602, 1603].includes(status)) return { row: id, leftOut: 'never-paid' };
          const startsAt = momentOf(row.subscription_date);
          // Without this date, a subscription that has begun does not end.
          const endsAt = parseEnd(row.expiration_date);
          if (endsAt === undefined) return { row: id, leftOut: 'bad-end' };
          return { row: id, plan, startsAt, endsAt, isGood: status !== 1602, isRefunded: false };
        },
      ),
  };
}

/** Opens RD-Subscriptions. Its tables are not fully known, so the seller confirms the columns. A refund is another invoice. */
async function openRdSubscriptions(
  db: Db,
  prefix: string,
  { confirmed, now }: Context,
): Promise<RightsByUser> {
  const tables = await openSiteTables(
    db,
    'RD-Subscriptions',
    prefix,
    {
      rd_subs_product2user: ['id', 'userid', 'product_id', 'valid_to'],
      rd_subs_products: ['id', 'name'],
    },
    ['rd_subs_invoices', 'rd_subs_orders'],
  );
  const plans: SourcePlan[] = [];
  for await (const row of tables.read('rd_subs_products', ['id', 'name'], ['id']))
    plans.push(planOf(row.id, row.name, undefined));
  const known = new Set(plans.map(({ key }) => key));
  const refunded = await refundedOrders(tables);
  const columns = [...(tables.columns.get('rd_subs_product2user') ?? [])].sort();
  const wanted = ['id', 'userid', 'product_id', 'order_id', 'valid_to'];
  return {
    plans,
    ...(!confirmed && { columns: columns.map((name) => `rd_subs_product2user.${name}`) }),
    byUser: () =>
      periodsByUser(tables.read('rd_subs_product2user', wanted, ['userid', 'id']), 'rdsubs-', now, (row) => {
        const [id, plan] = [Number(row.id), trimmed(row.product_id)];
        if (!known.has(plan)) return { row: id, leftOut: 'product-gone' };
        const isRefunded = refunded.has(trimmed(row.order_id));
        const endsAt = parseEnd(row.valid_to);
        if (endsAt === undefined) return { row: id, leftOut: 'bad-end' };
        return { row: id, plan, startsAt: undefined, endsAt, isGood: !isRefunded, isRefunded };
      }),
  };
}

/** Returns the ids of refunded orders, which have an invoice for the refund. */
async function refundedOrders(tables: SiteTables): Promise<Set<string>> {
  const refunded = new Set<string>();
  if (!tables.has('rd_subs_invoices', 'refund_invoice') || !tables.has('rd_subs_orders', 'ordercode'))
    return refunded;
  const codes = new Set<string>();
  for await (const row of tables.read('rd_subs_invoices', ['id', 'ordercode', 'refund_invoice'], ['id']))
    if (!['', '0'].includes(trimmed(row.refund_invoice))) codes.add(trimmed(row.ordercode));
  for await (const row of tables.read('rd_subs_orders', ['id', 'ordercode'], ['id']))
    if (codes.has(trimmed(row.ordercode))) refunded.add(trimmed(row.id));
  return refunded;
}

function planOf(
  key: Row[string] | undefined,
  name: Row[string] | undefined,
  duration: string | null | undefined,
): SourcePlan {
  const [id, title] = [trimmed(key), trimmed(name)];
  return { key: id, name: title, product: title, covers: [id], duration, limit: 0 };
}

/** Joomla's own groups, which do not show what a user has bought. */
const CORE_GROUPS = new Set([1, 2, 3, 4, 5, 6, 7, 8, 9]);

/** Opens the user groups of a site without a subscription component. Each group is a plan without an end. */
async function openGroups(db: Db, prefix: string): Promise<RightsByUser> {
  const tables = await openSiteTables(db, "the site's user groups", prefix, {
    usergroups: ['id', 'title'],
    user_usergroup_map: ['user_id', 'group_id'],
  });
  const plans: SourcePlan[] = [];
  for await (const row of tables.read('usergroups', ['id', 'title'], ['id']))
    if (!CORE_GROUPS.has(Number(row.id))) plans.push(planOf(row.id, row.title, null));
  const known = new Set(plans.map(({ key }) => key));
  return {
    plans,
    async *byUser() {
      let user: number | undefined;
      let rights: Right[] = [];
      for await (const row of tables.read(
        'user_usergroup_map',
        ['user_id', 'group_id'],
        ['user_id', 'group_id'],
      )) {
        const [next, plan] = [Number(row.user_id), trimmed(row.group_id)];
        if (user !== undefined && user !== next && rights.length > 0) {
          yield { user, rights };
          rights = [];
        }
        user = next;
        if (!known.has(plan)) continue;
        const right = rightOfPeriods(
          'group-',
          next,
          [{ row: next, plan, startsAt: undefined, endsAt: null, isGood: true, isRefunded: false }],
          new Date(0),
        );
        rights.push(right);
        yield { row: next, warning: 'no-end' };
      }
      if (user !== undefined && rights.length > 0) yield { user, rights };
    },
  };
}
