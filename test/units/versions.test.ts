import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import request from 'supertest';
import { compareVersions, isPrerelease, isVersion, versionOrder } from '../../src/licensing/versions';
import {
  insertRelease,
  listPublishedVersions,
  listReleases,
  type ReleaseState,
} from '../../src/store/releases';
import type { Db } from '../../src/store/engine/database';
import { runs } from '../support/extent';
import { ONE_BACKEND, givePlan, PREFIX, startTestService, type TestService } from '../support/service';

/** Words that PHP knows, words that it knows only by their beginning, and words that it does not know. */
const WORDS = [
  ...['dev', 'alpha', 'a', 'beta', 'b', 'RC', 'rc', 'pl', 'p'],
  ...['develop', 'alphabet', 'ab', 'build', 'betatest', 'rcx', 'patch', 'pre', 'preview', 'plus'],
  ...['stable', 'final', 'v', 'Alpha', 'BETA', 'Rc', 'DEV', 'PL', 'x', 'SNAPSHOT', 'd', 'r'],
];
const NUMBERS = '0 00 000 1 01 007 9 10 010 99 100 2026 999999999999999999'.split(' ');

const part = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...NUMBERS) },
  { weight: 3, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 1, arbitrary: fc.nat({ max: 1e15 }).map(String) },
  {
    weight: 1,
    arbitrary: fc.string({
      unit: fc.constantFrom('a', 'b', 'd', 'e', 'l', 'p', 'r', 'R', 'C', 'x'),
      minLength: 1,
      maxLength: 5,
    }),
  },
);
const version = fc
  .array(fc.tuple(part, fc.constantFrom('.', '-', '_', '+', '')), { minLength: 1, maxLength: 7 })
  .map((parts) => parts.flat().slice(0, -1).join(''))
  .filter(isVersion);
/** Two versions with a common beginning, or the same parts. Purely random pairs would differ in their first part. */
const pair = fc.oneof(
  fc.tuple(version, version),
  fc.tuple(version, version, version).map(([a, b, c]) => [`${a}.${b}`, `${a}.${c}`] as const),
  fc.tuple(version, part).map(([a, b]) => [a, `${a}${b}`] as const),
  fc.tuple(version, part).map(([a, b]) => [a, `${a}-${b}`] as const),
  fc.tuple(version, fc.constantFrom('.', '-', '_', '+')).map(([a, s]) => [a, respell(a, s)] as const),
);

/** Writes all separators of a version as one, which makes no difference to PHP. */
function respell(text: string, separator: string): string {
  return (text.match(/[0-9]+|[A-Za-z]+/g) ?? []).join(separator);
}

