import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { toLicenseFilter } from '../../src/licensing/license-filter';
import { listLicensePage, type LicenseQuery } from '../../src/licensing/lists';
import { liveStatus } from '../../src/licensing/states';
import { addDuration, subtractDuration } from '../../src/licensing/durations';
import { endOfDay } from '../../src/licensing/timestamps';
import { insertActivations } from '../../src/store/activations';
import { replaceIncludes, setProduct } from '../../src/store/catalogue';
import { type Db } from '../../src/store/database';
import { insertKey } from '../../src/store/license-keys';
import { listLicensePositions } from '../../src/store/license-lists';
import { insertLicenses } from '../../src/store/licenses';
import { recordRefusals } from '../../src/store/refusals';
import { DATABASE_KINDS, givePlan, newPlace } from '../support/service';
import { openMigrated } from '../support/service-process';

jest.setTimeout(60_000);

const NOW = new Date('2026-06-15T12:00:00Z');
const DAY_MS = 24 * 60 * 60 * 1000;
const days = (n: number) => new Date(NOW.getTime() + n * DAY_MS);

/** A licence as the tests know it. */
interface Known {
  id: number;
  productId: number;
  planId: number;
  status: string;
  customer: string | null;
  reference: string | null;
  expiresAt: Date | null;
  hints: string[];
  identifiers: string[];
  refusedAt: Date | null;
}

/** Product 1 has many plans. Products 2 and 3 include it, the latter with all others. */
const PLANS = { 1: 20, 2: 2, 3: 1, 4: 1 };
const COVERING: Record<number, number[]> = { 1: [1, 2, 3], 2: [2], 3: [3], 4: [3, 4] };

const CUSTOMERS = [
  'ann@example.com',
  'anna@example.com',
  'ben@example.org',
  '12@example.com',
  'a%_!@example.com',
];
const HINTS = ['ABCD1234', 'ABCD1235', 'last'];
const SITES = ['shop.example', 'shop2.example', 'other.example.org'];

const licenseArbitrary = fc.record({
  plan: fc.nat({ max: 23 }),
  status: fc.constantFrom('active', 'active', 'active', 'suspended', 'revoked', 'cancelled', 'expired'),
  customer: fc.option(fc.constantFrom(...CUSTOMERS)),
  hasReference: fc.boolean(),
  ends: fc.option(fc.integer({ min: -40, max: 40 })),
  otherHint: fc.option(fc.constantFrom(...HINTS)),
  hint: fc.constantFrom(...HINTS),
  sites: fc.uniqueArray(fc.constantFrom(...SITES), { maxLength: 2 }),
  refused: fc.option(fc.integer({ min: -40, max: 0 })),
});

const queryArbitrary: fc.Arbitrary<LicenseQuery> = fc.oneof(
  ...pairsOf({
    productId: fc.constantFrom(1, 2, 3, 4),
    covers: fc.constantFrom(1, 2, 3, 4),
    planId: fc.integer({ min: 1, max: 24 }),
    status: fc.constantFrom('active', 'expired', 'suspended', 'revoked', 'cancelled'),
    customer: fc.constantFrom(...CUSTOMERS, 'Ann <ANN@example.com>', 'nobody@example.com'),
    reference: fc.constantFrom('order-1', 'order-7', 'order-90', '12'),
    hint: fc.constantFrom(...HINTS, 'abcd1234', 'none'),
    expiring: fc.constantFrom('1d', '30d', '1y'),
    refused: fc.constantFrom('1d', '30d', '1y'),
    q: fc.constantFrom(
      ...['a', 'ann@', 'A%_!', '12', 'order-7', 'ABCD1234', 'https://www.Shop.example/', 'last', 'none'],
      ...['ann@shop.example', '\u{10ffff}', ' ben@example.org '],
    ),
  }),
);

