import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { manifestSnippets } from '../../src/joomla/manifest';
import type { DatabaseMinimums } from '../../src/joomla/update-xml/saved-options';
import type { UpdateXmlInput } from '../../src/joomla/update-xml/settings';
import { writeUpdateXml } from '../../src/joomla/update-xml/write';
import { lintUpdateXml } from '../../src/joomla/lint/lint';
import { addProduct } from '../../src/licensing/catalogue';
import { withdrawRelease } from '../../src/packages/releases';
import { setProduct } from '../../src/store/catalogue';
import { giveRelease, makePackage } from '../support/packages';
import { operator, type Operator } from '../support/operator';
import { php } from '../support/php-xml';
import { eventually, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';
import { processEnvironment, startProgram } from '../support/service-process';
import { startStaticSite, type StaticSite } from '../support/static-site';

interface ReadUpdate {
  fields: Record<string, string>;
  infoTitle: string;
  platform: string;
  databases: Record<string, string>;
}

/** Reads an update XML with PHP's SimpleXML. */
function readXml(text: string): ReadUpdate[] {
  return php(
    `$root = new SimpleXMLElement($in);
     if ($root->getName() !== 'updates') { throw new Exception('root'); }
     $out = [];
     foreach ($root->update as $update) {
       $fields = [];
       foreach ($update->children() as $child) { $fields[$child->getName()] = (string) $child; }
       $fields['downloadurl'] = (string) $update->downloads->downloadurl;
       $fields['tag'] = (string) $update->tags->tag;
       $databases = [];
       if ($update->supported_databases) { foreach ($update->supported_databases->attributes() as $k => $v) { $databases[$k] = (string) $v; } }
       $out[] = ['fields' => $fields, 'infoTitle' => (string) $update->infourl['title'],
         'platform' => $update->targetplatform['name'] . ' ' . $update->targetplatform['version'], 'databases' => (object) $databases];
     }`,
    text,
  ) as ReadUpdate[];
}

function versionsIn(file: string): (string | undefined)[] {
  return readXml(readFileSync(file, 'utf8')).map(({ fields }) => fields.version);
}

const of = (productId: number, version: string) => ['--product', String(productId), '--version', version];

// The stored rows are simple, so the tests run only on the database that is used in production.
describe.each(BACKENDS.slice(1))('the update XML, %s', (_name, backend) => {
  let settings: Settings;
  let service: TestService;
  let shop: Operator;
  let folder: string;
  let out: string;
  let nextProduct = 100;

  beforeAll(async () => {
    const sqlite = join(temporaryFolder(), 'test.sqlite');
    settings = {
      LICENSING_DATABASE_URL: `sqlite:${sqlite}`,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
      ...(await backend()),
    };
    service = await startTestService(settings);
    shop = operator(settings);
  });
  afterAll(() => service.stop());
  beforeEach(() => {
    folder = temporaryFolder();
    out = join(folder, 'update.xml');
  });

  /** Adds a product, and publishes these versions of it in order. */
  async function product(...versions: string[]): Promise<number> {
    const productId = nextProduct++;
    await addProduct(
      service.db,
      { id: productId, name: `Product ${productId}`, element: 'pkg_example' },
      new Date(),
    );
    for (const version of versions) await giveRelease(service, { productId, version });
    return productId;
  }

  const manifest = (
    version: string,
    url = 'https://shop.example',
  ) => `<extension type="package" method="upgrade">
      <name>Example</name><packagename>example</packagename><version>${version}</version>
      ${manifestSnippets({ name: 'Example' }, `${url}/update.xml`).xml}
    </extension>`;

  async function packed(version: string, url?: string): Promise<string> {
    return (await makePackage({ 'pkg_example.xml': manifest(version, url) })).path;
  }

  function write(productId: number, given: UpdateXmlInput = {}) {
    return writeUpdateXml(service.db, productId, { baseUrl: 'https://shop.example', out, ...given }, folder);
  }

  async function settingsRow(productId: number): Promise<Record<string, unknown>> {
    const [row] = (await rows<{ id: number; update_xml: string }>(service.db, 'products')).filter(
      ({ id }) => id === productId,
    );
    return JSON.parse(row!.update_xml) as Record<string, unknown>;
  }

  it("has the elements of the contract and the package's hashes, as PHP reads it", async () => {
    const productId = await product();
    const { release } = await giveRelease(service, { productId, version: '2.0.0' });
    const { code, stdout } = await shop.run([
      ...[
        'update-xml',
        'write',
        '--product',
        String(productId),
        '--base-url',
        'https://shop.example/',
        '--out',
        out,
      ],
      ...[
        '--info-url',
        'https://shop.example/example#news',
        '--info-title',
        'All about it',
        '--description',
        'An example',
      ],
      ...['--php-minimum', '8.1', '--supported-databases', 'mysql=8.0.13,mariadb=10.4'],
    ]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${out} offers 2.0.0 (stable).\n` });
    const [update, ...rest] = readXml(readFileSync(out, 'utf8'));
    expect(rest).toEqual([]);
    expect(update).toMatchObject({
      fields: {
        name: `Product ${productId}`,
        description: 'An example',
        element: 'pkg_example',
        type: 'package',
        version: '2.0.0',
        client: 'site',
        infourl: 'https://shop.example/example#news',
        downloadurl: `https://shop.example${PREFIX}/downloads/${productId}?version=2.0.0`,
        sha256: release.sha256,
        sha384: release.sha384,
        sha512: release.sha512,
        tag: 'stable',
        php_minimum: '8.1',
      },
      infoTitle: 'All about it',
      platform: 'joomla (4|5|6)\\.[0-9]+',
      databases: { mysql: '8.0.13', mariadb: '10.4' },
    });
    expect(readFileSync(out, 'utf8')).toContain('<downloadurl type="full" format="zip">');
  });

  it('remembers options, and forgets them for an empty text', async () => {
    const productId = await product('1.0.0');
    await shop.json(
      [
        ...[
          'update-xml',
          'write',
          '--product',
          String(productId),
          '--base-url',
          'https://shop.example/joomla/',
          '--out',
          'u.xml',
        ],
        ...[
          '--description',
          'Said once',
          '--php-minimum',
          '8.1',
          '--element',
          'com_other',
          '--info-title',
          'Title',
        ],
      ],
      { cwd: folder },
    );
    expect(await settingsRow(productId)).toMatchObject({
      baseUrl: 'https://shop.example/joomla/',
      out: join(folder, 'u.xml'),
      description: 'Said once',
      phpMinimum: '8.1',
      infoTitle: 'Title',
    });
    const again = await shop.json<{ out: string; updates: object[] }>(
      ['update-xml', 'write', '--product', String(productId), '--info-title', ''],
      { cwd: '/' },
    );
    expect(again).toMatchObject({
      out: join(folder, 'u.xml'),
      updates: [{ version: '1.0.0', php_minimum: '8.1' }],
    });
    const [update] = readXml(readFileSync(join(folder, 'u.xml'), 'utf8'));
    expect(update).toMatchObject({
      fields: { description: 'Said once', element: 'com_other', type: 'component', client: 'administrator' },
      infoTitle: `Product ${productId}`,
    });
    expect(update!.fields.downloadurl).toContain('https://shop.example/joomla/api/index.php/v1/');
    expect(await settingsRow(productId)).not.toHaveProperty('infoTitle');
    expect(await settingsRow(productId)).not.toHaveProperty('infoUrl');
  });

  it.each([
    [['1.0.0', '2.0.0', '1.5.0'], ['2.0.0 stable']],
    [['1.9', '1.10'], ['1.10 stable']],
    [
      ['1.0.0', '2.0.0', '2.1.0-beta1'],
      ['2.1.0-beta1 beta', '2.0.0 stable'],
    ],
    [
      ['2.0.0', '2.1.0-beta1', '2.1.0-beta2'],
      ['2.1.0-beta2 beta', '2.0.0 stable'],
    ],
    [['2.1.0', '2.1.0-rc1', '2.1.0-beta2'], ['2.1.0 stable']],
    [
      ['2.0.0', '2.1.0-rc1', '2.2.0-alpha1'],
      ['2.2.0-alpha1 alpha', '2.1.0-rc1 rc', '2.0.0 stable'],
    ],
    [
      ['2.0.0', '2.1.0-alpha1', '2.1.0-rc1'],
      ['2.1.0-rc1 rc', '2.0.0 stable'],
    ],
    [['1.0.0-dev', '1.0.0-alpha'], ['1.0.0-alpha alpha']],
    [
      ['1.0.0', '2.0.0-nightly5'],
      ['2.0.0-nightly5 dev', '1.0.0 stable'],
    ],
    [['1.0.0', '1.0.0pl1'], ['1.0.0pl1 stable']],
  ])('offers of the versions %j: %j', async (versions, expected) => {
    const { updates } = await write(await product(...versions));
    expect(updates.map(({ version, tag }) => `${version} ${tag}`)).toEqual(expected);
  });

  it('leaves out drafts and withdrawn versions, and is empty when nothing is left', async () => {
    const productId = await product('1.0.0', '2.0.0');
    await giveRelease(service, { productId, version: '3.0.0', draft: true });
    await withdrawRelease(service.db, productId, '2.0.0', new Date());
    expect((await write(productId)).updates.map(({ version }) => version)).toEqual(['1.0.0']);
    await withdrawRelease(service.db, productId, '1.0.0', new Date());
    expect((await write(productId)).updates).toEqual([]);
    expect(readXml(readFileSync(out, 'utf8'))).toEqual([]);
    const { code, stdout, stderr } = await shop.run(['update-xml', 'write', '--product', String(productId)]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${out} offers nothing.\n` });
    expect(stderr).toMatch(/^warning: The update XML has no <update>: no site is offered an update\. .*\n$/);
  });

  it('keeps an older version for the Joomla or PHP that the newer one leaves behind', async () => {
    const productId = await product('1.0.0', '1.1.0');
    await write(productId, { targetPlatform: '(4|5)\\.[0-9]+', phpMinimum: '7.4' });
    await giveRelease(service, { productId, version: '2.0.0' });
    await write(productId, { targetPlatform: '(5|6)\\.[0-9]+' });
    expect(
      readXml(readFileSync(out, 'utf8')).map(({ fields, platform }) => [fields.version, platform]),
    ).toEqual([
      ['2.0.0', 'joomla (5|6)\\.[0-9]+'],
      ['1.1.0', 'joomla (4|5)\\.[0-9]+'],
    ]);
    await giveRelease(service, { productId, version: '3.0.0' });
    const { updates } = await write(productId, { phpMinimum: '8.3' });
    expect(updates.map(({ version, phpMinimum }) => [version, phpMinimum])).toEqual([
      ['3.0.0', '8.3'],
      ['2.0.0', '7.4'],
      ['1.1.0', '7.4'],
    ]);
    // The corrected options apply to the newest version, which covers all platforms again.
    const corrected = await write(productId, { phpMinimum: '7.4', targetPlatform: '(4|5|6)\\.[0-9]+' });
    expect(corrected.updates.map(({ version }) => version)).toEqual(['3.0.0']);
    expect(await settingsRow(productId)).toMatchObject({ versions: { '3.0.0': { phpMinimum: '7.4' } } });
  });

  it.each<[string, DatabaseMinimums, DatabaseMinimums, string[]]>([
    ['a database, which it did not before', {}, { mysql: '8.0.13' }, ['2.0.0', '1.0.0']],
    ['a higher version of it', { mysql: '8.0.13' }, { mysql: '8.4' }, ['2.0.0', '1.0.0']],
    ['one database less', { mysql: '8.0.13', mariadb: '10.4' }, { mysql: '8.0.13' }, ['2.0.0', '1.0.0']],
    ['the same', { mysql: '8.0.13' }, { mysql: '8.0.13' }, ['2.0.0']],
    ['a lower version of it', { mysql: '8.4' }, { mysql: '8.0.13' }, ['2.0.0']],
    ['one database more', { mysql: '8.0.13' }, { mysql: '8.0.13', mariadb: '10.4' }, ['2.0.0']],
    ['none any more', { mysql: '8.0.13' }, {}, ['2.0.0']],
  ])(
    'where the newer version asks for %s, the older one is kept for those it leaves behind',
    async (_what, before, now, offered) => {
      const productId = await product('1.0.0');
      await write(productId, { supportedDatabases: before });
      await giveRelease(service, { productId, version: '2.0.0' });
      const { updates } = await write(productId, { supportedDatabases: now });
      expect(updates.map(({ version }) => version)).toEqual(offered);
      expect(updates.map(({ supportedDatabases }) => supportedDatabases)).toEqual(
        [now, before].slice(0, offered.length),
      );
    },
  );

  it('gives a version the tag that was asked for, and the next one a tag by its own name', async () => {
    const productId = await product('1.0.0', '2.0.0');
    expect((await write(productId, { tag: 'rc' })).updates.map(({ tag }) => tag)).toEqual(['rc', 'stable']);
    expect((await write(productId)).updates.map(({ tag }) => tag)).toEqual(['rc', 'stable']);
    await giveRelease(service, { productId, version: '2.0.1' });
    expect((await write(productId)).updates).toMatchObject([{ version: '2.0.1', tag: 'stable' }]);
  });

  it.each([
    ['pkg_example', {}, 'package', 'site', ''],
    ['com_example', {}, 'component', 'administrator', ''],
    ['lib_example', {}, 'library', 'site', ''],
    ['example', { type: 'plugin', folder: 'system' }, 'plugin', 'site', 'system'],
    ['example', { type: 'file' }, 'file', 'site', ''],
    ['mod_example', { client: 'site' }, 'module', 'site', ''],
    ['example', { type: 'template', client: 'administrator' }, 'template', 'administrator', ''],
  ] as const)(
    'writes the element %s with %j as type %s of client %s',
    async (element, given, type, client, group) => {
      const productId = await product('1.0.0');
      await write(productId, { element, ...given });
      const xml = readFileSync(out, 'utf8');
      const [{ fields } = { fields: {} }] = readXml(xml);
      expect(fields).toMatchObject({ element, type, client });
      expect((fields as Record<string, string>).folder ?? '').toBe(group);
      expect(await lintUpdateXml(Buffer.from(xml))).toEqual([]);
    },
  );

  it('replaces neither a pipe nor a device with a file', async () => {
    const pipe = join(temporaryFolder(), 'update.xml');
    execFileSync('mkfifo', [pipe]);
    const productId = await product('1.0.0');
    await expect(write(productId, { out: pipe })).rejects.toThrow(/is not a file, so it is not overwritten/);
    expect(statSync(pipe).isFIFO()).toBe(true);
  });

  it.each([
    [{ element: 'mod_example' }, /--client site or --client administrator/],
    [{ type: 'template' }, /--client site or --client administrator/],
    [{ type: 'plugin' }, /--folder/],
    [{ folder: 'system' }, /Only plugins have a folder/],
    [{ baseUrl: 'shop.example' }, /complete address/],
    [{ baseUrl: 'https://shop.example/?a=1' }, /"\?"/],
    ...[
      '/api',
      '/api/',
      '/api/index.php',
      '/api/index.php/v1',
      `${PREFIX}/downloads/42`,
      `${PREFIX}${PREFIX}`,
      '/index.php',
    ].map((path) => [
      { baseUrl: `https://shop.example${path}` },
      /^The base address is only the address of the site, without .*\/api\/index\.php\/v1\/licensing\/, which is added\. Write --base-url https:\/\/shop\.example$/,
    ]),
    [
      { baseUrl: 'https://shop.example/shop/api/index.php' },
      /Write --base-url https:\/\/shop\.example\/shop$/,
    ],
    [{ baseUrl: 'https://user:secret@shop.example' }, /user name/],
    [{ infoUrl: 'javascript:alert(1)' }, /complete address/],
    [{ targetPlatform: '5.1' }, /also matches Joomla 5\.10\.0/],
    [{ targetPlatform: '(5' }, /not a regular expression/],
    [{ targetPlatform: `${'(.*)'.repeat(9)}x` }, /too repetitive to be tested/],
    [{ phpMinimum: 'eight' }, /not a PHP version/],
    [
      { out: '/no/such/folder/update.xml' },
      /^\/no\/such\/folder\/update\.xml was not written: there is no folder \/no\/such\/folder\. Create it \(mkdir -p \/no\/such\/folder\), or correct the path\.$/,
    ],
    [{ out: '/dev/null/update.xml' }, /\/dev\/null is not a folder/],
    [{ out: '/tmp' }, /\/tmp was not written: it is a folder/],
  ] as [UpdateXmlInput, RegExp][])(
    'refuses %j, and neither writes nor remembers it',
    async (given, message) => {
      const productId = await product('1.0.0');
      await expect(write(productId, given)).rejects.toThrow(message);
      expect(existsSync(out)).toBe(false);
      const [row] = (
        await rows<{ id: number; update_xml: null; element: string }>(service.db, 'products')
      ).filter(({ id }) => id === productId);
      expect(row).toMatchObject({ update_xml: null, element: 'pkg_example' });
    },
  );

  it("writes the contract's client for a package if asked to, and warns", async () => {
    const productId = await product('1.0.0');
    const { code, stderr } = await shop.run([
      ...['update-xml', 'write', '--product', String(productId), '--base-url', 'https://shop.example'],
      ...['--out', out, '--client', 'administrator'],
    ]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^warning: <client>administrator<\/client> .*silently never offers it/);
    expect(readXml(readFileSync(out, 'utf8'))[0]!.fields.client).toBe('administrator');
  });

  it('says that it treats an element without a prefix as a package, and how to change that', async () => {
    const productId = await product('1.0.0');
    const writing = async (...options: string[]) => {
      const { code, stderr } = await shop.run([
        ...['update-xml', 'write', '--product', String(productId), '--base-url', 'https://shop.example'],
        ...['--out', out, ...options],
      ]);
      expect(code).toBe(0);
      return { stderr, type: readXml(readFileSync(out, 'utf8'))[0]!.fields.type };
    };
    expect(await writing('--element', 'example')).toEqual({
      type: 'package',
      stderr: expect.stringMatching(
        new RegExp(
          `^note: "example" is written as a package, .* --product ${productId} --type plugin --folder GROUP\nwarning: .*begins with pkg_.*\n$`,
        ),
      ),
    });
    expect(await writing('--type', 'plugin', '--folder', 'system')).toEqual({ type: 'plugin', stderr: '' });
    expect(await writing()).toEqual({ type: 'plugin', stderr: '' });
    expect((await writing('--type', 'package', '--folder', '')).stderr).toMatch(/^warning: .*\n$/);
    expect(await writing('--type', '', '--element', 'pkg_example')).toEqual({ type: 'package', stderr: '' });
  });

  it('holds any text, except for characters that XML cannot hold', async () => {
    const productId = await product('1.0.0');
    // oxlint-disable-next-line no-control-regex -- what XML cannot hold
    const held = (text: string) => text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, '');
    const text = fc
      .array(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.constantFrom(']]>', '&amp;', '<b>', '"', '\u0001', '\r\n', '\t', '\ufffe'),
        ),
      )
      .map((parts) => parts.join(''))
      .filter((t) => t.isWellFormed() && t !== '');
    const samples = fc.sample(fc.tuple(text, text), 15);
    const xmls: string[] = [];
    for (const [description, infoTitle] of samples)
      xmls.push((await write(productId, { description, infoTitle })).xml);
    const read = php(
      `$out = array_map(function ($text) { $u = (new SimpleXMLElement($text))->update; return [(string) $u->description, (string) $u->infourl['title']]; }, $in);`,
      xmls,
    );
    expect(read).toEqual(samples.map((pair) => pair.map(held)));
    expect(await lintUpdateXml(Buffer.from(xmls.at(-1)!))).toEqual([]);
  });

  it.each([
    ['https://shop.example/', ''],
    ['https://shop.example/shop/', '/shop'],
    ['https://shop.example/myapi', '/myapi'],
    [`https://shop.example/shop${PREFIX}/`, '/shop'],
  ])('adds the path of the service to the site %s', async (baseUrl, folderOfSite) => {
    const productId = await product('1.0.0');
    await write(productId, { baseUrl });
    expect(readXml(readFileSync(out, 'utf8'))[0]!.fields.downloadurl).toBe(
      `https://shop.example${folderOfSite}${PREFIX}/downloads/${productId}?version=1.0.0`,
    );
  });

  it('keeps an info address with several parameters unchanged', async () => {
    const infoUrl = 'https://shop.example/?option=com_content&id=7';
    await write(await product('1.0.0'), { infoUrl });
    expect(readXml(readFileSync(out, 'utf8'))[0]!.fields.infourl).toBe(infoUrl);
  });

  it('percent-encodes the version, so that it reaches the service unchanged', async () => {
    const productId = await product('1.0+build5');
    const plan = await givePlan(service.db, { productId });
    const { key } = await giveLicense(service.db, plan);
    await write(productId, { baseUrl: service.url });
    const address = readXml(readFileSync(out, 'utf8'))[0]!.fields.downloadurl!;
    expect(address).toBe(`${service.url}${PREFIX}/downloads/${productId}?version=1.0%2Bbuild5`);
    await request(`${address}&dlid=${key}`).get('').expect(200);
  });

  it('cuts a name that is longer than Joomla stores', async () => {
    const productId = await product('1.0.0');
    await setProduct(service.db, productId, { name: 'é'.repeat(150) });
    await write(productId);
    expect(readXml(readFileSync(out, 'utf8'))[0]!.fields.name).toBe('é'.repeat(100));
  });

  describe('as a file', () => {
    it('is readable for the web server whatever the umask, and keeps the permissions it has', async () => {
      const productId = await product('1.0.0');
      const umask = process.umask(0o077);
      try {
        await write(productId);
        expect(statSync(out).mode & 0o777).toBe(0o644);
        chmodSync(out, 0o664);
        await write(productId);
        expect(statSync(out).mode & 0o777).toBe(0o664);
      } finally {
        process.umask(umask);
      }
      expect(readdirSync(folder).sort()).toEqual(['update-changelog.xml', basename(out)]);
    });

    (process.getuid?.() === 0 ? it : it.skip)('is refused to a user who may not write there', async () => {
      const productId = await product('1.0.0');
      chmodSync(folder, 0o755);
      const NOBODY = 65534;
      const { ended } = startProgram(
        'setpriv',
        [
          ...[`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', process.execPath],
          ...[CLI, 'update-xml', 'write', '--product', String(productId)],
          ...['--base-url', 'https://shop.example', '--out', out],
        ],
        processEnvironment(settings),
      );
      const { code, stderr } = await ended;
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `error: ${out} was not written: the user nobody may not write to the folder ${folder}. Run this as a user who may, or give this user access (chown nobody ${folder}).\n`,
      });
    });

    it('is left behind with a note if another file is written from now on', async () => {
      const productId = await product('1.0.0');
      await write(productId);
      const old = readFileSync(out);
      const writeTo = (...more: string[]) =>
        shop.run(['update-xml', 'write', '--product', String(productId), ...more], { cwd: folder });
      expect(await writeTo('--out', './update.xml')).toMatchObject({ code: 0, stderr: '' });
      expect(await writeTo('--out', 'other.xml')).toMatchObject({
        code: 0,
        stderr: `note: from now on, ${join(folder, 'other.xml')} is written instead of ${out}, which stays unchanged. Sites that read the former file are still offered the versions in it.\n`,
      });
      expect(readFileSync(out).equals(old)).toBe(true);
      expect(await writeTo()).toMatchObject({ code: 0, stderr: '' });
      rmSync(join(folder, 'other.xml'));
      expect(await writeTo('--out', out)).toMatchObject({ code: 0, stderr: '' });
      symlinkSync(out, join(folder, 'link.xml'));
      expect(await writeTo('--out', 'link.xml')).toMatchObject({ code: 0, stderr: '' });
    });

    it('is replaced behind a link by a new file, so that a reader of the old one can finish', async () => {
      const productId = await product('1.0.0');
      const target = join(folder, 'real.xml');
      writeFileSync(target, '<updates/>');
      symlinkSync(target, out);
      const { ino } = statSync(target);
      await write(productId);
      expect(readFileSync(target, 'utf8')).toContain('<update>');
      expect(statSync(target).ino).not.toBe(ino);
      expect(readdirSync(folder).sort()).toEqual(['real.xml', 'update-changelog.xml', 'update.xml']);
    });
  });

  const offered = () => readXml(readFileSync(out, 'utf8')).map(({ fields }) => fields.version);

  const publishing = async (productId: number, version: string) => [
    ...['release', 'publish', '--product', String(productId)],
    ...['--version', version, '--file', await packed(version)],
  ];

  describe('with a release', () => {
    it('is written after the version is published, to the remembered file', async () => {
      const productId = await product('1.0.0');
      await write(productId, { baseUrl: service.url });
      const published = await shop.json([...(await publishing(productId, '1.1.0')), '--write-xml']);
      expect(published).toMatchObject({
        version: '1.1.0',
        state: 'published',
        update_xml: { out, updates: [{ version: '1.1.0' }] },
      });
      expect(readXml(readFileSync(out, 'utf8'))[0]!.fields).toMatchObject({
        version: '1.1.0',
        sha256: published.sha256,
      });

      const other = join(folder, 'other.xml');
      await shop.json([
        ...[
          'release',
          'publish',
          '--product',
          String(productId),
          '--version',
          '1.2.0',
          '--file',
          await packed('1.2.0'),
          '--write-xml',
          other,
        ],
      ]);
      expect(readXml(readFileSync(other, 'utf8'))[0]!.fields.version).toBe('1.2.0');
      expect(readXml(readFileSync(out, 'utf8'))[0]!.fields.version).toBe('1.1.0');
    });

    it('is written after the version is withdrawn, and does not offer an older one instead', async () => {
      const productId = await product('1.0.0', '1.1.0');
      await write(productId);
      const withdraw = (version: string, ...options: string[]) =>
        shop.run(['release', 'withdraw', '--product', String(productId), '--version', version, ...options]);
      expect(await withdraw('1.1.0', '--write-xml')).toEqual({
        code: 0,
        stdout: `Version 1.1.0 is withdrawn.\n${out} offers nothing.\n`,
        stderr: `note: 1.0.0 is not offered, because 1.1.0 was withdrawn: a site that still lists 1.1.0 would install the version that the XML offers instead, even over a newer version. Publish a version above 1.1.0. To offer the lower one anyway: licensing update-xml write --product ${productId} --allow-downgrade\n`,
      });
      expect(offered()).toEqual([]);
      // Neither another write nor a version that is still lower changes that.
      const again = await shop.json(['update-xml', 'write', '--product', String(productId)]);
      expect(again).toMatchObject({ updates: [], held_back: ['1.0.0'] });
      const lower = await shop.run([...(await publishing(productId, '1.0.5')), '--write-xml']);
      expect(lower).toMatchObject({ code: 0, stderr: expect.stringContaining('note: 1.0.5 is not offered') });
      expect(offered()).toEqual([]);
      expect((await shop.run(['update-xml', 'lint', out])).stdout).not.toContain(
        'is published but missing from the update XML',
      );
      expect((await shop.run(['release', 'list', '--product', String(productId)])).stderr).toBe('');
      const allowed = ['update-xml', 'write', '--product', String(productId), '--allow-downgrade'];
      expect(await shop.run(allowed)).toEqual({
        code: 0,
        stdout: `${out} offers 1.0.5 (stable).\n`,
        stderr: '',
      });
      await write(productId);
      expect(offered()).toEqual(['1.0.5']);
      const unwritten = await withdraw('1.0.0', '--write-xml', '/no/such/folder/update.xml');
      expect(unwritten).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^error: Version 1\.0\.0 IS withdrawn, but Joomla offers it until .* Once that is fixed: licensing update-xml write --product \d+ --out \/no\/such\/folder\/update\.xml\n$/,
        ),
      });
      const other = await product('1.0.0');
      const refused = await shop.run([
        ...['release', 'withdraw', '--product', String(other), '--version', '1.0.0', '--write-xml'],
      ]);
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('--base-url') });
      const states = (await rows<{ product_id: number; state: string }>(service.db, 'releases'))
        .filter(({ product_id }) => [productId, other].includes(product_id))
        .map(({ state }) => state);
      expect(states).toEqual(['withdrawn', 'withdrawn', 'published', 'published']);
    });

    it('offers the next lower version if asked to, and a higher one in any case', async () => {
      const productId = await product('1.0.0', '1.1.0', '1.2.0');
      await write(productId);
      const withdraw = ['release', 'withdraw', '--product', String(productId), '--version'];
      expect((await shop.run([...withdraw, '1.2.0', '--allow-downgrade'])).code).toBe(2);
      await shop.json([...withdraw, '1.2.0', '--write-xml', '--allow-downgrade']);
      expect(offered()).toEqual(['1.1.0']);
      await shop.json([...withdraw, '1.1.0', '--write-xml']);
      expect(offered()).toEqual([]);
      await giveRelease(service, { productId, version: '1.2.1' });
      expect(await write(productId)).toMatchObject({ updates: [{ version: '1.2.1' }], heldBack: undefined });
      expect(await settingsRow(productId)).toMatchObject({ versions: { '1.2.1': {} } });
    });

    it('still offers a version that the withdrawn one did not replace', async () => {
      const productId = await product('1.0.0', '1.1.0-beta1', '1.1.0-beta2');
      await write(productId);
      await withdrawRelease(service.db, productId, '1.1.0-beta2', new Date());
      // A site that takes only releases never lists a pre-release, so it keeps its offer.
      expect(await write(productId)).toMatchObject({
        updates: [{ version: '1.0.0' }],
        heldBack: { versions: ['1.1.0-beta1'], withdrawn: '1.1.0-beta2' },
      });

      const split = await product('1.0.0');
      await write(split, { targetPlatform: '4\\.[0-9]+', phpMinimum: '7.4' });
      await giveRelease(service, { productId: split, version: '2.0.0' });
      await write(split, { targetPlatform: '(5|6)\\.[0-9]+' });
      await withdrawRelease(service.db, split, '2.0.0', new Date());
      expect((await write(split)).updates.map(({ version }) => version)).toEqual(['1.0.0']);

      // Some sites that list 2.0.0 could install 1.0.0, so it is held back. Its platform is remembered meanwhile.
      const overlapping = await product('1.0.0');
      await write(overlapping, { targetPlatform: '(4|5)\\.[0-9]+' });
      await giveRelease(service, { productId: overlapping, version: '2.0.0' });
      await write(overlapping, { targetPlatform: '(5|6)\\.[0-9]+' });
      await withdrawRelease(service.db, overlapping, '2.0.0', new Date());
      expect(await write(overlapping)).toMatchObject({ updates: [], heldBack: { versions: ['1.0.0'] } });
      await giveRelease(service, { productId: overlapping, version: '2.0.1' });
      expect(
        (await write(overlapping)).updates.map(({ version, targetPlatform }) => [version, targetPlatform]),
      ).toEqual([
        ['2.0.1', '(5|6)\\.[0-9]+'],
        ['1.0.0', '(4|5)\\.[0-9]+'],
      ]);
    });

    it('follows every publish, withdrawal and edit to the file it was written to', async () => {
      const productId = await product('1.0.0');
      const act = async (verb: string, version: string, ...options: string[]) => {
        const args = ['release', verb, '--product', String(productId), '--version', version, ...options];
        const { code, stdout, stderr } = await shop.run(args);
        expect(code).toBe(0);
        return (stdout.split('\n')[1] ?? '') + stderr;
      };
      const publish = async (version: string) => act('publish', version, '--file', await packed(version));
      const command = `licensing update-xml write --product ${productId}`;
      // Neither a file nor LICENSING_PUBLIC_URL exists.
      expect(await publish('1.1.0')).toMatch(/^note: it was not checked .*\n$/);
      await write(productId);
      expect(await publish('1.0.1')).toBe(`${out} offers 1.1.0 (stable).`);
      expect(await publish('1.2.0')).toBe(`${out} offers 1.2.0 (stable).`);
      expect(versionsIn(out)).toEqual(['1.2.0']);
      const withdrawn = await act('withdraw', '1.2.0');
      expect(withdrawn).toMatch(
        /^.*update\.xml offers nothing\.note: 1\.1\.0 is not offered, because 1\.2\.0 was/,
      );
      expect(versionsIn(out)).toEqual([]);
      expect(await publish('1.3.0')).toBe(`${out} offers 1.3.0 (stable).`);
      expect(await act('edit', '1.3.0', '--changelog', 'Faster')).toBe(`${out} offers 1.3.0 (stable).`);

      // A file that is not an update XML is never overwritten, but the version is published.
      writeFileSync(out, 'the only copy of a poem');
      const stale = await publish('1.4.0');
      expect(stale).toMatch(
        /^note: Version 1\.4\.0 IS published, but Joomla offers it only once .*update\.xml was not written: it contains something other/,
      );
      expect(stale).toContain(`Once that is fixed: ${command}\n`);
      expect(readFileSync(out, 'utf8')).toBe('the only copy of a poem');
      rmSync(out);
      expect(
        await shop.json(['release', 'edit', ...of(productId, '1.4.0'), '--changelog', '']),
      ).toMatchObject({
        state: 'published',
        update_xml: { state: 'written', url: null },
      });
      expect(versionsIn(out)).toEqual(['1.4.0']);
    });

    it('publishes nothing if the update XML could not be written because options are missing', async () => {
      const productId = await product();
      const { path } = await makePackage();
      const publish = [
        'release',
        'publish',
        '--product',
        String(productId),
        '--version',
        '1.0.0',
        '--file',
        path,
      ];
      const { code, stderr } = await shop.run([...publish, '--write-xml', out]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/--base-url/);
      expect(
        (await rows(service.db, 'releases')).filter(({ product_id }) => product_id === productId),
      ).toEqual([]);
      expect((await shop.run([...publish, '--write-xml', out, '--draft'])).code).toBe(2);
    });

    it('says that the version is published when the file then cannot be written', async () => {
      const productId = await product();
      await giveRelease(service, { productId, version: '1.0.0' });
      await write(productId);
      const { code, stderr } = await shop.run([
        ...(await publishing(productId, '1.1.0')),
        ...['--write-xml', '/no/such/folder/update.xml'],
      ]);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /^note: .*\nerror: Version 1\.1\.0 IS published, .*update\.xml was not written: there is no folder .*Once that is fixed: licensing update-xml write --product \d+ --out \/no\/such\/folder\/update\.xml\n$/,
      );
      expect((await rows<{ version: string; state: string }>(service.db, 'releases')).at(-1)).toMatchObject({
        version: '1.1.0',
        state: 'published',
      });
    });
  });

  describe('hosted, with the service behind it', () => {
    let site: StaticSite;
    beforeAll(async () => {
      site = await startStaticSite((request, response) => {
        const file = join(folder, basename(request.url ?? ''));
        if (existsSync(file)) response.end(readFileSync(file));
        else response.writeHead(404).end();
      });
    });
    afterAll(() => site.stop());

    async function publish(productId: number, version: string): Promise<void> {
      await giveRelease(service, { productId, version, file: await packed(version, site.url) });
    }

    it("leads a customer's Joomla to the version's own bytes, even after another is published", async () => {
      const productId = await product();
      await publish(productId, '2.0.0');
      await write(productId, { baseUrl: service.url });
      await publish(productId, '2.1.0');
      const license = await giveLicense(service.db, await givePlan(service.db, { productId }));
      const { code, stdout, stderr } = await shop.run(
        ['update-xml', 'try', `${site.url}/update.xml`, '--key', '-', '--installed', '1.0.0'],
        { stdin: `${license.key}\n` },
      );
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/ok {6}Checksum: sha256, sha384, sha512 agree/);
      expect(stdout).toMatch(/success: Updating package was successful\.\n/);
      expect(stdout).not.toMatch(/^note/m);
      expect(stdout).not.toContain(license.key);
      await eventually(async () => {
        const [last] = (await rows(service.db, 'access_log')).slice(-1);
        expect(last).toMatchObject({
          endpoint: 'download',
          outcome: 'ok',
          license_id: license.id,
          product_id: productId,
          version: '2.0.0',
          user_agent: 'Mozilla/5.0 Joomla!/5.3.0 Joomla licensing-trial',
        });
      });
      const { findings } = await shop.json<{ findings: unknown[] }>(
        ['update-xml', 'lint', `${site.url}/update.xml`, '--key', '-'],
        { stdin: license.key },
      );
      expect(findings).toMatchObject([
        {
          code: 'left_out',
          problem: expect.stringContaining('Version 2.1.0 is published but missing from the update XML'),
        },
      ]);
    });

    it.each([
      ['expired', { expiresAt: new Date('2020-01-01') }, 'License has expired', /license renew/],
      ['for another product', undefined, 'License does not match this product', /another product/],
    ])('says what follows from a licence that is %s', async (_what, license, body, remedy) => {
      const productId = await product();
      await publish(productId, '2.0.0');
      await write(productId, { baseUrl: service.url });
      const planId = await givePlan(service.db, license ? { productId } : { productId: 42 });
      const { key } = await giveLicense(service.db, planId, license ?? {});
      const { code, stdout } = await shop.run(
        ['update-xml', 'try', `${site.url}/update.xml`, '--key', '-', '--installed', '1.0.0', '--json'],
        { stdin: key },
      );
      expect(code).toBe(1);
      const verdict = JSON.parse(stdout) as { remedy: string; steps: { text: string }[] };
      expect(verdict).toMatchObject({
        offered: true,
        installed: false,
        messages: [
          'warning: Error connecting to the server: 403',
          `danger: Failed to download package. Download it and install manually from ${service.url}${PREFIX}/downloads/${productId}?version=2.0.0&dlid=DOWNLOAD-KEY.`,
        ],
      });
      expect(verdict.steps.at(-1)!.text).toBe(`403 "${body}"`);
      expect(verdict.remedy).toMatch(remedy);
      expect(stdout).not.toContain(key);
    });
  });

  it('gives what to paste into the manifest, which PHP reads, and what to tell customers', async () => {
    const productId = await product();
    await setProduct(service.db, productId, { name: 'Shop "<&>"' });
    const { xml, for_customers: words } = await shop.json<{ xml: string; for_customers: string }>([
      ...[
        'manifest',
        '--product',
        String(productId),
        '--update-xml-url',
        'https://shop.example/u.xml?a=1&b=2',
      ],
    ]);
    expect(
      php(
        `$x = new SimpleXMLElement($in); $s = $x->updateservers->server; $d = $x->dlid;
         $out = [(string) $s['type'], (string) $s['name'], (string) $s, (string) $d['prefix'], (string) $d['suffix']];`,
        `<extension>${xml}</extension>`,
      ),
    ).toEqual(['extension', 'Shop "<&>"', 'https://shop.example/u.xml?a=1&b=2', 'dlid=', '']);
    expect(words).toMatch(/System > Update > Update Sites[^]*Download Key/);
    for (const url of [
      `https://shop.example${PREFIX}/u.xml`,
      'shop.example/u.xml',
      'https://shop.example/u.xml#a',
    ])
      expect(
        (await shop.run(['manifest', '--product', String(productId), '--update-xml-url', url])).code,
      ).toBe(1);
  });
});

it('is remembered on SQLite too', async () => {
  const service = await startTestService();
  await givePlan(service.db);
  await giveRelease(service, { version: '1.0.0' });
  const out = join(temporaryFolder(), 'update.xml');
  await writeUpdateXml(service.db, 42, { out, baseUrl: 'https://shop.example', element: 'pkg_example' }, '/');
  expect((await writeUpdateXml(service.db, 42, {}, '/')).out).toBe(out);
  await service.stop();
});