/** Returns PHP's own results. */
function phpCompare(pairs: (readonly [string, string])[]): number[] {
  const script =
    'echo json_encode(array_map(fn($p) => version_compare($p[0], $p[1]), json_decode(stream_get_contents(STDIN))));';
  const { stdout, status, stderr } = spawnSync('php', ['-n', '-r', script], {
    input: JSON.stringify(pairs),
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`php failed: ${stderr}`);
  return JSON.parse(stdout) as number[];
}

describe('the order of versions', () => {
  it("is PHP's version_compare on 20,000 pairs", () => {
    const pairs = fc
      .sample(pair, 22_000)
      .filter(([a, b]) => isVersion(a) && isVersion(b))
      .slice(0, 20_000);
    expect(pairs).toHaveLength(20_000);
    const expected = phpCompare(pairs);
    const wrong = pairs
      .map(([a, b], i) => ({ a, b, php: expected[i], ours: compareVersions(a, b) }))
      .filter(({ php, ours }) => php !== ours);
    expect(wrong.slice(0, 10)).toEqual([]);
    // A sample with hardly any equal pairs, or hardly any of one order, would prove little.
    for (const sign of [-1, 0, 1])
      expect(expected.filter((one) => one === sign).length).toBeGreaterThan(1_000);
  });

  it("is PHP's for every word against every word, a number and nothing", () => {
    const versions = ['1.0', '1.0.0', '1.0.1', ...WORDS.flatMap((word) => [`1.0${word}`, `1.0-${word}.1`])];
    const pairs = versions.flatMap((a) => versions.map((b) => [a, b] as const));
    const expected = phpCompare(pairs);
    const wrong = pairs.filter(([a, b], i) => compareVersions(a, b) !== expected[i]);
    expect(wrong).toEqual([]);
  });

  it("is PHP's for versions with blanks around them, which a file may have", () => {
    const versions = ['1.0', '8.1', '\n8.1\n', ' 8.1', '8.1 ', '  9', '8.1-dev', '9.0'];
    const pairs = versions.flatMap((a) => versions.map((b) => [a, b] as const));
    const expected = phpCompare(pairs);
    const wrong = pairs.filter(([a, b], i) => a !== b && compareVersions(a, b) !== expected[i]);
    expect(wrong).toEqual([]);
  });

  it('is total: any three versions can be sorted', () => {
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b))).toBe(-compareVersions(b, a) || 0);
        expect(compareVersions(a, a)).toBe(0);
        const [low, middle, high] = [a, b, c].sort(compareVersions) as [string, string, string];
        expect(compareVersions(low, middle)).toBeLessThanOrEqual(0);
        expect(compareVersions(middle, high)).toBeLessThanOrEqual(0);
        expect(compareVersions(low, high)).toBeLessThanOrEqual(0);
      }),
      { numRuns: runs(1_000, 5_000) },
    );
  });

  it('ignores separators and leading zeros, but not upper case', () => {
    for (const [a, b] of [
      ['1.0-rc1', '1.0.rc.1'],
      ['1.0RC1', '1.0rc1'],
      ['1.01', '1.1'],
      ['1-0_0+0', '1.0.0.0'],
      ['1.0alpha', '1.0a'],
    ] as const)
      expect([a, b, compareVersions(a, b)]).toEqual([a, b, 0]);
    // PHP does not know "Beta", and sorts unknown words before everything.
    expect(compareVersions('1.0Beta1', '1.0dev')).toBe(-1);
  });

  it('fits its column of ASCII', () => {
    const longest = Array.from({ length: 32 }, () => '1').join('.');
    for (const text of [longest.slice(0, 63), 'a1'.repeat(32), '1.'.repeat(31) + '1', 'ab'.repeat(32)]) {
      expect(isVersion(text)).toBe(true);
      expect(versionOrder(text)).toMatch(/^[0-9a-z]{1,255}$/);
    }
    fc.assert(fc.property(version, (text) => /^[0-9a-z]{1,255}$/.test(versionOrder(text))));
  });
});

describe('a version', () => {
  it.each(['1', '2.1.0', '2.1.0-beta2', '1.0+build.5', '2026.11.21', '1_0', 'v1.0', '1.0pl1', '0', 'rc'])(
    'can be %s',
    (text) => {
      expect(isVersion(text)).toBe(true);
    },
  );

  it.each([
    ...[
      '',
      ' ',
      '1.0 ',
      ' 1.0',
      '1 0',
      '1..0',
      '1.',
      '.1',
      '-1',
      '1-',
      '1.0-',
      '1.-0',
      '1.0~rc',
      '1,0',
      '1/0',
    ],
    ...['1.0\n', '１.0', '1.0é', '#', '1.0#', '9'.repeat(19), `1.${'0'.repeat(19)}`, `${'1.'.repeat(32)}1`],
    ...['../1', '1.0;', '1.0"', "1.0'", '*'],
  ])('cannot be %j', (text) => {
    expect(isVersion(text)).toBe(false);
  });

  it.each([
    ...'1.0-dev 1.0dev 1.0alpha 1.0-a1 1.0.beta 1.0b2 1.0RC1 1.0-rc.1 rc 1.0-rc1-5'.split(' '),
    // PHP sorts unknown words before everything.
    ...['1.0-stable', '1.0Beta', 'v1.0', '1.0-SNAPSHOT', '1.0-final'],
  ])('%s is a pre-release', (text) => {
    expect(isPrerelease(text)).toBe(true);
  });

  it.each(['1.0', '1', '2026.11.21', '1.0pl1', '1.0-p1', '1.0-patch2', '1.0.0.0', '1-0_0+1'])(
    '%s is a final release',
    (text) => {
      expect(isPrerelease(text)).toBe(false);
    },
  );

  it('that is a pre-release is lower in PHP than its release', () => {
    for (const word of WORDS.filter((one) => isPrerelease(`1.0${one}`)))
      expect([word, compareVersions(`1.0${word}1`, '1.0')]).toEqual([word, -1]);
  });
});

