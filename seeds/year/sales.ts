import { createHash } from 'node:crypto';
import { formatTimestampOrNull } from '../../src/base/days';
import { addDuration } from '../../src/licensing/durations';
import { changeState, renew } from '../../src/licensing/lifecycle';
import { queueMail, REMINDER_DAYS } from '../../src/mail/queue';
import type { OrderEventName } from '../../src/orders/order-events';
import { receive } from '../../src/orders/inbox';
import { recordOrder, type Recorded } from '../../src/orders/record';
import { DEFAULT_GRACE_DAYS } from '../../src/orders/shop-kinds';
import type { OrderMessage } from '../../src/orders/message';
import { readMetadata, storedMetadata } from '../../src/licensing/metadata';
import { storedKey } from '../../src/licensing/sealing';
import { recordEvents } from '../../src/licensing/webhook-events';
import {
  findLicensesByIds,
  insertLicenses,
  type License,
  type NewLicense,
} from '../../src/store/licenses/licenses';
import { inTransaction } from '../../src/store/engine/transaction';
import { CLUB_ID, FORMS_ID, GALLERY_ID, SHOP_ID, YEAR_PLANS, type YearPlanName } from './catalogue';
import { clientSites, createCustomers, type Customer } from './customers';
import {
  anyAddress,
  DAY_MS,
  later,
  licenseOf,
  type Sale,
  type Shop,
  type Site,
  type Sold,
  type Way,
} from './shop';

/** Plans who buys which plan, who renews it, and how the other licences end. */

const LICENSES = 224;
/** The number of days since the shop opened. */
export const OPENED_DAYS = 745;
/** The number of days since the shop posts its orders. Before, a script issued the licences. */
const ORDERS_SINCE_DAYS = 100;

export function planSales(shop: Shop): void {
  const { chance, now } = shop;
  const customers = createCustomers(chance);
  let earlier: Customer | undefined;
  for (let i = 0; i < LICENSES; i++) {
    // Let the shop grow: more licences are sold each month.
    const ago = OPENED_DAYS * (1 - Math.pow((i + chance.next()) / LICENSES, 0.72));
    const at = atWork(shop, later(now, -Math.max(ago, 0.1)));
    const customer = earlier !== undefined && chance.happens(0.08) ? earlier : customers();
    earlier = customer;
    const way = chance.happens(0.12) ? 'subscription' : ago > ORDERS_SINCE_DAYS ? 'script' : 'shop';
    sell(shop, { plan: anyPlan(shop), customer, at, way, number: 1000 + 3 * i });
  }
  // Add subscriptions whose year ended yesterday, and for which the payment service has not reported a payment.
  for (const [number, plan] of [
    [7001, 'club'],
    [7004, 'galleryOne'],
  ] as const)
    sell(shop, {
      plan,
      customer: customers(),
      at: later(yearBefore(now), -0.6),
      way: 'subscription',
      number,
      awaits: true,
    });
}

/** Returns a working hour of the day, in the order of the numbers of sales. */
function atWork({ chance }: Shop, at: Date): Date {
  const hour = Math.floor(chance.between(6, 20));
  const day = Math.floor(at.getTime() / DAY_MS) * DAY_MS;
  return new Date(day + hour * 3_600_000 + chance.below(3600) * 1000);
}

function yearBefore(at: Date): Date {
  const before = new Date(at);
  before.setUTCFullYear(before.getUTCFullYear() - 1);
  return before;
}

function anyPlan({ chance }: Shop): YearPlanName {
  const plans = Object.entries(YEAR_PLANS) as [YearPlanName, { weight: number }][];
  let left = chance.below(plans.reduce((sum, [, { weight }]) => sum + weight, 0));
  for (const [name, { weight }] of plans) if ((left -= weight) < 0) return name;
  return 'shopOne';
}

export function sell(shop: Shop, given: Omit<Sale, 'sold'>): Sold {
  const { diary, chance } = shop;
  const { plan, customer, at, way, awaits = false } = given;
  const sold: Sold = {
    ...{ plan, customer, at, sites: [] },
    terms: [{ from: at, end: addDuration(at, '1y') }],
    graceDays: way === 'subscription' ? DEFAULT_GRACE_DAYS : 0,
  };
  const sale: Sale = { ...given, sold };
  shop.sold.push(sold);
  if (way === 'script') diary.sale(at, sale, sold);
  else
    // Process the earlier sales before it, so that ids follow time.
    diary.note(
      at,
      async (when) => {
        const { lines } = await tell(shop, sale, 'paid', when);
        sold.license = lines[0]?.licenses[0]?.license as License;
      },
      'all',
    );
  planSites(shop, sold, given.isSpecial);
  if (awaits)
    diary.note(later(addDuration(at, '1y'), 0.2), (when) => tell(shop, sale, 'payment_failed', when), sold);
  else if (given.isSpecial || !planEnding(shop, sale)) planRenewals(shop, sale);
  planReminders(shop, sold);
  if (chance.happens(0.04)) planLink(shop, sold);
  return sold;
}

