import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { findManifest, isManifest } from '../../src/joomla/manifest';
import { findContentFaults, findUnnamedChildren } from '../../src/joomla/package-contents';
import { expectRefusal, startManaged, type Managed } from '../support/manage';
import { makePackage, zipOf } from '../support/packages';
import { operator, type Operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { givePlan } from '../support/service';

/** What a package lacks of what its manifest names: Joomla's update fails by it, and a published version never changes. */

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
  const childOf = async (text: string) =>
    findUnnamedChildren(
      await zipOf({ 'pkg.xml': PACKAGE, 'packages/com_acme.zip': await zipOf({ 'acme.xml': text }) }),
    );
  const unnamed = manifest('component', '').replace('<packagename>acme</packagename>', '');

  it('are named where their manifests do not name the package', async () => {
    expect(await childOf(manifest('component', ''))).toEqual([]);
    expect(await childOf(unnamed)).toEqual(['packages/com_acme.zip']);
    expect(await childOf(unnamed.replace('<name>', '<packagename> </packagename><name>'))).toEqual([
      'packages/com_acme.zip',
    ]);
    // What is no package has none, and what cannot be read is a fault of its own.
    expect(await findUnnamedChildren(await zipOf({ 'acme.xml': unnamed }))).toEqual([]);
    expect(await childOf('<extension')).toEqual([]);
    expect(
      await findUnnamedChildren(await zipOf({ 'pkg.xml': PACKAGE, 'packages/com_acme.zip': 'no zip' })),
    ).toEqual([]);
  });
});

describe('the files that a manifest names', () => {
  it('are all there', async () => {
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
    // Joomla looks beside the manifest when the folder is not there.
    [
      'a folder of the API',
      ['api/src/a.php'],
      [['src', 'is missing', 'Component Update: Failed to copy API files.']],
    ],
    ['the script, without which Joomla ends in success', ['script.php'], [['script.php', 'is missing']]],
    ['a language file', ['admin/en-GB.com_acme.ini'], [['admin/en-GB.com_acme.ini', 'is missing']]],
    ['media', ['media/js/a.js'], [['js', 'is missing']]],
  ])('lack %s', async (_what, lacks, faults) => {
    expect(await faultsOf(without(COMPONENT_FILES, ...lacks))).toEqual(faults);
  });

  it('are compared case for case, and a folder is no file', async () => {
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

  it('may lie beside the manifest when their folder is not there, as Joomla looks for them', async () => {
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
    expect(stderr).toContain('is that of "pkg_other"');
    const same = { 'pkg.xml': manifest('package', LINES, '1.1.0') };
    expect((await publish('1.1.0', await pack(same))).stderr).toContain('is published already');
  });
});
