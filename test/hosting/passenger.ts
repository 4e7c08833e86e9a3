import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { htaccessLines } from '../../src/setup/htaccess';
import { table } from '../../src/store/engine/database';
import { makeTicket } from '../support/door';
import { BASE, openHostedShop, type HostedShop } from '../support/hosting';
import { makePackage } from '../support/packages';
import { eventually } from '../support/processes';
import { countTimes, PREFIX, storedLicense } from '../support/service';
import { ask, get, post, raw, validate } from '../support/web-server';

/** Tests everything under Debian's Apache and Passenger: from the unpacked zip and two variables to a customer's update. */

const HTML = { Accept: 'text/html' };
const DEBUG = { LICENSING_LOG_LEVEL: 'debug' };

describe.each(['location', 'folder'] as const)('one process, next to a site, set up by a %s', (as) => {
  let shop: HostedShop;
  beforeAll(async () => {
    shop = await openHostedShop({ as });
  });
  afterAll(() => shop.close());

  test('the first start makes settings that only its user can read, the folders, the tables and a signing key', async () => {
    const env = join(shop.app, '.env');
    expect(statSync(env).mode & 0o777).toBe(0o600);
    const lines = readFileSync(env, 'utf8').trim().split('\n');
    expect(lines.map((line) => line.split('=')[0]).sort()).toEqual([
      'LICENSING_JOOMLA_ROOT',
      'LICENSING_KEY_SECRET',
      'LICENSING_LISTEN',
      'LICENSING_PACKAGES_DIR',
      'LICENSING_PUBLIC_URL',
      'LICENSING_XML_DIR',
    ]);
    expect(lines).toContain(`LICENSING_XML_DIR=${join(shop.site.root, 'licensing-updates')}`);
    expect(readdirSync(shop.app).filter((name) => name.startsWith('.env'))).toEqual(['.env']);
    expect(readdirSync(shop.site.root)).toContain('licensing-updates');
    expect(await shop.db(table(shop.db, 'signing_keys')).count({ n: '*' })).toEqual([{ n: 1 }]);
    expect(table(shop.db, 'licenses')).toBe('jos_licensing_licenses');
  });

  test('every endpoint answers at the exact prefix, and the site answers the rest', async () => {
    await everyEndpointAnswers(shop);
    expect((await get(shop, '/')).json()).toMatchObject({ uri: '/' });
    expect((await get(shop, '/api/index.php/v1/content')).json()).toMatchObject({
      uri: '/api/index.php/v1/content',
    });
  });

  test('paths, queries, methods and bodies arrive unchanged', async () => {
    const { hosting, license } = shop;
    expect((await get(shop, `${PREFIX}/updates/42?version=2.0.0%2B&x=%20`)).status).toBe(200);
    expect((await get(shop, `${PREFIX}/downloads/42?dlid=%46FFF`)).body.toString()).toBe('License not found');
    expect((await ask(hosting.url, `${PREFIX}/updates/42`, { method: 'HEAD' })).status).toBe(200);
    expect((await ask(hosting.url, `${PREFIX}/updates/42`, { method: 'PUT' })).headers.allow).toBe(
      'GET, HEAD',
    );
    expect((await get(shop, `${PREFIX}/nothing`)).json()).toMatchObject({ error: { code: 'NOT_FOUND' } });
    expect((await validate(shop, license.key)).json()).toMatchObject({ data: { valid: true } });
    expect((await get(shop, `${BASE}${PREFIX}/updates/42`)).status).toBe(200);
    expect(await raw(shop, `GET ${PREFIX}/updates/42?x=\xe4 HTTP/1.1`)).toMatch(/^HTTP\/1\.1 [24]00 /);
    const file = await get(shop, `${PREFIX}/downloads/42?dlid=${license.key}`, {
      headers: { Range: 'bytes=0-3' },
    });
    expect([file.status, file.body.toString('latin1')]).toEqual([206, 'PK\x03\x04']);
  });

  test('the client is who Apache sees, whatever the request says', async () => {
    const forged = { 'X-Forwarded-For': '9.9.9.9, 10.0.0.1', 'X-Forwarded-Prefix': '/elsewhere' };
    await validate(shop, shop.license.key, { localAddress: '127.0.0.7', headers: forged });
    expect((await storedLicense(shop.db, shop.license.id)).last_check_ip).toBe('127.0.0.7');
    const page = await get(shop, `${PREFIX}/pages/sign-in`, { headers: { ...HTML, ...forged } });
    expect(page.body.toString()).toContain(`href="${PREFIX}/pages/assets/`);
    expect(page.body.toString()).not.toContain('/elsewhere');
  });

  test("the panel's link to the application shows the two lines, even while they are missing", async () => {
    const page = await get(shop, `${BASE}/`, { headers: HTML });
    expect(page.status).toBe(200);
    const text = page.body.toString();
    for (const line of htaccessLines(BASE).trim().split('\n')) expect(text).toContain(line);
  });

  test('an administrator of the site comes in by the component in Joomla, and publishes a version without a shell', async () => {
    const { site, hosting } = shop;
    const user = await site.addUser('ada', [8]);
    const origin = { Origin: hosting.url };
    const ticket = makeTicket(site.secret, { id: user.id, name: user.login });
    const entered = await ask(
      hosting.url,
      `${PREFIX}/pages/enter-joomla`,
      { method: 'POST', headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...origin } },
      `ticket=${ticket}`,
    );
    const cookie = [entered.headers['set-cookie']].flat().join().split(';')[0]!;
    const page = await get(shop, `${PREFIX}/pages/products`, { headers: { Cookie: cookie, ...HTML } });
    expect([entered.status, page.status]).toEqual([expect.any(Number), 200]);
    expect(page.body.toString()).toContain('Example Shop');
    expect(shop.hosting.log()).not.toContain(site.secret);
  });

  test('a version arrives by an upload of some megabytes, is sold at once, and Apache serves its update XML from the site', async () => {
    const added = await shop.licensing(['token', 'add', '--name', 'script', '--scope', 'write', '--json']);
    const { token } = JSON.parse(added.stdout) as { token: string };
    const manifest =
      '<?xml version="1.0"?><extension type="package"><packagename>shop</packagename><name>Shop</name><version>2.2.0</version></extension>';
    const { bytes } = await makePackage({ 'pkg_shop.xml': manifest }, 5_000_000);
    const named = await fetch(`${shop.url}${PREFIX}/manage/products/42`, {
      method: 'PATCH',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: '{"element":"pkg_shop"}',
    });
    expect(named.status).toBe(200);
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/zip' };
    const path = `${PREFIX}/manage/products/42/releases?unchecked=1`;
    const answer = await fetch(shop.url + path, { method: 'POST', headers, body: new Uint8Array(bytes) });
    expect([answer.status, await answer.text()]).toEqual([201, expect.stringContaining('2.2.0')]);
    const sent = await get(shop, `${PREFIX}/downloads/42?dlid=${shop.license.key}`);
    expect(sent.body.equals(bytes)).toBe(true);
    const xml = await eventually(async () => {
      const served = await get(shop, '/licensing-updates/pkg_shop.xml');
      expect(served.status).toBe(200);
      return served.body.toString();
    });
    expect(xml).toContain('<version>2.2.0</version>');
    expect(xml).toContain(`${shop.url}${PREFIX}/downloads/42`);
  });
});