/** Each filter alone, and each two of them. */
function pairsOf(filters: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<LicenseQuery>[] {
  const all = Object.entries(filters);
  return [{}, ...all.map(([name, values]) => ({ [name]: values }))].map((one) =>
    fc
      .tuple(
        fc.record(one),
        fc.constantFrom(...all).chain(([name, values]) => fc.record({ [name]: values })),
      )
      .map(([first, second]) => ({ ...second, ...first }) as LicenseQuery),
  );
}

/** What the filters say, in plain code. */
function expected(known: Known[], query: LicenseQuery): number[] {
  const { productId, covers, planId, status, customer, reference, hint, expiring, refused, q } = query;
  const text = q?.trim() ?? '';
  const live = (one: Known) => liveStatus(one, NOW);
  const isFound = (one: Known) =>
    (one.customer?.startsWith(text.toLowerCase()) ?? false) ||
    one.reference === text ||
    String(one.id) === text ||
    one.hints.includes(text) ||
    (!text.includes('@') &&
      one.identifiers.includes(text.replace(/^https:\/\/www\.|\/$/g, '').toLowerCase()));
  const found = known.filter(
    (one) =>
      (productId === undefined || one.productId === productId) &&
      (covers === undefined || COVERING[covers]!.includes(one.productId)) &&
      (planId === undefined || one.planId === planId) &&
      (status === undefined || live(one) === status) &&
      (customer === undefined || one.customer === /[^<]*?([^ <>]+)>?$/.exec(customer)![1]!.toLowerCase()) &&
      (reference === undefined || one.reference === reference) &&
      (hint === undefined || one.hints.includes(hint.replace('abcd', 'ABCD'))) &&
      (expiring === undefined ||
        (live(one) === 'active' &&
          one.expiresAt !== null &&
          one.expiresAt <= endOfDay(addDuration(NOW, expiring)))) &&
      (refused === undefined ||
        (one.refusedAt !== null && one.refusedAt >= subtractDuration(NOW, refused))) &&
      (text === '' || isFound(one)),
  );
  const byEnd = (one: Known) => (expiring === undefined ? 0 : one.expiresAt!.getTime());
  return found
    .sort((a, b) => byEnd(a) - byEnd(b) || (expiring === undefined ? b.id - a.id : a.id - b.id))
    .map(({ id }) => id);
}

describe.each(DATABASE_KINDS)('on %s', (kind) => {
  let db: Db;
  let known: Known[];

  beforeAll(async () => {
    db = await openMigrated(await newPlace(kind));
    const plans: { id: number; productId: number }[] = [];
    for (const [productId, count] of Object.entries(PLANS))
      for (let i = 0; i < count; i++)
        plans.push({
          id: await givePlan(db, { productId: Number(productId) }),
          productId: Number(productId),
        });
    await db.transaction((trx) => replaceIncludes(trx, 2, [1]));
    await setProduct(db, 3, { includesAll: true });
    known = await insert(db, plans, fc.sample(licenseArbitrary, { numRuns: 200, seed: 7 }));
  });

  afterAll(() => db.destroy());

  test('each filter, and any two, give what they say, page by page', async () => {
    await fc.assert(
      fc.asyncProperty(queryArbitrary, fc.constantFrom(1, 7, 50), async (query, limit) => {
        const ids: number[] = [];
        let after: string | undefined;
        const all = expected(known, query);
        do {
          const { items, next } = await listLicensePage(db, query, { limit, after }, NOW);
          ids.push(...items.map(({ id }) => id));
          expect(items).toHaveLength(Math.min(limit, all.length - ids.length + items.length));
          after = next ?? undefined;
        } while (after !== undefined && ids.length < 4 * limit);
        expect(ids).toEqual(after === undefined ? all : all.slice(0, ids.length));
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['many licences, all sorted', { few: 0, sortable: 1_000, window: 3 }],
    ['many licences, none sorted', { few: 2, sortable: 0, window: 3 }],
    ['many licences near the start', { few: 2, sortable: 20, window: 100 }],
  ])('so they do where a filter leaves %s', async (_how, bounds) => {
    await fc.assert(
      fc.asyncProperty(queryArbitrary, fc.constantFrom(1, 7, 50), async (query, limit) => {
        const filter = await toLicenseFilter(db, query, NOW);
        const orders =
          query.expiring === undefined ? (['newest', 'oldest'] as const) : (['soonest'] as const);
        for (const order of orders) {
          const all = expected(known, query);
          if (order === 'oldest') all.reverse();
          const read = async (after: Awaited<ReturnType<typeof listLicensePositions>>[number] | undefined) =>
            listLicensePositions(db, filter, { order, after, limit }, NOW, bounds);
          const first = await read(undefined);
          expect(first.map(({ id }) => id)).toEqual(all.slice(0, limit));
          if (first.length < limit) continue;
          const second = await read(first.at(-1));
          expect(second.map(({ id }) => id)).toEqual(all.slice(limit, 2 * limit));
        }
      }),
      { numRuns: 100 },
    );
  });
});

async function insert(
  db: Db,
  plans: { id: number; productId: number }[],
  drawn: (typeof licenseArbitrary extends fc.Arbitrary<infer T> ? T : never)[],
): Promise<Known[]> {
  const known = drawn.map((one, i) => ({
    ...one,
    ...{ planId: plans[one.plan]!.id, productId: plans[one.plan]!.productId },
    reference: one.hasReference ? `order-${i}` : null,
    expiresAt: one.ends === null ? null : days(one.ends),
    refusedAt: one.refused === null ? null : days(one.refused),
  }));
  const digest = (text: string) => text.padStart(64, '0');
  const ids = await db.transaction(async (trx) => {
    const added = await insertLicenses(
      trx,
      known.map(({ planId, status, customer, reference, expiresAt, hint }, i) => ({
        ...{ planId, status, customer, reference, expiresAt, metadata: null, issuedBy: null, activationLimit: 3 },
        ...{ createdAt: NOW, keyDigest: digest(`a${i}`), keyHint: hint, keySealed: null },
      })),
    );
    for (const [i, { otherHint, sites, refusedAt }] of known.entries()) {
      const licenseId = added[i]!;
      if (otherHint !== null)
        await insertKey(trx, {
          ...{ licenseId, keyDigest: digest(`b${i}`), keyHint: otherHint, keySealed: null },
          ...{ label: null, activationLimit: null, endsAt: null, createdAt: NOW },
        });
      if (sites.length > 0)
        await insertActivations(
          trx,
          sites.map((identifier) => ({
            ...{ licenseId, identifier, name: null, ip: null, keyId: null, free: false },
            ...{ site: identifier, activatedAt: NOW },
          })),
        );
      if (refusedAt !== null)
        await recordRefusals(trx, [{ licenseId, outcome: 'LICENSE_EXPIRED', at: refusedAt }]);
    }
    return added;
  });
  return known.map((one, i) => ({
    ...one,
    id: ids[i]!,
    hints: [one.hint, ...(one.otherHint === null ? [] : [one.otherHint])],
    identifiers: one.sites,
  }));
}
