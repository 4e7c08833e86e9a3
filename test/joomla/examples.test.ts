import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { listKeysInUse } from '../../src/licensing/signing-keys';
import { operator, type Operator } from '../support/operator';
import { php72Faults, phpFaults } from '../support/php-files';
import { temporaryFolder } from '../support/processes';
import { newPlace } from '../support/service';
import { openMigrated } from '../support/service-process';

/** Follows docs/extension-developer.md from top to bottom, which builds and publishes the extensions of examples/. */

const ROOT = join(__dirname, '../..');
const XML_ADDRESS = 'https://shop.example/licensing-updates/pkg_acmehello.xml';

/** The shell commands of each section, with continued lines joined. */
const sections = readFileSync(join(ROOT, 'docs/extension-developer.md'), 'utf8')
  .split(/^##+ /m)
  .map((section): [title: string, lines: string[]] => [
    section.split('\n', 1)[0] as string,
    [...section.matchAll(/```sh\n([^]*?)```/g)].flatMap(([, block = '']) =>
      block
        .replace(/(?:\\|\|)\n/g, (end) => (end.startsWith('|') ? '| ' : ' '))
        .split('\n')
        .filter(Boolean),
    ),
  ]);

let folder: string;
let xmlDir: string;
let cli: Operator;
let secret: string;
/** The output of each section's commands. */
const printed = new Map<string, string>();
/** Reports whether a command needs the shop's web server. The test of releases.md has one. */
const isOfServer = (line: string) => /update-xml (?:lint|try)/.test(line);

beforeAll(async () => {
  [folder, xmlDir] = [temporaryFolder(), temporaryFolder()];
  secret = Buffer.alloc(32, 7).toString('base64');
  const settings = {
    ...(await newPlace('SQLite')),
    ...{ LICENSING_PUBLIC_URL: 'https://shop.example', LICENSING_XML_DIR: xmlDir },
    LICENSING_KEY_SECRET: secret,
  };
  cli = operator(settings);
  const db = await openMigrated(settings);
  await cli.json(['signing-key', 'add']);
  const [signing] = await listKeysInUse(db);
  await db.destroy();
  for (const [title, lines] of sections) {
    const said = [];
    for (const line of lines.filter((one) => !isOfServer(one))) said.push(await runLine(line));
    printed.set(title, said.join(''));
  }
  expect(printed.get('3. With activation and the field')).toContain(`'${signing!.kid}' => '${signing!.x}'`);
});

/** Runs a line: `licensing` in this process, everything else in a shell. */
async function runLine(line: string): Promise<string> {
  const here = line
    .replace(/\/tmp|\/var\/lib\/licensing/g, folder)
    .replaceAll('/opt/licensing-gateway', ROOT);
  const isCommand = here.startsWith('licensing ');
  if (!isCommand) {
    const { status, stdout, stderr } = spawnSync('sh', ['-e', '-c', here], { cwd: folder, encoding: 'utf8' });
    expect({ line, status, stderr }).toEqual({ line, status: 0, stderr: '' });
    return stdout;
  }
  const words = [...here.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].slice(1);
  const args = words.map(([, double, single, bare]) => double ?? single ?? bare ?? '');
  const out = args.indexOf('--out');
  if (out !== -1 && !args[out + 1]!.startsWith('/')) args[out + 1] = join(folder, args[out + 1]!);
  const { code, stdout, stderr } = await cli.run(args);
  expect({ line, code, stderr }).toEqual({ line, code: 0, stderr: expect.not.stringContaining('error') });
  return stdout;
}

describe.each([
  ['download-key', '1.0.0', '1. The Download Key'],
  ['with-plugin', '1.1.0', '2. With the plugin'],
  ['with-activation', '1.2.0', '3. With activation and the field'],
])('examples/%s', (name, version, section) => {
  it('is built, published and offered as the guide says', () => {
    const own = readFileSync(join(ROOT, 'examples', name, 'pkg_acmehello.xml'), 'utf8');
    const manifest = /<updateservers>[^]*<dlid .*>/.exec(printed.get('1. The Download Key') ?? '')?.[0] ?? '';

    expect(printed.get(section)).toMatch(new RegExp(`offers ${version.replaceAll('.', '\\.')} \\(stable\\)`));
    expect(manifest).toContain(XML_ADDRESS);
    expect(own.replace(/\s+/g, ' ')).toContain(manifest.replace(/\s+/g, ' '));
  });

  it('contains the files that its manifests name, in PHP from 7.2.5 on', () => {
    const built = join(folder, 'examples', name);
    const files = readdirSync(built, { recursive: true, withFileTypes: true })
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name));
    const scripts = files.filter((file) => file.endsWith('.php'));
    const listed = [
      ...readFileSync(join(built, 'pkg_acmehello.xml'), 'utf8').matchAll(/<file .*>(.*)<\/file>/g),
    ];

    expect(readdirSync(built).sort()).toEqual(
      ['pkg_acmehello.xml', ...listed.map(([, file]) => file)].sort(),
    );
    expect(scripts.length).toBeGreaterThan(name === 'with-activation' ? 7 : 1);
    expect(phpFaults(scripts)).toEqual([]);
    expect(php72Faults(scripts)).toEqual([]);
  });
});

it('leaves an update XML without errors and warnings', async () => {
  const lint = await cli.json<object>(['update-xml', 'lint', join(xmlDir, 'pkg_acmehello.xml')]);
  expect(lint).toMatchObject({ errors: 0, warnings: 0 });
});
