import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { packagePath } from '../../src/packages/package-files';
import { findRelease, type Release } from '../../src/store/releases';
import { makePackage } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { rows, type DatabaseKind } from '../support/service';
import { closePlaces, fileOf, importJson, place, type Place } from '../support/transfers';

/** Tests what a seller keeps for authorities and finders of holes: SBOMs, packages of security releases, and security.txt. */

afterAll(closePlaces);

const SBOM = JSON.stringify(
  { bomFormat: 'CycloneDX', specVersion: '1.4', components: [], name: 'Größe\u0001' },
  null,
  2,
);

interface Finding {
  code: string;
  level: string;
  what: string;
}

async function doctor({ operator }: Place, ...args: string[]): Promise<Finding[]> {
  const { stdout } = await operator.run(['doctor', ...args, '--json']);
  return (JSON.parse(stdout) as { findings: Finding[] }).findings;
}

/** Publishes 1.0.0 with an SBOM, and the security releases 1.0.1 with a lock file and 1.0.2 without one. */
async function publishAll({ operator }: Place): Promise<void> {
  await operator.json(['product', 'add', '--id', '42', '--name', 'Example']);
  const given = join(temporaryFolder(), 'sbom.json');
  writeFileSync(given, SBOM);
  const locked = await makePackage({ 'composer.lock': '{"packages":[{"name":"a/b","version":"1.0"}]}' });
  for (const [version, file, ...more] of [
    ['1.0.0', (await makePackage()).path, '--sbom', given],
    ['1.0.1', locked.path, '--security'],
    ['1.0.2', (await makePackage()).path, '--security'],
  ] as [string, string, ...string[]][])
    await operator.json([
      'release',
      'publish',
      '--product',
      '42',
      '--version',
      version,
      '--file',
      file,
      ...more,
    ]);
}

const release = async ({ db }: Place, version: string) => (await findRelease(db, 42, version)) as Release;
const sbomOf = ({ operator }: Place, version: string) =>
  operator.run(['release', 'sbom', '--product', '42', '--version', version]);

describe.each<[DatabaseKind, DatabaseKind]>([
  ['SQLite', 'MariaDB'],
  ['MariaDB', 'SQLite'],
])('an export of %s', (from, to) => {
  it(`brings SBOMs to ${to} unchanged, and back`, async () => {
    const [here, there] = [await place(from), await place(to)];
    await publishAll(here);
    const folder = temporaryFolder();
    const [first, second] = [join(folder, 'first.jsonl'), join(folder, 'second.jsonl')];
    const exported = await here.operator.json<{ records: object }>([
      'export',
      '--out',
      first,
      '--packages',
      folder,
    ]);
    expect(exported.records).toMatchObject({ release: 3, sbom: 2 });
    expect((await importJson(there, first, '--packages', folder)).records).toMatchObject({
      sbom: { new: 2 },
    });
    await there.operator.json(['export', '--out', second]);
    expect(readFileSync(second, 'utf8')).toBe(readFileSync(first, 'utf8'));
    expect((await sbomOf(there, '1.0.0')).stdout).toBe(SBOM);
    expect((await importJson(there, first)).records).toMatchObject({ sbom: { same: 2, changed: 0 } });
    // A generated SBOM does not replace one of the seller's, and a given one does.
    const own = join(folder, 'own.json');
    writeFileSync(own, '{"spdxVersion":"SPDX-2.3"}');
    for (const version of ['1.0.0', '1.0.1'])
      await there.operator.json(['release', 'sbom', '--product', '42', '--version', version, '--file', own]);
    expect((await importJson(there, first)).records).toMatchObject({ sbom: { same: 1, changed: 1 } });
    expect((await sbomOf(there, '1.0.0')).stdout).toBe(SBOM);
    expect((await sbomOf(there, '1.0.1')).stdout).toBe('{"spdxVersion":"SPDX-2.3"}');
  });
});

