import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import request from 'supertest';
import { branchesOf, branchOf } from '../../src/licensing/core/branches';
import { coversRelease } from '../../src/licensing/core/verdict';
import { offeredVersion } from '../../src/licensing/updates';
import { versionOrder } from '../../src/licensing/versions';
import { setPlan, setProduct, type AfterExpiry, type Product } from '../../src/store/catalogue';
import { table } from '../../src/store/engine/database';
import { giveRelease } from '../support/packages';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** Tests that expired licences get the security releases of their branches, as the law on security updates asks. */

const day = (n: number) => new Date(Date.UTC(2026, 0, n));
const NOW = day(90);
const END = day(25);
const EXPIRED = 'License has expired';
const NONE = 'No download is available for this product';

/** The releases, in the order of their publication. */
const RELEASES = [
  { version: '2.4.0', publishedAt: day(10), security: false },
  { version: '2.4.1', publishedAt: day(20), security: false },
  { version: '3.0.0', publishedAt: day(30), security: false },
  { version: '2.4.2', publishedAt: day(40), security: true },
  { version: '3.0.1', publishedAt: day(41), security: true },
];

interface Row {
  after: AfterExpiry;
  branch?: Product['securityBranch'];
  withdrawn?: string[];
  may: string[];
  /** the download without a version; undefined: refused */
  latest: string | undefined;
}

const LAST = { may: ['2.4.0', '2.4.1'], latest: '2.4.1' };
const TABLE: Row[] = [
  { after: 'nothing', may: [], latest: undefined },
  { after: 'last_release', ...LAST },
  { after: 'security', branch: 'minor', may: ['2.4.0', '2.4.1', '2.4.2'], latest: '2.4.2' },
  { after: 'security', branch: 'major', may: ['2.4.0', '2.4.1', '2.4.2'], latest: '2.4.2' },
  { after: 'security', branch: 'any', may: ['2.4.0', '2.4.1', '2.4.2', '3.0.1'], latest: '3.0.1' },
  { after: 'security', withdrawn: ['2.4.0', '2.4.1'], may: ['2.4.2'], latest: '2.4.2' },
  { after: 'security', withdrawn: ['2.4.2'], ...LAST },
];

test.each(TABLE)('a rule decides: %j', ({ after, branch = 'minor', withdrawn = [], may, latest }) => {
  const license = {
    ...{ status: 'active', expiresAt: END, graceDays: 0, allReturned: false },
    plan: { afterExpiry: after },
  };
  const published = RELEASES.filter(({ version }) => !withdrawn.includes(version))
    .map((release) => ({ ...release, rollout: 100 }))
    .sort((a, b) => (versionOrder(a.version) < versionOrder(b.version) ? 1 : -1));
  const branches = branchesOf(branch, RELEASES);
  const covered = published.filter((release) => coversRelease(license, release, NOW, branches));
  expect(covered.map(({ version }) => version).reverse()).toEqual(may);
  const offered = offeredVersion(license, { id: 42, published, branches }, undefined, NOW);
  // The version that a refusal names is the one that others get.
  expect(offered?.version).toBe(latest ?? '3.0.1');
  const returned = { ...license, allReturned: true };
  expect(published.some((release) => coversRelease(returned, release, NOW, branches))).toBe(false);
});

test.each([
  ['2.4.1', '2.4', '2'],
  ['v2.4', '2.4', '2'],
  ['2', '2.0', '2'],
  ['2.04.1', '2.4', '2'],
  ['2-4-1', '2.4', '2'],
  ['2.4.1-beta2', '2.4', '2'],
  ['10.0', '10.0', '10'],
  ['beta', '0.0', '0'],
])('version %s is of the branches %s and %s', (version, minor, major) => {
  expect([branchOf(version, 'minor'), branchOf(version, 'major'), branchOf(version, 'any')]).toEqual([
    minor,
    major,
    '',
  ]);
});

