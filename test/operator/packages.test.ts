import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CHALLENGE } from '../support/challenge';
import { giveToken, startManaged, type Managed } from '../support/manage';
import { operator, type Operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { processEnvironment, startProgram } from '../support/service-process';
import { ONE_KIND, giveLicense, givePlan, newPlace, PREFIX, startTestService } from '../support/service';

/** Another host with its own folder and the same database: `licensing packages` compares and fetches. */

interface Found {
  checked: number;
  faults: { version: string; fault: string }[];
}
interface Fetched {
  fetched: { version: string }[];
  failed: { version: string; fault: string }[];
}

describe.each(ONE_KIND)('licensing packages, on %s', (kind) => {
  let first: Managed;
  let second: Operator;
  let folder: string;
  let token: string;
  /** In the order of publishing. The last package has the bytes of the first. */
  const hashes: string[] = [];
  let liar: Server | undefined;

  beforeAll(async () => {
    const place = await newPlace(kind);
    // The service itself sends packages that nginx would send otherwise, because the other host does not go through nginx.
    first = await startManaged({ ...place, LICENSING_ACCEL_LOCATION: '/_packages/' });
    folder = temporaryFolder('licensing-second');
    second = operator({ ...place, LICENSING_PACKAGES_DIR: folder });
    await givePlan(first.db);
    for (const version of ['1.0.0', '1.1.0', '1.2.0'])
      hashes.push((await giveRelease(first, { version })).release.sha256);
    const same = join(first.packagesDir, `${hashes[0]!}.zip`);
    const publish = 'release publish --product 42 --version 1.3.0 --draft --file'.split(' ');
    await operator(place).json([...publish, same]);
    ({ token } = await giveToken(first.db, 'read', 'packages'));
  });
  afterAll(() => first.stop());
  beforeEach(() => {
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
  });
  afterEach(() => {
    liar?.closeAllConnections();
    liar?.close();
    liar = undefined;
  });

  const fileOf = (dir: string, i: number) => join(dir, `${hashes[i]!}.zip`);
  const fetchFrom = (url: string, stdin = `${token}\n`) =>
    second.run(['packages', 'fetch', '--from', url, '--json'], { stdin });
  const verify = async () => {
    const { code, stdout } = await second.run(['packages', 'verify', '--json']);
    return { code, ...(JSON.parse(stdout) as Found) };
  };

  async function lie(answer: RequestListener): Promise<string> {
    liar = createServer(answer);
    await new Promise<void>((resolve) => liar!.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
  }

  it('names missing and different packages, and fetches them by their hash', async () => {
    writeFileSync(fileOf(folder, 1), readFileSync(fileOf(first.packagesDir, 1)));
    writeFileSync(fileOf(folder, 2), 'cut');
    const before = await verify();
    const text = await second.run(['packages', 'verify']);
    const { code, stdout } = await fetchFrom(first.url);
    const after = await verify();

    expect(before).toMatchObject({ code: 1, checked: 4 });
    expect(before.faults.map(({ version, fault }) => [version, fault])).toEqual([
      ['1.0.0', 'is missing'],
      ['1.2.0', expect.stringContaining('has 3 bytes instead of')],
      ['1.3.0', 'is missing'],
    ]);
    expect(text.stdout).toContain(`product 42, version 1.2.0 (${hashes[2]!}.zip) has 3 bytes instead of`);
    expect(text.stderr).toContain('licensing packages fetch --from');
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as Fetched).fetched.map(({ version }) => version)).toEqual([
      '1.0.0',
      '1.2.0',
      '1.3.0',
    ]);
    expect(after).toMatchObject({ code: 0, checked: 4, faults: [] });
    expect(readdirSync(folder).sort()).toEqual([0, 1, 2].map((i) => `${hashes[i]!}.zip`).sort());
    for (const i of [0, 1, 2])
      expect(readFileSync(fileOf(folder, i))).toEqual(readFileSync(fileOf(first.packagesDir, i)));
    expect((await second.run(['packages', 'fetch', '--from', first.url], { stdin: token })).stdout).toBe(
      `No package is missing in ${folder}.\n`,
    );
  });

  it.each<[string, RequestListener, string]>([
    [
      'other bytes',
      (_request, response) => response.end('x'),
      'arrived, but differs from the published package',
    ],
    [
      'more bytes than there can be',
      (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536)));
        };
        response.on('drain', more).on('error', () => undefined);
        more();
      },
      'could not be fetched: it is longer than the package that was published',
    ],
    [
      'half of it',
      (_request, response) => {
        response.writeHead(200, { 'Content-Length': 100_000 });
        response.write('PK', () => response.destroy());
      },
      'could not be fetched: ECONNRESET',
    ],
    ['nothing', (_request, response) => response.writeHead(404).end(), 'is missing there, too'],
    [
      'a fault',
      (_request, response) => response.writeHead(500).end(),
      'could not be fetched: the answer was 500',
    ],
  ])(
    'keeps nothing from a host that sends %s, and continues with the next package',
    async (_what, answer, fault) => {
      const { code, stdout, stderr } = await fetchFrom(await lie(answer));

      expect(code).toBe(1);
      expect(stderr).toContain('4 packages could not be fetched. Run the command again');
      expect((JSON.parse(stdout) as Fetched).failed.map((one) => one.fault)).toEqual(Array(4).fill(fault));
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it('sends the token only in a header, and to no other address', async () => {
    const asked: (string | undefined)[] = [];
    const url = await lie((request, response) => {
      asked.push(`${request.url} ${request.headers.authorization}`);
      response.writeHead(302, { Location: '/elsewhere' }).end();
    });
    const { code, stdout, stderr } = await fetchFrom(url);

    expect(code).toBe(1);
    expect(asked).toEqual([`/api/index.php/v1/licensing/manage/releases/1/package Bearer ${token}`]);
    expect(stdout + stderr).not.toContain(token);
    expect(stderr).toContain(`${url} redirects to another address`);
  });

  it('does not blame the token for the challenge of a CDN', async () => {
    const url = await lie((_request, response) =>
      response.writeHead(CHALLENGE.status, CHALLENGE.headers).end(CHALLENGE.body),
    );
    const { code, stderr } = await fetchFrom(url);

    expect(code).toBe(1);
    expect(stderr).toContain(`Cloudflare answers 403 instead of ${url}`);
    expect(stderr).not.toContain('token');
  });

  it.each<[string, string, string, number, RegExp]>([
    ['a wrong token', '', 'lgw_wrong', 1, /refuses the token \(401\).*token add/],
    ['a token of too small a scope', '', 'issue', 1, /refuses the token \(403\).*--scope read/],
    ['no token', '', '', 1, /The token is missing/],
    ['a closed port', 'http://127.0.0.1:1', 'x', 1, /http:\/\/127\.0\.0\.1:1 does not answer: ECONNREFUSED/],
    ['http over the Internet', 'http://shop.com', 'x', 2, /private network/],
    ['an address with a path', 'https://shop.example/api', 'x', 2, /address of another instance/],
    ['an address with a password', 'https://a:b@shop.example', 'x', 2, /address of another instance/],
  ])('refuses %s', async (_what, from, stdin, code, says) => {
    const refused = await fetchFrom(from || first.url, stdin === 'issue' ? first.issue.token : stdin);
    expect({ code: refused.code, stderr: refused.stderr }).toEqual({
      code,
      stderr: expect.stringMatching(says),
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves out withdrawn versions', async () => {
    const withdraw = ['release', 'withdraw', '--product', '42', '--version', '1.1.0'];
    await second.json(withdraw);
    expect((await verify()).faults.map(({ version }) => version)).toEqual(['1.0.0', '1.2.0', '1.3.0']);
  });
});

it('an instance on another host sends a fetched package without asking again', async () => {
  const place = await newPlace('MariaDB');
  const first = await startManaged(place);
  const settings = { ...place, LICENSING_PACKAGES_DIR: temporaryFolder('licensing-second') };
  const second = await startTestService(settings, first.clock.now);
  const { key } = await giveLicense(first.db, await givePlan(first.db), {}, first.clock.now);
  const { release, bytes } = await giveRelease(first, { version: '1.0.0' });
  const download = async () => {
    const response = await fetch(`${second.url}${PREFIX}/downloads/42?dlid=${key}`);
    return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
  };
  const lacking = await download();
  const { code } = await operator(settings).run(['packages', 'fetch', '--from', first.url], {
    stdin: first.read.token,
  });
  await first.stop();
  const found = await download();
  await second.stop();

  expect(lacking.status).toBe(404);
  expect(code).toBe(0);
  expect(found.status).toBe(200);
  expect(found.body.equals(bytes)).toBe(true);
  expect(readdirSync(settings.LICENSING_PACKAGES_DIR)).toEqual([`${release.sha256}.zip`]);
});

/** Runs the command with at most this address space, in kilobytes. */
function runBelow(kilobytes: number, args: string[], settings: Record<string, string>, stdin = '') {
  const script = 'ulimit -v "$1"; shift; printf %s "$STDIN" | timeout 60 "$0" "$@"';
  return startProgram(
    'sh',
    ['-c', script, process.execPath, String(kilobytes), CLI, ...args],
    processEnvironment(settings, { STDIN: stdin }),
  ).ended;
}

describe('below a limit of address space', () => {
  it('packages are fetched', async () => {
    const place = await newPlace('MariaDB');
    const first = await startManaged(place);
    await givePlan(first.db);
    await giveRelease(first, { version: '1.0.0' });
    const settings = { ...place, LICENSING_PACKAGES_DIR: temporaryFolder('licensing-second') };
    const fetching = ['packages', 'fetch', '--from', first.url];
    const { code, stderr } = await runBelow(4_000_000, fetching, settings, first.read.token);
    await first.stop();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(readdirSync(settings.LICENSING_PACKAGES_DIR)).toHaveLength(1);
  });

  it('a driver that does not fit is reported with the limit, and npm is not blamed', async () => {
    // Below this limit Node itself fails, and above it the command succeeds.
    let [low, high] = [200_000, 3_000_000];
    let found: Awaited<ReturnType<typeof runBelow>> | undefined;
    while (found === undefined && high - low > 1_000) {
      const limit = (low + high) >> 1;
      const settings = { LICENSING_DATABASE_URL: `sqlite:${temporaryFolder()}/shop.sqlite` };
      const ended = await runBelow(limit, ['migrate'], settings);
      if (ended.stderr.includes('database driver')) found = ended;
      else if (ended.code === 0) high = limit;
      else low = limit;
    }
    expect(found).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^error: .* address space is limited to \d+ MB \("ulimit -v"\)\. Raise the limit/,
      ),
    });
    expect(found?.stderr).not.toContain('npm');
  });
});
