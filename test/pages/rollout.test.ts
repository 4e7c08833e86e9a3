import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startManaged, type Managed } from '../support/manage';
import { giveRelease, makePackage } from '../support/packages';
import { eventually, temporaryFolder } from '../support/processes';
import { giveLicense, givePlan, PREFIX, rows } from '../support/service';
import { startStaticSite, type StaticSite } from '../support/static-site';
import { pagesClient, type PagesClient } from './support/session';

/** A rollout through the pages and the API: its panel, its steps, its figures, and its refusals. */

let service: Managed;
let site: StaticSite;
let pages: PagesClient;
let headers: Record<string, string> = { 'X-Licensing-Bucket': '17' };
const xmlDir = temporaryFolder();

beforeAll(async () => {
  site = await startStaticSite((_request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const file = join(xmlDir, 'pkg_acme.xml');
    if (!existsSync(file)) response.statusCode = 404;
    response.end(existsSync(file) ? readFileSync(file) : '');
  });
  service = await startManaged({ LICENSING_XML_DIR: xmlDir, LICENSING_PUBLIC_URL: site.url });
  await service.write.ok('POST /products', { id: 42, name: 'Acme', element: 'pkg_acme' }, 201);
  await giveRelease(service, { version: '1.0.0' });
  pages = await pagesClient(service);
});
afterAll(async () => {
  await service.stop();
  await site.stop();
});

const LIST = '/releases?product_id=42';
const buckets = () => {
  const folder = join(xmlDir, 'rollout/pkg_acme');
  return existsSync(folder) ? readdirSync(folder).length : 0;
};
async function idOf(version: string): Promise<number> {
  return (await rows<{ id: number; version: string }>(service.db, 'releases')).find(
    (one) => one.version === version,
  )!.id;
}
async function newVersion(version: string): Promise<Buffer> {
  const manifest = `<extension type="package"><packagename>acme</packagename><version>${version}</version><updateservers><server>${site.url}/licensing-updates/pkg_acme.xml</server></updateservers><dlid prefix="dlid="/></extension>`;
  return (await makePackage({ 'pkg_acme.xml': manifest })).bytes;
}

it('begins with the share of the form, and is raised with the buttons of its panel', async () => {
  const form = new FormData();
  form.append(
    'file',
    new File([new Uint8Array(await newVersion('1.1.0'))], 'a.zip', { type: 'application/zip' }),
  );
  for (const [name, value] of [
    ['version', ''],
    ['changelog', 'fix: it'],
    ['draft', '0'],
    ['rollout', '10'],
  ] as const)
    form.append(name, value);
  expect((await pages.get('/products/42/releases/new')).html).toContain('name="rollout"');
  const published = await pages.send('/products/42/releases/new', form);
  expect(published.html).toContain('1.1.0 is published. 10 % of the sites get it, and the others get 1.0.0.');
  expect(published.html).toContain('10 % of the sites get 1.1.0.');
  expect(published.html).toContain('The others get 1.0.0.');
  expect(published.html).toContain('Customers download 1.0.0.');
  expect(published.html).not.toContain('Joomla offers no version below a withdrawn one');
  expect(buckets()).toBe(10);

  const id = await idOf('1.1.0');
  const buttons = [...published.html.matchAll(/name="rollout" value="(\d+)"/g)].map(([, value]) => value);
  expect(buttons).toEqual(['25', '50', '100']);
  expect(published.html).toContain('<li class="done" aria-current="step">10 %</li><li>25 %</li>');
  const raised = await pages.send(`/releases/${id}/rollout`, { rollout: '25' });
  expect(raised.html).toContain('25 % of the sites get 1.1.0 now.');
  expect(buckets()).toBe(25);
  expect(await service.read.ok(`GET /releases/${id}`)).toMatchObject({ rollout: 25 });
});

it('shows the downloads and refusals since then next to those of the previous version', async () => {
  const good = await giveLicense(service.db, await givePlan(service.db));
  const ended = await giveLicense(service.db, await givePlan(service.db), {
    expiresAt: new Date('2020-01-01'),
  });
  for (const [key, version] of [
    [good, '1.1.0'],
    [good, '1.0.0'],
    [good, '1.0.0'],
    [ended, '1.1.0'],
  ] as const)
    await fetch(`${service.url}${PREFIX}/downloads/42?dlid=${key.key}&version=${version}`).then((one) =>
      one.arrayBuffer(),
    );
  await eventually(async () => {
    const { html } = await pages.get(LIST);
    const figures = [
      ...html.matchAll(/<th scope="row"[^>]*>([\d.]+)<\/th><td[^>]*>(\d+)<\/td><td[^>]*>(\d+)<\/td>/g),
    ];
    expect(figures.map((row) => row.slice(1))).toEqual([
      ['1.1.0', '1', '1'],
      ['1.0.0', '2', '0'],
    ]);
  });
});