/** Issues licences like licensing/issue.ts, but with a few statements for all. Each demo has the same keys for them. */
export async function sellAll(shop: Shop, sales: Sale[]): Promise<void> {
  const { db, plans, keySecret } = shop;
  const licenses = sales.map(({ plan, customer, at, number }): NewLicense => ({
    ...storedKey(keyOf(`A-${number}`), keySecret),
    ...{ planId: plans[plan], status: 'active', activationLimit: YEAR_PLANS[plan].activationLimit },
    ...{ customer: customer.email, reference: `A-${number}`, issuedBy: 'webshop' },
    ...{ expiresAt: addDuration(at, '1y'), createdAt: at },
    metadata: storedMetadata({ invoice: `${at.getUTCFullYear()}-${number}` }),
  }));
  await inTransaction(db, async (trx) => {
    const ids = await insertLicenses(trx, licenses);
    await recordEvents(
      trx,
      licenses.map((license, i) => ({
        ...{
          licenseId: ids[i] as number,
          at: license.createdAt,
          actor: 'token:webshop',
          action: 'issue',
          before: null,
        },
        after: {
          ...{ status: license.status, plan_id: license.planId, activation_limit: license.activationLimit },
          ...{ customer: license.customer, reference: license.reference },
          expires_at: formatTimestampOrNull(license.expiresAt),
          metadata: readMetadata(license.metadata),
        },
      })),
    );
    const found = new Map((await findLicensesByIds(trx, ids)).map((one) => [one.id, one]));
    for (const [i, { sold }] of sales.entries()) sold.license = found.get(ids[i] as number) as License;
  });
}

function keyOf(name: string): string {
  const hex = createHash('sha256').update(`demo ${name}`).digest('hex').toUpperCase();
  return (hex.match(/.{8}/g) as string[]).slice(0, 4).join('-');
}

/** Sends an order's event: the webshop posts orders; the payment service reports subscriptions by signed messages. */
async function tell(
  { db, keySecret, mailing }: Shop,
  { plan, customer, way, number }: Sale,
  event: OrderEventName,
  at: Date,
  more: Partial<OrderMessage> = {},
): Promise<Recorded> {
  const second = at.getTime() / 1000;
  const lines = [{ line: '1', sku: YEAR_PLANS[plan].sku, quantity: 1 }];
  const told = {
    ...{ event, at, eventId: `${event}-${number}-${second}`, payment: `pay_${number}_${second}` },
    ...(event === 'paid' && { customer, lines }),
    money: { amount: 4900, currency: 'EUR' },
    ...more,
  };
  const context = { now: at, secret: keySecret, mailing, graceDays: DEFAULT_GRACE_DAYS };
  if (way !== 'subscription')
    return recordOrder(
      db,
      { ...told, shop: 'webshop', order: String(number) },
      { owner: 'webshop', ownOnly: false },
      { ...context, actor: 'token:webshop' },
    );
  const { recorded } = await receive(
    db,
    'stripe',
    {
      id: `evt_${told.eventId}`,
      type: STRIPE_TYPES[event] ?? event,
      event: { ...told, order: { number: `sub_${number}` }, ...(event === 'paid' && { renewsItself: true }) },
    },
    context,
  );
  return recorded as Recorded;
}

const STRIPE_TYPES: Partial<Record<OrderEventName, string>> = {
  paid: 'checkout.session.completed',
  renewed: 'invoice.paid',
  payment_failed: 'invoice.payment_failed',
  subscription_ended: 'customer.subscription.deleted',
  refunded: 'charge.refunded',
  charged_back: 'charge.dispute.created',
};

/** Plans a refund, chargeback or cancellation for a few sales. @returns whether the licence ends by it */
function planEnding(shop: Shop, sale: Sale): boolean {
  const { chance, diary, db, now } = shop;
  const { sold } = sale;
  if (!chance.happens(0.055)) return false;
  const at = later(sale.at, chance.between(2, 60));
  if (at > now) return false;
  sold.stopped = at;
  const change = (transition: 'suspend' | 'revoke' | 'cancel', reason: string) =>
    diary.note(
      at,
      () =>
        changeState(db, licenseOf(sold).id, transition, {
          actor: 'operator:maria@acme.example',
          now: at,
          reason,
        }),
      sold,
    );
  if (sale.way === 'script')
    chance.pick([
      () => change('cancel', 'Paid back within 14 days.'),
      () => change('suspend', 'The payment bounced.'),
      () => change('revoke', 'The key was published in a forum.'),
    ])();
  else
    diary.note(
      at,
      () => tell(shop, sale, chance.happens(0.7) ? 'refunded' : 'charged_back', at, { payment: undefined }),
      sold,
    );
  return true;
}

