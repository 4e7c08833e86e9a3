import { addOperator } from '../../src/access/operators';
import { addToken, revokeToken } from '../../src/access/tokens';
import { addKey, rekey } from '../../src/licensing/license-keys';
import { enqueueReply } from '../../src/mail/answers';
import { queueMail } from '../../src/mail/queue';
import { queueNotice, startNotice } from '../../src/mail/security-release';
import { receive } from '../../src/orders/inbox';
import { recordOrder } from '../../src/orders/record';
import { DEFAULT_GRACE_DAYS } from '../../src/orders/shop-kinds';
import { addShop, mapSku } from '../../src/orders/shops';
import { requireRelease } from '../../src/packages/releases';
import { setTokenUsed } from '../../src/store/tokens';
import { insertWebhook, setWebhook } from '../../src/store/webhooks';
import { disabledNow, requireWebhook } from '../../src/webhooks/receivers';
import { generateWebhookSecret, sealSecret } from '../../src/webhooks/signing';
import {
  publishVersion,
  SHOP_ID,
  VERSIONS,
  withdrawVersion,
  YEAR_PLANS,
  type YearPlanName,
} from './catalogue';
import { clientSites } from './customers';
import { isRefusal } from '../../src/licensing/core/verdict';
import { accessOf, strangersAccess } from './requests';
import { addSite, sell, OPENED_DAYS } from './sales';
import { later, licenseOf, type Shop, type Sold } from './shop';

/** Plans the events other than sales, so that each page of the shop has content. */

const MARIA = 'operator:maria@acme.example';

/** Plans the versions, and the mails of a security release. */
export function planVersions({ db, diary, now, mailing }: Shop, packagesDir: string): void {
  for (const version of VERSIONS.filter(({ isShipped }) => !isShipped)) {
    diary.note(later(now, -version.daysAgo), () => publishVersion(db, packagesDir, version, now));
    if (version.withdrawnDaysAgo !== undefined)
      diary.note(later(now, -version.withdrawnDaysAgo), (at) => withdrawVersion(db, version, at));
    if (version.security && version.productId === SHOP_ID)
      diary.note(
        later(now, -version.daysAgo + 0.05),
        async (at) => {
          const release = await requireRelease(db, version.productId, version.version);
          await startNotice(db, release, { actor: MARIA, mailing, now: at });
          await queueNotice(db, release.id, { language: mailing.language, now: at });
        },
        'all',
      );
  }
}

/** Adds shops, tokens and operators before the first sale. */
export async function openShop({ db, now, keySecret, plans }: Shop): Promise<void> {
  const at = later(now, -OPENED_DAYS);
  const context = { actor: 'operator:root', now: at, keySecret };
  await addOperator(db, { email: 'maria@acme.example', scope: 'write' }, context);
  await addOperator(db, { email: 'support@acme.example', scope: 'read' }, context);
  for (const [name, scope, used] of [
    ['webshop', 'issue', 0.01],
    ['monitoring', 'read', 0.001],
    ['old shop', 'issue', 402],
  ] as const) {
    const { stored } = await addToken(db, { name, scope, expiresAt: null }, context);
    await setTokenUsed(db, stored.id, later(now, -used), at);
    if (name === 'old shop') await revokeToken(db, stored.id, { actor: MARIA, now: later(now, -390) });
  }
  await addShop(db, 'webshop', { kind: 'api', token: 'webshop' }, context);
  await addShop(
    db,
    'stripe',
    {
      kind: 'stripe',
      billingUrl: 'https://acme.example/billing',
      ...(keySecret && { secret: `whsec_${'demo'.repeat(8)}` }),
    },
    context,
  );
  for (const shop of ['webshop', 'stripe'])
    for (const [name, { sku }] of Object.entries(YEAR_PLANS))
      await mapSku(db, shop, { sku, planId: plans[name as YearPlanName], quantity: 'licenses' }, { now: at });
}

/** Plans two orders that wait because their article is not mapped, and payments that match no order. */
export function planStrayOrders({ db, diary, now, keySecret: secret, mailing }: Shop): void {
  for (const [number, ago, email, name] of [
    ['4711', 1.3, 'lea.winter@example.org', 'Lea Winter'],
    ['4714', 0.4, 'studio@pottery-holt.example', 'Ron Holt'],
  ] as const)
    diary.note(later(now, -ago), (at) =>
      recordOrder(
        db,
        {
          ...{ shop: 'webshop', order: number, event: 'paid', at, eventId: `paid-${number}` },
          customer: { email, name, language: 'en' },
          lines: [{ line: '1', sku: 'starter-bundle', quantity: 1 }],
          money: { amount: 4900, currency: 'EUR' },
        },
        { owner: 'webshop', ownOnly: false },
        { actor: 'token:webshop', now: at, secret, mailing, graceDays: DEFAULT_GRACE_DAYS },
      ),
    );
  diary.note(later(now, -2.2), (at) =>
    receive(
      db,
      'stripe',
      {
        ...{ id: 'evt_6990', type: 'invoice.paid' },
        event: {
          ...{ event: 'renewed', at, eventId: 'in_6990', payment: 'in_6990', order: { of: 'sub_6990' } },
          money: { amount: 4900, currency: 'EUR' },
        },
      },
      { now: at, secret, mailing, graceDays: DEFAULT_GRACE_DAYS },
    ),
  );
}