describe.each(ONE_BACKEND)('the latest version, on %s', (_name, settings) => {
  let service: TestService;
  let productId = 42;
  beforeAll(async () => {
    service = await startTestService(await settings());
  });
  afterAll(() => service.stop());

  async function offered(releases: (string | [string, ReleaseState])[]): Promise<string | undefined> {
    productId++;
    await givePlan(service.db, { productId });
    for (const one of releases)
      if (typeof one === 'string') await give(service.db, productId, one);
      else await give(service.db, productId, ...one);
    const { body } = (await request(service.url).get(`${PREFIX}/updates/${productId}`)) as Answer;
    return body.data.version;
  }

  it.each<[string, (string | [string, ReleaseState])[], string | undefined]>([
    ['1.10 is later than 1.9', ['1.10', '1.9'], '1.10'],
    ['the number decides, not the order of publication', ['2.0', '1.0', '1.5'], '2.0'],
    ['a release is later than its candidates', ['1.0', '1.0-rc1', '1.0-dev'], '1.0'],
    ['a beta of the next is not offered to everybody', ['1.0', '2.0-beta1'], '1.0'],
    ['a beta is offered while there is no release', ['2.0-alpha', '2.0-beta1', '2.0-dev'], '2.0-beta1'],
    ['a patch level is a release', ['1.0', '1.0pl1'], '1.0pl1'],
    ['one part more is later', ['1.0', '1.0.0'], '1.0.0'],
    ['a draft does not count', ['1.0', ['2.0', 'draft']], '1.0'],
    ['a withdrawn one does not count', ['1.0', ['2.0', 'withdrawn']], '1.0'],
    ['a withdrawn release leaves its betas', [['1.0', 'withdrawn'], '1.0-beta'], '1.0-beta'],
    ['a word PHP does not know comes first', ['1.0-stable', '1.0-dev'], '1.0-dev'],
    ['nothing published', [['1.0', 'draft']], undefined],
    ['nothing at all', [], undefined],
  ])('%s', async (_rule, releases, latest) => {
    expect(await offered(releases)).toBe(latest);
  });

  it("is sorted by the database as PHP's own sort does it", async () => {
    productId++;
    await givePlan(service.db, { productId });
    const versions = [...new Map(fc.sample(version, 150).map((one) => [versionOrder(one), one])).values()];
    for (const one of versions) await give(service.db, productId, one);
    const sorted = await listPublishedVersions(service.db, productId);
    expect([...sorted].sort()).toEqual([...versions].sort());
    expect((await listReleases(service.db, productId)).map((one) => one.version)).toEqual(sorted);
    const neighbours = sorted.slice(1).map((one, i) => [sorted[i]!, one] as const);
    expect(phpCompare(neighbours)).toEqual(neighbours.map(() => 1));
  });
});

interface Answer {
  body: { data: { version?: string } };
}

/** Inserts a row as publishing writes it. The package does not matter here. */
async function give(
  db: Db,
  productId: number,
  name: string,
  state: ReleaseState = 'published',
): Promise<void> {
  const now = new Date();
  await insertRelease(db, {
    productId,
    version: name,
    versionOrder: versionOrder(name),
    state,
    changelog: '',
    publishedAt: state === 'draft' ? null : now,
    fileName: 'x.zip',
    fileSize: 1,
    sha256: '0'.repeat(64),
    sha384: '0'.repeat(96),
    sha512: '0'.repeat(128),
    createdAt: now,
  });
}
