import { createHash } from 'node:crypto';
import { addPlan, addProduct } from '../../src/licensing/catalogue';
import { issueLicenses } from '../../src/licensing/issue';
import { changeState, renew } from '../../src/licensing/lifecycle';
import { makePackage } from './packages';
import { eventually, temporaryFolder } from './processes';
import { regenerateUpdateXml } from '../../src/joomla/regenerate-update-xml';
import { publish } from '../../src/joomla/publish';
import { countAllLicenses, aggregateNewRows } from '../../src/figures/statistics';
import { storedKey } from '../../src/licensing/sealing';
import { licenseData, webhookRow } from '../../src/licensing/webhook-events';
import { withdrawRelease } from '../../src/packages/releases';
import { table, type Db } from '../../src/store/engine/database';
import { acquireOrRenewLease } from '../../src/store/leases';
import { insertKey } from '../../src/store/licenses/license-keys';
import { findLicense, type License } from '../../src/store/licenses/licenses';
import { insertOutboxRows } from '../../src/store/outbox';
import { toSqlTime } from '../../src/store/engine/time';
import { inTransaction } from '../../src/store/engine/transaction';
import { insertWebhook } from '../../src/store/webhooks';
import { generateWebhookSecret, sealSecret } from '../../src/webhooks/signing';
import { PREFIX, type TestService } from './service';

/**
 * A small shop after two years, always the same: two products, plans, licences in each state, sites, versions, and the
 * requests of the last weeks, which are sent by HTTP like those of customers' sites.
 */

/** A Monday morning; nothing in the shop is later. */
export const SHOP_NOW = new Date('2026-11-23T09:02:00Z');
const SECRET = createHash('sha256').update('sample').digest();

/** Returns the settings that the shop's service needs. */
export function shopSettings() {
  return {
    LICENSING_KEY_SECRET: SECRET.toString('base64'),
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_SHOP_NAME: 'Example Extensions',
    LICENSING_XML_DIR: temporaryFolder(),
    // Write mails into files.
    LICENSING_MAIL_URL: `file:${temporaryFolder()}?from=shop@shop.example`,
    LICENSING_MANAGE_RATE_LIMIT: '100000',
  };
}

/** The licences that pages and tests refer to. */
export const SHOP = {
  gallery: 42,
  forms: 43,
  /** expired eleven days ago, and refused since */
  jane: { email: 'jane@example.com', order: 'order-2410', key: keyOf('jane') },
  /** an agency with three licences, one of them nearly full */
  studio: { email: 'studio@example.net', order: 'order-3399', key: keyOf('studio'), client: keyOf('bakery') },
  /** suspended */
  post: { email: 'post@example.org', order: 'order-3120', key: keyOf('post') },
  /** all slots in use */
  office: {
    email: 'it-abteilung@buero-nord-und-sued.example.com',
    order: 'order-3388',
    key: keyOf('office'),
  },
  plans: { single: 1, agency25: 2, agency60: 3, lifetime: 4, form: 5 },
};

/** Returns a key that is the same each time. */
function keyOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex').toUpperCase();
  return (hex.match(/.{8}/g) as string[]).slice(0, 4).join('-');
}

/** Returns a number that is the same each time for the same text, like the whole shop. */
function spread(text: string, below: number): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) % below;
}

export interface ShopOptions {
  /** the number of licences without a name */
  licences?: number;
  /** the number of downloads in the last 30 days */
  downloads?: number;
}