/** Plans a licence for sixty sites, whose clients have keys of their own. */
export function planAgency(shop: Shop): void {
  const { chance, db, diary, now, keySecret } = shop;
  const customer = {
    ...{ email: 'web@studio-nord.example', name: 'Studio Nord', domain: 'studio-nord.example' },
    language: 'de' as const,
  };
  const at = later(now, -300);
  const sold = sell(shop, { plan: 'shopAgency', customer, at, way: 'script', number: 7010, isSpecial: true });
  const clients = ['Museum am Fluss', 'Harper Cycles', 'Praxis Dr. Egger', 'Garage Quinn'];
  for (const [i, label] of clients.entries()) {
    const digest: { of?: string } = {};
    const from = later(at, 10 + 40 * i);
    diary.note(
      from,
      async (when) => {
        const terms = { label, activationLimit: 3 };
        const { stored } = await addKey(db, licenseOf(sold).id, terms, keySecret, {
          actor: MARIA,
          now: when,
        });
        digest.of = stored.keyDigest;
      },
      sold,
    );
    const [live] = clientSites(chance, 'example.net', 1) as [string];
    for (const [n, name] of [live, `staging.${live}`].entries())
      addSite(
        shop,
        sold,
        {
          ...{ name, since: later(from, 1 + n), ip: `198.51.100.${20 + i}` },
          ...{ products: [SHOP_ID], tells: n === 0, habit: 3 },
        },
        () => digest.of as string,
      );
  }
}

/** Plans a key that many sites use, although one site was paid for. */
export function planSpreadingKey(shop: Shop): void {
  const { chance, now, accesses, diary } = shop;
  const customer = {
    ...{ email: 'deals@example.net', name: 'Ralph York', domain: 'york-deals.example' },
    language: 'en' as const,
  };
  const sold = sell(shop, {
    plan: 'shopOne',
    customer,
    at: later(now, -74),
    way: 'script',
    number: 7020,
    isSpecial: true,
  });
  const sites = clientSites(chance, 'example.org', 14);
  diary.note(
    now,
    () => {
      for (let i = 0; i < 31; i++) {
        const site = sites[i];
        accesses.push(
          accessOf(sold, {
            ...{ at: later(now, -chance.between(0.2, 11)), endpoint: 'download', outcome: 'ok' },
            ...{
              productId: SHOP_ID,
              version: '1.1.0',
              ip: `2001:db8:${(0x4000 + 57 * i).toString(16)}::${i + 1}`,
            },
            ...(site !== undefined && { site, installedVersion: chance.pick(['1.0.1', '1.0.4', '1.1.0']) }),
          }),
        );
      }
      return Promise.resolve();
    },
    'all',
  );
}

