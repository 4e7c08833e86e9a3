import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { readCatalogue } from '../../src/licensing/bundles';
import { addProduct, editProduct, removeProduct } from '../../src/licensing/catalogue';
import { table } from '../../src/store/engine/database';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/**
 * Tests products that include others: 44 is a club of 42 and 43, 45 includes all, 46 is sold on its own, 47 is another club.
 */

const PAST = new Date('2020-01-01T00:00:00Z');
const MISMATCH = { error: { code: 'PRODUCT_MISMATCH', message: 'License does not match this product' } };

type Body = Record<string, unknown>;

describe.each(BACKENDS)('on %s', (_name, settings) => {
  let service: TestService;
  const plans = new Map<number, number>();
  let club: TestLicense;
  let all: TestLicense;
  let single: TestLicense;

  const issue = (productId: number, options: Parameters<typeof giveLicense>[2] = {}) =>
    giveLicense(service.db, plans.get(productId) as number, options);

  beforeAll(async () => {
    service = await startTestService(await settings());
    for (const productId of [42, 43, 44, 45, 46, 47])
      plans.set(productId, await givePlan(service.db, { productId, limit: 2 }));
    await editProduct(service.db, 44, { includes: [43, 42, 43] });
    await editProduct(service.db, 45, { includes: 'all' });
    await editProduct(service.db, 47, { includes: [43] });
    for (const productId of [42, 43, 46]) await giveRelease(service, { productId, version: '1.0' });
    [club, all, single] = [await issue(44), await issue(45), await issue(42)];
  });
  afterAll(() => service.stop());

  async function post(verb: string, body: Body) {
    const sent = await request(service.url).post(`${PREFIX}/licenses/${verb}`).send(body);
    return { status: sent.status, answer: sent.body as { data?: Body; error?: Body } };
  }
  const validate = async (license: TestLicense, body: Body = {}) =>
    (await post('validate', { license_key: license.key, ...body })).answer.data;
  const activate = (license: TestLicense, body: Body) =>
    post('activate', { license_key: license.key, identifier: 'shop.example', ...body });
  const download = async ({ key }: TestLicense, productId: number, query = '') => {
    const url = `${PREFIX}/downloads/${productId}?license_key=${key}${query}`;
    const sent = await request(service.url).get(url);
    return sent.status === 200 ? 200 : (sent.body as { error: { code: string } }).error.code;
  };

  // This test comes first, while the log still has room for this client's rows.
  it('a refused activation is logged with the product that it asked for', async () => {
    const license = await issue(42);
    await activate(license, { product_id: '043' });
    await eventually(async () =>
      expect(await rows(service.db, 'access_log')).toContainEqual(
        expect.objectContaining({
          endpoint: 'activate',
          outcome: 'PRODUCT_MISMATCH',
          license_id: license.id,
          product_id: 43,
        }),
      ),
    );
  });

  describe('what a licence covers', () => {
    it.each([
      ['a club: itself and its list', () => club, [42, 43, 44], [45, 46, 47, 99]],
      ['all: itself and what includes nothing', () => all, [42, 43, 45, 46], [44, 47, 99]],
      ['a single product: itself', () => single, [42], [43, 44, 45, 46, 47, 99]],
    ])('%s', async (_, license, covered, others) => {
      for (const id of covered) {
        expect(await validate(license(), { product_id: id })).toMatchObject({
          valid: true,
          product_covered: true,
        });
        expect(await download(license(), id)).toBe([42, 43, 46].includes(id) ? 200 : 'DOWNLOAD_NOT_FOUND');
        expect(await activate(license(), { product_id: id })).toMatchObject({
          status: 200,
          answer: { data: { activations_used: 1 } },
        });
      }
      for (const id of others) {
        expect(await validate(license(), { product_id: id })).toMatchObject({
          valid: false,
          status: 'active',
          product_covered: false,
        });
        expect(await download(license(), id)).toBe('PRODUCT_MISMATCH');
        expect(await activate(license(), { product_id: id })).toEqual({ status: 403, answer: MISMATCH });
      }
    });

    it('all: a product added later too, from the next request on', async () => {
      expect(await validate(all, { product_id: 60 })).toMatchObject({ product_covered: false });
      await addProduct(service.db, { id: 60, name: 'Sixty' }, new Date());
      expect(await validate(all, { product_id: 60 })).toMatchObject({ valid: true, product_covered: true });
      await editProduct(service.db, 60, { includes: [42] });
      expect(await validate(all, { product_id: 60 })).toMatchObject({ product_covered: false });
      await removeProduct(service.db, 60);
    });

    it('does not change the name in an answer, which is that of the licence’s own product', async () => {
      expect(await validate(club, { product_id: 43 })).toMatchObject({ product: 'Product 44' });
    });

    it('is the same in many requests at once for different products and licences', async () => {
      const asked = [42, 43, 44, 45, 46, 47, undefined].flatMap((product_id) =>
        [club, all, single].map((license) => ({ license, product_id })),
      );
      const expected = [];
      for (const { license, product_id } of asked) expected.push(await validate(license, { product_id }));
      const together = asked.map(({ license, product_id }) => validate(license, { product_id }));
      expect(await Promise.all(together)).toEqual(expected);
    });
  });

  it('takes one slot, however many of the products activate', async () => {
    const license = await issue(44);
    for (const product_id of [42, 43, 44, undefined])
      expect(await activate(license, { product_id })).toMatchObject({
        answer: { data: { activations_used: 1 } },
      });
    expect(await validate(license, { product_id: 43, identifier: 'shop.example' })).toMatchObject({
      identifier_activated: true,
    });
    expect(await download(license, 43, '&identifier=shop.example')).toBe(200);
    expect(await download(license, 43, '&identifier=other.example')).toBe('ACTIVATION_NOT_FOUND');
  });

  it('refuses an unknown key before the product, and a malformed product before the key', async () => {
    const unknown = { license_key: 'UNKNOWN-KEY', identifier: 'shop.example' };
    expect(await post('activate', { ...unknown, product_id: 42 })).toMatchObject({
      answer: { error: { code: 'LICENSE_NOT_FOUND' } },
    });
    expect(await post('activate', { ...unknown, product_id: 'x' })).toMatchObject({
      answer: { error: { code: 'INVALID_REQUEST' } },
    });
  });

  it('after the end, "last_release" gives the releases of what is covered', async () => {
    const plan = await givePlan(service.db, { productId: 44, afterExpiry: 'last_release' });
    await giveRelease(service, { productId: 43, version: '0.9', date: new Date('2019-01-01T00:00:00Z') });
    const expired = await giveLicense(service.db, plan, { expiresAt: PAST });
    expect(await download(expired, 43)).toBe(200);
    expect(await download(expired, 43, '&version=0.9')).toBe(200);
    expect(await download(expired, 43, '&version=1.0')).toBe('LICENSE_EXPIRED');
    expect(await download(expired, 46)).toBe('PRODUCT_MISMATCH');
  });

  describe('product_id in the body', () => {
    it.each([42, '42', '042', 42.0])('%j is a product', async (product_id) => {
      expect(await validate(single, { product_id })).toMatchObject({ valid: true, product_covered: true });
    });

    it.each([0, -1, '-1', '0', 1e20, '99999999999999999999', 4294967296])(
      '%j is an integer that no product has',
      async (product_id) => {
        expect(await validate(all, { product_id })).toMatchObject({ valid: false, product_covered: false });
        expect((await activate(all, { product_id })).answer).toEqual(MISMATCH);
      },
    );

    it.each([4.5, '4.0', '42abc', '0x2a', '', ' ', ' 42', '+42', true, false, [42], {}, '４２'])(
      '%j is refused, and the field is named',
      async (product_id) => {
        for (const verb of ['activate', 'validate'])
          expect(
            await post(verb, { license_key: single.key, identifier: 'shop.example', product_id }),
          ).toMatchObject({
            status: 400,
            answer: { error: { code: 'INVALID_REQUEST', message: expect.stringContaining('"product_id"') } },
          });
      },
    );

    it('in a form it is text', async () => {
      const sent = await request(service.url)
        .post(`${PREFIX}/licenses/validate`)
        .type('form')
        .send({ license_key: single.key, product_id: '43' })
        .expect(200);
      expect(sent.body).toMatchObject({ data: { valid: false, product_covered: false } });
    });

    it('absent or null changes nothing: not a byte, and not whether another key is good', async () => {
      const text = async (verb: string, body: Body) =>
        (await request(service.url).post(`${PREFIX}/licenses/${verb}`).send(body)).text;
      const body = { license_key: club.key, identifier: 'shop.example' };
      const terms =
        `"license_key":"${club.key}","product":"Product 44","plan":"Developer",` +
        '"activation_type":"domain","activation_limit":2,"activations_used":1,"expires_at":null';
      for (const product of [{}, { product_id: null }]) {
        expect(await text('activate', { ...body, ...product })).toBe(
          `{"data":{"status":"active",${terms},"identifier":"shop.example"}}`,
        );
        expect(await text('validate', { ...body, ...product })).toBe(
          `{"data":{"valid":true,"status":"active",${terms},"identifier_activated":true}}`,
        );
      }
    });

    it('is unknown to deactivate', async () => {
      const license = await issue(42);
      const body = { license_key: license.key, identifier: 'shop.example' };
      await post('activate', body);
      expect(await post('deactivate', { ...body, product_id: 'nonsense' })).toMatchObject({ status: 200 });
    });
  });

  it('while a club is changed, each answer is the one from before or after the change', async () => {
    const license = await issue(47);
    const until = Date.now() + 2_000;
    const answers = new Set<unknown>();
    // A busy machine may need longer than that until each answer has been seen.
    const goesOn = () => Date.now() < until || (answers.size < 8 && Date.now() < until + 60_000);
    const ask = async () => {
      while (goesOn()) {
        answers.add(`download ${await download(license, 46)}`);
        answers.add(`activate ${(await activate(license, { product_id: 46 })).status}`);
        answers.add(`valid ${String((await validate(license, { product_id: 46 }))?.valid)}`);
        // The club always covers its own product, and the one that stays in its list.
        answers.add(`own ${String((await validate(license, { product_id: 47 }))?.valid)}`);
        answers.add(`kept ${await download(license, 43)}`);
      }
    };
    const change = async () => {
      while (goesOn())
        for (const includes of [[43, 46], [43], 'all'] as const) {
          await editProduct(service.db, 47, { includes: includes === 'all' ? includes : [...includes] });
          await sleep(20);
        }
    };
    await Promise.all([ask(), ask(), ask(), ask(), change()]);
    expect([...answers].sort()).toEqual([
      'activate 200',
      'activate 403',
      'download 200',
      'download PRODUCT_MISMATCH',
      'kept 200',
      'own true',
      'valid false',
      'valid true',
    ]);
    await editProduct(service.db, 47, { includes: [43] });
  });

  describe('the rules of what a product includes', () => {
    const includes = (id: number, included: number[] | 'all') =>
      editProduct(service.db, id, { includes: included });

    it('each counts once, in the order of the ids', async () => {
      expect((await includes(44, [43, 42, 43])).includes).toEqual([42, 43]);
    });

    it('a list that is refused leaves the one before', async () => {
      await expect(includes(44, [42, 99])).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        field: 'includes',
      });
      await expect(includes(44, [45])).rejects.toMatchObject({ code: 'CONFLICT', field: 'includes' });
      expect((await readCatalogue(service.db)).get(44)?.includes).toEqual([42, 43]);
    });

    it('a new product is refused as a whole', async () => {
      const added = (wanted: number[]) =>
        addProduct(service.db, { id: 61, name: 'Club', includes: wanted }, new Date());
      await expect(added([44])).rejects.toMatchObject({ code: 'CONFLICT' });
      await expect(added([99])).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      await expect(added([61])).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
      expect(await service.db(table(service.db, 'products')).where({ id: 61 })).toEqual([]);
      expect(await added([42])).toMatchObject({ id: 61, includes: [42] });
      await removeProduct(service.db, 61);
    });

    it('an included product stays; a club goes with its list', async () => {
      await addProduct(service.db, { id: 62, name: 'Part' }, new Date());
      await addProduct(service.db, { id: 63, name: 'Club', includes: [62] }, new Date());
      await expect(removeProduct(service.db, 62)).rejects.toMatchObject({ code: 'CONFLICT' });
      expect(await removeProduct(service.db, 63)).toMatchObject({ id: 63, includes: [62] });
      await removeProduct(service.db, 62);
      expect(await service.db(table(service.db, 'product_includes')).where({ product_id: 63 })).toEqual([]);
    });

    it('hold for two changes at once: an included product never includes another', async () => {
      const ids = [70, 71, 72];
      for (const id of ids) await addProduct(service.db, { id, name: `Product ${id}` }, new Date());
      for (let round = 0; round < 15; round++) {
        const tried = await Promise.allSettled(
          round % 2 === 0
            ? [includes(70, [71]), includes(71, [72])]
            : [includes(71, [72]), includes(70, [71]), includes(72, 'all')],
        );
        const refused = tried.flatMap((one) =>
          one.status === 'rejected' ? [one.reason as { code?: string }] : [],
        );
        expect(refused.map(({ code }) => code)).toEqual(refused.map(() => 'CONFLICT'));
        expect(refused.length).toBeGreaterThan(0);
        const listed = await service.db(table(service.db, 'product_includes')).whereIn('product_id', ids);
        const bundles = listed.map((row: { product_id: number }) => row.product_id);
        for (const { included_id: id } of listed as { included_id: number }[])
          expect(bundles).not.toContain(id);
        for (const id of ids) await includes(id, []);
      }
      for (const id of ids) await removeProduct(service.db, id);
    });
  });
});
