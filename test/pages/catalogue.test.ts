import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryFolder } from '../support/processes';
import { startManaged, type Managed } from '../support/manage';
import { makePackage } from '../support/packages';
import { giveLicense, PREFIX, rows } from '../support/service';
import { pagesClient } from './support/session';

/** The pages of versions, products and plans, over HTTP as a browser sends their forms. */

const ELEMENT = 'pkg_gallery';
const SERVER = 'https://shop.example/licensing-updates/pkg_gallery.xml';
const XSS = '<script>alert(1)</script>"\'&';

let service: Managed;
let xmlDir: string;
let pages: Pages;
let productId: number;
beforeAll(async () => {
  xmlDir = join(temporaryFolder(), 'xml');
  service = await startManaged({ LICENSING_XML_DIR: xmlDir, LICENSING_PUBLIC_URL: 'https://shop.example' });
  pages = await signIn(service.write.token);
  const { location } = await pages.post('/products/new', { name: XSS, element: ELEMENT });
  productId = Number(/\d+$/.exec(location)?.[0]);
});
afterAll(() => service.stop());

interface Page {
  status: number;
  html: string;
  /** The target of a redirect, below `pages`. */
  location: string;
}

interface Pages {
  get(path: string): Promise<Page>;
  /** Sends a form as it was last shown, with these fields. */
  post(path: string, fields: Record<string, string> | FormData): Promise<Page>;
  /** Sends a form, and opens the page that it leads to. */
  send(path: string, fields: Record<string, string> | FormData): Promise<Page>;
}

async function signIn(token: string, language = 'en'): Promise<Pages> {
  const cookies = new Map<string, string>();
  const call = async (path: string, init: RequestInit): Promise<Page> => {
    const response = await fetch(`${service.url}${PREFIX}/pages${path}`, {
      ...init,
      redirect: 'manual',
      headers: {
        Origin: service.url,
        'Accept-Language': language,
        Cookie: [...cookies].map((pair) => pair.join('=')).join('; '),
      },
    });
    for (const one of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (one.split(';')[0] ?? '').split('=');
      cookies.set(name, value);
    }
    const location = response.headers.get('location')?.replace(/^.*\/pages/, '') ?? '';
    return { status: response.status, html: await response.text(), location };
  };
  const get = (path: string) => call(path, {});
  const post: Pages['post'] = (path, fields) =>
    call(path, { method: 'POST', body: fields instanceof FormData ? fields : new URLSearchParams(fields) });
  await post('/sign-in', { token });
  return { get, post, send: async (path, fields) => get((await post(path, fields)).location) };
}

const manifest = (version: string, server = SERVER) =>
  `<extension type="package"><packagename>gallery</packagename><version>${version}</version><updateservers><server>${server}</server></updateservers><dlid prefix="dlid=" suffix=""/></extension>`;

/** Makes the form of a new version, with its fields in a browser's order. */
async function versionForm(inside: string, fields: Record<string, string> = {}, server?: string) {
  const { bytes } = await makePackage({ 'pkg_gallery.xml': manifest(inside, server) });
  const form = new FormData();
  form.append('file', new File([new Uint8Array(bytes)], `${XSS}.zip`, { type: 'application/zip' }));
  for (const [name, value] of Object.entries({ version: '', changelog: '', draft: '0', ...fields }))
    form.append(name, value);
  return form;
}

const newVersion = () => `/products/${productId}/releases/new`;
const list = () => `/releases?product_id=${productId}`;
const xml = () => readFileSync(join(xmlDir, `${ELEMENT}.xml`), 'utf8');

async function releases() {
  return rows<{ id: number; version: string; state: string; changelog: string }>(service.db, 'releases');
}

async function idOf(version: string): Promise<number> {
  return (await releases()).find((one) => one.version === version)!.id;
}

