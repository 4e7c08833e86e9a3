import { expect } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createCode, CUSTOMER_CODE_TTL_MS } from '../../../src/access/one-time-codes';
import { pageTexts } from '../../../src/texts/operators/languages';
import { table } from '../../../src/store/engine/database';
import { makePackage } from '../../support/packages';
import { temporaryFolder } from '../../support/processes';
import { manifestOf, SHOP } from '../../support/sample-shop';
import { giveLicense, PREFIX, rows, storedLicense } from '../../support/service';
import type { Hands } from './hands';
import type { PagesSite } from './site';

/** The tasks of docs/operator.md and of customers, done in a browser as a person does them. */

export interface Desk {
  page: Page;
  hands: Hands;
  site: PagesSite;
  /** A prefix that distinguishes the names of this run from those of others. */
  name: string;
  /** If false, the page's scripts do not run. */
  hasScript?: boolean;
}

export type Task = (desk: Desk) => Promise<void>;

const t = pageTexts('en');

const button = ({ page }: Desk, name: string) =>
  page.getByRole('main').getByRole('button', { name, exact: true });
const link = ({ page }: Desk, name: string) =>
  page.getByRole('main').getByRole('link', { name, exact: true });
/** A line that is one link: its title, and what it says next to it. */
const line = ({ page }: Desk, title: string) =>
  page.getByRole('main').getByRole('link', { name: new RegExp(`^${title} `) });
const label = ({ page }: Desk, name: string) =>
  page.getByRole('main').getByLabel(name).and(page.locator('input, select, textarea'));
/** Opens a page from the navigation, which is a drawer in a small window. */
async function goTo({ page, hands }: Desk, name: string): Promise<void> {
  const menu = page.getByRole('button', { name: t.common.menu, exact: true });
  if (await menu.isVisible()) await hands.press(menu);
  await hands.follow(page.getByRole('navigation').getByRole('link', { name, exact: true }));
}
/** Returns the page's message about the last action. */
const said = ({ page }: Desk) => page.locator('main .toast [role=status]').innerText();
const heading = ({ page }: Desk) => page.getByRole('heading', { level: 1 }).innerText();
const text = ({ page }: Desk) => page.getByRole('main').innerText();

/** Returns the status or the error code that a customer's software gets for a key. */
async function validate({ site }: Desk, key: string): Promise<string> {
  const response = await fetch(`${site.service.url}${PREFIX}/licenses/validate`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ license_key: key }),
  });
  const body = (await response.json()) as { data?: { status: string }; error?: { code: string } };
  return body.data?.status ?? body.error?.code ?? '';
}

/** Creates a licence, and opens it with the search field. */
async function openLicence(
  desk: Desk,
  planId = SHOP.plans.agency25,
): Promise<{ id: number; key: string; email: string }> {
  const { service } = desk.site;
  const email = `${desk.name}-${(await rows(service.db, 'licenses')).length}@example.org`;
  const given = await giveLicense(service.db, planId, { customer: email }, service.clock.now);
  await search(desk, email);
  expect(await heading(desk)).toBe(email);
  return { ...given, email };
}

async function search(desk: Desk, about: string): Promise<void> {
  const { page, hands } = desk;
  await hands.type(page.getByLabel(t.common.findLabel), about);
  await hands.follow(page.getByRole('search').getByRole('button', { name: t.common.find, exact: true }));
}

const more = async (desk: Desk) => desk.hands.press(desk.page.getByLabel(t.license.more, { exact: true }));

export const enter: Task = async ({ page, hands, site }) => {
  await page.goto(`${site.pages}/`);
  await hands.type(page.getByLabel(t.signIn.token), site.token);
  await hands.follow(page.getByRole('button', { name: t.signIn.submit, exact: true }));
};