it('an import refuses an SBOM that is not one, or is of no release in the file', async () => {
  const here = await place('SQLite');
  await publishAll(here);
  const file = join(temporaryFolder(), 'file.jsonl');
  await here.operator.json(['export', '--out', file]);
  const records = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  for (const [changes, message] of [
    [{ json: '{}' }, 'is not one'],
    [{ format: 'SPDX-2.3' }, 'is CycloneDX 1.4'],
    [{ release_id: 99 }, 'no release 99'],
  ] as const) {
    const bad = records.map((one) => (one.type === 'sbom' && one.id === 1 ? { ...one, ...changes } : one));
    const { code, stderr } = await here.operator.run(['import', fileOf(bad), '--dry-run']);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  }
});

describe('a security release', () => {
  let here: Place;
  beforeAll(async () => {
    here = await place('SQLite');
    await publishAll(here);
  });

  it('keeps its package and its SBOM, whatever the command', async () => {
    const { sha256 } = await release(here, '1.0.1');
    const run = (...args: string[]) => here.operator.run(args);
    const of = ['--product', '42', '--version', '1.0.1'];
    expect((await run('product', 'remove', '42')).code).toBe(1);
    const other = (await makePackage()).path;
    expect((await run('release', 'publish', ...of, '--file', other)).code).toBe(1);
    expect((await run('release', 'edit', ...of, '--changelog', 'x')).code).toBe(0);
    expect((await run('release', 'withdraw', ...of)).code).toBe(0);
    expect((await run('release', 'publish', ...of, '--file', other, '--draft')).code).toBe(1);
    expect((await run('packages', 'verify')).code).toBe(0);

    // Commands that delete other rows.
    const plan = [
      '--product',
      '42',
      '--name',
      'Single',
      '--activation-type',
      'domain',
      '--activation-limit',
      '1',
    ];
    await here.operator.json(['plan', 'add', ...plan]);
    const table = join(temporaryFolder(), 'licences.csv');
    writeFileSync(table, 'Key,Email\nMOVED-KEY-0001,jo@example.com\n');
    const moved = await here.operator.json<{ id: number }>([
      'import',
      table,
      '--from',
      'csv',
      '--product',
      '42',
      '--plan',
      '1',
    ]);
    await here.operator.json(['import', '--undo', String(moved.id)]);
    await here.operator.json(['import', table, '--from', 'csv', '--product', '42', '--plan', '1']);
    await here.operator.json(['customer', 'erase', 'jo@example.com', '--yes']);
    const exported = join(temporaryFolder(), 'out.jsonl');
    await here.operator.json(['export', '--out', exported]);
    const records = readFileSync(exported, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    await importJson(here, fileOf(records.filter(({ type }) => type !== 'sbom')));
    expect((await run('release', 'edit', ...of, '--no-security')).code).toBe(0);
    expect((await run('product', 'remove', '42')).code).toBe(1);
    expect((await run('release', 'edit', ...of, '--security')).code).toBe(0);

    expect(readFileSync(packagePath(here.packagesDir, sha256)).length).toBeGreaterThan(0);
    expect((await sbomOf(here, '1.0.1')).stdout).toContain('pkg:composer/a/b@1.0');
  });

  it('is reported if its package is missing, also after its withdrawal', async () => {
    for (const [version, level] of [
      ['1.0.1', 'warning'],
      ['1.0.2', 'problem'],
    ] as const) {
      const { sha256 } = await release(here, version);
      const path = packagePath(here.packagesDir, sha256);
      renameSync(path, `${path}.away`);
      const found = (await doctor(here)).filter(({ code }) => code === 'PACKAGE_DAMAGED');
      expect(found).toEqual([
        expect.objectContaining({ level, what: expect.stringContaining(`version ${version} (`) }),
      ]);
      expect((await here.operator.run(['packages', 'verify'])).code).toBe(1);
      renameSync(`${path}.away`, path);
    }
    expect((await doctor(here)).some(({ code }) => code === 'PACKAGE_DAMAGED')).toBe(false);
  });

  it('is reported if it has no SBOM', async () => {
    const found = async () => (await doctor(here)).filter(({ code }) => code === 'SBOM_MISSING');
    expect(await found()).toEqual([
      expect.objectContaining({
        level: 'warning',
        what: '1 security release without an SBOM: product 42, version 1.0.2.',
      }),
    ]);
    const file = join(temporaryFolder(), 'sbom.json');
    writeFileSync(file, SBOM);
    await here.operator.json(['release', 'sbom', '--product', '42', '--version', '1.0.2', '--file', file]);
    expect(await found()).toEqual([]);
    expect(await rows(here.db, 'release_sboms')).toHaveLength(3);
  });
});

describe('security.txt', () => {
  let here: Place;
  let site: Server;
  let url: string;
  let file: { status: number; text: string; location?: string };
  beforeAll(async () => {
    here = await place('SQLite');
    site = createServer(({ url: path }, response) => {
      if (file.location !== undefined && path === '/.well-known/security.txt') {
        response.writeHead(301, { Location: file.location }).end();
        return;
      }
      const isFile = path === '/.well-known/security.txt' || path === file.location;
      response.writeHead(isFile ? file.status : 404, { 'Content-Type': 'text/plain' });
      response.end(isFile ? file.text : '');
    }).listen(0, '127.0.0.1');
    await once(site, 'listening');
    url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  });
  afterAll(() => void site.close());

  const print = (...args: string[]) => here.operator.run(['security-txt', ...args]);
  const contact = ['--contact', 'mailto:security@shop.example'];

  it('is printed by the rules of RFC 9116', async () => {
    const { code, stdout } = await print(
      ...contact,
      '--policy',
      'https://shop.example/policy',
      '--days',
      '90',
    );
    expect(code).toBe(0);
    const fields = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => /^([A-Za-z-]+): (\S.*)$/.exec(line)!.slice(1));
    expect(fields.map(([name]) => name).sort()).toEqual(['Contact', 'Expires', 'Policy']);
    const { Contact, Expires, Policy } = Object.fromEntries(fields) as Record<string, string>;
    expect([Contact, Policy]).toEqual(['mailto:security@shop.example', 'https://shop.example/policy']);
    expect(Expires).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const days = (Date.parse(Expires!) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(89.9);
    expect(days).toBeLessThanOrEqual(90);
    expect((await print('--contact', 'https://shop.example/report')).code).toBe(0);
  });

  it.each([
    [['--contact', 'security@shop.example']],
    [['--contact', 'http://shop.example/report']],
    [['--contact', 'mailto:a@b.example\nExpires: 2099-01-01T00:00:00Z']],
    [['--contact', 'mailto:nobody']],
    [[...contact, '--days', '0']],
    [[...contact, '--days', '-1']],
    [[...contact, '--policy', 'http://shop.example']],
    [[]],
  ])('is refused with %j', async (args) => {
    const { code, stdout } = await print(...args);
    expect([code, stdout]).toEqual([2, '']);
  });

  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  it.each<[string, () => Promise<typeof file>, string, RegExp]>([
    ['is missing', () => Promise.resolve({ status: 404, text: '' }), 'warning', /answers 404/],
    [
      'is a page',
      () => Promise.resolve({ status: 200, text: '<html>' }),
      'warning',
      /is not a security\.txt/,
    ],
    [
      'has two ends',
      () =>
        Promise.resolve({
          status: 200,
          text: `Contact: mailto:a@b.example\nExpires: ${inDays(90)}\nExpires: ${inDays(99)}\n`,
        }),
      'warning',
      /is not a security\.txt/,
    ],
    ['is printed', async () => ({ status: 200, text: (await print(...contact)).stdout }), 'ok', /expires on/],
    [
      'is at another address',
      async () => ({ status: 200, text: (await print(...contact)).stdout, location: '/moved.txt' }),
      'ok',
      /expires on/,
    ],
    [
      'ends soon',
      async () => ({ status: 200, text: (await print(...contact, '--days', '29')).stdout }),
      'warning',
      /expires on/,
    ],
    [
      'has ended',
      () =>
        Promise.resolve({
          status: 200,
          text: `# ours\r\ncontact: mailto:a@b.example\r\nexpires: ${inDays(-1)}\r\n`,
        }),
      'warning',
      /expired on/,
    ],
  ])('that %s is found by the doctor', async (_, make, level, what) => {
    file = await make();
    const found = (await doctor(here, '--url', url)).filter(({ code }) => code === 'SECURITY_TXT');
    expect(found).toEqual([expect.objectContaining({ level, what: expect.stringMatching(what) })]);
  });
});
