import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { RequestListener, ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { writeUpdateXml } from '../../src/joomla/update-xml/write';
import { editProduct } from '../../src/licensing/catalogue';
import { table } from '../../src/store/engine/database';
import { pagesClient } from '../pages/support/session';
import { makeCertificate } from '../support/certificates';
import {
  createJoomlaSite,
  JOOMLA_VERSIONS,
  stopJoomlaSites,
  unpack,
  type Clicked,
  type Downloaded,
  type HostOptions,
  type JoomlaSite,
  type JoomlaVersion,
  type Searched,
  type Step,
} from '../support/joomla-host';
import { startNginx } from '../support/nginx';
import { operator, type Operator } from '../support/operator';
import { editRelease } from '../../src/packages/releases';
import { giveRelease } from '../support/packages';
import { php72Faults, phpFaults } from '../support/php-files';
import { eventually, inTime, sharedFolder, temporaryFolder } from '../support/processes';
import { giveLicense, givePlan, PREFIX, rows, startTestService, type TestService } from '../support/service';
import { hostOf } from '../support/web-server';
import type { TestWebServer } from '../support/web-server-process';

/** Tests the plugins of `licensing joomla-plugin` on customers' sites, against the service behind nginx and against faults. */

const NOW = new Date('2026-07-15T12:00:00Z');
const ELEMENT = 'pkg_acmelicence42';

let service: TestService;
let nginx: TestWebServer;
let cli: Operator;
const xmlDir = sharedFolder();
const certificates = temporaryFolder('licensing-tls');
const keys = new Map<string, string>();

beforeAll(async () => {
  makeCertificate(certificates);
  const folder = temporaryFolder();
  const settings = {
    LICENSING_DATABASE_URL: `sqlite:${join(folder, 'test.sqlite')}`,
    LICENSING_PACKAGES_DIR: join(folder, 'packages'),
    LICENSING_XML_DIR: xmlDir,
    LICENSING_DOWNLOAD_RATE_LIMIT: '1000',
  };
  service = await startTestService(settings, NOW);
  cli = operator(settings);
  const { db } = service;
  const plan = await givePlan(db);
  const faithful = await givePlan(db, { afterExpiry: 'last_release' });
  const other = await givePlan(db, { productId: 43 });
  await editProduct(db, 42, {
    element: 'pkg_example',
    renewUrl: 'https://shop.example/renew?a=1&b=2',
    supportUrl: 'https://shop.example/help',
  });
  const expiresAt = new Date('2026-06-30T23:59:59Z');
  for (const [name, on, terms] of [
    ['good', plan, {}],
    ['expired', plan, { expiresAt }],
    ['faithful', faithful, { expiresAt }],
    ['other', other, {}],
    ['suspended', plan, {}],
  ] as const)
    keys.set(name, (await giveLicense(db, on, terms)).key);
  await db(table(db, 'licenses')).where({ id: 5 }).update({ status: 'suspended' });
  await giveRelease(service, { version: '1.0.0', date: new Date('2026-01-01') });
  await giveRelease(service, { version: '2.0.0', date: new Date('2026-07-01') });
  const { release } = await giveRelease(service, { version: '0.9.0', date: new Date('2026-01-01') });
  rmSync(join(service.packagesDir, `${release.sha256}.zip`));
  nginx = await startNginx({
    upstream: hostOf(service),
    packagesDir: service.packagesDir,
    xmlDir,
    example: true,
    edit: (text) => text.replaceAll('/etc/letsencrypt/live/shop.example/', `${certificates}/`),
  });
  await giveGallery(db);
  await writeUpdateXml(db, 46, {}, xmlDir, [], { xmlDir, publicUrl: `https://shop.example:${nginx.port}` });
  await writeUpdateXml(db, 42, {}, xmlDir, [], { xmlDir, publicUrl: `https://shop.example:${nginx.port}` });
});
afterAll(async () => {
  await stopJoomlaSites();
  await nginx.stop();
  await service.stop();
});

/** Adds a product whose ended licences get the security releases of their branches, and such a licence. */
async function giveGallery(db: TestService['db']): Promise<void> {
  const plan = await givePlan(db, { productId: 46, afterExpiry: 'security' });
  await editProduct(db, 46, { element: 'pkg_gallery' });
  keys.set('gallery', (await giveLicense(db, plan, { expiresAt: new Date('2026-03-15') })).key);
  for (const [version, date, security] of [
    ['2.4.0', '2026-01-01', false],
    ['2.4.1', '2026-03-01', false],
    ['3.0.0', '2026-04-01', false],
    ['2.4.2', '2026-05-01', true],
    ['3.0.1', '2026-05-02', true],
  ] as const)
    await giveRelease(service, { productId: 46, version, date: new Date(date), security });
}

/** Makes and unpacks the package for downloads from this port of shop.example. */
async function makePackage(port: number, product = '42'): Promise<{ folder: string; files: string[] }> {
  const out = temporaryFolder('licensing-plugin');
  const { file } = await cli.json<{ file: string }>([
    ...['joomla-plugin', '--product', product, '--vendor', 'Acme', '--out', out],
    ...['--base-url', `https://shop.example:${port}`],
  ]);
  const folder = join(out, 'unpacked');
  return { folder, files: await unpack(file, folder) };
}

/** Returns the steps that install the seller's extension as Joomla does: extension 1, update site 1. */
function productWith(extraQuery: string, element = 'pkg_example'): Step[] {
  return [
    {
      sql: `INSERT INTO #__extensions (name, type, element, folder, client_id, enabled, manifest_cache, params, custom_data)
        VALUES ('Example', 'package', '${element}', '', 0, 1, '{"version":"1.0.0"}', '{}', '')`,
    },
    {
      sql: `INSERT INTO #__update_sites (name, location, enabled, extra_query) VALUES ('Example', 'https://a', 1, '${extraQuery}')`,
    },
    { sql: 'INSERT INTO #__update_sites_extensions VALUES (1, 1)' },
  ];
}

/** The folders of unpacked packages, by the shop's port. */
const packages = new Map<number, string>();

/** The plugin's package for a product with security updates for ended licences. */
let made: ReturnType<typeof makePackage> | undefined;
const galleryPackage = () => (made ??= makePackage(nginx.port, '46'));

async function siteWithPlugin(version: JoomlaVersion, port: number, extraQuery = ''): Promise<JoomlaSite> {
  const site = await createJoomlaSite(version, {
    ca: join(certificates, 'fullchain.pem'),
    resolve: [`shop.example:${port}:127.0.0.1`, `www.shop.example:${port}:127.0.0.1`],
  });
  const made = packages.get(port) ?? (await makePackage(port)).folder;
  packages.set(port, made);
  await site.run([...productWith(extraQuery), { install: made }]);
  return site;
}

const addressOn = (port: number, query: string, host = 'shop.example') =>
  `https://${host}:${port}${PREFIX}/downloads/42${query}`;

/** Another shop. It refuses each download, and answers a check as a test has set for the key. */
let server: Server;
let port: number;
const asked: string[] = [];
const behaviours = new Map<string, RequestListener>();
/** Downloads that take five seconds, while the other tests run. */
let slow: Promise<Downloaded[][]>;

beforeAll(async () => {
  const [key, cert] = ['privkey.pem', 'fullchain.pem'].map((name) => readFileSync(join(certificates, name)));
  server = createServer({ key, cert }, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://shop.example');
    asked.push(request.url ?? '');
    const behave = behaviours.get(searchParams.get('dlid') ?? '');
    if (searchParams.has('check') && pathname.endsWith('/42')) behave?.(request, response);
    else response.writeHead(403).end('License has expired');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
  const hang: RequestListener = () => undefined;
  const drip: RequestListener = (_request, response) => {
    response.writeHead(200);
    const drops = setInterval(() => response.write(' '), 100);
    response.on('close', () => clearInterval(drops));
  };
  const sites = [await siteWithPlugin('5.3', port), await siteWithPlugin('5.3', port)];
  slow = Promise.all([hang, drip].map((behaviour, i) => downloadWith([behaviour], sites[i]!)));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function downloadWith(given: RequestListener[], from: JoomlaSite): Promise<Downloaded[]> {
  const ids = given.map((behaviour) => {
    const id = `KEY-${behaviours.size}`;
    behaviours.set(id, behaviour);
    return id;
  });
  return from.run<Downloaded>(ids.map((id) => ({ download: addressOn(port, `?dlid=${id}`) })));
}

describe('licensing joomla-plugin', () => {
  it('writes a package with both plugins, named by vendor and product, and says what to do with it', async () => {
    const out = join(temporaryFolder(), 'new');
    const args = ['joomla-plugin', '--product', '42', '--vendor', 'acme', '--out', out];
    const { code, stdout } = await cli.run([...args, '--base-url', 'https://shop.example/']);
    const [name = ''] = readdirSync(out);
    const first = readFileSync(join(out, name));
    // The command remembers the address, and the same input makes the same zip.
    const again = await cli.json<{ address: string; element: string }>(args);

    expect(code).toBe(0);
    expect(name).toMatch(/^pkg_acmelicence42-\d+\.\d+\.\d+\.zip$/);
    expect(stdout).toContain(`<file type="package" id="${ELEMENT}">${name}</file>`);
    expect(again).toMatchObject({ element: ELEMENT, address: `https://shop.example${PREFIX}/downloads/42` });
    expect(readFileSync(join(out, name))).toEqual(first);
    const files = await unpack(join(out, name), join(out, 'unpacked'));
    expect(files.filter((file) => !file.includes('/'))).toEqual([
      ...[`${ELEMENT}.xml`, 'plg_installer_acmelicence42.zip', 'plg_system_acmelicence42.zip', 'script.php'],
    ]);
    for (const file of files) {
      const text = readFileSync(join(out, 'unpacked', file), 'latin1');
      if (!file.endsWith('.zip'))
        expect([file, text]).not.toEqual([
          file,
          expect.stringMatching(/vendor(?:name|licence0)|productname|licence0/i),
        ]);
    }
  });

  it('is given by the API and by the page too', async () => {
    const out = temporaryFolder();
    const args = ['joomla-plugin', '--product', '42', '--vendor', 'Acme', '--out', out];
    const { file } = await cli.json<{ file: string }>([...args, '--base-url', 'https://shop.example']);
    const { token } = await cli.json<{ token: string }>(['token', 'add', '--name', 'x', '--scope', 'read']);
    const ask = (path: string) =>
      request(service.url).get(`${PREFIX}/manage/products/${path}`).set('Authorization', `Bearer ${token}`);
    const answer = await ask('42/joomla-plugin?vendor=acme').expect(200);
    const refused = await ask('42/joomla-plugin?vendor=A+B').expect(400);
    const none = await ask('43/joomla-plugin?vendor=Acme').expect(400);
    const pages = await pagesClient(service, { scope: 'read' });
    const product = await pages.get('/products/42');
    const form = await pages.post('/products/42/joomla-plugin', { vendor: 'A B' });
    const given = await pages.post('/products/42/joomla-plugin', { vendor: 'Acme' });

    const { data } = answer.body as { data: { zip: string } };
    expect(Buffer.from(data.zip, 'base64')).toEqual(readFileSync(file));
    expect(data).toMatchObject({ element: ELEMENT, file_name: basename(file) });
    expect(refused.body).toMatchObject({ error: { code: 'INVALID_REQUEST', field: 'vendor' } });
    expect(none.body).toMatchObject({ error: { message: expect.stringContaining('element') } });
    expect(product.html).toContain('/products/42/joomla-plugin"');
    expect({ status: form.status, html: form.html }).toEqual({
      status: 400,
      html: expect.stringContaining('Please type only letters and digits'),
    });
    expect(given.status).toBe(200);
    expect(given.headers.get('content-type')).toBe('application/zip');
    expect(given.headers.get('content-disposition')).toContain(basename(file));
    expect(given.html.slice(0, 2)).toBe('PK');
  });

  it.each<[string, string[], RegExp]>([
    ['a vendor that is no name', ['--vendor', 'Acme & Co'], /letters and digits/],
    ["a vendor that is one of PHP's words", ['--vendor', 'Class'], /ClassSoftware/],
    ['a product without an element', ['--product', '43'], /element/],
    ['an address without TLS', ['--base-url', 'http://shop.example'], /https/],
    ['no address at all', ['--product', '44'], /--base-url/],
  ])('refuses %s', async (_name, changed, reason) => {
    if (changed.includes('44'))
      await cli.json(['product', 'add', '--id', '44', '--name', 'Club', '--element', 'pkg_club']);
    const out = temporaryFolder();
    const args = new Map([
      ['--product', '42'],
      ['--vendor', 'Acme'],
      ['--out', out],
      [changed[0]!, changed[1]!],
    ]);
    const { code, stderr } = await cli.run(['joomla-plugin', ...[...args].flat()]);

    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(reason) });
    expect(readdirSync(out)).toEqual([]);
  });

  it('is PHP from 7.2.5 on, even with a name full of quotes', async () => {
    const name = `O'Neil's "Shop" \\ <b> & 100%`;
    await cli.json(['product', 'add', '--id', '45', '--name', name, '--element', 'pkg_oneil']);
    const { folder, files } = await makePackage(443, '45');
    const scripts = files.filter((file) => file.endsWith('.php')).map((file) => join(folder, file));
    const read = `
      $out = [];
      foreach ($in as $file) {
        if (substr($file, -4) === '.xml') $out[] = (bool) simplexml_load_file($file);
        elseif (substr($file, -4) === '.ini') $out[] = count(parse_ini_file($file, false, INI_SCANNER_RAW)) > 1;
      }
      echo json_encode($out);`;
    const { stdout } = spawnSync(
      'php',
      ['-r', `$in = json_decode(stream_get_contents(STDIN), true); ${read}`],
      {
        input: JSON.stringify(files.map((file) => join(folder, file))),
        encoding: 'utf8',
      },
    );

    expect(scripts).toHaveLength(7);
    expect(phpFaults(scripts)).toEqual([]);
    expect(php72Faults(scripts)).toEqual([]);
    expect(JSON.parse(stdout)).toEqual(Array(11).fill(true));
    const product = readFileSync(join(folder, 'plg_installer_acmelicence45/src/Product.php'), 'utf8');
    const evaluated = spawnSync(
      'php',
      [
        '-r',
        `const _JEXEC = 1; eval('?>' . stream_get_contents(STDIN)); echo \\Acme\\Plugin\\Installer\\Licence45\\Product::NAME;`,
      ],
      { input: product, encoding: 'utf8' },
    );
    expect(evaluated.stdout).toBe(name);
  });
});

const link = (address: string, text: string) => `<a href="${address}" rel="noopener">${text}</a>`;
const SITES_PAGE = 'index.php?option=com_installer&amp;view=updatesites';
const [RENEW, HELP, SITES] = [
  link('https://shop.example/renew?a=1&amp;b=2', 'Renew'),
  link('https://shop.example/help', 'Ask for help'),
  link(SITES_PAGE, 'Update sites'),
];
const [VERLAENGERN, HILFE, QUELLEN] = [
  link('https://shop.example/renew?a=1&amp;b=2', 'Verlängern'),
  link('https://shop.example/help', 'Hilfe anfordern'),
  link(SITES_PAGE, 'Aktualisierungsquellen'),
];

/** Rows of: key, further query, status that Joomla gets, message to the administrator in English and in German. */
const REFUSALS: [key: string, query: string, status: number, english: string, german: string][] = [
  [
    'unknown',
    '',
    403,
    `The vendor does not know this Download Key. Compare it with the key that you were sent. ${SITES} | ${HELP}`,
    `Der Anbieter kennt diesen Download-Schlüssel nicht. Vergleichen Sie ihn mit dem Schlüssel, den Sie erhalten haben. ${QUELLEN} | ${HILFE}`,
  ],
  [
    'other',
    '',
    403,
    `This Download Key is for another product. Enter the key of this one. ${SITES} | ${HELP}`,
    `Dieser Download-Schlüssel gehört zu einem anderen Produkt. Tragen Sie den Schlüssel für dieses ein. ${QUELLEN} | ${HILFE}`,
  ],
  [
    'suspended',
    '',
    403,
    `The licence is not active. The vendor can tell you why. ${HELP}`,
    `Die Lizenz ist nicht aktiv. Der Anbieter kann Ihnen den Grund nennen. ${HILFE}`,
  ],
  [
    'expired',
    '',
    403,
    `The licence ended on 2026-06-30. Renew it to get updates again. ${RENEW} | ${HELP}`,
    `Die Lizenz ist am 30.06.2026 abgelaufen. Verlängern Sie sie, um wieder Updates zu erhalten. ${VERLAENGERN} | ${HILFE}`,
  ],
  [
    'faithful',
    '&version=2.0.0',
    403,
    `The licence ended on 2026-06-30. Renew it to get updates again. The licence still covers version 1.0.0. ${RENEW} | ${HELP}`,
    `Die Lizenz ist am 30.06.2026 abgelaufen. Verlängern Sie sie, um wieder Updates zu erhalten. Die Lizenz gilt noch für Version 1.0.0. ${VERLAENGERN} | ${HILFE}`,
  ],
  [
    'good',
    '&amp;version=3.0.0',
    404,
    `Version 3.0.0 is not available. Search for updates again. The licence still covers version 2.0.0. ${HELP}`,
    `Version 3.0.0 ist nicht verfügbar. Suchen Sie noch einmal nach Updates. Die Lizenz gilt noch für Version 2.0.0. ${HILFE}`,
  ],
  [
    'good',
    '&version=0.9.0',
    404,
    `The file of version 0.9.0 is missing on the vendor&#039;s server. Tell the vendor. The licence still covers version 2.0.0. ${HELP}`,
    `Die Datei von Version 0.9.0 fehlt auf dem Server des Anbieters. Melden Sie es dem Anbieter. Die Lizenz gilt noch für Version 2.0.0. ${HILFE}`,
  ],
  [
    'good',
    '&identifier=elsewhere.example',
    403,
    `This site is not activated for the licence. Activate it in the options of the extension. ${HELP}`,
    `Diese Website ist für die Lizenz nicht aktiviert. Aktivieren Sie sie in den Optionen der Erweiterung. ${HILFE}`,
  ],
];

describe.each(JOOMLA_VERSIONS)('on Joomla %s', (version) => {
  let site: JoomlaSite;
  let english: Downloaded[];
  let german: Downloaded[];
  beforeAll(async () => {
    site = await siteWithPlugin(version, nginx.port);
    const keyOf = (name: string) => keys.get(name) ?? 'AAAAAAAA-BBBBBBBB-CCCCCCCC-DDDDDDDD';
    const downloads = REFUSALS.map(([name, query]) => ({
      download: addressOn(nginx.port, `?dlid=${keyOf(name)}${query}`),
    }));
    english = await site.run(downloads);
    german = await site.run(downloads, { language: 'de-AT' });
  });

  const download = async (query: string, options?: HostOptions): Promise<Downloaded> => {
    const [result] = await site.run<Downloaded>([{ download: addressOn(nginx.port, query) }], options);
    return result!;
  };

  it('is switched on by its installation', async () => {
    const [plugins] = await site.run<object[]>([
      { sql: "SELECT folder, enabled FROM #__extensions WHERE element = 'acmelicence42' ORDER BY folder" },
    ]);
    expect(plugins).toEqual([
      { folder: 'installer', enabled: 1 },
      { folder: 'system', enabled: 1 },
    ]);
  });

  it.each(REFUSALS.map((one, i) => [...one.slice(0, 2), i] as [string, string, number]))(
    'says why a download with the %s key%s is refused, and what helps',
    (_name, _query, i) => {
      const [, , status, inEnglish, inGerman] = REFUSALS[i]!;
      expect(english[i]).toMatchObject({ messages: [['error', `Example Shop: ${inEnglish}`]], status });
      expect(german[i]).toMatchObject({ messages: [['error', `Example Shop: ${inGerman}`]], status });
    },
  );

  it('asks for a missing key, without a request to the service', async () => {
    const queries = ['', '?dlid=', '?version=2.0.0'];
    const downloads = queries.map((query) => ({ download: addressOn(nginx.port, query) }));
    for (const [language, says] of [
      [
        'en-GB',
        `No Download Key is entered. Enter it in the entry of this extension under Update Sites. ${SITES}`,
      ],
      [
        'de-AT',
        `Es ist kein Download-Schlüssel eingetragen. Tragen Sie ihn bei der Aktualisierungsquelle dieser Erweiterung ein. ${QUELLEN}`,
      ],
    ] as const)
      for (const { messages } of await site.run<Downloaded>(downloads, { language }))
        expect(messages).toEqual([['error', `Example Shop: ${says}`]]);
  });

  it('writes text outside the administrator', async () => {
    const text = await download(`?dlid=${keys.get('expired')!}`, { client: 'cli' });

    expect(text.messages[0]![1]).toBe(
      'Example Shop: The licence ended on 2026-06-30. Renew it to get updates again. Renew: https://shop.example/renew?a=1&b=2 | Ask for help: https://shop.example/help',
    );
  });

  it.each([
    ['en-GB', 'Version 2.0.0 closes a security hole.'],
    ['de-DE', 'Version 2.0.0 schließt eine Sicherheitslücke.'],
  ])('says in %s if the refused version is a security release', async (language, says) => {
    const refused = { download: addressOn(nginx.port, `?dlid=${keys.get('expired')!}`) };
    await editRelease(service.db, 42, '2.0.0', { security: true });
    const [marked] = await site.run<Downloaded>([refused], { language });
    await editRelease(service.db, 42, '2.0.0', { security: false });
    const [plain] = await site.run<Downloaded>([refused], { language });

    expect(marked?.messages[0]?.[1]).toContain(` ${says} `);
    expect(plain?.messages[0]?.[1]).not.toContain(says);
  });

  it('lets an allowed download through, and reports the site and the installed version', async () => {
    const address = addressOn(nginx.port, `?version=2.0.0&amp;dlid=${keys.get('good')!}`);
    // The log stores the texts of only 20 new rows in a minute, so let a minute pass.
    service.clock.now = new Date(service.clock.now.getTime() + 60_000);
    const [result] = await site.run<Downloaded>([{ download: address }], {
      root: `https://www.j${version}.example/joomla/`,
    });

    expect(result).toMatchObject({
      messages: [],
      status: 200,
      url: address,
      headers: {
        'X-Licensing-Site': `https://www.j${version}.example/joomla`,
        'X-Licensing-Version': '1.0.0',
      },
    });
    const [logged] = await eventually(async () => {
      const found = (await rows(service.db, 'access_log')).filter(
        (row) => row.site === `j${version}.example`,
      );
      expect(found).toHaveLength(1);
      return found;
    });
    expect(logged).toMatchObject({ endpoint: 'download', outcome: 'ok', installed_version: '1.0.0' });
  });

  it('reports nothing if the option is off, and sends its headers only with its own download', async () => {
    const query = `?dlid=${keys.get('good')!}`;
    const [, off, , elsewhere] = await site.run<Downloaded>([
      { sql: `UPDATE #__extensions SET params = '{"tell_site":"0"}' WHERE folder = 'installer'` },
      { download: addressOn(nginx.port, query) },
      { sql: `UPDATE #__extensions SET params = '{}' WHERE folder = 'installer'` },
      { download: addressOn(nginx.port, query).replace('/42', '/43') },
    ]);

    expect(off).toMatchObject({ messages: [], headers: {}, status: 200 });
    expect(elsewhere).toMatchObject({ messages: [], headers: {} });
  });

  it('does nothing for other addresses', async () => {
    const address = addressOn(nginx.port, `?dlid=${keys.get('expired')!}`);
    const others = [
      address.replace('https:', 'http:'),
      address.replace('shop.example', 'www.shop.example'),
      address.replace('shop.example', 'user@shop.example'),
      address.replace('/42', '/420'),
      address.replace('/42', '/42&v=2'),
      address.replace('/downloads', '/downloads/../downloads'),
      address.replace(String(nginx.port), String(nginx.httpPort)),
      `https://evil.example/${address}`,
      address.replace('dlid=', 'dlid= '),
      'no address',
      '',
    ];
    const results = await site.run<Downloaded>(others.map((download) => ({ download })));

    for (const [i, result] of results.entries())
      expect(result).toMatchObject({ messages: [], headers: {}, url: others[i] });
    const [upper] = await site.run<Downloaded>([
      { download: address.replace('shop.example', 'SHOP.example') },
    ]);
    expect(upper!.messages).toHaveLength(1);
  });

  it('keeps the key that Joomla loses, until the administrator removes it', async () => {
    const kept = await siteWithPlugin(version, nginx.port, 'dlid=KEY-1');
    const look: Step = { sql: 'SELECT update_site_id AS id, extra_query FROM #__update_sites ORDER BY 1' };
    const copy: Step = { sql: "SELECT custom_data FROM #__extensions WHERE folder = 'system'" };
    const open: Step = { event: 'onAfterInitialise' };
    const add = (id: number, location: string): Step => ({
      sql: `INSERT INTO #__update_sites VALUES (${id}, 'Example', '', '${location}', 1, '');
        INSERT INTO #__update_sites_extensions VALUES (${id}, ${id === 90 ? 9 : 1})`,
    });
    const set = (extraQuery: string, id: number): Step => ({
      sql: `UPDATE #__update_sites SET extra_query = '${extraQuery}' WHERE update_site_id = ${id}`,
    });
    // While Joomla rebuilds its update sites, another request sees an empty table.
    const rebuilt = (id: number): Step[] => [
      { sql: 'DELETE FROM #__update_sites_extensions; DELETE FROM #__update_sites' },
      ...[open, add(id, 'https://b'), add(90, 'https://c')],
    ];
    const others = { id: 90, extra_query: '' };
    const expected: [why: string, steps: Step[], seen: object[]][] = [
      [
        'on the pages of the site nothing is done',
        [open, ...rebuilt(5), { event: 'onAfterInitialise', client: 'site' }, look],
        [{ id: 5, extra_query: '' }, others],
      ],
      ['after Rebuild', [open, look], [{ id: 5, extra_query: 'dlid=KEY-1' }, others]],
      [
        'after an update with a new address, for which Joomla up to 5.3.0 adds an update site',
        [add(6, 'https://d'), { event: 'console.before_command_execute', client: 'cli' }, look],
        [{ id: 5, extra_query: 'dlid=KEY-1' }, { id: 6, extra_query: 'dlid=KEY-1' }, others],
      ],
      [
        'a new key is the one to keep',
        [set('dlid=KEY-2', 6), open, ...rebuilt(7), open, look],
        [{ id: 7, extra_query: 'dlid=KEY-2' }, others],
      ],
      ['what was taken out is forgotten', [set('dlid=', 7), open, copy], [{ custom_data: '' }]],
      ['and stays out', [...rebuilt(8), open, look], [{ id: 8, extra_query: '' }, others]],
      [
        'a key entered again',
        [set('dlid=KEY-3', 8), open, copy],
        [{ custom_data: '{"extra_query":"dlid=KEY-3"}' }],
      ],
      [
        'is forgotten with the product',
        [{ sql: 'DELETE FROM #__extensions WHERE extension_id = 1' }, open, copy],
        [{ custom_data: '' }],
      ],
    ];
    const results = await kept.run<object[]>(expected.flatMap(([, steps]) => steps));
    let last = -1;
    const seen = expected.map(([why, steps]) => [why, results[(last += steps.length)]]);

    expect(seen).toEqual(expected.map(([why, , found]) => [why, found]));
  });

  it('offers the last version that an ended licence covers, and fetches what it offers', async () => {
    const xml = `https://shop.example:${nginx.port}/licensing-updates/pkg_example.xml`;
    const last = xml.replace('.xml', '/up-to-1.0.0.xml');
    const ended = await siteWithPlugin(version, nginx.port, `dlid=${keys.get('faithful')!}`);
    const set = (installed: string, key: string): Step => ({
      sql: `UPDATE #__extensions SET manifest_cache = '{"version":"${installed}"}' WHERE extension_id = 1;
        UPDATE #__update_sites SET location = '${xml}', extra_query = 'dlid=${keys.get(key) ?? key}'`,
    });
    const visit = async (installed: string, key: string) => {
      const [, found, clicked] = await ended.run([set(installed, key), { search: xml }, { click: true }]);
      const [{ url, version: offered }, { version: fetched, download: from }] = [
        found as Searched,
        clicked as Clicked,
      ];
      return { url, offered, fetched, from: from.replace(/^.*version=/, '') };
    };
    const all = { url: xml, offered: '2.0.0', fetched: '2.0.0', from: '2.0.0' };
    const isSwapped = ['5.3', '6.1', '7.0'].includes(version);
    const swapped = { url: last, offered: '1.0.0', fetched: '1.0.0', from: '1.0.0' };

    expect(await visit('0.9.0', 'faithful')).toEqual(isSwapped ? swapped : all);
    // The XML never offers an older version than the installed one.
    expect(await visit('1.0.0', 'faithful')).toEqual(all);
    expect(await visit('1.5.0', 'faithful')).toEqual(all);
    expect(await visit('0.9.0', 'faithful')).toEqual(isSwapped ? swapped : all);
    // A renewed licence sees all versions again.
    expect(await visit('0.9.0', 'good')).toEqual(all);
    for (const key of ['expired', 'suspended', 'other', 'unknown', ''])
      expect([key, await visit('0.9.0', key)]).toEqual([key, all]);
    const [kept] = await ended.run<object[]>([
      { sql: "SELECT custom_data FROM #__extensions WHERE folder = 'installer'" },
    ]);
    expect(kept).toEqual([{ custom_data: '' }]);
  });

  it('offers the free security release of the installed branch, and nothing above it', async () => {
    const xml = `https://shop.example:${nginx.port}/licensing-updates/pkg_gallery.xml`;
    const gallery = (await galleryPackage()).folder;
    const ended = await createJoomlaSite(version, {
      ca: join(certificates, 'fullchain.pem'),
      resolve: [`shop.example:${nginx.port}:127.0.0.1`],
    });
    await ended.run([...productWith(`dlid=${keys.get('gallery')!}`, 'pkg_gallery'), { install: gallery }]);
    const set = (installed: string): Step => ({
      sql: `UPDATE #__extensions SET manifest_cache = '{"version":"${installed}"}' WHERE extension_id = 1;
        UPDATE #__update_sites SET location = '${xml}'`,
    });
    const visit = async (installed: string) => {
      const [, found, clicked] = await ended.run([set(installed), { search: xml }, { click: true }]);
      const { download: from, version: fetched } = clicked as Clicked;
      return { ...(found as Searched), fetched, from };
    };
    const isSwapped = ['5.3', '6.1', '7.0'].includes(version);
    const offer = await visit('2.4.1');
    // Joomla adds the key to the address.
    const key = `&dlid=${keys.get('gallery')!}`;
    const [installed] = (await ended.run<Downloaded>([{ download: `${offer.from}${key}` }])) as [Downloaded];
    if (isSwapped) {
      expect(offer).toMatchObject({ url: xml.replace('.xml', '/up-to-2.4.2.xml'), version: '2.4.2' });
      expect([offer.fetched, installed.status, installed.messages]).toEqual(['2.4.2', 200, []]);
      // The site has it now, and is not offered the version that its licence does not cover.
      expect(await visit('2.4.2')).toMatchObject({ version: '2.4.2', fetched: '2.4.2' });
    } else {
      expect([offer.url, offer.version, installed.status]).toEqual([xml, '3.0.1', 403]);
      const [[type, text]] = installed.messages as [[string, string]];
      expect(type).toBe('error');
      expect(text).toContain('Version 2.4.2 closes a security hole and is free for this licence.');
      expect(text).toContain(`<a href="https://shop.example:${nginx.port}${PREFIX}/pages/my"`);
    }
    const [direct] = (await ended.run<Downloaded>([
      { download: `https://shop.example:${nginx.port}${PREFIX}/downloads/46?version=2.4.2${key}` },
    ])) as [Downloaded];
    expect(direct.status).toBe(200);
  });

  it('leaves nothing when it is uninstalled', async () => {
    const left = await siteWithPlugin(version, nginx.port, 'dlid=KEY-1');
    const [, , extensions, sites] = await left.run([
      { event: 'onAfterInitialise' },
      { uninstall: ELEMENT },
      { sql: 'SELECT element FROM #__extensions' },
      { sql: 'SELECT extra_query FROM #__update_sites' },
    ]);
    const files = readdirSync(left.folder, { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );

    expect(extensions).toEqual([{ element: 'pkg_example' }]);
    expect(sites).toEqual([{ extra_query: 'dlid=KEY-1' }]);
    expect(files.map(({ name }) => name)).toEqual(['site.sqlite']);
    expect(existsSync(join(left.folder, 'plugins/system/acmelicence42'))).toBe(false);
  });
});

describe('an answer that is not clear', () => {
  let site: JoomlaSite;
  beforeAll(async () => {
    site = await siteWithPlugin('5.3', port);
  });

  const json = (response: ServerResponse, value: unknown, status = 200) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  const refusal = { allowed: false, code: 'LICENSE_EXPIRED', message: 'License has expired' };

  it('leads to silence', async () => {
    const faults = Object.entries<RequestListener>({
      'a connection that breaks': (request) => request.socket.destroy(),
      'a redirect': (_request, response) =>
        response.writeHead(302, { Location: `https://shop.example:${port}/elsewhere?check=1` }).end(),
      '429': (_request, response) => json(response, { data: refusal }, 429),
      '403 with a verdict': (_request, response) => json(response, { data: refusal }, 403),
      '500': (_request, response) => response.writeHead(500).end('<h1>Error</h1>'),
      HTML: (_request, response) => response.end('<html>'),
      'JSON that is no object': (_request, response) => json(response, 'x'),
      'no data': (_request, response) => json(response, { error: refusal }),
      'a verdict that is no boolean': (_request, response) =>
        json(response, { data: { ...refusal, allowed: 0 } }),
      'more than 64 KB': (_request, response) => json(response, { data: refusal, more: 'x'.repeat(70_000) }),
      'bytes without an end': (_request, response) => {
        const more = () => {
          if (response.write(' '.repeat(16_384))) setImmediate(more);
          else response.once('drain', more);
        };
        response.on('error', () => undefined);
        response.writeHead(200);
        more();
      },
    });
    const results = await downloadWith(
      faults.map(([, behaviour]) => behaviour),
      site,
    );

    expect(results.map(({ messages, status }, i) => [faults[i]![0], messages, status])).toEqual(
      faults.map(([what]) => [what, [], 403]),
    );
    // The plugin neither asks a second time nor follows a redirect.
    const ids = [...behaviours.keys()].slice(-faults.length);
    const ofThese = asked.filter((url) => ids.includes(/dlid=([^&]*)/.exec(url)?.[1] ?? ''));
    expect(ofThese).toEqual(
      ids.flatMap((id) => ['&check=1', ''].map((check) => `${PREFIX}/downloads/42?dlid=${id}${check}`)),
    );
  });

  it('leads to silence after five seconds, if it hangs or drips', async () => {
    for (const { messages, status, seconds } of (await slow).flat()) {
      expect({ messages, status }).toEqual({ messages: [], status: 403 });
      expect(seconds).toBeGreaterThan(4);
      expect(seconds).toBeLessThan(inTime(7));
    }
  });

  it('is shown as text: an unknown code, markup, addresses that are not https, and too much of it', async () => {
    const hostile = '<img src=x onerror=alert(1)><a href="data:text/html,x">x</a> & "quotes"\u0000\n';
    const [told] = await downloadWith(
      [
        (_request, response) =>
          json(response, {
            data: {
              ...{ allowed: false, code: 'SOMETHING_NEW', message: hostile + 'ä'.repeat(400) },
              ...{ version: '<b>2</b>', entitled_version: '1.0.0"', expires_at: 'soon' },
              renew_url: 'javascript:alert(1)',
              support_url: 'https://shop.example/"onmouseover="x',
            },
          }),
      ],
      site,
    );
    const [[type, text] = ['', '']] = told!.messages;

    expect(type).toBe('error');
    expect(text).not.toMatch(/[<>\n]|javascript|onmouseover/);
    expect(text).not.toContain('\0');
    expect(text).toMatch(
      /^Example Shop: The vendor&#039;s server says: &lt;img src=x onerror=alert\(1\)&gt;.*ä\.\.\.$/,
    );
    expect(Array.from(text.replace(/&(?:lt|gt|amp|quot|#039);/g, '?')).length).toBeLessThan(360);
  });

  it.each(['PRODUCT_MISMATCH', 'ACTIVATION_NOT_FOUND'])(
    'of %s offers a larger licence if one exists',
    async (code) => {
      const data = { allowed: false, code, message: '', upgrade_url: 'https://shop.example/up?a=1&b=2' };
      const answer = (upgrade_url: unknown) =>
        downloadWith([(_request, response) => json(response, { data: { ...data, upgrade_url } })], site);
      const link = '<a href="https://shop.example/up?a=1&amp;b=2" rel="noopener">Get a larger licence</a>';

      expect((await answer(data.upgrade_url))[0]!.messages[0]![1]).toContain(link);
      expect((await answer('javascript:alert(1)'))[0]!.messages[0]![1]).not.toMatch(/larger|javascript/);
    },
  );

  it('with an unknown code gets both remedies', async () => {
    const data = {
      allowed: false,
      code: null,
      message: '',
      renew_url: 'https://shop.example/renew',
      support_url: 'https://shop.example/help',
    };
    const [told] = await downloadWith([(_request, response) => json(response, { data })], site);

    expect(told!.messages[0]![1]).toBe(
      'Example Shop: The vendor&#039;s server refuses this download. <a href="https://shop.example/renew" rel="noopener">Renew</a> | <a href="https://shop.example/help" rel="noopener">Ask for help</a>',
    );
  });
});

it('is silent when the limit of the service is reached', async () => {
  const folder = temporaryFolder();
  const limited = await startTestService(
    { LICENSING_DATABASE_URL: `sqlite:${join(folder, 'test.sqlite')}`, LICENSING_DOWNLOAD_RATE_LIMIT: '1' },
    NOW,
  );
  mkdirSync(join(folder, 'packages'), { recursive: true });
  const server = await startNginx({
    upstream: hostOf(limited),
    example: true,
    edit: (text) => text.replaceAll('/etc/letsencrypt/live/shop.example/', `${certificates}/`),
  });
  try {
    const site = await siteWithPlugin('6.1', server.port);
    const address = addressOn(server.port, '?dlid=AAAAAAAA-BBBBBBBB-CCCCCCCC-DDDDDDDD');
    const [first, second] = await site.run<Downloaded>([{ download: address }, { download: address }]);

    expect(first).toMatchObject({
      messages: [['error', expect.stringContaining('does not know')]],
      status: 429,
    });
    expect(second).toMatchObject({ messages: [], status: 429 });
  } finally {
    await server.stop();
    await limited.stop();
  }
});