/** Takes the first steps on an empty database. */
export const firstRun: Task = async (desk) => {
  const { page, hands, site } = desk;
  const { start } = t;
  expect(await heading(desk)).toBe(start.title);
  await hands.type(label(desk, start.product.name), 'Gallery Pro');
  await hands.type(label(desk, start.product.element), 'pkg_gallerypro');
  await hands.follow(button(desk, start.product.submit));
  await hands.follow(button(desk, start.plan.submit));
  const { path } = await makePackage({ 'pkg_gallerypro.xml': manifestOf('pkg_gallerypro', '1.0.0') });
  await hands.attach(label(desk, start.release.file), path);
  await hands.type(label(desk, start.release.changelog), 'The first version.');
  await hands.press(button(desk, start.release.submit));
  await page.getByRole('heading', { name: start.gaps.pageTitle }).waitFor();
  await hands.type(label(desk, start.licence.customer), 'me@shop.example');
  await hands.follow(button(desk, start.licence.submit));
  const key = await label(desk, start.key.key).inputValue();
  expect(await validate(desk, key)).toBe('active');
  const { db } = site.service;
  expect(await rows(db, 'products')).toMatchObject([{ name: 'Gallery Pro', element: 'pkg_gallerypro' }]);
  expect(await rows(db, 'plans')).toMatchObject([{ activation_limit: 1, duration: '1y', free_staging: 1 }]);
  expect(await rows(db, 'releases')).toMatchObject([{ version: '1.0.0', state: 'published' }]);
  const download = `${site.shop}${PREFIX}/downloads`.replace(site.shop, site.service.url);
  expect((await fetch(`${download}/1?dlid=${key}`)).status).toBe(200);
};

export const sell: Task = async (desk) => {
  const { page, hands, site, name } = desk;
  const texts = t.licenses.issuePage;
  await goTo(desk, t.common.nav.licenses);
  await hands.follow(link(desk, t.licenses.issue));
  await hands.pick(label(desk, texts.plan), 'Agency 25');
  await hands.type(label(desk, texts.customer), `${name}@example.com`);
  await hands.type(label(desk, texts.order), `order-${name}`);
  await hands.follow(button(desk, texts.submit));
  expect(await heading(desk)).toBe(texts.doneTitle);
  const key = await page.locator('#license-key').inputValue();
  expect(await validate(desk, key)).toBe('active');
  expect(await page.locator('#letter-text').inputValue()).toContain(key);
  await page.reload();
  expect(await page.locator('#license-key').inputValue()).toBe(key);
  const sold = await site.service
    .db(table(site.service.db, 'licenses'))
    .where({ reference: `order-${name}` });
  expect(sold).toMatchObject([{ customer: `${name}@example.com`, activation_limit: 25 }]);
};

/** Answers the mail "My update fails": finds the reason, reads the answer for the customer, and applies the remedy. */
export const answerMail: Task = async (desk) => {
  const { page, hands, hasScript = true } = desk;
  await search(desk, SHOP.jane.email);
  expect(await heading(desk)).toBe(SHOP.jane.email);
  expect(await text(desk)).toContain('Updates are refused: the licence expired on 12 Nov 2026.');
  const reply = page.locator('textarea.reply');
  expect(await reply.inputValue()).toContain('12 November 2026');
  if (hasScript) {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await hands.press(button(desk, t.common.copy));
    await page.getByText(t.common.copied).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied.replaceAll('\r\n', '\n')).toBe(await reply.inputValue());
  }
  await hands.follow(page.getByRole('button', { name: /^Renew for 1 year/ }));
  expect(await said(desk)).toBe(t.said.licenseRenewed('23 Nov 2027'));
  expect(await validate(desk, SHOP.jane.key)).toBe('active');
  expect(await text(desk)).toContain('works again');
};

export const renewUntil: Task = async (desk) => {
  const { hands, site } = desk;
  const texts = t.license.renewPage;
  const { id } = await openLicence(desk);
  await hands.follow(link(desk, t.license.renew));
  await hands.choose(label(desk, texts.byDay));
  await hands.type(label(desk, texts.until), '2029-06-30');
  await hands.follow(button(desk, texts.submit));
  expect(await said(desk)).toBe(t.said.licenseRenewed('30 Jun 2029'));
  expect(await storedLicense(site.service.db, id)).toMatchObject({
    expires_at: expect.stringContaining('2029-06-30'),
  });
};

export const suspendAndReinstate: Task = async (desk) => {
  const { hands } = desk;
  const { key } = await openLicence(desk);
  await more(desk);
  await hands.follow(link(desk, t.license.suspend));
  await hands.type(label(desk, t.license.reason), 'waiting for payment');
  await hands.follow(button(desk, t.license.suspendPage.submit));
  await desk.page.getByRole('main').getByText('waiting for payment').first().waitFor();
  expect([await said(desk), await validate(desk, key)]).toEqual([t.said.licenseSuspended(), 'suspended']);
  // The page offers this remedy.
  await hands.follow(button(desk, t.license.reinstate).last());
  expect([await said(desk), await validate(desk, key)]).toEqual([t.said.licenseReinstated(), 'active']);
};

