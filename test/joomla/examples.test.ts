import { cpSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { operator, type Operator } from '../support/operator';
import { packFolder } from '../support/packages';
import { php72Faults, phpFaults } from '../support/php-files';
import { temporaryFolder } from '../support/processes';
import { newPlace } from '../support/service';
import { openMigrated } from '../support/service-process';

/** The extensions of examples/, built and published as docs/extension-developer.md says. */

const EXAMPLES = join(__dirname, '../../examples');

let cli: Operator;
let xmlDir: string;
let manifest: string;
beforeAll(async () => {
  xmlDir = temporaryFolder();
  const settings = {
    ...(await newPlace('SQLite')),
    ...{ LICENSING_PUBLIC_URL: 'https://shop.example', LICENSING_XML_DIR: xmlDir },
  };
  await (await openMigrated(settings)).destroy();
  cli = operator(settings);
  await cli.json(['product', 'add', '--id', '42', '--name', 'Acme Hello', '--element', 'pkg_acmehello']);
  const address = 'https://shop.example/licensing-updates/pkg_acmehello.xml';
  const printed = ['manifest', '--product', '42', '--update-xml-url', address];
  manifest = (await cli.json<{ xml: string }>(printed)).xml;
}, 60_000);

const BUILDS: [name: string, version: string, build: (folder: string) => Promise<void>][] = [
  ['download-key', '1.0.0', () => Promise.resolve()],
  ['with-plugin', '1.0.1', addPlugin],
  [
    'with-activation',
    '1.0.2',
    async (folder) => {
      await addPlugin(folder);
      const out = join(folder, 'plg_content_acmehello/src/Licensing');
      await cli.json(['php', '--namespace', 'Acme\\Plugin\\Content\\Hello\\Licensing', '--out', out]);
    },
  ],
];

async function addPlugin(folder: string): Promise<void> {
  const out = temporaryFolder();
  const args = ['joomla-plugin', '--product', '42', '--vendor', 'Acme', '--out', out];
  const { file } = await cli.json<{ file: string }>(args);
  renameSync(file, join(folder, 'pkg_acmelicence42.zip'));
}

describe.each(BUILDS)('examples/%s', (name, version, build) => {
  it('is built, published and offered, and nothing is wrong with its update XML', async () => {
    const folder = join(temporaryFolder(), name);
    cpSync(join(EXAMPLES, name), folder, { recursive: true });
    await build(folder);
    const own = readFileSync(join(folder, 'pkg_acmehello.xml'), 'utf8');
    const file = await packFolder(folder, { 'pkg_acmehello.xml': own.replace('1.0.0', version) });
    const published = await cli.run([
      ...['release', 'publish', '--product', '42', '--version', version, '--file', file],
    ]);
    const xml = join(xmlDir, 'pkg_acmehello.xml');
    const lint = await cli.json<{ findings: object[] }>(['update-xml', 'lint', xml]);

    expect(published).toMatchObject({ code: 0, stderr: '' });
    expect(lint).toMatchObject({ errors: 0, warnings: 0 });
    expect(readFileSync(xml, 'utf8')).toContain(`<version>${version}</version>`);
    expect(own.replace(/\s+/g, ' ')).toContain(manifest.replace(/\s+/g, ' '));
  });

  it('has in it what its manifests name, in PHP from 7.2.5 on', () => {
    const folder = join(EXAMPLES, name);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name));
    const scripts = files.filter((file) => file.endsWith('.php'));
    const listed = [
      ...readFileSync(join(folder, 'pkg_acmehello.xml'), 'utf8').matchAll(/<file .*>(.*)<\/file>/g),
    ];
    const made = name === 'download-key' ? [] : ['pkg_acmelicence42.zip'];

    expect([...readdirSync(folder), ...made].sort()).toEqual(
      ['pkg_acmehello.xml', ...listed.map(([, file]) => file)].sort(),
    );
    expect(phpFaults(scripts)).toEqual([]);
    expect(php72Faults(scripts)).toEqual([]);
  });
});
