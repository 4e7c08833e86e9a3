import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { table } from '../../src/store/engine/database';
import { recordReportedSites } from '../../src/store/reported-sites';
import { startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { giveLicense, givePlan } from '../support/service';
import { customerClient, pagesClient, textOf } from './support/session';

/** A security release on the pages: marked, announced, and seen by its customer. */

let service: Managed;
beforeAll(async () => {
  service = await startManaged({
    LICENSING_MAIL_URL: 'smtp://127.0.0.1:9?from=shop@shop.example',
    LICENSING_PUBLIC_URL: 'https://shop.example',
  });
});
afterAll(() => service.stop());

it('is marked, shown to its customer, and announced once', async () => {
  const { db } = service;
  const pages = await pagesClient(service);
  const plan = await givePlan(db);
  const changelog = 'fix: Faster.\nsecurity: Only the owner sees an order.';
  const { release } = await giveRelease(service, { version: '2.1.0', changelog });
  const { id: licenseId, key } = await giveLicense(db, plan, { customer: 'jo@example.com' });
  const told = { licenseId, productId: 42, at: service.clock.now };
  await recordReportedSites(db, [
    { ...told, site: 'a.example', version: '2.0.0' },
    { ...told, site: 'b.example', version: '2.1.0' },
  ]);
  const notify = `/releases/${release.id}/notify`;
  expect(textOf((await pages.get('/products/42')).html)).not.toContain('security release');
  expect((await pages.get(notify)).status).toBe(404);

  const form = await pages.get(`/releases/${release.id}/edit`);
  expect(form.html).not.toContain(notify);
  await pages.send(`/releases/${release.id}/edit`, { changelog, security: 'true' });
  const edit = await pages.get(`/releases/${release.id}/edit`);
  expect(edit.html).toMatch(/name="security" value="true" checked/);
  expect(edit.html).toContain(notify);
  const releases = await pages.get('/releases?product_id=42');
  expect(textOf(releases.html)).toMatch(/Security release .* Fixed Faster\./);
  // Publishing ends on the page Releases, so that page leads to the announcement.
  expect(releases.html).toContain(`${notify}"`);
  const product = await pages.get('/products/42');
  expect(textOf(product.html)).toContain('1 of 2 sites that reported their version still run an older one');
  expect(product.html).toContain(notify);

  const mine = textOf((await (await customerClient(service, { key })).get('/my')).html);
  expect(mine).toContain('This version closes a security hole. Please update.');
  expect(mine).toMatch(/Security Only the owner sees an order\. ?Fixed Faster\./);
  const meine = await customerClient(service, { key }, { language: 'de' });
  expect(textOf((await meine.get('/my')).html)).toMatch(/Sicherheit Only .* ?Behoben Faster\./);
  const german = await customerClient(service, { email: 'jo@example.com' }, { language: 'de' });
  expect(textOf((await german.get('/my/mail')).html)).toContain(
    'Version 2.1.0 von Example Shop schließt eine Sicherheitslücke.',
  );

  const preview = await pages.get(notify);
  // The preview keeps the lines, like the mail.
  expect(/<pre><code>([^]*?)<\/code><\/pre>/.exec(preview.html)?.[1]).toMatch(
    /^- Only the owner sees an order\.$/m,
  );
  const asked = textOf(preview.html);
  for (const text of [
    '1 mail will be sent.',
    'Security update for Example Shop: version 2.1.0',
    'Send 1 mail',
  ])
    expect(asked).toContain(text);
  expect(asked).toContain('- Only the owner sees an order.');
  expect(await db(table(db, 'outbox'))).toEqual([]);
  const sent = await pages.send(notify);
  expect(textOf(sent.html)).toContain('The customers are notified about 2.1.0. Mails on their way: 1.');
  expect(await db(table(db, 'outbox'))).toMatchObject([
    { type: 'security_release', license_id: licenseId, recipient: null },
  ]);
  expect(textOf((await pages.get(`/licenses/${licenseId}/history`)).html)).toContain(
    'Customer notified about the security release 2.1.0',
  );
  const after = textOf((await pages.get(notify)).html);
  expect(after).toMatch(/The customers were notified: .*\. Mails: 1\./);
  expect(after).not.toContain('Send 1 mail');
  const again = await pages.post(notify, { once: 'another' });
  expect([again.status, textOf(again.html)]).toEqual([
    409,
    expect.stringContaining('The customers were already notified about 2.1.0.'),
  ]);
});

it('is free on the own page of a customer whose licence has ended, if its branch is covered', async () => {
  const { db, clock } = service;
  const ago = (days: number) => new Date(clock.now.getTime() - days * 86_400_000);
  const plan = await givePlan(db, { productId: 43, afterExpiry: 'security' });
  for (const [version, days, security] of [
    ['2.4.0', 90, false],
    ['2.4.1', 80, false],
    ['3.0.0', 60, false],
    ['2.4.2', 10, true],
    ['3.0.1', 9, true],
  ] as const)
    await giveRelease(service, { productId: 43, version, date: ago(days), security });
  const ended = (customer: string) => giveLicense(db, plan, { customer, expiresAt: ago(70) });
  const licence = await ended('ended@example.com');
  const offered = (html: string) =>
    [...html.matchAll(/name="version" value="(.*?)"/g)].map(([, version]) => version);
  const free = /It is free for you, although your licence has ended\./g;

  const byKey = await customerClient(service, { key: licence.key });
  const { html } = await byKey.get('/my');
  expect(offered(html)).toEqual(['2.4.2', '2.4.1', '2.4.0']);
  expect(textOf(html)).toMatch(/2\.4\.2 .{0,60}closes a security hole. It is free for you/);
  expect(textOf(html).match(free)).toHaveLength(1);
  const given = await byKey.post('/my/downloads', { product_id: 43, version: '2.4.2' });
  expect([given.status, given.headers.get('content-disposition')]).toEqual([
    200,
    expect.stringContaining('2.4.2.zip'),
  ]);

  const byMail = (await (await customerClient(service, { email: 'ended@example.com' })).get('/my/mail')).html;
  expect(textOf(byMail)).toContain('Version 2.4.2 of Product 43 closes a security hole. It is free for you');
  expect(offered(byMail)).toEqual(['2.4.2']);
  const german = await customerClient(service, { key: licence.key }, { language: 'de' });
  expect(textOf((await german.get('/my')).html)).toContain('Sie ist für Sie kostenlos');

  for (const changes of [{ status: 'suspended' }, { all_returned: 1 }]) {
    const { id, key } = await ended(`${Object.keys(changes).join()}@example.com`);
    await db(table(db, 'licenses')).where({ id }).update(changes);
    const other = await customerClient(service, { key });
    const page = await other.get('/my');
    expect([textOf(page.html).match(free), offered(page.html)]).toEqual([null, []]);
    expect((await other.post('/my/downloads', { product_id: 43, version: '2.4.2' })).status).not.toBe(200);
  }
});

it('is announced to all customers, after a warning that leads to the plans that keep it from ended licences', async () => {
  const { db } = service;
  const pages = await pagesClient(service);
  const german = await pagesClient(service, { language: 'de' });
  const changelog = 'security: Only the owner sees an order.';
  const { release } = await giveRelease(service, { version: '2.2.0', changelog, security: true });
  const plan = await givePlan(db);
  const generous = await givePlan(db, { afterExpiry: 'security' });
  const ended = new Date(service.clock.now.getTime() - 30 * 86_400_000);
  for (const name of ['late', 'later'])
    await giveLicense(db, plan, { customer: `${name}@example.com`, expiresAt: ended });
  await giveLicense(db, plan, { customer: 'now@example.com' });
  await db(table(db, 'outbox')).delete();
  const notify = `/releases/${release.id}/notify`;
  const form = await pages.get(notify);
  expect(form.html).toContain(`${notify}?audience=everybody"`);
  expect(textOf(form.html)).not.toContain('2024/2847');

  const asked = await pages.get(`${notify}?audience=everybody`);
  for (const text of [
    '4 mails will be sent.',
    'From 11 December 2027 the law asks for free security updates',
    'Security hole in Example Shop before version 2.2.0',
    'Your licence does not cover this version.',
    'Send 4 mails',
  ])
    expect(textOf(asked.html)).toContain(text);
  expect(asked.html).toContain(`/plans/${plan}"`);
  expect(asked.html).not.toContain(`/plans/${generous}"`);
  expect(asked.html).toContain('name="audience" value="everybody"');
  const gefragt = textOf((await german.get(`${notify}?audience=everybody`)).html);
  expect(gefragt).toContain('Ab dem 11. Dezember 2027 verlangt das Gesetz kostenlose Sicherheitsupdates');

  // The customers whose licence covers it come first. jo@example.com is one of them.
  expect(textOf((await pages.send(notify, { audience: 'entitled' })).html)).toContain(
    'Mails on their way: 2.',
  );
  await pages.get(`${notify}?audience=everybody`);
  const sent = await pages.send(notify, { audience: 'everybody' });
  expect(textOf(sent.html)).toContain('Mails on their way: 2.');
  const types = await db(table(db, 'outbox')).orderBy('id').pluck<string[]>('type');
  expect(types).toEqual(['security_release', 'security_release', 'security_notice', 'security_notice']);
  const after = textOf((await pages.get(`${notify}?audience=everybody`)).html);
  expect(after).toContain('All customers were notified:');
  expect(after).not.toContain('Send');
  const again = await pages.post(notify, { audience: 'everybody', once: 'one-more' });
  expect(again.status).toBe(409);
  expect(textOf(again.html)).toContain('The customers were already notified about 2.2.0.');
});