/** Fills a service's empty database, and leaves its clock at `SHOP_NOW`. @param xmlDir LICENSING_XML_DIR */
export async function giveSampleShop(
  service: TestService,
  xmlDir: string,
  { licences = 40, downloads = 60 }: ShopOptions = {},
): Promise<void> {
  const { db, clock } = service;
  const start = daysAgo(800);
  const urls = { renewUrl: 'https://shop.example/renew', supportUrl: 'https://shop.example/support' };
  await addProduct(db, { id: SHOP.gallery, name: 'Gallery Pro', element: 'pkg_gallerypro', ...urls }, start);
  await addProduct(db, { id: SHOP.forms, name: 'Form Kit', element: 'pkg_formkit', ...urls }, start);
  for (const [productId, name, activationLimit, duration] of [
    [SHOP.gallery, 'Single', 1, '1y'],
    [SHOP.gallery, 'Agency 25', 25, '1y'],
    [SHOP.gallery, 'Agency 60', 60, '1y'],
    [SHOP.gallery, 'Lifetime', 5, null],
    [SHOP.forms, 'Single', 1, '1y'],
  ] as const)
    await addPlan(
      db,
      {
        productId,
        name,
        activationType: 'domain',
        activationLimit,
        duration,
        freeStaging: activationLimit > 5,
      },
      start,
    );
  await giveVersions(service, xmlDir);

  const sell = async (planId: number, name: string, email: string, order: string, ago: number) => {
    const request = {
      ...{ planId, customer: email, reference: order, expiresAt: undefined, activationLimit: undefined },
      ...{ key: keyOf(name), count: 1 },
    };
    const [issued] = await issueLicenses(db, request, 'token:shop', SECRET, daysAgo(ago));
    return issued!.license.id;
  };
  const { plans, jane, studio, post, office } = SHOP;
  const sold: { key: string; site: string; ago: number; productId: number }[] = [];
  for (let i = 0; i < licences; i++) {
    const name = `customer-${i}`;
    const ago = Math.round(((licences - i) / licences) * 700);
    const planId = [plans.single, plans.form, plans.agency25, plans.single, plans.lifetime][spread(name, 5)]!;
    const email = `${FIRST_NAMES[spread(name, FIRST_NAMES.length)]}${i}@example.${['com', 'org', 'net'][i % 3]}`;
    const id = await sell(planId, name, email, `order-${1000 + i * 3}`, ago);
    const isForm = planId === plans.form;
    // Most customers renew after their year.
    if (ago > 365 && planId !== plans.lifetime && spread(`${name}-renews`, 10) < 7)
      await renew(
        db,
        id,
        { for: '1y' },
        { actor: 'token:shop', now: daysAgo(ago - 360), reason: `order-${1001 + i * 3}` },
      );
    if (i % 23 === 7) {
      const now = daysAgo(Math.max(ago - 5, 0));
      await changeState(db, id, 'cancel', { actor: 'joomla:admin', now });
      continue;
    }
    sold.push({
      key: keyOf(name),
      site: `${name}.example.com`,
      ago,
      productId: isForm ? SHOP.forms : SHOP.gallery,
    });
  }
  await sell(plans.agency25, 'jane', jane.email, jane.order, 376);
  await sell(plans.agency25, 'office', office.email, office.order, 96);
  const paused = await sell(plans.form, 'post', post.email, post.order, 295);
  const agency = await sell(plans.agency60, 'studio', studio.email, studio.order, 264);
  await sell(plans.form, 'studio-forms', studio.email, 'order-2871', 347);
  await sell(plans.agency25, 'studio-old', studio.email, 'order-1022', 657);
  await changeState(db, paused, 'suspend', {
    actor: 'joomla:admin',
    now: daysAgo(20),
    reason: 'The payment bounced.',
  });
  // Do not use addKey, which creates another key each time.
  const terms = {
    licenseId: agency,
    label: 'Bakery',
    activationLimit: 5,
    endsAt: null,
    createdAt: daysAgo(200),
  };
  await inTransaction(db, (trx) => insertKey(trx, { ...storedKey(studio.client, SECRET), ...terms }));

  const site = client(service);
  for (let i = 0; i < 25; i++) await site.activate(office.key, `branch-${i}.example.com`, 90 - i);
  for (let i = 0; i < 40; i++)
    await site.activate(studio.key, `${TRADES[i % TRADES.length]}${i}.example.net`, 220 - i * 5);
  for (const [i, name] of [
    'atelier.example.org',
    'staging.atelier.example.org',
    'shop.example.com',
  ].entries())
    await site.activate(jane.key, name, 330 - i * 100, i === 0 ? 'Live' : undefined);
  for (const { key, site: name, ago } of sold.slice(-120))
    await site.activate(key, name, Math.max(ago - 1, 0));

  const active = sold.filter(({ ago }) => ago < 340);
  for (let i = 0; i < downloads; i++) {
    const { key, productId } = active[spread(`download-${i}`, active.length)]!;
    const ago = (i * 30) / downloads;
    await site.download(
      key,
      productId,
      ago,
      productId === SHOP.gallery ? (ago < 4 ? '2.1.0' : '2.0.9') : '1.4.2',
    );
  }
  for (const ago of [10.4, 6.2, 2.7, 0.3, 0.04]) await site.download(jane.key, SHOP.gallery, ago, '2.1.0');
  // Change one character of Jane's key.
  await site.download(
    jane.key.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
    SHOP.gallery,
    1.58,
    '2.1.0',
  );
  await site.download(post.key, SHOP.forms, 3.9, '1.4.2');
  for (const ago of [5.1, 1.5]) await site.activate(office.key, 'branch-26.example.com', ago);
  await site.download(keyOf('nobody'), SHOP.gallery, 4.6, '2.1.0');
  for (const { key, productId } of sold.filter(({ ago }) => ago > 366).slice(0, 6))
    await site.download(key, productId, 2, '2.1.0');
  // Wait, because requests are recorded in batches.
  await site.download(studio.key, SHOP.gallery, 0.02, '2.1.0');
  const ofLast = { license_id: agency, endpoint: 'download' };
  await eventually(async () => {
    if (!(await db(table(db, 'access_log')).where(ofLast).first()))
      throw new Error('A request is not recorded.');
  });
  clock.now = SHOP_NOW;
  await keepFigures(db);
  await giveWebhook(db, agency);
}