export const revoke: Task = async (desk) => {
  const { hands, site } = desk;
  const { id, key } = await openLicence(desk);
  await more(desk);
  await hands.follow(link(desk, t.license.revoke));
  expect(await heading(desk)).toBe(t.license.final.revokeTitle(String(id)));
  await hands.follow(link(desk, t.license.final.keep));
  expect(await validate(desk, key)).toBe('active');
  await more(desk);
  await hands.follow(link(desk, t.license.revoke));
  await hands.type(label(desk, t.license.reason), 'charge-back');
  await hands.follow(button(desk, t.license.final.revoke));
  expect([await said(desk), await validate(desk, key)]).toEqual([t.said.licenseRevoked(), 'revoked']);
  const events = await site.service
    .db(table(site.service.db, 'events'))
    .where({ license_id: id, action: 'revoke' });
  expect(JSON.stringify(events)).toContain('charge-back');
  expect(events).toMatchObject([{ actor: 'token:browser' }]);
};

export const newKey: Task = async (desk) => {
  const { page, hands } = desk;
  const { key } = await openLicence(desk);
  const texts = t.license.keys;
  await hands.press(page.getByLabel(t.common.actions).first());
  await hands.follow(page.getByRole('link', { name: texts.newKey }));
  await hands.choose(label(desk, texts.atOnce));
  await hands.follow(button(desk, texts.newButton));
  const made = await page.locator('main input.mono').inputValue();
  expect([await validate(desk, key), await validate(desk, made)]).toEqual(['LICENSE_NOT_FOUND', 'active']);
};

export const addAndRemoveSite: Task = async (desk) => {
  const { page, hands, site, name } = desk;
  const { id } = await openLicence(desk);
  const host = `${name}.example.net`;
  await hands.type(page.locator('#add-site'), `https://${host}/shop`);
  await hands.follow(button(desk, t.license.sites.addButton));
  expect(await said(desk)).toBe(t.said.licenseSiteAdded(host, '1 of 25'));
  await hands.follow(button(desk, `${t.license.sites.remove} ${host}`));
  expect(await said(desk)).toBe(t.said.licenseSiteRemoved(host, '', ''));
  expect(await storedLicense(site.service.db, id)).toMatchObject({ activations_used: 0 });
};

/** Publishes and withdraws a version. Also checks the progress of the upload, and that sites are offered the version. */
export const publishAndWithdraw: Task = async (desk) => {
  const { page, hands, site, hasScript = true } = desk;
  const { form, withdrawPage, add } = t.releases;
  const taken = (await rows<{ version: string }>(site.service.db, 'releases')).map(({ version }) => version);
  const version = ['2.3.0', '2.4.0', '2.5.0'].find((one) => !taken.includes(one))!;
  await goTo(desk, t.common.nav.releases);
  if (await label(desk, t.releases.product).count()) {
    await hands.pick(label(desk, t.releases.product), 'Gallery Pro');
    await hands.follow(button(desk, t.releases.show));
  }
  await hands.follow(link(desk, add));
  const { path } = await makePackage(
    { 'pkg_gallerypro.xml': manifestOf('pkg_gallerypro', version) },
    400_000,
  );
  await hands.attach(label(desk, form.file), path);
  await hands.type(label(desk, form.changelog), 'Faster start.');
  if (!hasScript) await page.getByText(t.common.upload.plain).waitFor();
  const session = await page.context().newCDPSession(page);
  const network = { offline: false, latency: 0, downloadThroughput: -1 };
  await session.send('Network.emulateNetworkConditions', { ...network, uploadThroughput: 250_000 });
  await hands.press(button(desk, form.submit));
  if (hasScript) await page.getByText(/^0\.\d MB of 0\.4 MB/).waitFor();
  await page.locator('main .toast [role=status]').waitFor();
  await session.send('Network.emulateNetworkConditions', { ...network, uploadThroughput: -1 });
  expect(await said(desk)).toBe(t.said.releasePublished(version, 'written', version, '100'));
  const xml = () => fetchText(page, `${site.shop}/licensing-updates/pkg_gallerypro.xml`);
  expect(await xml()).toContain(`<version>${version}</version>`);

  const card = page.getByRole('article').filter({ has: page.getByText(version, { exact: true }) });
  await hands.press(card.getByLabel(t.common.actions));
  await hands.follow(card.getByRole('link', { name: t.releases.withdraw }));
  expect(await heading(desk)).toBe(withdrawPage.title(version));
  await hands.follow(button(desk, withdrawPage.submit(version)));
  expect(await xml()).not.toContain(`<version>${version}</version>`);
  const states = await site.service
    .db(table(site.service.db, 'releases'))
    .where({ version })
    .pluck<string[]>('state');
  expect(states).toEqual(['withdrawn']);
};

