import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { endOfDay } from '../../src/base/days';
import { toLicenseFilter } from '../../src/licensing/license-filter';
import {
  listActivationPage,
  listEventPage,
  listKeyPage,
  listLicensePage,
  listPlanPage,
  listProductPage,
  listRequestPage,
  type LicenseQuery,
  type Page,
  type PageRequest,
  type RequestQuery,
} from '../../src/licensing/lists';
import { liveStatus } from '../../src/licensing/core/states';
import { addDuration, subtractDuration } from '../../src/licensing/durations';
import { createAccessLog } from '../../src/licensing/access-log';
import { setCustomer, setLimit } from '../../src/licensing/amend';
import { addKey } from '../../src/licensing/license-keys';
import { insertAccesses } from '../../src/store/access-log';
import { insertEvents } from '../../src/store/events';
import { insertActivations, listActivations } from '../../src/store/licenses/activations';
import { replaceIncludes, setProduct } from '../../src/store/catalogue';
import { table, type Db, type Transaction } from '../../src/store/engine/database';
import { insertKey, listKeys } from '../../src/store/licenses/license-keys';
import { listLicensePositions } from '../../src/store/licenses/license-lists';
import { findLicense, insertLicenses } from '../../src/store/licenses/licenses';
import { recordRefusals } from '../../src/store/refusals';
import { DATABASE_KINDS, giveLicense, givePlan, newPlace, rows } from '../support/service';
import { openMigrated } from '../support/service-process';

const NOW = new Date('2026-06-15T12:00:00Z');
const DAY_MS = 24 * 60 * 60 * 1000;
const days = (n: number) => new Date(NOW.getTime() + n * DAY_MS);

/** A licence in the tests' own model. */
interface Known {
  id: number;
  productId: number;
  planId: number;
  status: string;
  customer: string | null;
  label: string | null;
  reference: string | null;
  expiresAt: Date | null;
  hints: string[];
  identifiers: string[];
  refusedAt: Date | null;
  createdAt: Date;
  isImported: boolean;
  /** The event of its order that suspended it. */
  stop: string | null;
}

/** Product 1 has many plans. Products 2 and 3 include it, and product 3 includes all others too. */
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
  label: fc.option(fc.constantFrom('Ann & Shop', 'ben', 'Last one')),
  hint: fc.constantFrom(...HINTS),
  sites: fc.uniqueArray(fc.constantFrom(...SITES), { maxLength: 2 }),
  refused: fc.option(fc.integer({ min: -40, max: 0 })),
  created: fc.integer({ min: -40, max: 0 }),
  isImported: fc.boolean(),
  stop: fc.option(fc.constantFrom('charged_back', 'refunded')),
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
    issuedSince: fc.integer({ min: -45, max: 1 }).map((n) => days(n).toISOString().slice(0, 10)),
    suspendedBy: fc.constantFrom('charged_back', 'refunded'),
    q: fc.constantFrom(
      ...['a', 'ann@', 'A%_!', '12', 'order-7', 'ABCD1234', 'https://www.Shop.example/', 'last', 'none'],
      ...['ann@shop.example', '\u{10ffff}', ' ben@example.org ', 'shop', 'SHOP ann', 'org be', 'ben'],
    ),
  }),
);