describe('versions', () => {
  test('an empty list says so, and leads to the form', async () => {
    const { html } = await pages.get(list());
    expect(html).toContain('No version yet. Customers cannot download anything.');
    expect(html).toContain(newVersion());
    expect((await pages.get(`/releases/new?product_id=${productId}`)).location).toBe(newVersion());
  });

  test('a version is published with its package, whose manifest states the version, and Joomla is offered it', async () => {
    const form = await versionForm('1.0.0', { changelog: `${XSS}\nMore.` });
    const { html } = await pages.send(`${newVersion()}?once=first`, form);
    expect(html).toContain('1.0.0 is published. Customers get 1.0.0 from now on.');
    expect(html).not.toContain('<script>alert');
    expect(html).toContain('&lt;script&gt;alert(1)');
    expect(xml()).toContain('<version>1.0.0</version>');
    expect(await releases()).toMatchObject([{ version: '1.0.0', state: 'published' }]);
  });

  test('a form sent twice publishes once', async () => {
    const form = await versionForm('1.0.1');
    const sent = await Promise.all([1, 2].map(() => pages.post(`${newVersion()}?once=twice`, form)));
    sent.push(await pages.post(`${newVersion()}?once=twice`, form));
    expect(sent.map(({ location }) => location)).toEqual([list(), list(), list()]);
    expect((await releases()).filter(({ version }) => version === '1.0.1')).toHaveLength(1);
  });

  test('a wrong version is refused with both versions, and the typed values stay', async () => {
    const form = await versionForm('1.1.0', { version: '1.1.1', changelog: 'Typed.', draft: '1' });
    const { status, html } = await pages.post(`${newVersion()}?once=wrong`, form);
    expect(status).toBe(400);
    expect(html).toContain('The package has version 1.1.0, you typed 1.1.1.');
    expect(html).toMatch(/value="1\.1\.1"/);
    expect(html).toContain('Typed.</textarea>');
    expect(html).toMatch(/value="1" checked/);
    const german = await signIn(service.write.token, 'de');
    expect((await german.post(`${newVersion()}?once=falsch`, form)).html).toContain(
      'Das Paket hat die Version 1.1.0, Sie haben 1.1.1 eingegeben.',
    );
    expect(await releases()).toHaveLength(2);
  });

  /** Makes the form that a browser sends when no file was chosen. */
  const withoutFile = () => {
    const form = new FormData();
    form.append('file', new File([], '', { type: 'application/octet-stream' }));
    form.append('version', '5.0.0');
    return Promise.resolve(form);
  };
  test.each<[string, () => Promise<FormData>, string]>([
    ['one that is published', () => versionForm('1.0.0'), '1.0.0 is published already'],
    ['one that Joomla takes for another', () => versionForm('1.0-0'), 'the same version as 1.0.0'],
    ['a form without a file', withoutFile, 'Please choose the package'],
  ])('%s is refused', async (_name, form, says) => {
    const { status, html } = await pages.post(`${newVersion()}?once=${String(Math.random())}`, await form());
    expect([400, 409]).toContain(status);
    expect(html).toContain(says);
  });

  test('another update server is published only if the seller allows it', async () => {
    const other = () => versionForm('1.0.2', { draft: '1' }, 'https://other.example/updates.xml');
    await pages.post(`${newVersion()}?once=draft`, await other());
    const path = `/releases/${await idOf('1.0.2')}/publish`;
    expect((await pages.get(path)).html).not.toContain('new_update_server');
    const refused = await pages.post(path, {});
    expect(refused.status).toBe(400);
    expect(refused.html).toContain('name="new_update_server"');
    const { html } = await pages.send(path, { new_update_server: 'true' });
    expect(html).toContain('Customers get 1.0.2 from now on.');
  });

  test('a draft is kept, published and withdrawn, and the update XML follows', async () => {
    const { html: kept } = await pages.send(
      `${newVersion()}?once=kept`,
      await versionForm('1.2.0', { draft: '1' }, 'https://other.example/updates.xml'),
    );
    expect(kept).toContain('1.2.0 is kept as a draft.');
    expect(xml()).not.toContain('1.2.0');
    const id = await idOf('1.2.0');
    expect((await pages.get(`/releases/${id}/publish`)).html).toContain('Customers then get 1.2.0.');
    await pages.post(`/releases/${id}/publish`, { once: 'publish' });
    expect(xml()).toContain('<version>1.2.0</version>');
    const asks = await pages.get(`/releases/${id}/withdraw`);
    expect(asks.html).toContain('Customers then get 1.0.2.');
    expect(asks.html).toContain('Joomla offers nothing below 1.2.0 unless you allow it');
    const { html } = await pages.send(`/releases/${id}/withdraw`, { once: 'withdraw' });
    expect(html).toContain('1.2.0 is withdrawn. Joomla offers nothing now.');
    expect(html).toContain('Joomla offers no version below a withdrawn one');
    expect(xml()).not.toContain('<version>');
  });

  test('a withdrawal may allow lower versions', async () => {
    await pages.post(
      `${newVersion()}?once=bad`,
      await versionForm('1.3.0', {}, 'https://other.example/updates.xml'),
    );
    expect(xml()).toContain('<version>1.3.0</version>');
    const path = `/releases/${await idOf('1.3.0')}/withdraw`;
    const { html } = await pages.send(path, { allow_downgrade: 'true', once: 'allowed' });
    expect(html).toContain('1.3.0 is withdrawn. Joomla offers 1.0.2 now.');
    expect(xml()).toContain('<version>1.0.2</version>');
  });

  test('the changelog can be changed, and the table is available as CSV', async () => {
    const path = `/releases/${await idOf('1.0.2')}/edit`;
    await pages.post(path, { changelog: 'Changed.' });
    expect((await releases()).find(({ version }) => version === '1.0.2')?.changelog).toBe('Changed.');
    const { html: csv } = await pages.get(`/releases.csv?product_id=${productId}`);
    expect(csv.split('\r\n')[0]).toContain('"ID","Product ID","Version","State","Changes"');
  });

  test('a stale update XML is reported, offered as a file, and written again', async () => {
    const path = join(xmlDir, `${ELEMENT}.xml`);
    const good = xml();
    writeFileSync(path, good.replace('<version>1.0.2<', '<version>1.0.1<'));
    const { html } = await pages.get(list());
    expect(html).toContain('Joomla offers 1.0.1: the update XML lacks the latest change.');
    expect((await pages.get(`/products/${productId}/update-xml.xml`)).html).toBe(good);
    rmSync(path);
    expect((await pages.get(list())).html).toContain('The update XML is not where it should be');
    const written = await pages.send(`/products/${productId}/update-xml/write`, {});
    expect(written.html).toContain('The update XML is written.');
    expect(existsSync(path)).toBe(true);
  });
});

