import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { table } from '../../src/store/engine/database';
import { startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { PREFIX } from '../support/service';
import { customerClient, pagesClient, textOf, type PagesClient } from './support/session';

/** A seller's actions on the first days, and the texts that customers read about them. */

let service: Managed;
let pages: PagesClient;
let mailFolder: string;
beforeAll(async () => {
  mailFolder = temporaryFolder();
  service = await startManaged({
    LICENSING_PUBLIC_URL: 'https://shop.example',
    LICENSING_MAIL_URL: `file:${mailFolder}?from=shop@shop.example`,
    LICENSING_XML_DIR: temporaryFolder(),
  });
  pages = await pagesClient(service);
});
afterAll(() => service.stop());

/** Adds a product with a plan. */
const goods = async (product: object, plan: object = {}) => {
  const { id } = await service.write.ok('POST /products', product, 201);
  const given = { name: 'Agency', activation_type: 'domain', activation_limit: 10, duration: '1y' };
  const added = await service.write.ok('POST /plans', { product_id: id as number, ...given, ...plan }, 201);
  return { productId: id as number, planId: added.id as number };
};
const sell = (body: object) =>
  service.write
    .ok('POST /licenses', body, 201)
    .then(({ id, license_key: key }) => ({ id: id as number, key: key as string }));
const activate = async (key: string, identifier: string) => {
  const response = await fetch(`${service.url}${PREFIX}/licenses/activate`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ license_key: key, identifier }),
  });
  await response.arrayBuffer();
  return response.status;
};
/** Waits for the mail that contains this text, and returns its whole text. Lines in mails are wrapped and encoded. */
const mailWith = async (part: string): Promise<string> => {
  let found: string | undefined;
  await eventually(() => {
    const mails = readdirSync(mailFolder).map((file) =>
      decoded(readFileSync(join(mailFolder, file), 'utf8')),
    );
    found = mails.find((text) => text.includes(part));
    expect(found).toBeDefined();
  });
  return found as string;
};
const decoded = (mail: string) =>
  Buffer.from(
    mail
      .replace(/=\r?\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
    'latin1',
  ).toString('utf8');

describe('a plan', () => {
  it('is not made for a year if another time was typed', async () => {
    const { productId } = await goods({ name: 'Plans' });
    const plan = {
      ...{ product_id: productId, name: 'Two weeks', activation_type: 'domain', activation_limit: 1 },
      ...{ duration: '1y', duration_own: '14d', after_expiry: 'nothing', self_service_moves: 3 },
    };
    await pages.get(`/plans/new?product_id=${productId}`);
    const refused = await pages.post('/plans/new', plan);
    expect(refused.status).toBe(400);
    expect(textOf(refused.html)).toContain('You typed another period.');
    const page = await pages.send('/plans/new', { ...plan, duration: 'own' });
    expect(textOf(page.html)).toContain('14 days');
    // The field still contains the plan's own time, so another choice is not refused.
    const { id } = (await service.db(table(service.db, 'plans')).where({ duration: '14d' }).first()) as {
      id: number;
    };
    await pages.get(`/plans/${id}`);
    expect((await pages.post(`/plans/${id}`, plan)).status).toBe(303);
  });

  it('says that its slots do not limit Joomla’s updates', async () => {
    const { productId } = await goods({ name: 'Hints' });
    expect(textOf((await pages.get(`/plans/new?product_id=${productId}`)).html)).toContain(
      'every site with the key gets updates. “Probably shared keys” shows who shares a key',
    );
  });
});

describe('an upload', () => {
  it('has a bar that is full at 100', async () => {
    const { productId } = await goods({ name: 'Bar' });
    const { html } = await pages.get(`/products/${productId}/releases/new`);
    expect(html).toMatch(/<progress [^>]*max="100"/);
  });
});

describe('issuing', () => {
  it('says whether the key was mailed', async () => {
    const { planId } = await goods({ name: 'Gallery', element: 'pkg_gallery' });
    const form = { plan_id: planId, customer: 'issue@example.com' };
    await pages.get('/licenses/new');
    expect(textOf((await pages.post('/licenses/new', form)).html)).toContain('No mail was sent.');
    await pages.get('/licenses/new');
    const sent = textOf(
      (await pages.post('/licenses/new', { ...form, reference: 'order-9', send: '1' })).html,
    );
    expect(sent).toMatch(/The mail with the key (?:is on its way|was sent) to issue@example\.com\./);
    expect(sent).toContain('The licence is issued');
    await pages.get('/licenses/new');
    const again = textOf((await pages.post('/licenses/new', { ...form, reference: 'order-9' })).html);
    expect(again).toContain('This order has its licence already');
  });

  it('says nothing false about a past end', async () => {
    const { planId } = await goods({ name: 'Past', element: 'pkg_past' });
    const form = { plan_id: planId, customer: 'past@example.com', expires_at: '2026-01-31', send: '1' };
    await pages.get('/licenses/new');
    const { html } = await pages.post('/licenses/new', form);
    expect(textOf(html)).toContain('The licence ended on 31 Jan 2026');
    expect(html).not.toContain('Updates work from then on');
    const mail = await mailWith('past@example.com');
    expect(mail).toContain('Your licence ended on 31 Jan 2026.');
    expect(mail).not.toContain('is valid until');
  });

  it('does not mail the key of a licence that is cancelled or revoked', async () => {
    const { planId } = await goods({ name: 'Gone' });
    for (const [way, state] of [
      ['cancel', 'cancelled'],
      ['revoke', 'revoked'],
    ] as const) {
      const { id } = await sell({ plan_id: planId, customer: `${way}@example.com` });
      expect((await pages.get(`/licenses/${id}`)).html).toContain(`/licenses/${id}/send-key`);
      await service.write.ok(`POST /licenses/${id}/${way}`, {});
      expect((await pages.get(`/licenses/${id}`)).html).not.toContain(`/licenses/${id}/send-key`);
      expect((await pages.post(`/licenses/${id}/send-key`)).status).toBe(404);
      expect(await service.write.refused(`POST /licenses/${id}/mails`, {}, 'CONFLICT')).toContain(state);
    }
  });
});

describe('a club', () => {
  let club: { productId: number; planId: number };
  beforeAll(async () => {
    const forms = await goods({ name: 'Club Forms', element: 'pkg_clubforms' });
    const menus = await goods({ name: 'Club Menus', element: 'pkg_clubmenus' });
    club = await goods({ name: 'Membership', includes: [forms.productId, menus.productId] });
    await giveRelease(service, { version: '3.1.0', productId: forms.productId });
  });
  const ENTRIES = 'Club Forms, Club Menus';

  it('names Joomla’s entries in every text about the key', async () => {
    await pages.get('/licenses/new');
    const form = { plan_id: club.planId, customer: 'club@example.com', send: '1' };
    const issued = textOf((await pages.post('/licenses/new', form)).html);
    expect(issued).toContain(`Choose the update site of each extension that you use (${ENTRIES})`);
    expect(issued).not.toContain('update site of Membership');
    const mail = await mailWith('club@example.com');
    expect(mail).toContain(`Open the entry of each extension that you use (${ENTRIES})`);
    expect(mail).not.toContain('the entry of Membership');

    const { id, key } = await sell({ plan_id: club.planId, customer: 'club2@example.com' });
    await pages.get(`/licenses/${id}/keys/add`);
    const made = textOf((await pages.post(`/licenses/${id}/keys/add`, { label: 'Bakery' })).html);
    expect(made).toContain(`(${ENTRIES})`);
    // No version of the menus is published, so no site has them.
    const mine = textOf((await (await customerClient(service, { key })).get('/my')).html);
    expect(mine).toContain('Open Club Forms and paste the key');
  });

  it('shows which extensions its customers download', async () => {
    for (const path of [`/releases?product_id=${club.productId}`, `/products/${club.productId}`]) {
      const text = textOf((await pages.get(path)).html);
      expect(text).toContain('What do customers of this club download?');
      expect(text).toContain('Club Forms : 3.1.0');
      expect(text).toContain('Club Menus : nothing published yet');
      expect(text).not.toContain('Customers cannot download anything');
    }
  });
});

describe('a new product', () => {
  it('is not red before anything is published', async () => {
    const { productId } = await goods({ name: 'New', element: 'pkg_new' });
    for (const path of [`/releases?product_id=${productId}`, `/products/${productId}`]) {
      const { html } = await pages.get(path);
      expect(html).not.toContain('why-no');
      expect(html).not.toContain(`/products/${productId}/update-xml.xml`);
      expect(textOf(html)).toContain('Joomla offers nothing.');
    }
  });
});

describe('an agency’s key that is full', () => {
  it('decides what the licence’s page shows, until the key has a free slot', async () => {
    const { planId, productId } = await goods({ name: 'Keys', element: 'pkg_keys' });
    await giveRelease(service, { version: '1.0.0', productId });
    const { id } = await sell({ plan_id: planId, customer: 'agency@example.com' });
    const added = await service.write.ok(
      `POST /licenses/${id}/keys`,
      { label: 'Bakery', activation_limit: 1 },
      201,
    );
    const [key, hint, keyId] = [added.license_key as string, added.key_hint as string, added.id as number];
    expect([await activate(key, 'one.example'), await activate(key, 'two.example')]).toEqual([200, 403]);
    const page = async (query = '') => textOf((await pages.get(`/licenses/${id}${query}`)).html);
    await eventually(async () => expect(await page()).toContain('two.example'));
    const full = await page();
    expect(full).toContain(`For the key that ends in ${hint} (Bakery):`);
    expect(full).toContain('New sites are refused: the one slot is in use.');
    expect(full).not.toContain('the cause no longer exists');
    expect(full).toContain(`(key ending in ${hint}) is valid and updates work, but its only site is in use`);
    const mainId = /[?&]key=(\d+)/.exec((await pages.get(`/licenses/${id}`)).html)?.[1] as string;
    expect(await page(`?key=${mainId}`)).toContain('New sites can be added: 9 of 10 slots are free.');

    const found = await pages.post('/find', { about: key });
    expect(found.location).toBe(`/licenses/${id}?key=${keyId}`);
    await service.write.ok(`PATCH /licenses/${id}/keys/${keyId}`, { activation_limit: 2 });
    expect(await page()).toContain('New sites can be added');
    expect(await page(`?key=${keyId}`)).toContain('New sites can be added: 1 of 2 slots');
  });
});
