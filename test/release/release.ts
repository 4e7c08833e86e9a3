import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { eventually, startProcess, temporaryFolder, endProcess } from '../support/processes';
import { runInProcess } from '../support/command';
import { processEnvironment, startProgram, type Ended } from '../support/service-process';

/** Tests the files that `npm run release` makes, and that they run on a bare machine. It needs root, for chroot. */

const ROOT = join(__dirname, '../..');
const RELEASE = join(ROOT, 'release');
const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
  'version' | 'license',
  string
>;
const NAME = `licensing-gateway-${version}`;

/** The kinds of machines, with Debian's name and the code in an ELF file (its bytes 18 and 19). */
const MACHINES = {
  x64: { debian: 'amd64', elf: 0x3e },
  arm64: { debian: 'arm64', elf: 0xb7 },
} as const;
type Machine = keyof typeof MACHINES;

const own: Machine = process.arch === 'arm64' ? 'arm64' : 'x64';
const folder = temporaryFolder();
const program = (command: string, ...args: string[]) =>
  execFileSync(command, args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e9 });
const sums = () => readFileSync(join(RELEASE, 'SHA256SUMS'), 'utf8');

/** The output of `npm run release`. */
let said: string;

beforeAll(() => {
  said = program('npm', 'run', '--silent', 'release');
  for (const machine of Object.keys(MACHINES))
    program('tar', '-xzf', join(RELEASE, `${NAME}-linux-${machine}.tar.gz`), '-C', folder);
}, 900_000);

const tree = (machine: Machine) => join(folder, `${NAME}-linux-${machine}`);

