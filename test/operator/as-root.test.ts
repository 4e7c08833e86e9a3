import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { beforeAll, expect, test } from '@jest/globals';
import { selectCommands } from '../../src/cli/commands';
import { operator, addPlan, type Operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { eventually, sharedFolder, startProcess, temporaryFolder } from '../support/processes';
import { processEnvironment } from '../support/service-process';

/** Commands that root runs, while the service runs as another user, who owns the settings file. */

const asRoot = process.getuid?.() === 0 ? test : test.skip;
const CLI = join(__dirname, '../../dist/src/cli.js');
/** The user daemon, which exists on every system. */
const SERVICE = 1;

let data: string;
/** A folder that only root can read. */
let closed: string;
let root: Operator;
const inClosed = (name: string, text?: string) => {
  if (text !== undefined) writeFileSync(join(closed, name), text, { mode: 0o600 });
  return join(closed, name);
};

beforeAll(async () => {
  if (process.getuid?.() !== 0) return;
  const folder = sharedFolder();
  [data, closed] = [join(folder, 'data'), join(folder, 'closed')];
  for (const path of [data, closed]) mkdirSync(path, { mode: 0o700 });
  writeFileSync(
    join(data, '.env'),
    [
      `LICENSING_DATABASE_URL=sqlite:${data}/tables.sqlite`,
      `LICENSING_PACKAGES_DIR=${data}/packages`,
      `LICENSING_XML_DIR=${data}/xml`,
      'LICENSING_PUBLIC_URL=https://shop.example',
      'LICENSING_KEY_SECRET=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
      '',
    ].join('\n'),
    { mode: 0o600 },
  );
  for (const path of [data, join(data, '.env')]) chownSync(path, SERVICE, SERVICE);
  root = operator({ LICENSING_ENV_FILE: join(data, '.env') });
  await well(['migrate']);
  await well(['product', 'add', '--id', '42', '--name', 'Example', '--element', 'pkg_example']);
  await addPlan(
    { ...root, json: (args) => well([...args, '--json']) } as Operator,
    '42',
    'One',
    'domain',
    '1',
  );
  await well(['license', 'issue', '--plan', '1', '--customer', 'jane@example.com']);
});

async function run(args: string[]) {
  return root.run(args, { ownProcess: true, cwd: closed });
}

async function well(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args);
  expect({ args, code, stderr: code === 0 ? '' : stderr }).toEqual({ args, code: 0, stderr: '' });
  return stdout;
}

const owners = (folder: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => [
    name,
    statSync(join(folder, name)).uid,
  ]);

