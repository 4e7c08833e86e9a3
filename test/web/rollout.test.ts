import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addProduct } from '../../src/licensing/catalogue';
import { rolloutBucket } from '../../src/licensing/updates';
import { operator } from '../support/operator';
import { giveRelease, makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { PREFIX, startTestService } from '../support/service';
import { startStaticSite } from '../support/static-site';
import { get } from '../support/web-server';
import { ACCEL, NGINX, webShops, type Shop, type TestWebServer, type WebShops } from '../support/web-shops';

/** A version for a share of the addresses, behind an nginx that is not reloaded between the steps. */

const PATH = '/licensing-updates/pkg_example.xml';
/** Enough addresses that a share is within its bounds by far more than four standard deviations. */
const ADDRESSES = [
  ...Array.from({ length: 200 }, (_, i) => `198.51.${100 + (i >> 7)}.${1 + (i % 128) * 2}`),
  ...Array.from({ length: 200 }, (_, i) => `2001:db8:${i.toString(16)}:7::1`),
];

/** Makes nginx take the client's address from a header, as behind a CDN on this machine. */
const withAddresses = (text: string) =>
  text.replace(
    /^#set_real_ip_from 203\.0\.113\.0\/24;/m,
    'set_real_ip_from 127.0.0.1;\nreal_ip_header X-Forwarded-For;',
  );

describe('behind nginx', () => {
  let shops: WebShops;
  let shop: Shop;
  let server: TestWebServer;
  let command: ReturnType<typeof operator>;
  beforeAll(async () => {
    shops = await webShops(NGINX);
    const database = `sqlite:${join(temporaryFolder(), 'test.sqlite')}`;
    shop = await shops.open({ ...ACCEL, LICENSING_DATABASE_URL: database });
    server = await shops.start({
      upstream: new URL(shop.service.url).host,
      packagesDir: shop.packagesDir,
      xmlDir: shop.xmlDir,
      edit: withAddresses,
    });
    command = operator({
      LICENSING_DATABASE_URL: database,
      LICENSING_PACKAGES_DIR: shop.packagesDir,
      LICENSING_XML_DIR: shop.xmlDir,
      LICENSING_PUBLIC_URL: server.url,
    });
    await command.json(['product', 'edit', '42', '--element', 'pkg_example']);
  });
  afterAll(() => shops.close());

  const from = (address: string, path = PATH) =>
    get(server, path, { headers: { 'X-Forwarded-For': address } });
  const versionFor = async (address: string) =>
    /<version>(.*?)</.exec((await from(address)).body.toString())?.[1];
  /** Returns the addresses that are offered a version. */
  async function offered(version: string): Promise<Set<string>> {
    const found = new Set<string>();
    for (const address of ADDRESSES) if ((await versionFor(address)) === version) found.add(address);
    return found;
  }
  const rollout = (version: string, percent: number) =>
    command.json(['release', 'rollout', '--product', '42', '--version', version, String(percent)]);
  async function publish(version: string, ...options: string[]): Promise<unknown> {
    const { path } = await makePackage({
      'pkg_example.xml': `<extension type="package"><packagename>example</packagename><version>${version}</version><dlid prefix="dlid="/>
        <updateservers><server>${server.url + PATH}</server></updateservers></extension>`,
    });
    return command.json([
      'release',
      'publish',
      '--product',
      '42',
      '--version',
      version,
      '--file',
      path,
      ...options,
    ]);
  }

  it('reaches its share, and no address loses the version when the share is raised', async () => {
    expect(await publish('2.2.0', '--rollout', '10')).toMatchObject({
      rollout: 10,
      update_xml: { state: 'written' },
    });
    const ten = await offered('2.2.0');
    expect(ten.size).toBeGreaterThan(15);
    expect(ten.size).toBeLessThan(70);
    expect(await versionFor(ADDRESSES.find((one) => !ten.has(one))!)).toBe('2.1.0');

    await rollout('2.2.0', 25);
    const quarter = await offered('2.2.0');
    expect(quarter.size).toBeGreaterThan(65);
    expect(quarter.size).toBeLessThan(140);
    expect([...ten].filter((one) => !quarter.has(one))).toEqual([]);

    await rollout('2.2.0', 10);
    expect(await offered('2.2.0')).toEqual(ten);

    await rollout('2.2.0', 100);
    expect((await offered('2.2.0')).size).toBe(ADDRESSES.length);
    expect(existsSync(join(shop.xmlDir, 'rollout/pkg_example'))).toBe(false);
  });

  it('reports the bucket, which is the same for a whole IPv6 network and differs between files', async () => {
    writeFileSync(join(shop.xmlDir, 'pkg_other.xml'), '<updates/>');
    const bucketOf = async (address: string, path = PATH) => {
      const { status, headers } = await from(address, path);
      expect([status, headers['cache-control']]).toEqual([200, 'private, max-age=300']);
      return headers['x-licensing-bucket'];
    };
    const buckets = await Promise.all(ADDRESSES.slice(0, 100).map((address) => bucketOf(address)));

    expect(new Set(buckets.map((bucket) => /^[0-9]{2}$/.test(String(bucket))))).toEqual(new Set([true]));
    expect(await bucketOf('2001:db8:5:7::1')).toBe(await bucketOf('2001:db8:5:7:ffff:1:2:3'));
    expect(await bucketOf('::ffff:198.51.100.1')).toBe(await bucketOf('198.51.100.1'));
    const others = await Promise.all(
      ADDRESSES.slice(0, 100).map((address) => bucketOf(address, '/licensing-updates/pkg_other.xml')),
    );
    expect(others).not.toEqual(buckets);
  });

  it('ends when the version is withdrawn: no bucket is left', async () => {
    await publish('2.3.0', '--rollout', '40');
    const had = await offered('2.3.0');
    expect(had.size).toBeGreaterThan(100);

    await command.json(['release', 'withdraw', '--product', '42', '--version', '2.3.0']);
    expect((await offered('2.3.0')).size).toBe(0);
    expect(existsSync(join(shop.xmlDir, 'rollout/pkg_example'))).toBe(false);
  });

  it('answers 404 for its folders and a missing file, without an error page of the site', async () => {
    await publish('2.4.0', '--rollout', '1');
    for (const path of [
      'rollout/pkg_example/00.xml',
      'rollout/',
      'rollout',
      'pkg_example/',
      'none.xml',
      'pkg_example/up-to-1.0.xml',
    ])
      expect([path, (await get(server, `/licensing-updates/${path}`)).status]).toEqual([path, 404]);
    expect(readdirSync(join(shop.xmlDir, 'rollout/pkg_example'))).toEqual(['00.xml']);
    const file = readFileSync(join(shop.xmlDir, 'pkg_example-changelog.xml'), 'utf8');
    expect((await get(server, '/licensing-updates/pkg_example-changelog.xml')).body.toString()).toBe(file);
    expect(file).toContain('<version>2.4.0</version>');
  });

  it("the API's update check, a dry run and a download without a version give the same share", async () => {
    await rollout('2.4.0', 50);
    const ask = (path: string, address: string) =>
      get(server, `${PREFIX}/${path}`, { headers: { 'X-Forwarded-For': address } });
    const addresses = ADDRESSES.slice(0, 60);
    for (const address of addresses) {
      const expected =
        rolloutBucket(address.includes(':') ? `${address.replace('::1', '')}::/64` : address, 42) < 50
          ? '2.4.0'
          : '2.2.0';
      const { data } = (await ask('updates/42', address)).json() as { data: { version: string } };
      expect([address, data.version]).toEqual([address, expected]);
      const check = (await ask(`downloads/42?dlid=${shop.key}&check=1`, address)).json();
      expect(check).toMatchObject({ data: { version: expected, latest: '2.4.0', allowed: true } });
    }
    const download = await ask(`downloads/42?dlid=${shop.key}`, addresses[0]!);
    expect(download.headers['content-disposition']).toContain(
      (await ask('updates/42', addresses[0]!)).body.toString().includes('2.4.0') ? '2.4.0' : '2.2.0',
    );
    // A client that names the version gets it.
    expect((await ask(`downloads/42?dlid=${shop.key}&version=2.4.0`, addresses[1]!)).status).toBe(200);
  });

  it.each([
    [['2.4.0', '0'], 2, /1 to 100/],
    [['2.4.0', '101'], 2, /1 to 100/],
    [['9.9.9', '10'], 1, /has no version 9\.9\.9/],
    [['2.3.0', '10'], 1, /withdrawn/],
  ])('refuses %j', async ([version, percent], status, words) => {
    const args = ['release', 'rollout', '--product', '42', '--version', version!, percent!];
    const { code, stderr } = await command.run(args);
    expect([code, stderr]).toEqual([status, expect.stringMatching(words)]);
  });
});

describe.each([
  ["nginx's files of before", 'nginx/1.22.1', /nginx .*licensing nginx/],
  ['Apache', 'Apache/2.4.66 (Debian)', /by Apache/],
])('behind %s', (_name, name, words) => {
  it('a share is refused with a reason, and 100 % is accepted', async () => {
    const settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'test.sqlite')}` };
    const service = await startTestService(settings);
    const xmlDir = temporaryFolder();
    const site = await startStaticSite((_request, response) => {
      response.setHeader('Server', name);
      response.end(readFileSync(join(xmlDir, 'pkg_example.xml')));
    });
    try {
      const command = operator({
        ...settings,
        LICENSING_PACKAGES_DIR: service.packagesDir,
        LICENSING_XML_DIR: xmlDir,
        LICENSING_PUBLIC_URL: site.url,
      });
      await addProduct(service.db, { id: 42, name: 'Example', element: 'pkg_example' }, new Date());
      await giveRelease(service, { version: '2.1.0' });
      await command.json(['update-xml', 'write', '--product', '42']);
      const set = (percent: string) => [
        'release',
        'rollout',
        '--product',
        '42',
        '--version',
        '2.1.0',
        percent,
      ];

      const { code, stderr } = await command.run(set('10'));
      expect([code, stderr]).toEqual([1, expect.stringMatching(words)]);
      expect(await command.json(set('100'))).toMatchObject({
        rollout: 100,
        update_xml: { state: 'written' },
      });
    } finally {
      await Promise.all([site.stop(), service.stop()]);
    }
  });
});