/** Adds a receiver that is switched off, with a delivery of each state. */
async function giveWebhook(db: Db, licenseId: number): Promise<void> {
  const at = daysAgo(3);
  const id = await insertWebhook(db, {
    ...{ url: 'https://crm.example/hook/4711', events: 'webhook.test', description: 'Newsletter' },
    ...{
      secretSealed: sealSecret(generateWebhookSecret(), SECRET),
      previousSealed: null,
      previousEndsAt: null,
    },
    ...{ enabledAt: at, disabledAt: SHOP_NOW, disabledReason: 'operator', sweptAt: at },
    ...{ createdBy: 'operator:root', createdAt: at },
  });
  const license = licenseData((await findLicense(db, licenseId)) as License, at);
  await inTransaction(db, (trx) =>
    insertOutboxRows(trx, [
      webhookRow(id, 'license.changed', { license, actor: 'token:shop' }, at),
      webhookRow(id, 'license.renewed', { license }, SHOP_NOW),
      webhookRow(id, 'webhook.test', {}, SHOP_NOW),
    ]),
  );
  const rows = (type: string) => db(table(db, 'outbox')).where({ webhook_id: id, type });
  const delivered = { next_attempt_at: null, lane: null, attempts: 1, sent_at: toSqlTime(at) };
  await rows('license.changed').update({ ...delivered, answer_status: 200, answer: 'Thank you' });
  await rows('license.renewed').update({ attempts: 2, last_error: 'STATUS 500', answer: 'No disk space' });
  await rows('webhook.test').update({ next_attempt_at: null, attempts: 1, last_error: 'TIMEOUT' });
}

/** Sums up figures like the service each minute, because a test's clock does not advance. */
async function keepFigures(db: Db): Promise<void> {
  const lease = { name: 'housekeeping', holder: 'sample' };
  const now = () => SHOP_NOW;
  await eventually(async () => {
    await db(table(db, 'leases')).del();
    const isDone =
      (await acquireOrRenewLease(db, lease, SHOP_NOW)) && (await aggregateNewRows(db, lease, now));
    if (!isDone || !(await countAllLicenses(db, lease, now)))
      throw new Error('Another one keeps the figures.');
  });
  await db(table(db, 'leases')).del();
}

/** Returns a time before SHOP_NOW, to the minute. */
function daysAgo(days: number): Date {
  return new Date(SHOP_NOW.getTime() - Math.round(days * 1440) * 60_000);
}

const FIRST_NAMES = [
  'anna',
  'ben',
  'clara',
  'david',
  'emma',
  'felix',
  'greta',
  'hugo',
  'ida',
  'jonas',
  'klara',
  'leo',
];
const TRADES = ['bakery', 'museum', 'verein', 'garage', 'praxis', 'florist'];

async function giveVersions(service: TestService, xmlDir: string): Promise<void> {
  const home = { xmlDir, publicUrl: 'https://shop.example' };
  for (const [productId, version, ago, changelog, draft] of [
    [SHOP.gallery, '2.0.7', 116, 'Fixes the order of the menu.', false],
    [SHOP.gallery, '2.0.8', 56, 'Fewer queries on large sites.', false],
    [SHOP.gallery, '2.0.9', 52, 'No flicker on load.', false],
    [SHOP.gallery, '2.1.0', 4, 'Faster start.\nFixes the order of the menu.', false],
    [SHOP.gallery, '2.2.0-beta1', 2, 'New grid. For testers.', true],
    [SHOP.forms, '1.4.1', 150, 'A field for dates.', false],
    [SHOP.forms, '1.4.2', 40, 'Messages in French.', false],
  ] as const) {
    const element = productId === SHOP.gallery ? 'pkg_gallerypro' : 'pkg_formkit';
    const { path } = await makePackage({ [`${element}.xml`]: manifestOf(element, version) }, 200_000);
    const request = { productId, version, file: path, changelog, draft, date: undefined };
    await publish(service.db, { packagesDir: service.packagesDir, home }, request, daysAgo(ago));
    // Publish the gallery's latest version without offering it yet.
    if (version !== '2.1.0' && !draft) await regenerateUpdateXml(service.db, home, productId);
  }
  await withdrawRelease(service.db, SHOP.gallery, '2.0.8', new Date());
}

/** Returns the manifest of a package that Joomla would install. */
export function manifestOf(element: string, version: string): string {
  return `<?xml version="1.0" encoding="utf-8"?>
<extension type="package" method="upgrade">
  <name>${element}</name>
  <packagename>${element.replace(/^pkg_/, '')}</packagename>
  <version>${version}</version>
  <updateservers><server type="extension" name="Updates">https://shop.example/licensing-updates/${element}.xml</server></updateservers>
  <dlid prefix="dlid=" suffix=""/>
</extension>
`;
}

/** Returns customers' sites, which send each request at a given time, from a different address. */
function client({ url, clock }: TestService) {
  const send = async (path: string, key: string, ago: number, body?: object) => {
    clock.now = daysAgo(ago);
    const response = await fetch(`${url}${PREFIX}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'User-Agent': 'Joomla/5.3.0',
        'X-Forwarded-For': `198.51.100.${1 + spread(key, 200)}`,
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await response.arrayBuffer();
  };
  return {
    activate: (key: string, identifier: string, ago: number, name?: string) =>
      send('/licenses/activate', key, ago, {
        license_key: key,
        identifier,
        ...(name === undefined ? {} : { name }),
      }),
    download: (key: string, productId: number, ago: number, version: string) =>
      send(`/downloads/${productId}?dlid=${key}&version=${version}`, key, ago),
  };
}