describe('products and plans', () => {
  test('a product is changed and deleted, unless it is in use', async () => {
    const { location } = await pages.post('/products/new', { name: 'By mistake' });
    const edited = {
      name: 'Bundle',
      covers: 'own',
      [`include_${productId}`]: '1',
      renew_url: 'https://shop.example/renew',
    };
    await pages.post(`${location}/edit`, edited);
    const { html } = await pages.get(location);
    expect(html).toContain('&lt;script&gt;alert(1)');
    expect(html).not.toContain('<script>alert');
    expect(html).toContain('https://shop.example/renew');
    expect((await pages.post(`${location}/edit`, { name: 'Bundle', renew_url: 'http://x' })).html).toContain(
      'Please type an address that begins with https://.',
    );
    const refused = await pages.post(`/products/${productId}/delete`, {});
    expect(refused.status).toBe(409);
    expect((await pages.send(`${location}/delete`, {})).html).toContain('The product Bundle is removed.');
  });

  test('a plan has the same fields, words and usual values in the first steps', async () => {
    const own = await startManaged({});
    try {
      await own.write.ok('POST /products', { id: 7, name: 'Forms' }, 201);
      for (const language of ['en', 'de'] as const) {
        const seller = await pagesClient(own, { language });
        const fieldsOf = ({ html }: { html: string }) =>
          html.slice(
            html.indexOf('name="name"'),
            html.indexOf('</div>', html.indexOf('name="free_staging"')),
          );
        const [first, later] = [await seller.get('/start'), await seller.get('/plans/new?product_id=7')];
        expect(fieldsOf(first)).toContain('name="duration_own"');
        expect(fieldsOf(first)).toBe(fieldsOf(later));
      }
      // The ticked box for staging sites counts only where it is shown, which it is not for devices.
      const seller = await pagesClient(own);
      await seller.get('/start');
      const plan = { name: 'Single', activation_type: 'device', activation_limit: '1', duration: '1y' };
      expect((await seller.post('/start/plan', { ...plan, free_staging: '1' })).status).toBe(303);
      expect(await rows(own.db, 'plans')).toMatchObject([{ activation_type: 'device', free_staging: 0 }]);
    } finally {
      await own.stop();
    }
  });

  test('a plan is copied to another product with all its fields', async () => {
    const { location } = await pages.post('/products/new', { name: 'Copies', element: 'pkg_copies' });
    const other = /\d+$/.exec(location)?.[0] as string;
    const plan = {
      ...{
        name: 'Agency',
        activation_type: 'domain',
        activation_limit: '25',
        duration: 'own',
        duration_own: '18m',
      },
      ...{ free_staging: '1', after_expiry: 'last_release', self_service_moves: '7' },
      upgrade_url: 'https://shop.example/more',
    };
    await pages.get(`/plans/new?product_id=${productId}`);
    await pages.post('/plans/new', { product_id: String(productId), ...plan });
    const [made] = (await rows<{ id: number; name: string }>(service.db, 'plans')).filter(
      ({ name }) => name === 'Agency',
    );
    const { html } = await pages.get(`/plans/${made!.id}`);
    expect(html).toContain(`/plans/new?copy=${made!.id}"`);

    const form = await pages.get(`/plans/new?copy=${made!.id}`);
    expect(form.html).toContain('Copy Agency to another product');
    expect(form.html).toContain('value="18m"');
    expect(form.html).toContain(`<option value="${other}"`);
    expect(form.html).not.toContain(`<option value="${productId}"`);
    // The field for a custom time is filled in, but ignored because another time is chosen.
    const sent = { ...plan, copy: String(made!.id), product_id: other, duration: '1y' };
    const wrong = await pages.post('/plans/new', { ...sent, name: '' });
    expect([wrong.status, wrong.html.includes('Copy Agency to another product')]).toEqual([400, true]);
    expect(await pages.post('/plans/new', sent)).toMatchObject({
      status: 303,
      location: `/products/${other}`,
    });
    const copies = (await rows(service.db, 'plans')).filter(({ name }) => name === 'Agency');
    expect(copies).toMatchObject([
      { product_id: productId, duration: '18m' },
      {
        ...{ product_id: Number(other), activation_limit: 25, duration: '1y', free_staging: 1 },
        ...{ after_expiry: 'last_release', self_service_moves: 7, upgrade_url: plan.upgrade_url },
      },
    ]);
  });

  test('options of the update XML are checked and stored', async () => {
    const path = `/products/${productId}/update-xml`;
    expect((await pages.post(path, { php_minimum: 'new' })).html).toContain('Please type a PHP version');
    await pages.post(path, { php_minimum: '8.1', db_mysql: '8.0.13', tag: '', type: '', client: '' });
    const form = await versionForm('1.4.0', {}, 'https://other.example/updates.xml');
    await pages.post(`${newVersion()}?once=options`, form);
    expect(xml()).toContain('<php_minimum>8.1</php_minimum>');
    expect((await pages.get(path)).html).toContain('value="8.0.13"');
  });

  test.each([
    ['follow', 10],
    ['keep', 3],
  ])('licences %s a changed limit', async (licenses, limit) => {
    const fields = {
      name: XSS,
      activation_type: 'domain',
      activation_limit: '3',
      duration: '1y',
      self_service_moves: '3',
    };
    const once = `plan-${licenses}`;
    const name = `${XSS} ${licenses}`;
    await pages.post('/plans/new', { ...fields, name, once, product_id: String(productId) });
    await pages.post('/plans/new', { ...fields, name, once, product_id: String(productId) });
    const plans = await rows<{ id: number; name: string; activation_limit: number; duration: string }>(
      service.db,
      'plans',
    );
    const made = plans.filter((plan) => plan.name === name);
    expect(made).toMatchObject([{ activation_limit: 3, duration: '1y' }]);
    const { id } = made[0]!;
    const { id: license } = await giveLicense(service.db, id);

    const changed = { ...fields, name, activation_limit: '10', duration: 'own', duration_own: '18m' };
    const asked = await pages.post(`/plans/${id}`, changed);
    expect(asked.status).toBe(400);
    expect(asked.html).toContain('1 licence has 3 slots');
    const { status, location } = await pages.post(`/plans/${id}`, { ...changed, licenses });
    expect([status, location]).toEqual([303, `/products/${productId}`]);
    const stored = await rows<{ id: number; activation_limit: number }>(service.db, 'licenses');
    expect(stored.find((one) => one.id === license)?.activation_limit).toBe(limit);
    expect(await rows(service.db, 'plans')).toContainEqual(
      expect.objectContaining({ id, activation_limit: 10, duration: '18m' }),
    );
    expect((await pages.post(`/plans/${id}/delete`, {})).html).toContain(
      'The plan has licences, so it cannot be deleted.',
    );
  });

  test('an operator who may only read sees no button, and changes nothing', async () => {
    const reader = await signIn(service.read.token);
    for (const path of [list(), '/products', `/products/${productId}`]) {
      const { status, html } = await reader.get(path);
      expect(status).toBe(200);
      expect(html).toContain('You can view everything and change nothing.');
      expect(html).not.toMatch(/btn-primary|\/withdraw|\/edit|\/new"/);
    }
    const before = await releases();
    const form = await versionForm('9.0.0');
    expect((await reader.post(`${newVersion()}?once=no`, form)).status).toBe(403);
    expect((await reader.post(`/releases/${before[0]!.id}/withdraw`, {})).status).toBe(403);
    expect((await reader.get('/products/new')).status).toBe(403);
    expect(await releases()).toEqual(before);
  });
});
