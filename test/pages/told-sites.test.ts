import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createSiteRecorder } from '../../src/licensing/spreading';
import type { Access } from '../../src/store/access-log';
import { table } from '../../src/store/engine/database';
import { startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { giveLicense, givePlan } from '../support/service';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** The pages about the versions that sites run, and about keys that many sites share. */

let service: Managed;
let pages: PagesClient;
beforeAll(async () => {
  service = await startManaged({
    LICENSING_MAIL_URL: 'smtp://127.0.0.1:9?from=shop@shop.example',
    LICENSING_PUBLIC_URL: 'https://shop.example',
  });
  pages = await pagesClient(service);
});
afterAll(() => service.stop());

const download = (licenseId: number, keyId: number, more: Partial<Access>): Access => ({
  ...{ at: service.clock.now, endpoint: 'download', outcome: 'ok', licenseId, keyId, keyHint: null },
  ...{ productId: 42, version: null, identifier: null, ip: null, userAgent: null, site: null },
  ...{ installedVersion: null, ...more },
});

it('show who is behind, and lead from the overview to a new key that is mailed', async () => {
  const { db } = service;
  const plan = await givePlan(db, { limit: 1 });
  await giveRelease(service, { version: '2.0.0' });
  expect(textOf((await pages.get('/products/42/sites')).html)).toContain(
    'No site has reported its version yet.',
  );
  expect(textOf((await pages.get('/spreading')).html)).toContain('No key seems to be shared.');
  expect((await pages.get('/products/42')).html).toMatch(/href="[^"]*\/products\/42\/sites"/);

  const { id } = await giveLicense(db, plan, { customer: 'jo@example.com' });
  const [key] = (await db(table(db, 'license_keys')).where({ license_id: id }).pluck('id')) as [number];
  const site = { site: 'xn--mnchen-3ya.de', installedVersion: '1.8.0' };
  await createSiteRecorder(
    db,
    3,
  )([
    download(id, key, site),
    ...Array.from({ length: 14 }, (_, i) => download(id, key, { ip: `198.51.${i}.1` })),
  ]);

  const behind = textOf((await pages.get('/products/42/sites')).html);
  for (const text of [
    'münchen.de (xn--mnchen-3ya.de)',
    '1.8.0',
    'jo@example.com',
    '0 % (1 counted)',
    'not yet',
  ])
    expect(behind).toContain(text);
  expect((await pages.get('/products/42/sites.csv')).html).toContain('"xn--mnchen-3ya.de","1.8.0",');
  expect(textOf((await pages.get(`/licenses/${id}`)).html)).toContain(
    '1.8.0 on münchen.de (xn--mnchen-3ya.de)',
  );

  const overview = await pages.get('/');
  expect(textOf(overview.html)).toContain('1 key is probably shared.');
  const link = /href="[^"]*(\/licenses\/[^"]*\/new\?overlap=14d)"/.exec(
    (await pages.get('/spreading')).html,
  )?.[1];
  const form = await pages.get(link ?? '');
  expect(form.html).toMatch(/value="14d" checked/);
  expect(textOf(form.html)).toContain('Mail the new key to jo@example.com');
  const made = await pages.post(`/licenses/${id}/keys/${key}/new`, { overlap: '14d', mail: '1' });
  expect(made.status).toBe(200);
  expect(await db(table(db, 'outbox')).where({ license_id: id })).toMatchObject([{ type: 'license_key' }]);
  expect(textOf((await pages.get('/spreading')).html)).toContain('No key seems to be shared.');
});