/** Returns queries with each single filter and with each pair of filters. */
function pairsOf(filters: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object>[] {
  const all = Object.entries(filters);
  return [{}, ...all.map(([name, values]) => ({ [name]: values }))].map((one) =>
    fc
      .tuple(
        fc.record(one),
        fc.constantFrom(...all).chain(([name, values]) => fc.record({ [name]: values })),
      )
      .map(([first, second]) => ({ ...second, ...first })),
  );
}

const HOSTS = ['10.0.0.1', '2001:db8::1'];
const OUTCOMES = ['ok', 'LICENSE_EXPIRED', 'LICENSE_NOT_FOUND'];

const requestArbitrary = fc
  .record({
    minutes: fc.integer({ min: -300, max: 0 }),
    lasts: fc.option(fc.integer({ min: 1, max: 60 })),
    outcome: fc.constantFrom(...OUTCOMES),
    licenseId: fc.option(fc.integer({ min: 1, max: 3 })),
    productId: fc.option(fc.integer({ min: 1, max: 2 })),
    keyHint: fc.option(fc.constantFrom(...HINTS.slice(0, 2))),
    ip: fc.constantFrom(...HOSTS),
  })
  .map(({ minutes, lasts, ...one }) => {
    const at = new Date(NOW.getTime() + minutes * 60_000);
    const lastAt = lasts === null ? null : new Date(at.getTime() + lasts * 60_000);
    const nothing = { keyId: null, version: null, identifier: null, userAgent: null };
    return { ...one, ...nothing, endpoint: 'download' as const, at, lastAt, times: lasts === null ? 1 : 2 };
  });

const requestQueryArbitrary: fc.Arbitrary<RequestQuery> = fc.oneof(
  ...pairsOf({
    licenseId: fc.integer({ min: 1, max: 3 }),
    outcome: fc.constantFrom(...OUTCOMES),
    productId: fc.integer({ min: 1, max: 3 }),
    hint: fc.constantFrom('abcd1234', 'ABCD1235'),
    ip: fc.constantFrom('10.0.0.1', '2001:DB8::1', 'nowhere'),
    since: fc.integer({ min: -300, max: 0 }).map((minutes) => new Date(NOW.getTime() + minutes * 60_000)),
  }),
);

/** Applies the filters in plain code, and returns the ids. */
function expected(known: Known[], query: LicenseQuery): number[] {
  const { productId, covers, planId, status, customer, reference, hint, expiring, refused, q } = query;
  const { issuedSince, suspendedBy } = query;
  const text = q?.trim() ?? '';
  const live = (one: Known) => liveStatus(one, NOW);
  const wordsOf = (words: string) => words.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const words = wordsOf(text);
  const hasWords = ({ customer, label }: Known) => {
    const own = wordsOf(`${customer ?? ''} ${label ?? ''}`);
    return words.length > 0 && words.every((word) => own.some((other) => other.startsWith(word)));
  };
  const isFound = (one: Known) =>
    hasWords(one) ||
    one.reference === text ||
    one.reference === `order-${text}` ||
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
      (issuedSince === undefined || (!one.isImported && one.createdAt >= new Date(issuedSince))) &&
      (suspendedBy === undefined || (one.status === 'suspended' && one.stop === suspendedBy)) &&
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

  test('each filter, and any pair, gives the expected licences, page by page', async () => {
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
    ['common words that are seldom together', { few: 0, sortable: 120, window: 3 }],
    ['words of which one is too common', { few: 0, sortable: 40, window: 3 }],
  ])('the same holds if a filter leaves %s', async (_how, bounds) => {
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

  test('paging to the end shows each licence that stays exactly once, while others are added and removed', async () => {
    for (const [n, expiring] of [undefined, '30d'].entries()) {
      const customer = `moving-${n}@example.com`;
      const give = async () => (await giveLicense(db, 1, { customer, expiresAt: days(20) }, NOW)).id;
      const move = (id: number) =>
        setCustomer(db, id, 'gone@example.com', { actor: 'operator:test', now: NOW });
      const staying = new Set<number>();
      for (let i = 0; i < 30; i++) staying.add(await give());
      const seen: number[] = [];
      let after: string | undefined;
      do {
        const page = await listLicensePage(db, { customer, expiring }, { limit: 4, after }, NOW);
        seen.push(...page.items.map(({ id }) => id));
        const next = [...staying].find((id) => !seen.includes(id));
        // Moves the last licence of the page, where the next page begins, one of a later page, and a new one.
        for (const id of [seen.at(-1) as number, next, await give()])
          if (id !== undefined) {
            await move(id);
            staying.delete(id);
          }
        after = page.next ?? undefined;
      } while (after !== undefined);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual(expect.arrayContaining([...staying]));
      expect(staying.size).toBeGreaterThan(5);
    }
  });

  test('requests are listed by each filter and any pair, newest first', async () => {
    const drawn = fc.sample(requestArbitrary, { numRuns: 150, seed: 11 });
    await insertAccesses(db, drawn);
    const stored = await rows<{ id: number }>(db, 'access_log');
    const requests = drawn.map((one, i) => ({ ...one, id: stored[i]!.id }));
    const ordered = requests.sort((a, b) => b.at.getTime() - a.at.getTime() || b.id - a.id);
    await fc.assert(
      fc.asyncProperty(requestQueryArbitrary, fc.constantFrom(3, 60), async (query, limit) => {
        const { licenseId, outcome, productId, hint, ip, since } = query;
        const all = ordered.filter(
          (one) =>
            (licenseId === undefined || one.licenseId === licenseId) &&
            (outcome === undefined || one.outcome === outcome) &&
            (productId === undefined || one.productId === productId) &&
            (hint === undefined || one.keyHint === hint.toUpperCase()) &&
            (ip === undefined || one.ip === ip.toLowerCase()) &&
            (since === undefined || (one.lastAt ?? one.at) >= since),
        );
        const ids: number[] = [];
        let after: string | undefined;
        do {
          const { items, next } = await listRequestPage(db, query, { limit, after });
          ids.push(...items.map(({ id }) => id));
          after = next ?? undefined;
        } while (after !== undefined && ids.length < 4 * limit);
        expect(ids).toEqual(
          after === undefined ? all.map(({ id }) => id) : all.slice(0, ids.length).map(({ id }) => id),
        );
      }),
      { numRuns: 100 },
    );
    expect(await listRequestPage(db, { ip: 'ä', outcome: 'ö' }, { limit: 5 })).toEqual({
      items: [],
      next: null,
    });
  });

  test('the latest refused request finds its licence, even if an earlier version recorded it', async () => {
    const customer = 'refused@example.com';
    const { id } = await giveLicense(db, 1, { customer }, NOW);
    const find = async (refused: string) =>
      (await listLicensePage(db, { customer, refused }, { limit: 5 }, NOW)).items.map((one) => one.id);
    const log = createAccessLog(db, (error) => {
      throw error;
    });
    const record = async (outcome: string, at: Date) => {
      const license = await findLicense(db, id);
      log.record({
        at,
        endpoint: 'download',
        outcome,
        license,
        ip: '10.0.0.1',
        client: '10.0.0.1',
        userAgent: 'x',
      });
      await log.flush();
    };
    await record('ok', NOW);
    expect(await find('99y')).toEqual([]);
    await record('LICENSE_EXPIRED', days(-3));
    await record('LICENSE_EXPIRED', days(-9));
    expect([await find('2d'), await find('3d')]).toEqual([[], [id]]);
    // A repeated refusal is counted on the same row of the log.
    await record('LICENSE_EXPIRED', new Date(days(-3).getTime() + 60_000));
    const stored = () => db(table(db, 'license_refusals')).where({ license_id: id }).pluck<string[]>('at');
    expect(await stored()).toEqual(['2026-06-12 12:01:00']);
  });

  test('the other lists continue where a page ended', async () => {
    const { id } = await giveLicense(db, 1, {}, NOW);
    const context = { actor: 'operator:test', now: NOW };
    for (let i = 0; i < 6; i++) {
      await setLimit(db, id, i + 10, context);
      await addKey(db, id, { label: `k${i}` }, undefined, context);
      await insertActivationsOf(db, id, [`b${i}.example`, `a${i}.example`]);
    }
    const lists: Record<string, [(page: PageRequest) => Promise<Page<object>>, unknown[]]> = {
      events: [
        (page) => listEventPage(db, id, page),
        [...(await rows<{ id: number; license_id: number }>(db, 'events'))]
          .filter((one) => one.license_id === id)
          .map((one) => one.id)
          .reverse(),
      ],
      keys: [(page) => listKeyPage(db, id, page), (await listKeys(db, id)).map((one) => one.id)],
      activations: [
        (page) => listActivationPage(db, id, page),
        (await listActivations(db, id))
          .sort((a, b) => (a.identifier < b.identifier ? -1 : 1))
          .map((one) => (one as unknown as { id: number }).id),
      ],
      products: [(page) => listProductPage(db, page), [1, 2, 3, 4]],
      plans: [(page) => listPlanPage(db, 1, page), Array.from({ length: 20 }, (_, i) => i + 1)],
    };
    for (const [list, all] of Object.values(lists)) {
      expect(all.length).toBeGreaterThan(3);
      const ids: unknown[] = [];
      let after: string | undefined;
      do {
        const { items, next } = await list({ limit: 2, after });
        ids.push(...(items as { id: number }[]).map((one) => one.id));
        after = next ?? undefined;
      } while (after !== undefined);
      expect(ids).toEqual(all);
    }
    expect((await listProductPage(db, { limit: 5 })).items.map(({ includes }) => includes)).toEqual([
      [],
      [1],
      'all',
      [],
    ]);
  });

  test('a cursor of another list is refused, and so is a filter for something unknown', async () => {
    const write = (values: unknown) => Buffer.from(JSON.stringify(values)).toString('base64url');
    const cursors = [
      ...[
        '',
        'x',
        '7',
        'null',
        'é',
        write(7),
        write([]),
        write(['7']),
        write([-1]),
        write([1.5]),
        write([7, 7]),
      ],
      ...[write([7, '2026-01-01']), write([7, '2026-99-01 00:00:00']), `${write([7])}=`, `${write([7])} `],
    ];
    for (const after of cursors)
      for (const list of [
        listLicensePage(db, {}, { limit: 5, after }, NOW),
        listLicensePage(db, { expiring: '30d' }, { limit: 5, after }, NOW),
        listRequestPage(db, {}, { limit: 5, after }),
        listEventPage(db, 1, { limit: 5, after }),
        listKeyPage(db, 1, { limit: 5, after }),
        listActivationPage(db, 1, { limit: 5, after: write([7]) }),
      ])
        await expect(list).rejects.toMatchObject({ code: 'INVALID_REQUEST', field: 'after' });
    const refused: [LicenseQuery, string][] = [
      [{ status: 'gone' }, 'status'],
      [{ expiring: 'soon' }, 'expiring'],
      [{ refused: '7' }, 'refused'],
      [{ productId: 99 }, 'product_id'],
      [{ covers: 99 }, 'covers'],
      [{ planId: 99 }, 'plan_id'],
    ];
    for (const [query, field] of refused)
      await expect(listLicensePage(db, query, { limit: 5 }, NOW)).rejects.toMatchObject({
        code: 'INVALID_REQUEST',
        field,
      });
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
    createdAt: days(one.created),
  }));
  const digest = (text: string) => text.padStart(64, '0');
  const ids = await db.transaction(async (trx) => {
    const added = await insertLicenses(
      trx,
      known.map(({ planId, status, customer, reference, expiresAt, hint, createdAt }, i) => ({
        ...{
          planId,
          status,
          customer,
          reference,
          expiresAt,
          metadata: null,
          issuedBy: null,
          activationLimit: 3,
        },
        ...{
          createdAt,
          keyDigest: digest(`a${i}`),
          keyHint: hint,
          keyStart: null,
          keySealed: null,
          foldedDigest: null,
        },
      })),
    );
    for (const [i, { otherHint, label, sites, refusedAt, ...one }] of known.entries()) {
      const licenseId = added[i]!;
      const of = { licenseId, at: one.createdAt, actor: 'operator:test', before: null };
      const reason = (event: string) => ({ after: { reason: `acme 1: ${event}` } });
      await insertEvents(trx, [
        { ...of, action: one.isImported ? 'import' : 'issue', after: {} },
        // Every suspension except the last has another reason.
        { ...of, action: 'suspend', ...reason(one.stop === 'refunded' ? 'charged_back' : 'refunded') },
        { ...of, action: 'suspend', ...(one.stop === null ? { after: {} } : reason(one.stop)) },
      ]);
      if (otherHint !== null)
        await insertKey(trx, {
          ...{
            licenseId,
            keyDigest: digest(`b${i}`),
            keyHint: otherHint,
            keyStart: null,
            keySealed: null,
            foldedDigest: null,
          },
          ...{ label, activationLimit: null, endsAt: null, createdAt: NOW },
        });
      if (sites.length > 0) await insertActivationsOf(trx, licenseId, sites);
      if (refusedAt !== null)
        await recordRefusals(trx, [{ licenseId, outcome: 'LICENSE_EXPIRED', at: refusedAt }]);
    }
    return added;
  });
  return known.map((one, i) => ({
    ...one,
    id: ids[i]!,
    hints: [one.hint, ...(one.otherHint === null ? [] : [one.otherHint])],
    // The label belongs to the other key.
    label: one.otherHint === null ? null : one.label,
    identifiers: one.sites,
  }));
}

function insertActivationsOf(db: Db, licenseId: number, identifiers: string[]): Promise<void> {
  return insertActivations(
    db as Transaction,
    identifiers.map((identifier) => ({
      ...{ licenseId, identifier, name: null, ip: null, keyId: null, free: false },
      ...{ site: identifier, activatedAt: NOW, heldUntil: null },
    })),
  );
}
