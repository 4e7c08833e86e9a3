import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findManifest, isManifest, type PackageManifest } from '../../src/joomla/manifest';
import { findContentFaults, findUnnamedChildren } from '../../src/joomla/package-contents';
import { expectRefusal, startManaged, type Managed } from '../support/manage';
import { makePackage, zipOf } from '../support/packages';
import { operator, type Operator } from '../support/operator';
import { php } from '../support/php-xml';
import { temporaryFolder } from '../support/processes';
import { givePlan } from '../support/service';

/** Tests the search for missing files that a manifest names: Joomla's update fails, and a published version never changes. */

type Entries = Record<string, string | Buffer>;

const LINES =
  '<updateservers><server type="extension">https://shop.example/licensing-updates/pkg_acme.xml</server></updateservers><dlid prefix="dlid="/>';
const manifest = (type: string, more: string, version = '1.0.0') =>
  `<?xml version="1.0"?>\n<extension type="${type}"><name>Acme</name><packagename>acme</packagename><version>${version}</version>\n${more}</extension>`;

async function faultsOf(entries: Entries): Promise<[path: string, problem: string, aborts?: string][]> {
  const zip = await zipOf(entries);
  const found = await findManifest(zip);
  if (!isManifest(found)) throw new Error(found.none);
  return (await findContentFaults(zip, found)).map(({ path, problem, aborts }) =>
    aborts === undefined ? [path, problem] : [path, problem, aborts],
  );
}

const COMPONENT =
  '<scriptfile>script.php</scriptfile><files folder="site"><filename>acme.php</filename><folder>views</folder></files>' +
  '<administration><files folder="admin"><filename>acme.php</filename></files><languages folder="admin"><language tag="en-GB">en-GB.com_acme.ini</language></languages></administration>' +
  '<api><files folder="api"><folder>src</folder></files></api><media folder="media" destination="com_acme"><folder>js</folder></media>';
const COMPONENT_FILES: Entries = {
  'acme.xml': manifest('component', COMPONENT),
  'script.php': '<?php',
  'site/acme.php': '<?php',
  'site/views/a.php': '<?php',
  'admin/acme.php': '<?php',
  'admin/en-GB.com_acme.ini': 'A="a"',
  'api/src/a.php': '<?php',
  'media/js/a.js': '//',
};
const without = (entries: Entries, ...names: string[]) =>
  Object.fromEntries(Object.entries(entries).filter(([name]) => !names.includes(name)));

const COPY_SITE = 'Component Update: Failed to copy site files.';
const PACKAGE = manifest(
  'package',
  '<files folder="packages"><file type="component" id="com_acme">com_acme.zip</file></files>',
);
const INSTALL_ERROR = 'Package Update: There was an error installing an extension: com_acme.zip';

describe('the extensions in a package', () => {
  const unnamedIn = async (entries: Entries) => {
    const zip = await zipOf(entries);
    return findUnnamedChildren(zip, (await findManifest(zip)) as PackageManifest);
  };
  const childOf = async (text: string) =>
    unnamedIn({ 'pkg.xml': PACKAGE, 'packages/com_acme.zip': await zipOf({ 'acme.xml': text }) });
  const unnamed = manifest('component', '').replace('<packagename>acme</packagename>', '');

  it('are named if their manifests do not name the package', async () => {
    expect(await childOf(manifest('component', ''))).toEqual([]);
    expect(await childOf(unnamed)).toEqual(['packages/com_acme.zip']);
    expect(await childOf(unnamed.replace('<name>', '<packagename> </packagename><name>'))).toEqual([
      'packages/com_acme.zip',
    ]);
    // An extension that is not a package has no children, and an unreadable file is a fault of its own.
    expect(await unnamedIn({ 'acme.xml': unnamed })).toEqual([]);
    expect(await childOf('<extension')).toEqual([]);
    expect(await unnamedIn({ 'pkg.xml': PACKAGE, 'packages/com_acme.zip': 'no zip' })).toEqual([]);
  });
});