const NAMES_FILE = /[<[](file|dir|folder|zip)/;
/** Commands that need root. */
const STAYING = ['setup', 'init', 'upgrade'];

/** Returns `COMMAND OPTION` for each option and argument that names a file. `--ca` is read with the line itself. */
async function filesOfCommands(): Promise<string[]> {
  const program = new Command('licensing');
  for (const load of selectCommands([])) (await load())(program, () => Promise.reject(new Error('not run')));
  const found: string[] = [];
  const walk = (command: Command, path: string[]) => {
    const options = command.options
      .filter(({ flags, long }) => (NAMES_FILE.test(flags) || long === '--out') && long !== '--ca')
      .map(({ long }) => long ?? '');
    const named = command.registeredArguments.map((one) => `<${one.name()}>`);
    for (const name of [...options, ...named.filter((one) => NAMES_FILE.test(one))])
      found.push([...path, name].join(' '));
    for (const one of command.commands) walk(one, [...path, one.name()]);
  };
  for (const one of program.commands) if (!STAYING.includes(one.name())) walk(one, [one.name()]);
  return found;
}

/** Returns command lines, in the order to run them. They name files in the closed folder, and some end with 1 for another reason. */
async function lines(): Promise<{ covers: string[]; line: string[]; says?: RegExp }[]> {
  const zip = inClosed('package.zip');
  const manifest =
    '<extension type="package"><name>Example</name><packagename>example</packagename><version>1.0.0</version></extension>';
  writeFileSync(zip, (await makePackage({ 'pkg_example.xml': manifest })).bytes, { mode: 0o600 });
  const changes = inClosed('changes.txt', 'Faster');
  const secret = inClosed('secret', 'whsec_51a963295692389b51a963295692389b');
  const apiKey = inClosed('api-key', 'rk_live_51a963295692389b51a963295692389b');
  const sbom = inClosed('sbom.json', '{"bomFormat":"CycloneDX","specVersion":"1.6","version":1}');
  const of42 = ['--product', '42'];
  const xml = inClosed('pkg_example.xml');
  return [
    { covers: ['nginx --out'], line: ['nginx', '--server-name', 'shop.example', '--out', inClosed('nginx')] },
    { covers: ['apache --out'], line: ['apache', '--out', inClosed('apache')] },
    { covers: ['php --out'], line: ['php', '--namespace', 'Acme\\Licensing', '--out', inClosed('php')] },
    {
      covers: [
        ...['release publish --file', 'release publish --changelog-file', 'release publish --write-xml'],
        'release publish --sbom',
      ],
      line: [
        ...['release', 'publish', ...of42, '--version', '1.0.0', '--unchecked', '--file', zip],
        ...['--changelog-file', changes, '--write-xml', xml, '--sbom', sbom],
      ],
    },
    {
      covers: ['release edit --changelog-file'],
      line: ['release', 'edit', ...of42, '--version', '1.0.0', '--changelog-file', changes],
    },
    {
      covers: ['release sbom --file'],
      line: ['release', 'sbom', ...of42, '--version', '1.0.0', '--file', sbom],
    },
    {
      covers: ['release sbom --out'],
      line: ['release', 'sbom', ...of42, '--version', '1.0.0', '--out', inClosed('written.json')],
    },
    { covers: ['update-xml write --out'], line: ['update-xml', 'write', ...of42, '--out', xml] },
    { covers: ['update-xml lint <file-or-url>'], line: ['update-xml', 'lint', xml] },
    {
      covers: ['joomla-plugin --out'],
      line: ['joomla-plugin', ...of42, '--vendor', 'Acme', '--out', inClosed('plugin')],
    },
    { covers: ['joomla-door --out'], line: ['joomla-door', '--out', inClosed('door.zip')] },
    { covers: ['shop plugin --out'], line: ['shop', 'plugin', 'hikashop', '--out', inClosed('shop')] },
    {
      covers: ['customer export --out'],
      line: ['customer', 'export', 'jane@example.com', '--out', inClosed('jane.json')],
    },
    {
      covers: ['export --out', 'export --packages'],
      line: ['export', '--out', inClosed('all.jsonl'), '--packages', inClosed('packages')],
    },
    {
      covers: ['import <file>', 'import --packages'],
      line: ['import', inClosed('all.jsonl'), '--packages', inClosed('packages')],
    },
    {
      covers: ['import --users'],
      line: [
        ...['import', '--from', 'freemius-csv', inClosed('edd.csv', 'a,b\n1,2\n')],
        ...['--users', inClosed('users.csv', 'a,b\n1,2\n'), '--dry-run'],
      ],
      says: /column/i,
    },
    {
      covers: ['mail text set <file>'],
      line: ['mail', 'text', 'set', 'test', 'en', inClosed('mail.txt', 'Mine\n\nFrom {shop}.')],
    },
    {
      covers: ['shop add --secret-file', 'shop add --api-key-file'],
      line: [
        ...['shop', 'add', 'stripe', '--kind', 'stripe'],
        ...['--secret-file', secret, '--api-key-file', apiKey],
      ],
    },
    {
      covers: ['shop edit --secret-file', 'shop edit --api-key-file'],
      line: ['shop', 'edit', 'stripe', '--secret-file', secret, '--api-key-file', apiKey],
    },
    {
      covers: ['doctor --log'],
      line: ['doctor', '--json', '--log', inClosed('access.log', 'GET /\n')],
      says: /access\.log/,
    },
    {
      covers: ['release withdraw --write-xml'],
      line: ['release', 'withdraw', ...of42, '--version', '1.0.0', '--write-xml', xml],
    },
  ];
}

asRoot('read and write files of root alone, and all else belongs to the user of the service', async () => {
  const all = await lines();
  expect(all.flatMap(({ covers }) => covers).sort()).toEqual((await filesOfCommands()).sort());
  for (const { line, says } of all) {
    if (says === undefined) await well(line);
    else {
      const { stdout, stderr } = await run(line);
      expect({ line, said: stdout + stderr }).toEqual({ line, said: expect.stringMatching(says) });
      expect(stdout + stderr).not.toMatch(/cannot read|may not read|EACCES/);
    }
  }
  expect(owners(closed).filter(([, uid]) => uid !== 0)).toEqual([]);
  expect(owners(data).filter(([, uid]) => uid !== SERVICE)).toEqual([]);
  expect(owners(join(data, 'packages'))).toHaveLength(1);
  const history = JSON.parse(await well(['license', 'history', '1', '--json'])) as { actor: string }[];
  expect(history[0]).toMatchObject({ actor: 'operator:root' });
});

/** Makes a site whose administrator chose this program, for a command that sends at once. */
function siteWith(sendmail: string): { file: string; proof: string } {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const [file, proof] = [join(folder, '.env'), join(folder, 'proof')];
  writeFileSync(
    join(folder, 'configuration.php'),
    `<?php\nclass JConfig {\n\tpublic $dbtype = 'mysqli';\n\tpublic $host = '127.0.0.1';\n\tpublic $user = 'u';\n\tpublic $password = 'p';\n\tpublic $db = 'd';\n\tpublic $dbprefix = '';\n\tpublic $mailer = 'sendmail';\n\tpublic $mailfrom = 'shop@shop.example';\n\tpublic $sendmail = '${sendmail}';\n}\n`,
  );
  const settings = readFileSync(join(data, '.env'), 'utf8');
  writeFileSync(file, `${settings}LICENSING_JOOMLA_ROOT=${folder}\n`, { mode: 0o600 });
  return { file, proof };
}

asRoot(
  'a program of configuration.php runs as the service’s user, and cannot become root again',
  async () => {
    // Every folder of the path belongs to root, and the service's user can read it.
    const bin = temporaryFolder('.licensing-test', '/opt');
    chmodSync(bin, 0o755);
    const program = join(bin, 'sendmail');
    const { file } = siteWith(program);
    const proof = join(data, 'proof');
    writeFileSync(
      program,
      `#!/bin/sh\ncat > /dev/null\ngrep -E "^(Uid|Gid|Groups)" /proc/self/status > ${proof}\n`,
      {
        mode: 0o755,
      },
    );
    const command = operator({ LICENSING_ENV_FILE: file });
    const send = () => command.run(['mail', 'test', 'jane@example.com'], { ownProcess: true });
    // The settings file belongs to root, so the service has no user of its own.
    expect(await send()).toMatchObject({ code: 0 });
    expect(readFileSync(proof, 'utf8')).toContain('Uid:\t0\t0\t0\t0\n');
    chownSync(file, SERVICE, SERVICE);
    chownSync(proof, SERVICE, SERVICE);
    expect(await send()).toMatchObject({ code: 0 });
    expect(readFileSync(proof, 'utf8')).toMatch(/^Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t1 \n$/);
  },
);

asRoot(
  'a program that starts while arguments name files of root has only the rights of that user',
  async () => {
    const bin = temporaryFolder();
    chmodSync(bin, 0o755);
    const proof = join(data, 'started');
    const script = `#!/bin/sh\ngrep -E "^(Uid|Gid)" /proc/self/status > ${proof}\n`;
    writeFileSync(join(bin, 'systemctl'), script, { mode: 0o755 });
    const env = processEnvironment({ LICENSING_ENV_FILE: join(data, '.env') });
    const line = ['doctor', '--json', '--log', inClosed('access.log', 'GET /\n')];
    const child = startProcess(process.execPath, [CLI, ...line], {
      env: { ...env, PATH: `${bin}:${process.env.PATH ?? ''}` },
    });
    await once(child, 'exit');
    expect(readFileSync(proof, 'utf8')).toBe('Uid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\n');
  },
);

asRoot('an export takes no package that the service’s user cannot read', async () => {
  const packages = join(data, 'packages');
  const [name] = readdirSync(packages) as [string];
  renameSync(join(packages, name), inClosed(name));
  symlinkSync(inClosed(name), join(packages, name));
  // The package of a withdrawn version may be missing.
  const line = ['export', '--out', inClosed('linked.jsonl'), '--packages', inClosed('linked')];
  await well(line);
  expect(readdirSync(inClosed('linked'))).toEqual([]);
});

asRoot('moving an update XML of root leaves no buckets of root behind', async () => {
  const [old, moved] = [inClosed('pkg_example.xml'), inClosed('moved.xml')];
  const write = (out: string) => well(['update-xml', 'write', '--product', '42', '--out', out]);
  await write(old);
  const buckets = inClosed('rollout/pkg_example');
  mkdirSync(buckets, { recursive: true });
  writeFileSync(join(buckets, '07.xml'), '<updates/>');
  const { code, stderr } = await run(['update-xml', 'write', '--product', '42', '--out', moved]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('stays unchanged') });
  expect(existsSync(buckets)).toBe(false);
});

asRoot('a stop during the write of a file of root leaves nothing behind', async () => {
  const file = inClosed('stopped.jsonl');
  const env = processEnvironment({ LICENSING_ENV_FILE: join(data, '.env') });
  const before = readdirSync(closed);
  const child = startProcess(process.execPath, [CLI, 'export', '--out', file], {
    env: { ...env, NODE_OPTIONS: `--require ${slowWrites()}` },
  });
  await eventually(() => expect(readdirSync(closed).some((name) => name.endsWith('.part'))).toBe(true));
  child.kill('SIGTERM');
  await once(child, 'exit');
  expect(readdirSync(closed)).toEqual(before);
});

/** Returns a script that never completes the write to an open file. */
function slowWrites(): string {
  const path = join(sharedFolder(), 'slow.cjs');
  writeFileSync(
    path,
    `const { open } = require('node:fs/promises');
open('/dev/null').then((handle) => { Object.getPrototypeOf(handle).writeFile = () => new Promise(() => setInterval(() => 0, 1e6)); });`,
  );
  return path;
}
