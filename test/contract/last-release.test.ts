import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { withdrawRelease } from '../../src/packages/releases';
import { giveRelease } from '../support/packages';
import {
  ONE_BACKEND,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** Tests plans whose expired licences still download releases from before their end. */

const END = new Date('2026-06-30T23:59:59Z');
const AFTER = new Date('2026-07-15T12:00:00Z');
const EXPIRED = 'License has expired';
const NONE = 'No download is available for this product';

describe.each(ONE_BACKEND)('on %s', (_name, settings) => {
  let service: TestService;
  let license: TestLicense;
  let plan: number;

  const publish = (version: string, date: string, productId = 42) =>
    giveRelease(service, { version, date: new Date(date), productId });
  const issue = (expiresAt: Date | null = END, planId = plan) =>
    giveLicense(service.db, planId, { expiresAt });

  beforeAll(async () => {
    service = await startTestService(await settings());
    service.clock.now = AFTER;
    plan = await givePlan(service.db, { afterExpiry: 'last_release' });
    license = await issue();
    await publish('1.0', '2026-01-01T00:00:00Z');
    await publish('1.1', '2026-02-01T00:00:00Z');
    await publish('1.2', '2026-06-30T23:59:59Z');
    await publish('1.3-beta1', '2026-03-01T00:00:00Z');
    await publish('1.4', '2026-03-02T00:00:00Z');
    await withdrawRelease(service.db, 42, '1.4', new Date());
    await publish('1.5', '2026-07-01T00:00:00Z');
    await publish('2.0', '2026-07-10T00:00:00Z');
  });
  afterAll(() => service.stop());

  /** Returns the file name of the download, or the text of the refusal. */
  async function download(key: string, query = '', productId = 42): Promise<string> {
    const { status, headers, text } = await request(service.url).get(
      `${PREFIX}/downloads/${productId}?dlid=${key}${query}`,
    );
    return status === 200
      ? (/filename="(.*)"/.exec(headers['content-disposition'] as string)?.[1] as string)
      : text;
  }

  it('gives the latest release that was published by the end, the last second included', async () => {
    expect(await download(license.key)).toBe('example-shop-1.2.zip');
  });

  it.each([
    ['1.0', 'example-shop-1.0.zip'],
    ['1.2', 'example-shop-1.2.zip'],
    ['1.3-beta1', 'example-shop-1.3-beta1.zip'],
    ['1.4', NONE],
    ['1.5', EXPIRED],
    ['2.0', EXPIRED],
    ['9.9', NONE],
    ['no%20version', NONE],
  ])('version %s: %s', async (version, answer) => {
    expect(await download(license.key, `&version=${version}`)).toBe(answer);
  });

  it('a second earlier, the release of the last second is not included', async () => {
    const { key } = await issue(new Date(END.getTime() - 1_000));
    expect(await download(key, '&version=1.2')).toBe(EXPIRED);
    expect(await download(key)).toBe('example-shop-1.1.zip');
  });

  it('a pre-release counts only while no final release had been published by the end', async () => {
    const productId = 43;
    const other = await givePlan(service.db, { afterExpiry: 'last_release', productId });
    await publish('3.0-beta1', '2026-05-01T00:00:00Z', productId);
    await publish('3.0', '2026-07-05T00:00:00Z', productId);
    const { key } = await issue(END, other);
    expect(await download(key, '', productId)).toBe('product-43-3.0-beta1.zip');
  });

  it('is expired if nothing had been published by the end, and has no download if nothing ever was', async () => {
    const { key } = await issue(new Date('2025-12-31T23:59:59Z'));
    expect(await download(key)).toBe(EXPIRED);
    const empty = await givePlan(service.db, { afterExpiry: 'last_release', productId: 44 });
    const unpublished = await issue(END, empty);
    expect(await download(unpublished.key, '', 44)).toBe(NONE);
  });

  it('gives everything before the end, and nothing on an ordinary plan', async () => {
    const active = await issue(new Date('2027-01-01T00:00:00Z'));
    expect(await download(active.key)).toBe('example-shop-2.0.zip');
    const lifetime = await issue(null);
    expect(await download(lifetime.key, '&version=1.5')).toBe('example-shop-1.5.zip');
    const ordinary = await issue(END, await givePlan(service.db));
    expect(await download(ordinary.key, '&version=1.0')).toBe(EXPIRED);
  });

  it('does not change what activate and validate answer', async () => {
    const body = { license_key: license.key, identifier: 'shop.example' };
    const activated = await request(service.url).post(`${PREFIX}/licenses/activate`).send(body).expect(403);
    expect(activated.body).toMatchObject({ error: { code: 'LICENSE_EXPIRED' } });
    const validated = await request(service.url).post(`${PREFIX}/licenses/validate`).send(body).expect(200);
    expect(validated.body).toMatchObject({ data: { valid: false, status: 'expired' } });
  });
});
