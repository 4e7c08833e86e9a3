import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { ACTIVATION_TYPES, normalizeIdentifier, normalizedForms } from '../../src/licensing/core/identifiers';
import { lookUp, type LicenseMatch } from '../../src/licensing/core/lookup';
import { keyDigest } from '../../src/licensing/core/keys';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestService,
} from '../support/service';

/** Texts that the types normalise alike, that they normalise differently, and that only some of them accept. */
const TEXTS = [
  'shop.example',
  'https://WWW.Shop.Example/cart',
  'Anna@Shop.Example',
  'two words',
  '[2001:DB8::1]:8080',
  'ÄPFEL.example',
];

describe('spellings', () => {
  it.each(TEXTS)('are those of each type by itself: %s', (text) => {
    expect(normalizedForms(text)).toEqual(
      Object.fromEntries(ACTIVATION_TYPES.map((type) => [type, normalizeIdentifier(type, text)])),
    );
  });
});

describe.each(BACKENDS)('look-ups of a batch on %s', (_, settings) => {
  let service: TestService;
  /** two licences of each type: one with the first three texts activated, the other without activations */
  const requests: {
    keyDigest: string;
    identifier: string | undefined;
    name: string;
    productId: number | undefined;
  }[] = [];
  /** the licences' own products, another, an unknown one, and none */
  const PRODUCTS = [42, 43, 0, undefined];

  beforeAll(async () => {
    service = await startTestService(await settings());
    for (const type of ACTIVATION_TYPES) {
      const plan = await givePlan(service.db, { type, limit: 0 });
      for (const activated of [TEXTS.slice(0, 3), []]) {
        const { key } = await giveLicense(service.db, plan);
        for (const identifier of activated)
          await request(service.url)
            .post(`${PREFIX}/licenses/activate`)
            .send({ license_key: key, identifier, name: `for ${identifier}` })
            .expect(200);
        for (const [i, identifier] of [...TEXTS, undefined].entries())
          requests.push({
            keyDigest: keyDigest(key),
            identifier,
            name: 'another label',
            productId: PRODUCTS[(i + requests.length) % PRODUCTS.length],
          });
      }
    }
    requests.push({
      keyDigest: keyDigest('UNKNOWN'),
      identifier: 'shop.example',
      name: 'another label',
      productId: 42,
    });
  });

  afterAll(() => service.stop());

  it('find for each request what it would find alone, in every order', async () => {
    const alone: (LicenseMatch | undefined)[] = [];
    for (const one of requests) alone.push(...(await lookUp(service.db, [one])));
    const activated = alone.flatMap((found) => found?.activation ?? []);
    expect(activated).toHaveLength(4 * 3);
    for (const { name } of activated) expect(name).toMatch(/^for /);
    expect(alone.map((found) => found?.covered)).toEqual(
      requests.map(({ productId }, i) =>
        alone[i] === undefined || productId === undefined ? undefined : productId === 42,
      ),
    );
    expect(await lookUp(service.db, requests)).toEqual(alone);
    expect(await lookUp(service.db, requests.toReversed())).toEqual(alone.toReversed());
    // Send one request for each licence, so that one statement finds all.
    for (let i = 0; i < TEXTS.length; i++) {
      const each = requests.filter((_, at) => at % (TEXTS.length + 1) === i);
      expect(await lookUp(service.db, each)).toEqual(alone.filter((_, at) => at % (TEXTS.length + 1) === i));
    }
  });

  it('read details only where a request gives one', async () => {
    const [named] = requests as [(typeof requests)[0]];
    const unnamed = { ...named, name: undefined };
    const labels = async (batch: Parameters<typeof lookUp>[1]) =>
      (await lookUp(service.db, batch)).map((found) => found?.activation?.name);
    const [label] = await labels([named]);
    expect(label).toMatch(/^for /);
    expect(await labels([unnamed, named])).toEqual([label, label]);
    expect((await lookUp(service.db, [unnamed]))[0]?.activation).toEqual({});
  });
});