/** Plans refusals for reasons other than an end. */
export function planRefusals(shop: Shop): void {
  const { chance, diary, now, accesses, sold } = shop;
  const full = sold.filter(
    ({ plan, sites, at }) => plan.endsWith('One') && sites.length === 1 && at < later(now, -30),
  );
  for (let i = 0; i < 9; i++) {
    const one = full[Math.floor((i * full.length) / 9)] as Sold;
    const { domain } = one.customer;
    const ip = `203.0.113.${40 + i}`;
    for (let n = 0; n <= i % 3; n++) {
      const at = later(now, -chance.between(0.1, i < 4 ? 6 : 80));
      const identifier = `new.${domain}`;
      diary.claim(
        at,
        one,
        () => ({ keyDigest: licenseOf(one).keyDigest, identifier, ip, actor: `customer:${ip}` }),
        (answer) => {
          if (!isRefusal(answer)) return;
          const outcome = answer.refused;
          accesses.push(accessOf(one, { at, endpoint: 'activate', outcome, identifier, ip }));
        },
      );
    }
  }
  diary.note(
    now,
    () => {
      const moment = () => later(now, -chance.between(0.05, 29));
      const any = (plan: YearPlanName) =>
        sold.find((one) => one.plan === plan && one.at < later(now, -40)) as Sold;
      const get = { endpoint: 'download', productId: SHOP_ID, version: '1.1.0' } as const;
      // Two customers request an unstable version.
      for (const [plan, ago] of [
        ['shopFive', 2.4],
        ['shopAgency', 1.2],
      ] as const)
        accesses.push(
          accessOf(any(plan), {
            ...get,
            version: '1.2.0-beta1',
            at: later(now, -ago),
            outcome: 'ok',
            ip: '192.0.2.12',
          }),
        );
      for (let i = 0; i < 4; i++)
        accesses.push(
          accessOf(any('galleryOne'), {
            ...get,
            at: moment(),
            outcome: 'PRODUCT_MISMATCH',
            ip: '192.0.2.77',
          }),
        );
      for (let i = 0; i < 3; i++)
        accesses.push(
          accessOf(any('shopFive'), {
            ...get,
            ...{
              at: moment(),
              outcome: 'ACTIVATION_NOT_FOUND',
              ip: '192.0.2.91',
              identifier: 'moved.example.org',
            },
          }),
        );
      for (let i = 0; i < 6; i++) {
        const key = `DE300042-${(0x1000_0000 + 977 * i).toString(16).toUpperCase()}-00000000-0000000${i}`;
        accesses.push(
          strangersAccess(
            { ...get, at: moment(), outcome: 'LICENSE_NOT_FOUND', ip: `203.0.113.${9 + i}` },
            key,
          ),
        );
      }
      for (let i = 0; i < 5; i++)
        accesses.push(
          strangersAccess({ ...get, at: moment(), outcome: 'INVALID_REQUEST', ip: `203.0.113.${90 + i}` }),
        );
      accesses.push(
        accessOf(any('formsOne'), {
          ...{ ...get, productId: 45, version: '0.4.0' },
          ...{ at: moment(), outcome: 'DOWNLOAD_NOT_FOUND', ip: '192.0.2.33' },
        }),
      );
      for (let i = 0; i < 12; i++)
        accesses.push(
          strangersAccess({
            ...get,
            at: later(now, -8.3 - i / 1440),
            outcome: 'RATE_LIMITED',
            ip: '203.0.113.200',
          }),
        );
      return Promise.resolve();
    },
    'all',
  );
}

/** Plans the seller's mails and manual changes. */
export function planSupport({ db, diary, now, sold, chance, keySecret: secret, mailing }: Shop): void {
  const known = sold.filter(({ at, stopped }) => at < later(now, -90) && !stopped);
  for (const ago of [71, 34, 12, 5, 2]) {
    const one = chance.pick(known);
    const subject = one.customer.language === 'de' ? 'Ihre Lizenz' : 'Your licence';
    diary.note(
      later(now, -ago),
      (at) =>
        enqueueReply(
          db,
          {
            to: one.customer.email,
            subject,
            body: 'Your update works again.',
            language: one.customer.language,
          },
          { license: one.license, mailing, secret, actor: MARIA, now: at },
        ),
      one,
    );
  }
  for (const ago of [48, 9]) {
    const one = chance.pick(known);
    diary.note(
      later(now, -ago),
      async (at) => {
        const licenseId = licenseOf(one).id;
        await rekey(db, licenseId, { overlap: '14d' }, secret, {
          actor: MARIA,
          now: at,
          reason: 'A developer left.',
        });
        await queueMail(db, { type: 'key_changed', licenseId }, { now: at, language: one.customer.language });
      },
      one,
    );
  }
}

/** Plans two webhooks: one that works except for one delivery, and one that stopped answering. */
export function planWebhooks({ db, diary, now, keySecret }: Shop): void {
  if (keySecret === undefined) return;
  const add = (at: Date, url: string, events: string, description: string) =>
    insertWebhook(db, {
      ...{ url, events, description, secretSealed: sealSecret(generateWebhookSecret(), keySecret) },
      ...{
        previousSealed: null,
        previousEndsAt: null,
        enabledAt: at,
        disabledAt: null,
        disabledReason: null,
      },
      ...{ sweptAt: at, createdBy: MARIA, createdAt: at },
    });
  diary.note(later(now, -85), (at) =>
    add(at, 'https://hooks.acme.example/news', 'release.*', 'Newsletter and forum'),
  );
  diary.note(later(now, -16), async (at) => {
    const id = await add(at, 'https://crm.acme.example/licensing', 'license.*', 'Customers in the CRM');
    diary.note(later(now, -1.1), async (end) => {
      const { enabledAt } = await requireWebhook(db, id);
      await setWebhook(db, id, disabledNow('failing', end), { enabledAt });
    });
  });
}
