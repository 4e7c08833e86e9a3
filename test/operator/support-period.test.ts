import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { checkSupport } from '../../src/doctor/catalogue';
import type { CheckContext } from '../../src/doctor/finding';
import { isSupportShort, supportWarning } from '../../src/licensing/durations';
import { setPlan, setProduct } from '../../src/store/catalogue';
import { operator, type Operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { givePlan, ONE_BACKEND, startTestService, type TestService } from '../support/service';

/** Tests the support period of a product: its field, and what the doctor says about it. */

test.each([
  ['2030-12-31T23:59:59Z', undefined],
  ['2031-01-01T00:00:00Z', 'year'],
  ['2031-09-30T23:59:59Z', 'year'],
  ['2031-10-01T00:00:00Z', 'soon'],
  ['2031-12-31T23:59:59Z', 'soon'],
  ['2032-01-01T00:00:00Z', 'over'],
])('on %s a period until December 2031 is reported as %s', (now, warning) => {
  expect(supportWarning('2031-12', new Date(now))).toBe(warning);
});

test.each([
  ['2031-04', '2026-05-31T23:59:59Z', true],
  ['2031-05', '2026-05-01T00:00:00Z', false],
  ['2031-05', '2026-05-31T23:59:59Z', false],
])('a period until %s is shorter than five years after %s: %s', (until, first, isShort) => {
  expect(isSupportShort(until, new Date(first))).toBe(isShort);
});

describe.each(ONE_BACKEND)('on %s', (_name, settings) => {
  let service: TestService;
  let shop: Operator;
  const now = new Date('2026-11-29T12:00:00Z');
  const codes = async () =>
    (await checkSupport({ db: service.db, now: () => now } as CheckContext)).map(({ code }) => code);

  beforeAll(async () => {
    const given = await settings();
    service = await startTestService(given);
    shop = operator(given);
    await givePlan(service.db, { afterExpiry: 'nothing' });
  });
  afterAll(() => service.stop());

  it('is a month that the command sets, shows and removes', async () => {
    const edit = (...args: string[]) => shop.run(['product', 'edit', '42', ...args, '--json']);
    expect(JSON.parse((await edit('--support-until', '2031-12')).stdout)).toMatchObject({
      support_until: '2031-12',
    });
    expect((await shop.run(['product', 'show', '42'])).stdout).toMatch(/security updates until\s+2031-12/);
    for (const wrong of ['2031', '2031-13', '12/2031', 'x'])
      expect((await edit('--support-until', wrong)).code).toBe(2);
    expect(
      JSON.parse((await edit('--support-until', 'none', '--security-branch', 'any')).stdout),
    ).toMatchObject({ support_until: null, security_branch: 'any' });
    expect((await edit('--security-branch', 'patch')).code).toBe(2);
  });

  it('is reported when it ends soon, is over, or is shorter than the law asks', async () => {
    expect(await codes()).toEqual([]);
    await setProduct(service.db, 42, { supportUntil: '2027-06' });
    expect(await codes()).toEqual(['SUPPORT_ENDS']);
    await giveRelease(service, { version: '1.0.0', date: new Date('2026-01-01T00:00:00Z') });
    expect(await codes()).toEqual(['SUPPORT_ENDS', 'SUPPORT_SHORT']);
    await setProduct(service.db, 42, { supportUntil: '2026-10' });
    expect(await codes()).toEqual(['SUPPORT_OVER', 'SUPPORT_SHORT']);
    await setProduct(service.db, 42, { supportUntil: '2031-12' });
    expect(await codes()).toEqual([]);
  });

  it('a plan that keeps a security release from expired licences is reported', async () => {
    await giveRelease(service, { version: '1.0.1', security: true });
    expect(await codes()).toEqual(['SECURITY_KEPT_BACK']);
    await setPlan(service.db, 1, { afterExpiry: 'security' });
    expect(await codes()).toEqual([]);
  });
});