describe('two processes at once', () => {
  let shop: HostedShop;
  beforeAll(async () => {
    shop = await openHostedShop({ processes: 2, variables: { LICENSING_RATE_LIMIT: '60', ...DEBUG } });
    await eventually(() => expect(shop.hosting.log().match(/"msg":"listening"/g)).toHaveLength(2), 60_000);
  });
  afterAll(() => shop.close());

  /** Returns the ids of the processes that have answered. */
  const answering = () =>
    new Set(
      [...shop.hosting.log().matchAll(/"pid":(\d+)[^\n]*"endpoint":"validate"/g)].map(([, pid]) => pid),
    );

  test('of 200 requests at once 60 are let in, one refusal is recorded, and both processes have answered', async () => {
    const counted = (words: string) => shop.hosting.log().split(words).length - 1;
    const [gone, back] = ['the database cannot count limits', 'limits are counted in the database again'];
    for (let client = 21; ; client++) {
      const ip = `127.0.0.${client}`;
      const seen = [counted(gone), counted('"endpoint":"validate"')] as const;
      const answers = await Promise.all(
        Array.from({ length: 200 }, () => validate(shop, shop.license.key, { localAddress: ip })),
      );
      await eventually(() => expect(counted('"endpoint":"validate"')).toBe(seen[1] + 200));
      // On a busy machine the database may answer too late, and then each process counts alone for a while.
      if (counted(gone) > seen[0] && client < 25) {
        await eventually(() => expect(counted(back)).toBe(counted(gone)));
        continue;
      }
      const count = (status: number) => answers.filter((answer) => answer.status === status).length;
      expect([count(200), count(429)]).toEqual([60, 140]);
      expect(answering().size).toBe(2);
      await eventually(async () =>
        expect(await countTimes(shop.db, 'access_log', { outcome: 'RATE_LIMITED', ip })).toBe(1),
      );
      return;
    }
  });

  test('two processes never give a slot too many', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        ask(
          shop.hosting.url,
          `${PREFIX}/licenses/activate`,
          {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            localAddress: `127.0.0.${30 + (i % 20)}`,
          },
          JSON.stringify({ license_key: shop.license.key, identifier: `site${i}.example` }),
        ).then(({ status }) => status),
      ),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect((await storedLicense(shop.db, shop.license.id)).activations_used).toBe(3);
  });

  test('a restart under load answers every request', async () => {
    let isOver = false;
    const seen: number[] = [];
    const clients = Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; !isOver; n++) {
        const path = `${PREFIX}/updates/42?n=${n}`;
        const from = { localAddress: `127.0.${40 + i}.${1 + (Math.floor(n / 50) % 200)}` };
        seen.push((await get(shop, path, from)).status);
      }
    });
    const before = shop.hosting.processes();
    await eventually(() => expect(seen.length).toBeGreaterThan(50));
    shop.hosting.restart();
    await eventually(() => {
      const now = shop.hosting.processes();
      expect(now.length).toBeGreaterThan(0);
      expect(now.filter((pid) => before.includes(pid))).toEqual([]);
    }, 60_000);
    isOver = true;
    await Promise.all(clients);
    expect(seen.filter((status) => status !== 200)).toEqual([]);
    expect(shop.hosting.log()).toContain('"reason":"exit","msg":"stopping"');
    expect(shop.hosting.log()).toContain('"msg":"stopped"');
    expect(shop.hosting.log()).not.toContain('cut off');
  });
});

async function everyEndpointAnswers(shop: HostedShop): Promise<void> {
  const { license } = shop;
  const activation = { license_key: license.key, identifier: 'a.example' };
  expect((await get(shop, `${PREFIX}/updates/42`)).json()).toMatchObject({ data: { version: '2.1.0' } });
  expect((await post(shop, '/licenses/activate', activation)).status).toBe(200);
  expect((await post(shop, '/licenses/token', activation)).json()).toMatchObject({
    data: { token: expect.any(String) },
  });
  // The file for a machine without network holds the first site's slot.
  const other = { ...activation, identifier: 'b.example' };
  expect((await post(shop, '/licenses/activate', other)).status).toBe(200);
  expect((await post(shop, '/licenses/deactivate', other)).status).toBe(200);
  expect((await get(shop, `${PREFIX}/downloads/42?dlid=${license.key}`)).status).toBe(200);
  const { keys } = (await get(shop, `${PREFIX}/keys.json`)).json() as { keys: unknown[] };
  expect(keys).toHaveLength(1);
}