it.each([
  [{ Server: 'Apache/2.4' }, 'is served by Apache'],
  [{ Server: 'nginx' }, 'nginx has to have the present files'],
  [{ 'cf-mitigated': 'challenge' }, 'does not answer'],
])('is refused with a reason if the address answers %j, and 100 % is accepted', async (answers, words) => {
  const id = await idOf('1.1.0');
  headers = answers;
  try {
    await pages.get(`/releases/${id}/rollout`);
    const refused = await pages.post(`/releases/${id}/rollout`, { rollout: '50' });
    expect([refused.status, refused.html]).toEqual([409, expect.stringContaining(words)]);
    const { status, body } = await service.write.send(`PATCH /releases/${id}`, { body: { rollout: 10 } });
    expect([status, body]).toMatchObject([409, { error: { code: 'CONFLICT', field: 'rollout' } }]);
    expect(await service.read.ok(`GET /releases/${id}`)).toMatchObject({ rollout: 25 });
    // The share is refused before the package has arrived, and no form offers one.
    const early = await service.write.send('POST /products/42/releases?rollout=10', {
      headers: { 'Content-Type': 'application/zip' },
      stream: (async function* () {
        yield await Promise.resolve(new Uint8Array(10));
        await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
      })(),
    });
    expect([early.status, early.body]).toMatchObject([409, { error: { field: 'rollout' } }]);
    service.clock.now = new Date(service.clock.now.getTime() + 61_000);
    await eventually(async () => {
      const { html } = await pages.get('/products/42/releases/new');
      expect(html).not.toContain('name="rollout"');
      expect(html).toContain('Only nginx, with its present files');
    });
    expect((await pages.get(LIST)).html.match(/name="rollout" value="\d+"/g)).toEqual([
      'name="rollout" value="100"',
    ]);
    expect(await service.write.ok(`PATCH /releases/${id}`, { rollout: 100 })).toMatchObject({
      rollout: 100,
      update_xml: { state: 'written' },
    });
  } finally {
    headers = { 'X-Licensing-Bucket': '17' };
    service.clock.now = new Date(service.clock.now.getTime() + 61_000);
    await eventually(async () =>
      expect((await pages.get('/products/42/releases/new')).html).toContain('name="rollout"'),
    );
    await service.write.ok(`PATCH /releases/${id}`, { rollout: 25 });
  }
});

it.each([0, 101, 2.5, '10', null])('of %j is refused as a share', async (rollout) => {
  const { status, body } = await service.write.send(`PATCH /releases/${await idOf('1.1.0')}`, {
    body: { rollout },
  });
  expect([status, body]).toMatchObject([400, { error: { field: 'rollout' } }]);
});

it('is refused for a draft, whose share is asked for when it is published', async () => {
  const { release } = await giveRelease(service, { version: '1.2.0', draft: true });
  const { status } = await service.write.send(`PATCH /releases/${release.id}`, { body: { rollout: 10 } });
  expect(status).toBe(409);
  expect((await service.write.send('PATCH /releases/9999', { body: { rollout: 10 } })).status).toBe(404);
  expect((await pages.get(`/releases/${release.id}/publish`)).html).toContain('name="rollout"');
});

it('is stopped by withdrawing the version, after a question', async () => {
  const { html } = await pages.get(LIST);
  const id = await idOf('1.1.0');
  expect(html).toContain(`/releases/${id}/withdraw">Stop…`);
  await pages.get(`/releases/${id}/withdraw`);
  await pages.send(`/releases/${id}/withdraw`, { allow_downgrade: 'true' });
  expect(buckets()).toBe(0);
  expect(readFileSync(join(xmlDir, 'pkg_acme.xml'), 'utf8')).toContain('<version>1.0.0<');
  expect((await pages.get(LIST)).html).not.toContain('Rollout of');
});

it('ends with a newer version: no page mentions it, and no button raises it', async () => {
  await giveRelease(service, { version: '1.3.0' });
  const id = await idOf('1.3.0');
  await service.write.ok(`PATCH /releases/${id}`, { rollout: 10 });
  expect((await pages.get(LIST)).html).toContain('Rollout of 1.3.0');
  expect((await pages.get(`/releases/${id}/edit`)).html).toContain('Roll out…');

  await giveRelease(service, { version: '1.4.0' });
  const { html } = await pages.get(LIST);
  for (const gone of ['Rollout of', '10 %']) expect(html).not.toContain(gone);
  expect((await pages.get(`/releases/${id}/edit`)).html).not.toContain('Roll out…');
  const page = await pages.get(`/releases/${id}/rollout`);
  expect(page.html).toContain('1.3.0 is no longer offered: sites are offered a newer version.');
  expect(page.html).not.toContain('name="rollout"');
  const refused = await pages.post(`/releases/${id}/rollout`, { rollout: '25' });
  expect([refused.status, refused.html]).toEqual([
    409,
    expect.stringContaining('Nothing was changed. Raise the share of 1.4.0 instead, or withdraw it.'),
  ]);
  const { status, body } = await service.write.send(`PATCH /releases/${id}`, { body: { rollout: 25 } });
  expect([status, body]).toMatchObject([409, { error: { code: 'CONFLICT', field: 'rollout' } }]);
  expect(await service.read.ok(`GET /releases/${id}`)).toMatchObject({ rollout: 10 });
  expect(await service.write.ok(`PATCH /releases/${id}`, { rollout: 100 })).toMatchObject({ rollout: 100 });
});

it('shows a changelog as Joomla will, markup as text', async () => {
  const id = await idOf('1.0.0');
  await service.write.ok(`PATCH /releases/${id}`, { changelog: 'security: a hole\nfaster <b>' });
  const { html } = await pages.get(`/releases/${id}/edit`);
  expect(html).toContain('<h3 class="small">Security Fixes</h3><ul class="small"><li>a hole</li></ul>');
  expect(html).toContain('<li>faster &lt;b&gt;</li>');
});