/** Fetches a file like the browser: with the shop's name, and with its certificate. */
function fetchText(page: Page, url: string): Promise<string> {
  return page.request
    .get(url.replace('shop.example', '127.0.0.1'), {
      headers: { Host: 'shop.example' },
      ignoreHTTPSErrors: true,
    })
    .then((answer) => answer.text());
}

/** Moves in from a file that EDD exports, for which the operator chooses the plan. */
export const moveInAndBack: Task = async (desk) => {
  const { page, hands, site, name } = desk;
  const texts = t.moveIn;
  const file = join(temporaryFolder(), 'licenses.csv');
  const id = (await rows(site.service.db, 'imports')).length + 1;
  const key = `${id}${Buffer.from(name).toString('hex')}`.padEnd(32, 'e').slice(0, 32);
  writeFileSync(
    file,
    [
      'License ID,License Key,License Status,Customer Email,Product Name,Expiration Date,Activation Limit',
      `${name}-${id},${key},inactive,${name}-moved@example.com,Gallery of ${name},lifetime,3`,
      `${name}-out,${key.replace('e', 'f')},odd,${name}-moved@example.com,Gallery of ${name},lifetime,3`,
    ].join('\n'),
  );
  await goTo(desk, t.common.nav.system);
  await hands.follow(line(desk, texts.title));
  await hands.pick(label(desk, texts.from), `EDD Software Licensing (${texts.reads.file})`);
  await hands.attach(label(desk, texts.file), file);
  await hands.press(button(desk, texts.read));
  await page.getByRole('heading', { name: texts.plansTitle }).waitFor();
  expect(await text(desk)).toContain(texts.unsaid);
  await hands.pick(label(desk, texts.ourPlan(`Gallery of ${name}`)), 'Gallery Pro · Agency 25');
  await hands.follow(button(desk, texts.check));
  const count = async () => (await rows(site.service.db, 'licenses')).length;
  const before = await count();
  await hands.follow(button(desk, texts.submit(1, '1')));
  expect(await heading(desk)).toBe(texts.doneTitle('EDD Software Licensing'));
  expect(await count()).toBe(before + 1);
  expect(await validate(desk, key)).toBe('active');
  await hands.follow(link(desk, texts.toMoves));
  await hands.follow(page.getByRole('link', { name: texts.undoOne('EDD Software Licensing') }).first());
  await hands.follow(button(desk, texts.undoSubmit));
  expect(await heading(desk)).toBe(texts.undoneTitle);
  expect(await validate(desk, key)).toBe('LICENSE_NOT_FOUND');
  expect(await count()).toBe(before);
};

export const makeAndRevokeToken: Task = async (desk) => {
  const { page, hands, site, name } = desk;
  const { tokens, revokeToken } = t.system;
  await goTo(desk, t.common.nav.system);
  await hands.follow(line(desk, tokens.title));
  await hands.follow(link(desk, tokens.add));
  await hands.type(label(desk, tokens.name), `shop-${name}`);
  await hands.choose(page.locator('input[name=scope][value=issue]'));
  await hands.follow(button(desk, tokens.submit));
  const token = await page.locator('main input.mono').inputValue();
  const me = () =>
    fetch(`${site.service.url}${PREFIX}/manage/me`, { headers: { Authorization: `Bearer ${token}` } });
  expect((await me()).status).toBe(200);
  await hands.follow(link(desk, tokens.toList));
  await hands.follow(page.getByRole('link', { name: tokens.revokeOne(`shop-${name}`), exact: true }));
  await hands.follow(button(desk, revokeToken.submit));
  expect(await said(desk)).toBe(t.said.tokenRevoked(`shop-${name}`));
  await expectSoon(async () => (await me()).status === 401);
};

export const eraseCustomer: Task = async (desk) => {
  const { hands, site } = desk;
  const { erasePage, one } = t.customers;
  const { id, email, key } = await openLicence(desk);
  await goTo(desk, t.common.nav.customers);
  await hands.type(label(desk, t.customers.q), email);
  await hands.follow(button(desk, t.common.filter));
  await hands.follow(link(desk, email));
  await hands.press(desk.page.locator('.head .menu > summary'));
  await hands.follow(link(desk, one.erase));
  await hands.type(label(desk, erasePage.confirm), 'somebody@else.example');
  await hands.follow(button(desk, erasePage.submit));
  expect(await text(desk)).toContain(erasePage.wrong);
  await hands.type(label(desk, erasePage.confirm), email);
  await hands.follow(button(desk, erasePage.submit));
  expect(await said(desk)).toBe(t.said.customerErased());
  expect(await storedLicense(site.service.db, id)).toMatchObject({ customer: null });
  expect(await validate(desk, key)).toBe('active');
};