/** Returns the paths of the files and links in a folder, with their SHA-256. */
function contents(of: string): Record<string, string> {
  const files = readdirSync(of, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(files.sort().map((file) => [file.slice(of.length + 1), contentOf(file)]));
}

function contentOf(file: string): string {
  if (lstatSync(file).isSymbolicLink()) return `-> ${readlinkSync(file)}`;
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Returns the machine code of a compiled file, or `undefined` if the file is not compiled. */
function elfMachine(path: string): number | undefined {
  const bytes = readFileSync(path);
  return bytes.subarray(0, 4).toString('latin1') === '\u007fELF' ? bytes.readUInt16LE(18) : undefined;
}

test('a second run in another time zone and with another umask makes the same bytes', () => {
  const first = sums();
  program('sh', '-c', 'umask 077; TZ=Pacific/Chatham npm run --silent release');
  expect(sums()).toBe(first);
}, 900_000);

test('SHA256SUMS names every other file, with its right hash', () => {
  const named = sums()
    .trim()
    .split('\n')
    .map((line) => line.split('  ')[1]);
  const others = readdirSync(RELEASE, { recursive: true, encoding: 'utf8' })
    .filter((path) => path !== 'SHA256SUMS' && statSync(join(RELEASE, path)).isFile())
    .sort();
  expect(named).toEqual(others);
  execFileSync('sha256sum', ['--check', '--strict', '--status', 'SHA256SUMS'], { cwd: RELEASE });
});

test('the last line reports missing terms', () => {
  const last = said.trim().split('\n').at(-1);
  if (license === 'UNLICENSED') expect(last).toMatch(/^package\.json says UNLICENSED: /);
  else expect(last).not.toContain('UNLICENSED');
});

describe.each(Object.keys(MACHINES) as Machine[])('the archive for %s', (machine) => {
  const archive = join(RELEASE, `${NAME}-linux-${machine}.tar.gz`);

  test('has one folder, no owner, and one time for all files', () => {
    const lines = program('tar', '--utc', '--full-time', '-tvzf', archive).trim().split('\n');
    const seen = lines.map((line) => /^\S+ (\S+) +\d+ (\S+ \S+) ([^/]+)\//.exec(line)!.slice(1));
    expect([...new Set(seen.map(String))]).toEqual([
      String([
        '0/0',
        program('git', 'log', '-1', '--format=%cd', '--date=format-local:%Y-%m-%d %H:%M:%S').trim(),
        `${NAME}-linux-${machine}`,
      ]),
    ]);
    const megabytes = statSync(archive).size / 1e6;
    expect(megabytes).toBeGreaterThan(25);
    expect(megabytes).toBeLessThan(80);
  });

  test('has Node and SQLite for that machine, and no other compiled file', () => {
    const compiled = Object.keys(contents(tree(machine))).flatMap((path) => {
      const found = elfMachine(join(tree(machine), path));
      return found === undefined ? [] : [[path, found]];
    });
    const { elf } = MACHINES[machine];
    expect(compiled).toEqual([
      ['node', elf],
      [`node_modules/@libsql/linux-${machine}-gnu/index.node`, elf],
    ]);
  });

  test('says how to continue, and whose terms apply', () => {
    expect(readFileSync(join(tree(machine), 'SETUP.txt'), 'utf8')).toContain(
      'licensing setup --joomla-root ',
    );
    const terms = readFileSync(join(tree(machine), 'LICENSE'), 'utf8');
    expect(terms).toMatch(new RegExp(`^licensing-gateway ${version}: ${license}\n`));
    expect(terms).toContain('Node.js is licensed for use as follows:');
    // The terms cover bundled packages, and packages in files of their own.
    for (const name of ['koa', 'knex', 'libsql', 'hono'])
      expect(terms).toMatch(new RegExp(`^${name} \\d`, 'm'));
    const manifest: unknown = JSON.parse(readFileSync(join(tree(machine), 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({
      bin: { licensing: 'dist/src/cli.js' },
      scripts: { start: 'node dist/src/main.js' },
    });
    expect(manifest).not.toHaveProperty('devDependencies');
  });

  test('is what the Debian package has below /opt/licensing-gateway', () => {
    const { debian } = MACHINES[machine];
    const deb = join(RELEASE, `licensing-gateway_${version}_${debian}.deb`);
    const unpacked = join(folder, debian);
    program('dpkg-deb', '-x', deb, unpacked);
    const { opt, ...others } = Object.fromEntries(
      readdirSync(unpacked).map((top) => [top, contents(join(unpacked, top))]),
    );
    const below = Object.fromEntries(
      Object.entries(opt!).map(([path, sum]) => [path.replace(/^licensing-gateway\//, ''), sum]),
    );
    expect(below).toEqual(contents(tree(machine)));
    expect(
      Object.entries(others).flatMap(([top, files]) => Object.keys(files).map((path) => `${top}/${path}`)),
    ).toEqual([
      'etc/logrotate.d/licensing-gateway',
      'usr/bin/licensing',
      'usr/lib/systemd/system/licensing@.service',
      'usr/lib/sysusers.d/licensing-gateway.conf',
      'usr/lib/tmpfiles.d/licensing-gateway.conf',
      ...['README.md', 'changelog.gz', 'copyright'].map((name) => `usr/share/doc/licensing-gateway/${name}`),
    ]);
    expect(program('dpkg-deb', '--field', deb, 'Package', 'Version', 'Architecture', 'Depends')).toBe(
      `Package: licensing-gateway\nVersion: ${version}\nArchitecture: ${debian}\nDepends: adduser, libc6, libstdc++6\n`,
    );
  });
});

test('the zip for hosting panels has nothing compiled, no SQLite, and the component for Joomla', () => {
  const zip = join(RELEASE, `${NAME}-hosting.zip`);
  const unpacked = join(folder, 'hosting');
  program('unzip', '-q', zip, '-d', unpacked);
  const files = Object.keys(contents(unpacked));
  expect(files.filter((path) => elfMachine(join(unpacked, path)) !== undefined)).toEqual([]);
  expect(files.filter((path) => path.startsWith('node_modules/') || path === 'node')).toEqual([]);
  expect(files).toEqual(
    expect.arrayContaining(['com_licensing.zip', 'app.js', 'package.json', 'dist/bundles/hosting.js']),
  );
  expect(existsSync(join(ROOT, 'deploy/hosting/app.js'))).toBe(files.includes('app.js'));
  expect(statSync(zip).size).toBeLessThan(15e6);
});

test('the SBOM names the packages of production, Node, and the commit', () => {
  const sbom = JSON.parse(readFileSync(join(RELEASE, `${NAME}.cdx.json`), 'utf8')) as {
    serialNumber: string;
    metadata: { timestamp: string; component: { name: string; version: string } };
    components: { name: string; version: string }[];
  };
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  const found = sbom.components.map((one) => `${one.name} ${one.version}`);
  const wanted = Object.entries({ ...dependencies, node: pinnedNode() }).map((one) => one.join(' '));
  expect(found).toEqual(expect.arrayContaining(wanted));
  for (const [name, one] of Object.entries(devDependencies!))
    if (!name.startsWith('@types/')) expect(found).not.toContain(`${name} ${one}`);
  expect(sbom.metadata.component).toMatchObject({ name: 'licensing-gateway', version });
  expect(sbom.serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  expect(Date.parse(sbom.metadata.timestamp)).toBe(
    1000 * Number(program('git', 'log', '-1', '--format=%ct')),
  );
});

function pinnedNode(): string {
  return (JSON.parse(readFileSync(join(ROOT, 'scripts/release/node.json'), 'utf8')) as { version: string })
    .version;
}

describe('the archive on this machine', () => {
  const run = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
    startProgram(join(tree(own), 'bin/licensing'), args, { PATH: '/usr/bin:/bin', ...env }).ended;

  test('runs on its own Node, and says its version', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(program(join(tree(own), 'node'), '--version').trim()).toBe(`v${pinnedNode()}`);
    const other = join(folder, 'other-node');
    writeFileSync(other, '#!/bin/sh\necho "$1"\n', { mode: 0o755 });
    expect((await run(['--version'], { LICENSING_NODE: other })).stdout).toBe(
      `${join(tree(own), 'dist/src/cli.js')}\n`,
    );
  });

  test('has every command, with the same help as the build', async () => {
    const names = [...(await run(['--help'])).stdout.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(25);
    for (const args of [['--help'], ...names.map((name) => [name, '--help'])])
      expect(await run(args)).toEqual(await runInProcess(args, {}));
  }, 300_000);

  test('reads few files at its start', async () => {
    const hook = join(folder, 'count.cjs');
    writeFileSync(hook, "process.on('exit', () => console.error(Object.keys(require.cache).length - 1));");
    const env = {
      LICENSING_DATABASE_URL: `sqlite:${join(folder, 'few.sqlite')}`,
      NODE_OPTIONS: `--require ${hook}`,
    };
    expect((await run(['migrate'], env)).code).toBe(0);
    const { code, stderr } = await run(['license', 'list'], env);
    expect(code).toBe(0);
    expect(Number(stderr.trim().split('\n').at(-1))).toBeLessThanOrEqual(25);
  });

  test('its service reads the operators’ part at their first request, in the state of the start', async () => {
    const bundles = join(tree(own), 'dist/bundles');
    const env = { LICENSING_DATABASE_URL: `sqlite:${join(folder, 'parts.sqlite')}` };
    expect((await run(['migrate'], env)).code).toBe(0);
    const service = startProcess(join(tree(own), 'bin/licensing-service'), [], {
      env: processEnvironment({ ...env, LICENSING_PACKAGES_DIR: join(folder, 'packages') }),
    });
    let text = '';
    service.stdout!.on('data', (data: Buffer) => (text += data.toString()));
    const url = await eventually(() => {
      const [, listen] = /"listen":"([^"]+)"/.exec(text) ?? [];
      if (listen === undefined) throw new Error(text);
      return `${listen}/api/index.php/v1/licensing`;
    });
    const opened = () =>
      readdirSync(`/proc/${service.pid}/fd`)
        .map((fd) => readlinkSync(`/proc/${service.pid}/fd/${fd}`))
        .filter((path) => path.startsWith(`${bundles}/`))
        .map((path) => basename(path).replace(/ .*/, ''))
        .sort();
    const body = JSON.stringify({ license_key: 'unknown', identifier: 'shop.example' });
    const headers = { 'Content-Type': 'application/json' };
    expect((await fetch(`${url}/licenses/validate`, { method: 'POST', headers, body })).status).toBe(403);
    expect(opened()).toEqual(['mail.js', 'operators.js', 'redis.js', 'sbom.js']);
    renameSync(join(bundles, 'service'), join(folder, 'service-parts'));
    try {
      expect((await fetch(`${url}/pages/sign-in`)).status).toBe(200);
    } finally {
      renameSync(join(folder, 'service-parts'), join(bundles, 'service'));
    }
    expect(opened()).toEqual(['mail.js', 'redis.js', 'sbom.js']);
    await endProcess(service);
  }, 60_000);

  test('its demo serves pages and mails', async () => {
    const demo = startProcess(join(tree(own), 'node'), ['dist/src/demo.js'], {
      cwd: tree(own),
      env: { PATH: '/usr/bin:/bin' },
    });
    let text = '';
    demo.stdout!.on('data', (data: Buffer) => (text += data.toString()));
    const link = await eventually(() => {
      const [url] = /http:\/\/127\.0\.0\.1:\d+\/\S*enter\S*/.exec(text) ?? [];
      if (url === undefined) throw new Error(text);
      return url;
    }, 60_000);
    const page = await fetch(link);
    expect(page.status).toBe(200);
    const assets = [...(await page.text()).matchAll(/(?:href|src)="([^"]+\.(?:css|js))"/g)].map(
      ([, path]) => path!,
    );
    expect(assets.length).toBeGreaterThan(0);
    for (const path of assets) expect((await fetch(new URL(path, link))).status).toBe(200);
    await endProcess(demo);
  }, 120_000);
});

describe.each(['bookworm', 'trixie'])('a bare Debian (%s)', (suite) => {
  const root = join(folder, suite);
  const inside = (command: string) =>
    execFileSync(
      'chroot',
      [
        root,
        '/usr/bin/env',
        '-i',
        'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
        'DEBIAN_FRONTEND=noninteractive',
        'sh',
        '-c',
        command,
      ],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
  const deb = `licensing-gateway_${version}_${MACHINES[own].debian}.deb`;
  const data = '/var/lib/licensing';
  const settings = {
    LICENSING_ENV_FILE: `${data}/.env`,
    LICENSING_PACKAGES_DIR: `${data}/packages`,
    LICENSING_XML_DIR: `${data}/xml`,
    LICENSING_LISTEN: `unix:${data}/http.sock`,
    LICENSING_ADMIN_LISTEN: `unix:${data}/admin.sock`,
  };

  beforeAll(() => {
    program('debootstrap', '--variant=minbase', suite, root);
    for (const file of [join(RELEASE, deb), '/etc/resolv.conf']) program('cp', file, join(root, 'tmp'));
    inside('cp /tmp/resolv.conf /etc/resolv.conf');
  }, 600_000);

  test('installs the package, starts nothing, and says how to continue', () => {
    const installed = inside(`apt-get install -y /tmp/${deb}`);
    expect(installed).toContain('licensing setup --joomla-root ');
    expect(inside('licensing --version')).toBe(`${version}\n`);
    expect(inside('getent passwd licensing')).toMatch(/:\/var\/lib\/licensing:\/usr\/sbin\/nologin\n$/);
    expect(inside('stat -c "%U %G %a" /var/lib/licensing')).toBe('licensing www-data 750\n');
    expect(inside('ls /etc/systemd/system 2>/dev/null | grep licensing || true')).toBe('');
    expect(inside('dpkg --verify licensing-gateway')).toBe('');
  }, 300_000);

  test('its service is ready without a network', async () => {
    inside(
      `runuser -u licensing -- env ${Object.entries(settings)
        .map((one) => one.join('='))
        .join(' ')} licensing init --sqlite ${data}/licensing.sqlite`,
    );
    // The service gets a network without any interface, because its start must not need one.
    const service = startProcess('unshare', [
      ...['--net', 'chroot', '--userspec=licensing', root, '/usr/bin/env', '-i', 'HOME=/var/lib/licensing'],
      ...['LICENSING_ENV_FILE=/var/lib/licensing/.env', 'LICENSING_LISTEN=unix:/var/lib/licensing/http.sock'],
      ...[
        'LICENSING_ADMIN_LISTEN=unix:/var/lib/licensing/admin.sock',
        '/opt/licensing-gateway/bin/licensing-service',
      ],
    ]);
    let text = '';
    service.stdout!.on('data', (data: Buffer) => (text += data.toString()));
    service.stderr!.on('data', (data: Buffer) => (text += data.toString()));
    await eventually(() => {
      if (!text.includes('"listening"')) throw new Error(text);
    });
    const answer = program(
      'curl',
      ...['-s', '--unix-socket', join(root, 'var/lib/licensing/admin.sock'), 'http://service/readyz'],
    );
    expect(JSON.parse(answer)).toMatchObject({ ready: true });
    await endProcess(service);
  });

  test('is not unpacked through the link that the set-up of an archive made', () => {
    inside(
      'apt-get remove -y licensing-gateway && mkdir -p /opt/licensing-gateway-0.0.1 && ' +
        'touch /opt/licensing-gateway-0.0.1/package.json && ln -s licensing-gateway-0.0.1 /opt/licensing-gateway',
    );
    expect(inside(`apt-get install -y /tmp/${deb} 2>&1 || true`)).toMatch(
      /leads to licensing-gateway-0\.0\.1, which was installed from an archive\. Upgrade it with: licensing upgrade/,
    );
    expect(inside('ls /opt/licensing-gateway/')).toBe('package.json\n');
    inside(`rm -r /opt/licensing-gateway /opt/licensing-gateway-0.0.1 && apt-get install -y /tmp/${deb}`);
  }, 120_000);

  test('is removed with its program, and leaves settings and data', () => {
    inside('touch /opt/licensing-gateway/.env && apt-get purge -y licensing-gateway');
    expect(inside('ls -A /opt/licensing-gateway')).toBe('.env\n');
    expect(inside('ls -A /var/lib/licensing')).toContain('licensing.sqlite\n');
    expect(inside('command -v licensing || true')).toBe('');
  });
});