describe('the files that a manifest names', () => {
  it('are all present', async () => {
    expect(await faultsOf(COMPONENT_FILES)).toEqual([]);
    const inFolder = Object.entries(COMPONENT_FILES).map(([name, text]) => [`com_acme/${name}`, text]);
    expect(await faultsOf(Object.fromEntries(inFolder) as Entries)).toEqual([]);
    expect(
      await faultsOf({ 'pkg.xml': PACKAGE, 'packages/com_acme.zip': await zipOf(COMPONENT_FILES) }),
    ).toEqual([]);
  });

  it.each<[what: string, lacks: string[], faults: unknown[]]>([
    ['a file of the site', ['site/acme.php'], [['site/acme.php', 'is missing', COPY_SITE]]],
    ['a folder of the site', ['site/views/a.php'], [['site/views', 'is missing', COPY_SITE]]],
    [
      'a file of the administrator',
      ['admin/acme.php'],
      [['admin/acme.php', 'is missing', 'Component Update: Failed to copy administrator files.']],
    ],
    // Without the folder Joomla would look next to the manifest, but the seller packed it.
    [
      'a folder of the API',
      ['api/src/a.php'],
      [['api/src', 'is missing', 'Component Update: Failed to copy API files.']],
    ],
    ['the script, without which Joomla ends in success', ['script.php'], [['script.php', 'is missing']]],
    ['a language file', ['admin/en-GB.com_acme.ini'], [['admin/en-GB.com_acme.ini', 'is missing']]],
    ['media', ['media/js/a.js'], [['media/js', 'is missing']]],
    [
      'the whole folder of the site',
      ['site/acme.php', 'site/views/a.php'],
      [
        ['site/acme.php', 'is missing', COPY_SITE],
        ['site/views', 'is missing', COPY_SITE],
      ],
    ],
    [
      'the whole folder of the administrator, with its languages',
      ['admin/acme.php', 'admin/en-GB.com_acme.ini'],
      [
        ['admin/acme.php', 'is missing', 'Component Update: Failed to copy administrator files.'],
        ['admin/en-GB.com_acme.ini', 'is missing'],
      ],
    ],
  ])('lack %s', async (_what, lacks, faults) => {
    expect(await faultsOf(without(COMPONENT_FILES, ...lacks))).toEqual(faults);
  });

  it('are compared with their case, and a folder does not count as a file', async () => {
    expect(
      await faultsOf({ ...without(COMPONENT_FILES, 'site/acme.php'), 'site/Acme.php': '<?php' }),
    ).toEqual([['site/acme.php', 'is missing', COPY_SITE]]);
    expect(
      await faultsOf({ ...without(COMPONENT_FILES, 'site/acme.php'), 'site/acme.php/a': '<?php' }),
    ).toEqual([['site/acme.php', 'is a folder and not a file', COPY_SITE]]);
  });

  it.each(['module', 'plugin', 'library', 'template'])('are looked for in a %s', async (type) => {
    const xml = manifest(type, '<files><filename>a.php</filename><folder>src</folder></files>');
    expect(await faultsOf({ 'a.xml': xml, 'a.php': '<?php', 'src/b.php': '<?php' })).toEqual([]);
    const faults = await faultsOf({ 'a.xml': xml, 'a.php': '<?php', 'src/': '' });
    expect(faults).toEqual([['src', 'is missing', expect.stringMatching(/Could not copy files/)]]);
  });

  it('may be next to the manifest if their folder is missing, because Joomla looks there', async () => {
    const xml = manifest('plugin', '<files folder="plugin"><filename>a.php</filename></files>');
    expect(await faultsOf({ 'a.xml': xml, 'a.php': '<?php' })).toEqual([]);
    expect(await faultsOf({ 'a.xml': xml, 'a.php': '<?php', 'plugin/b.php': '' })).toEqual([
      ['plugin/a.php', 'is missing', 'Plugin Update: Could not copy files from the source.'],
    ]);
  });

  it.each<
    [
      what: string,
      inner: () => Promise<string | Buffer | undefined> | string | Buffer,
      path: string,
      problem: RegExp,
    ]
  >([
    ['missing', () => Promise.resolve(undefined), 'packages/com_acme.zip', /^is missing$/],
    ['empty', () => '', 'packages/com_acme.zip', /^is empty$/],
    ['a text', () => 'Not found', 'packages/com_acme.zip', /^is not a readable zip file \(/],
    [
      'a pointer of Git LFS',
      () => 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n',
      'packages/com_acme.zip',
      /^is a pointer of Git LFS/,
    ],
    ['without a manifest', () => zipOf({ 'a.txt': 'a' }), 'packages/com_acme.zip', /^has no manifest/],
    [
      'with a broken manifest',
      () => zipOf({ 'acme.xml': '<extension>\n<a>\n</extension>' }),
      'packages/com_acme.zip',
      /^has a manifest that is not well-formed: acme\.xml: .*\(line 2\)/,
    ],
    [
      'with a manifest that is not UTF-8',
      () => zipOf({ 'acme.xml': Buffer.from('<extension>\n<name>\u00e9</name>\n</extension>', 'latin1') }),
      'packages/com_acme.zip',
      /^has a manifest that is not well-formed: acme\.xml: it is not UTF-8 text \(line 2\)$/,
    ],
    [
      'without a file that it names itself',
      () => zipOf(without(COMPONENT_FILES, 'admin/acme.php')),
      'packages/com_acme.zip: admin/acme.php',
      /^is missing$/,
    ],
  ])('are looked for in a zip within the package, which is %s', async (_what, inner, path, problem) => {
    const bytes = await inner();
    expect(
      await faultsOf({
        'pkg.xml': PACKAGE,
        ...(bytes === undefined ? {} : { 'packages/com_acme.zip': bytes }),
      }),
    ).toEqual([[path, expect.stringMatching(problem), INSTALL_ERROR]]);
  });
});

describe('a manifest is read as PHP reads it', () => {
  const text = `<?xml version="1.0" encoding="ENC"?>\n${COMPONENT_FILES['acme.xml'] as string}`
    .replace('<?xml version="1.0"?>\n', '')
    .replace('Acme', 'Acm\u00e9');
  const as = (encoding: string, mark = '') => Buffer.from(mark + text.replace('ENC', encoding), 'utf16le');
  const swapped = (bytes: Buffer) => Buffer.from(bytes).swap16();
  const undeclared = text.slice(text.indexOf('\n') + 1);
  const half = (bytes: Buffer) => {
    const copy = Buffer.from(bytes);
    copy.writeUInt16LE(0xd800, copy.indexOf(Buffer.from('Acm', 'utf16le')));
    return copy;
  };
  const cases: [what: string, bytes: Buffer, fault?: RegExp][] = [
    ['UTF-16 with a mark', as('UTF-16', '\ufeff')],
    ['UTF-16 without a mark', as('UTF-16')],
    ['UTF-16 of the other order', swapped(as('UTF-16', '\ufeff'))],
    ['the same without a mark', swapped(as('utf-16'))],
    ['UTF-16 that is declared as UTF-8', as('UTF-8', '\ufeff')],
    ['UTF-16 that is not declared', Buffer.from(`\ufeff${undeclared}`, 'utf16le')],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${text.replace('ENC', 'UTF-8')}`)],
    [
      'UTF-8 with a mark that is declared as another',
      Buffer.from(`\ufeff${text.replace('ENC', 'ISO-8859-1')}`),
    ],
    ['Latin-1', Buffer.from(text.replace('ENC', 'ISO-8859-1'), 'latin1')],
    [
      'UTF-8 that is declared as UTF-16',
      Buffer.from(text.replace('ENC', 'UTF-16')),
      /declared as UTF-16.*line 1/,
    ],
    ['UTF-16 without a mark and a declaration', Buffer.from(undeclared, 'utf16le'), /line 1/],
    ['UTF-16 with half a character', half(as('UTF-16', '\ufeff')), /^it is not UTF-16LE text \(line 2\)$/],
    [
      'Latin-1 that is declared as UTF-8',
      Buffer.from(text.replace('ENC', 'UTF-8'), 'latin1'),
      /UTF-8 text \(line 2\)/,
    ],
    [
      'such a byte in the last line, behind a replacement character',
      Buffer.concat([Buffer.from('<extension>\ufffd\n\n<name>'), Buffer.from([0xff])]),
      /UTF-8 text \(line 3\)/,
    ],
    ['an encoding that nobody knows', Buffer.from(text.replace('ENC', 'x-none')), /X-NONE text \(line 1\)/],
  ];
  it.each(cases.map(([what, bytes, fault]) => ({ what, bytes, fault })))(
    'in $what',
    async ({ bytes, fault }) => {
      const found = await findManifest(await zipOf({ 'acme.xml': bytes }));
      if (fault === undefined) expect(found).toMatchObject({ type: 'component', version: '1.0.0' });
      else
        expect(found).toEqual({ none: 'malformed', path: 'acme.xml', fault: expect.stringMatching(fault) });
    },
  );

  it('in each of them', () => {
    const code =
      '$out = array_map(function ($one) { libxml_use_internal_errors(true); return simplexml_load_string(base64_decode($one)) !== false; }, $in);';
    expect(
      php(
        code,
        cases.map(([, bytes]) => bytes.toString('base64')),
      ),
    ).toEqual(cases.map(([, , fault]) => fault === undefined));
  });
});

describe('publishing', () => {
  let service: Managed;
  let shop: Operator;
  beforeAll(async () => {
    const settings = {
      LICENSING_DATABASE_URL: `sqlite:${temporaryFolder()}/shop.sqlite`,
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_XML_DIR: temporaryFolder(),
      LICENSING_PACKAGES_DIR: temporaryFolder(),
    };
    service = await startManaged(settings);
    shop = operator(settings);
    await givePlan(service.db);
    await service.write.ok('PATCH /products/42', { element: 'pkg_acme' });
  });
  afterAll(() => service.stop());

  const pack = async (entries: Record<string, string>) => (await makePackage(entries)).path;
  const publish = (version: string, file: string, ...more: string[]) =>
    shop.run(['release', 'publish', '--product', '42', '--version', version, '--file', file, ...more]);
  const send = async (query: string, entries: Record<string, string>) =>
    service.write.send(`POST /products/42/releases${query}`, {
      body: (await makePackage(entries)).bytes,
      headers: { 'Content-Type': 'application/zip' },
    });

  it('a first package without the lines for updates is refused with the lines, by command and API', async () => {
    const entries = { 'pkg.xml': manifest('package', '') };
    const { code, stdout, stderr } = await publish('1.0.0', await pack(entries));
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/has no <dlid>.*has no <updateservers>/);
    expect(stderr).toContain('>https://shop.example/licensing-updates/pkg_acme.xml</server>');
    expect(stderr).toContain('<dlid prefix="dlid=" suffix=""/>');
    expect(stderr).toContain('--unchecked');
    expectRefusal(await send('', entries), 'INVALID_REQUEST', 'file');
    expect(await shop.json(['release', 'list', '--product', '42'])).toEqual([]);
  });

  it('a package that lacks a file is refused, naming it and what Joomla would say, and published unchecked', async () => {
    const files = '<files><file type="component" id="com_acme">com_acme.zip</file></files>';
    const entries = { 'pkg.xml': manifest('package', files + LINES) };
    const { code, stderr } = await publish('1.0.0', await pack(entries));
    expect(code).toBe(1);
    expect(stderr).toContain('"com_acme.zip" is missing');
    expect(stderr).toContain(INSTALL_ERROR);
    const refused = await send('', entries);
    expectRefusal(refused, 'INVALID_REQUEST', 'file');
    expect(JSON.stringify(refused.body)).toContain('com_acme.zip');
    const draft = await publish('1.0.0', await pack(entries), '--draft');
    expect(draft).toMatchObject({ code: 0, stderr: expect.stringContaining('when it is published: ') });
    expect((await shop.run(['release', 'publish', '--product', '42', '--version', '1.0.0'])).code).toBe(1);
    expect((await send('?unchecked=1', entries)).status).toBe(201);
    const next = { 'pkg.xml': manifest('package', files + LINES, '1.1.0') };
    const unchecked = await publish('1.1.0', await pack(next), '--unchecked');
    expect(unchecked).toMatchObject({ code: 0, stderr: expect.stringContaining(INSTALL_ERROR) });
  });

  it('a manifest that is not well-formed is named with its line', async () => {
    const entries = { 'pkg_acme.xml': '<extension type="package">\n<version>1.2.0\n</extension>' };
    const { code, stderr } = await publish('1.2.0', await pack(entries));
    expect(code).toBe(1);
    expect(stderr).toMatch(/not well-formed XML: pkg_acme\.xml: .*\(line 2\)/);
    for (const query of ['', '?version=1.2.0']) {
      const refused = await send(query, entries);
      expectRefusal(refused, 'INVALID_REQUEST', 'file');
      expect(JSON.stringify(refused.body)).toMatch(/pkg_acme\.xml: .*line 2/);
    }
  });

  it("another extension's package with a version that exists is called another extension's", async () => {
    const other = { 'pkg.xml': manifest('package', LINES, '1.1.0').replace('>acme<', '>other<') };
    const { code, stderr } = await publish('1.1.0', await pack(other));
    expect(code).toBe(1);
    expect(stderr).toContain('is for "pkg_other"');
    const same = { 'pkg.xml': manifest('package', LINES, '1.1.0') };
    expect((await publish('1.1.0', await pack(same))).stderr).toContain('is already published');
  });
});