describe.each(BACKENDS)('on %s', (_name, settings) => {
  let service: TestService;
  let plan: number;
  let license: TestLicense;

  beforeAll(async () => {
    service = await startTestService(await settings());
    service.clock.now = NOW;
    plan = await givePlan(service.db, { afterExpiry: 'security' });
    license = await giveLicense(service.db, plan, { expiresAt: END });
    for (const { version, publishedAt: date, security } of RELEASES)
      await giveRelease(service, { version, date, security });
  });
  afterAll(() => service.stop());

  async function get(query: string, { key } = license) {
    return request(service.url).get(`${PREFIX}/downloads/42?dlid=${key}${query}`);
  }

  /** Returns the version in the file name of the download, or the text of the refusal. */
  async function download(query = '', of = license): Promise<string> {
    const { status, headers, text } = await get(query, of);
    const [, version = ''] = /shop-(.*)\.zip"/.exec(String(headers['content-disposition'])) ?? [];
    return status === 200 ? version : text;
  }

  async function check(query = '', of = license) {
    return ((await get(`&check=1${query}`, of)).body as { data: Record<string, unknown> }).data;
  }

  it.each(TABLE)('downloads follow: %j', async ({ after, branch = 'minor', withdrawn = [], may, latest }) => {
    const releases = service.db(table(service.db, 'releases'));
    await releases.clone().whereIn('version', withdrawn).update({ state: 'withdrawn' });
    await setPlan(service.db, plan, { afterExpiry: after });
    await setProduct(service.db, 42, { securityBranch: branch });
    expect(await download()).toBe(latest ?? EXPIRED);
    for (const { version } of RELEASES)
      expect(await download(`&version=${version}`)).toBe(
        may.includes(version) ? version : withdrawn.includes(version) ? NONE : EXPIRED,
      );
    expect(await download('&version=9.9')).toBe(after === 'nothing' ? EXPIRED : NONE);
    const answer = await check();
    expect(answer).toMatchObject({ entitled_version: latest ?? null });
    const isFix = latest === '2.4.2' || latest === '3.0.1';
    expect(answer.entitled_security).toBe(isFix ? true : undefined);
    await releases.clone().update({ state: 'published' });
  });

  it('refuses suspended licences, and those whose payments were all given back', async () => {
    await setPlan(service.db, plan, { afterExpiry: 'security' });
    await setProduct(service.db, 42, { securityBranch: 'minor' });
    const licenses = service.db(table(service.db, 'licenses')).where({ id: license.id });
    await licenses.clone().update({ all_returned: 1 });
    expect(await download()).toBe(EXPIRED);
    expect(await check()).toMatchObject({ code: 'LICENSE_EXPIRED', entitled_version: null });
    await licenses.clone().update({ all_returned: 0, status: 'suspended' });
    expect(await download()).toBe('License is not active');
    await licenses.clone().update({ status: 'active' });
    expect(await download()).toBe('2.4.2');
  });

  it('gives nothing to a licence that ended before the branch began', async () => {
    const early = await giveLicense(service.db, plan, { expiresAt: day(5) });
    expect(await download('', early)).toBe(EXPIRED);
    expect(await download('&version=2.4.2', early)).toBe(EXPIRED);
  });

  it('does not mark what an active licence gets', async () => {
    const active = await giveLicense(service.db, plan, { expiresAt: day(365) });
    expect(await check('', active)).toMatchObject({ allowed: true, entitled_version: '3.0.1' });
    expect(await check('', active)).not.toHaveProperty('entitled_security');
  });

  it('gives a fix below the share only to the addresses that are offered it', async () => {
    const release = service.db(table(service.db, 'releases')).where({ version: '2.4.2' });
    await release.clone().update({ rollout: 1 });
    expect(await download()).toBe('2.4.1');
    expect(await download('&version=2.4.2')).toBe('2.4.2');
    await release.clone().update({ rollout: 100 });
  });

  it('decides in a bundle by the plan of the licence and the branch of the product', async () => {
    const club = await givePlan(service.db, { afterExpiry: 'security', productId: 44 });
    await setProduct(service.db, 44, { includesAll: true, securityBranch: 'minor' });
    await setProduct(service.db, 42, { securityBranch: 'any' });
    const member = await giveLicense(service.db, club, { expiresAt: END });
    await setPlan(service.db, plan, { afterExpiry: 'nothing' });
    expect(await download('', member)).toBe('3.0.1');
    expect(await download()).toBe(EXPIRED);
    await setProduct(service.db, 42, { securityBranch: 'minor' });
    expect(await download('', member)).toBe('2.4.2');
    await setPlan(service.db, plan, { afterExpiry: 'security' });
  });
});