/** Plans renewals until the customer stops, or until now. */
function planRenewals(shop: Shop, sale: Sale): void {
  const { chance, diary, db, now } = shop;
  const { sold } = sale;
  for (;;) {
    const { end } = sold.terms.at(-1) as { end: Date };
    const at = renewedAt(shop, end, sale.way);
    if (at === undefined) {
      if (sale.way === 'subscription' && end > now && chance.happens(0.1))
        diary.note(
          later(now, -chance.between(1, 20)),
          (when) => tell(shop, sale, 'subscription_ended', when),
          sold,
        );
      return;
    }
    diary.note(
      at,
      (when) =>
        sale.way === 'script'
          ? renew(
              db,
              licenseOf(sold).id,
              { for: '1y' },
              { actor: 'token:webshop', now: when, reason: `A-${sale.number + 1}` },
            )
          : tell(shop, sale, 'renewed', when),
      sold,
    );
    sold.terms.push({ from: at, end: addDuration(at > end ? at : end, '1y') });
  }
}

/** Returns the time of a renewal; undefined if it does not happen, or not yet. */
function renewedAt({ chance, now }: Shop, end: Date, way: Way): Date | undefined {
  const sure = chance.next();
  const at =
    way === 'subscription'
      ? sure < 0.9
        ? later(end, chance.between(-0.05, 0.2))
        : undefined
      : sure < 0.6
        ? later(end, -chance.between(0.4, 26))
        : sure < 0.75
          ? later(end, chance.between(1, 29))
          : undefined;
  return at !== undefined && at <= now ? at : undefined;
}

/** Plans the three reminder mails of each end. Older mails have already been deleted. */
function planReminders({ db, diary, now, mailing }: Shop, sold: Sold): void {
  for (const [i, { end }] of sold.terms.entries())
    for (const daysBefore of REMINDER_DAYS) {
      const at = later(end, -daysBefore);
      const next = sold.terms[i + 1];
      if (at < later(now, -88) || (next && next.from <= at) || (sold.stopped && sold.stopped <= at)) continue;
      diary.note(
        at,
        (when) =>
          queueMail(
            db,
            { type: 'reminder', licenseId: licenseOf(sold).id, daysBefore },
            { now: when, language: mailing.language },
          ),
        sold,
      );
    }
}

function planLink({ db, diary, chance, now }: Shop, sold: Sold): void {
  const { customer, at } = sold;
  const asked = later(now, -chance.between(0.2, 60));
  if (asked < at) return;
  const { email, language } = customer;
  diary.note(asked, (when) => queueMail(db, { type: 'customer_link', email }, { now: when, language }), sold);
}

const PRODUCTS_OF: Record<number, number[]> = {
  [SHOP_ID]: [SHOP_ID],
  [GALLERY_ID]: [GALLERY_ID],
  [FORMS_ID]: [FORMS_ID],
  [CLUB_ID]: [SHOP_ID, GALLERY_ID, FORMS_ID],
};
const SUBDOMAINS = [
  'www',
  'shop',
  'blog',
  'events',
  'team',
  'photos',
  'intranet',
  'members',
  'press',
  'jobs',
];

function planSites(shop: Shop, sold: Sold, isSpecial = false): void {
  const { chance } = shop;
  const { activationLimit: limit, productId } = YEAR_PLANS[sold.plan];
  const isAgency = sold.plan === 'shopAgency';
  const most = Math.ceil(limit * (isAgency ? 0.25 : 0.7));
  const count = isSpecial && isAgency ? 38 : limit > 1 || chance.happens(0.94) ? 1 + chance.below(most) : 0;
  const names = isAgency
    ? clientSites(chance, chance.pick(['example.com', 'example.net', 'example.org']), count)
    : SUBDOMAINS.slice(0, count).map((name) => `${name}.${sold.customer.domain}`);
  const ip = anyAddress(chance);
  for (const [i, name] of names.entries()) {
    const since = later(sold.at, i === 0 ? chance.between(0.01, 2) : chance.between(1, 300));
    const products = (PRODUCTS_OF[productId] as number[]).filter(
      (_, n) => n === i % 3 || chance.happens(0.5),
    );
    addSite(shop, sold, {
      ...{ name, since, ip: isAgency && chance.happens(0.8) ? ip : anyAddress(chance) },
      products: products.length > 0 ? products : [productId === CLUB_ID ? SHOP_ID : productId],
      tells: chance.happens(0.7),
      habit: chance.pick([1.5, 3, 3, 8, 8, 20, 60]),
    });
  }
}

/** Adds a site. @param keyDigest of another key than the licence's main key */
export function addSite({ diary }: Shop, sold: Sold, site: Site, keyDigest?: () => string): void {
  sold.sites.push(site);
  const { since: at, name, ip } = site;
  // Add sites only while the licence works.
  const works =
    sold.terms.some(({ from, end }) => from <= at && at < end) && !(sold.stopped && sold.stopped <= at);
  if (works)
    diary.claim(at, sold, () => ({
      ...{ keyDigest: keyDigest?.() ?? licenseOf(sold).keyDigest, identifier: name },
      ...{ ip, actor: `customer:${ip}` },
    }));
}
