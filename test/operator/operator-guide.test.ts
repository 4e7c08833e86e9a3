import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { processEnvironment, startServiceProcess, type ServiceProcess } from '../support/service-process';
import { startShell, type Shell } from '../support/shell';

/** The seller's guides, run from top to bottom by pasting their blocks one after the other. */

const ROOT = join(__dirname, '../..');
const PAGES = 'operator upgrades releases support customers move import-csv doctor clubs'.split(' ');
/** All commands of each section. */
const blocks = PAGES.flatMap((name) =>
  readFileSync(join(ROOT, `docs/${name}.md`), 'utf8')
    .split(/^## /m)
    .slice(1),
).map((section): [string, string] => [
  section.split('\n', 1)[0] as string,
  [...section.matchAll(/```sh\n(?!#!)([^]*?)```/g)].map(([, commands]) => commands).join(''),
]);

let folder: string;
let service: ServiceProcess;
let shell: Shell;
/** Adapts the commands of a block to this machine. */
const here = (commands: string) =>
  commands
    .replaceAll('https://shop.example', service.url)
    .replaceAll(
      /\/opt\/licensing-gateway|\/var\/lib\/licensing|\/var\/www\/shop\/updates|\/tmp(?=\/)/g,
      folder,
    )
    .replace(/mysql:\/\/\S+/, 'sqlite:other.sqlite')
    // The ids of keys depend on what was sold before.
    .replaceAll(/(--key-id|key end order-3001) 1[23]\b/g, '$1 $(newest-key)');
const settings = () => ({ LICENSING_ENV_FILE: join(folder, '.env') });

beforeAll(async () => {
  folder = temporaryFolder();
  // The web server serves the update XML from this folder.
  chmodSync(folder, 0o755);
  const secret = Buffer.alloc(32, 7).toString('base64');
  writeFileSync(
    join(folder, '.env'),
    `LICENSING_DATABASE_URL=sqlite:data.sqlite\nLICENSING_PACKAGES_DIR=packages\nLICENSING_XML_DIR=xml\nLICENSING_PUBLIC_URL=https://shop.example\nLICENSING_KEY_SECRET=${secret}\n`,
    { mode: 0o600 },
  );
  mkdirSync(join(folder, 'deploy'));
  for (const [name, does] of [
    // The machine has neither the service's own user nor its unit.
    ['sudo', 'while [ "$1" != "${1#-}" ]; do [ "$1" != -u ] || shift; shift; done; exec "$@"'],
    ['systemctl', 'true'],
    ['deploy/restart-in-turns', 'true'],
    [
      'newest-key',
      `licensing license key list order-3001 --json | node -p 'JSON.parse(fs.readFileSync(0)).at(-1).id'`,
    ],
  ] as const)
    writeFileSync(join(folder, name), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
  const server = '<server type="extension">https://shop.example/licensing-updates/pkg_example.xml</server>';
  const manifest = (version: string) =>
    `<extension type="package"><packagename>example</packagename><version>${version}</version><updateservers>${server}</updateservers><dlid prefix="dlid="/></extension>`;
  for (const version of ['1.1.0', '1.1.1'])
    copyFileSync(
      (await makePackage({ 'pkg_example.xml': manifest(version) })).path,
      join(folder, `pkg_example-${version}.zip`),
    );
  writeFileSync(
    join(folder, 'old.csv'),
    'License Key,Plan,Status,Expires,E-mail\n' +
      'old-key-0001,Single,active,2099-01-31,ann@example.com\nold-key-0002,Single,refunded,,bob@example.com\n',
  );
  shell = await startShell(folder, processEnvironment({}, settings()));
  expect(await shell.run('licensing', 'migrate')).toMatchObject({ code: 0 });
  service = await startServiceProcess(
    {},
    { ...settings(), LICENSING_PACKAGES_DIR: join(folder, 'packages') },
  );
});

afterAll(async () => {
  await shell.stop();
  await service.stop();
});

test('every section has a block of commands', () => {
  expect(blocks.filter(([, commands]) => commands === '')).toEqual([]);
});

test.each(blocks)('%s', async (title, commands) => {
  const { code, stdout, stderr } = await shell.run('sh', '-e', '-c', here(commands));
  expect({ code, stderr }).toMatchObject({ code: 0 });
  const said: Record<string, RegExp> = {
    "A customer's update failed": /License is not active[^]*suspended[^]*licensing license reinstate 1/,
    'Publish the next version': /pkg_example\.xml offers 1\.1\.1 \(stable\)/,
    'A security release':
      /1\.1\.1 is a security release\.[^]*closes a security hole[^]*- Only the owner sees an order\./,
    'A bad release':
      /Version 1\.1\.1 is withdrawn\.\n\S+pkg_example\.xml offers nothing\.[^]*\n\S+pkg_example\.xml offers 1\.1\.0 \(stable\)\./,
    Refund: /Licence 1 [^]*licence 3/,
    'Upgrade a plan': /Licences with the new limit: 1\./,
    'To another product': /plan Suite \(3\), 0 of 30 slots used/,
    'Move everything to another database': /license +3 +0 [^]*Imported\./,
    'Take over licences of another system': /2 would be new[^]*\n2 new/,
    'Erase a customer': /customer +-/,
    Clubs: /includes +Example Shop \(42\), Example Gallery \(43\)\n/,
    Agencies:
      /Bakery Smith +0\/1 +with the licence\n[0-9A-F-]{35}\nKey (\d+) of licence (\d+) has ended\.\n$/,
    'Staging sites': /\nstudio\S+ .* one\nstaging\.studio\S+ .* free\nlocalhost .* free\n$/,
  };
  expect(stdout).toMatch(said[title] ?? /\S/);
});

test('PHP code of a shop on this machine sells once for each order, and gets the error of a refusal', async () => {
  const guide = readFileSync(join(ROOT, 'docs/shop-issue.md'), 'utf8');
  const blocks = [...guide.matchAll(/```php\n([^]*?)```/g)].map(([, block]) => block);
  const program = blocks.find((block) => block?.includes('issueByCommand(')) ?? '';
  writeFileSync(
    join(folder, 'shop.php'),
    `${program.replace('/usr/local/bin/licensing', join(folder, 'licensing'))}
echo json_encode(issueByCommand(...array_slice($argv, 1)));\n`,
  );
  const db = `LICENSING_DATABASE_URL=sqlite:${temporaryFolder()}/shop.sqlite`;
  for (const command of [
    'migrate',
    'product add --name Example --id 42',
    'plan add --product 42 --name Single --activation-type domain --activation-limit 1',
  ])
    expect(await shell.run('env', db, 'licensing', ...command.split(' '))).toMatchObject({ code: 0 });
  const sell = (plan: string) =>
    shell.run('env', db, 'php', join(folder, 'shop.php'), plan, "o'hara@example.com", 'order 1 & 2');
  const sold = JSON.parse((await sell('1')).stdout) as object;
  expect(sold).toMatchObject({
    id: 1,
    status: 'active',
    license_key: expect.stringMatching(/^[0-9A-F-]{35}$/),
  });
  expect(JSON.parse((await sell('1')).stdout)).toMatchObject({ id: 1, status: 'active' });
  const refused = await sell('9');
  expect(refused.code).not.toBe(0);
  expect(refused.stdout + refused.stderr).toContain('RuntimeException');
});