export const signOut: Task = async (desk) => {
  const { page, hands } = desk;
  await hands.press(page.locator('.account > summary'));
  await hands.follow(page.getByRole('button', { name: t.common.signOut }));
  expect(await said(desk)).toBe(t.kit.said.signedOut());
};

/** Finds out with the key why the update is refused, and downloads the version that the licence still includes. */
export const customerByKey: Task = async (desk) => {
  const { page, hands, site } = desk;
  const { service } = site;
  const planId = SHOP.plans.agency25;
  await service.db(table(service.db, 'plans')).where({ id: planId }).update({ after_expiry: 'last_release' });
  const expiresAt = new Date('2026-11-12T23:59:59Z');
  const { key } = await giveLicense(service.db, planId, { expiresAt }, service.clock.now);
  await page.goto(`${site.pages}/my`);
  await hands.type(label(desk, t.my.key.label), key.slice(0, -1));
  await hands.follow(button(desk, t.my.key.show));
  expect(await text(desk)).toContain('No licence has this key.');
  await hands.type(label(desk, t.my.key.label), key);
  await hands.follow(button(desk, t.my.key.show));
  expect(await text(desk)).toContain('Your licence ended on 12 Nov 2026.');
  expect(await text(desk)).toContain('Error connecting to the server: 403');
  const get = button(desk, t.my.downloadVersion('2.0.9')).or(
    button(desk, t.my.downloadOf('Gallery Pro', '2.0.9')),
  );
  const [download] = await Promise.all([page.waitForEvent('download'), hands.press(get)]);
  expect(download.suggestedFilename()).toMatch(/2\.0\.9\.zip$/);
  expect(await download.failure()).toBeNull();
  expect(page.url()).not.toContain(key);
};

/** Opens the link that is mailed, frees a site, and replaces the key. */
export const customerByMail: Task = async (desk) => {
  const { page, hands, site, name } = desk;
  const { db, clock } = site.service;
  const email = `${name}-by-mail@example.net`;
  const { id, key } = await giveLicense(db, SHOP.plans.agency25, { customer: email }, clock.now);
  for (const host of ['old', 'new'])
    await fetch(`${site.service.url}${PREFIX}/licenses/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: key, identifier: `${host}.${name}.example.net` }),
    });
  const code = await createCode(db, { kind: 'customer', email }, CUSTOMER_CODE_TTL_MS, clock.now);
  await page.goto(`${site.pages}/my/enter/${code}`);
  await hands.follow(button(desk, t.my.link.open));
  expect(await text(desk)).toContain(email);
  await hands.follow(page.getByRole('link', { name: t.my.sites.removeThe(`old.${name}.example.net`) }));
  expect(await heading(desk)).toBe(t.my.sites.ask(`old.${name}.example.net`));
  await hands.follow(button(desk, t.my.sites.removeThe(`old.${name}.example.net`)));
  expect(await said(desk)).toContain(`old.${name}.example.net`);
  expect(await storedLicense(db, id)).toMatchObject({ activations_used: 1 });
  await hands.follow(page.getByRole('link', { name: t.my.keys.new }));
  await hands.choose(label(desk, t.my.keys.atOnce));
  await hands.follow(button(desk, t.my.keys.make));
  const made = await page.locator('#key-text').inputValue();
  expect([await validate(desk, key), await validate(desk, made)]).toEqual(['LICENSE_NOT_FOUND', 'active']);
};

async function expectSoon(holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 5_000; !(await holds());)
    if (Date.now() > end) throw new Error('It did not happen within 5 s.');
}

/** The tasks of an operator, in a shop that sells. */
export const OPERATOR_TASKS: Record<string, Task> = {
  'sells by hand': sell,
  'finds out why an update fails, answers the mail, and renews': answerMail,
  'renews until a day': renewUntil,
  'suspends and reinstates': suspendAndReinstate,
  'revokes, and thinks better of it first': revoke,
  'makes a new key': newKey,
  'adds and removes a site': addAndRemoveSite,
  'publishes a version, which sites are offered, and withdraws it': publishAndWithdraw,
  'moves in from another system, and takes it back': moveInAndBack,
  'makes and revokes a token': makeAndRevokeToken,
  'erases a customer’s data': eraseCustomer,
  'signs out': signOut,
};

export const CUSTOMER_TASKS: Record<string, Task> = {
  'learns by the key why it fails, and downloads': customerByKey,
  'frees a site and replaces the key, by the mailed link': customerByMail,
};
