import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page, PageRequest } from '../../src/licensing/cursors';
import {
  listProductPage,
  listReleasePage,
  PRODUCT_SORTS,
  RELEASE_SORTS,
  searchSitePage,
  SITE_SORTS,
} from '../../src/licensing/lists';
import { recountAfterImport } from '../../src/figures/statistics';
import { createSiteRecorder, listSpreadingPage, SPREADING_SORTS } from '../../src/licensing/spreading';
import { OUTDATED_SITE_SORTS, readProductSites } from '../../src/licensing/reported-sites';
import { listOrderPage, ORDER_SORTS } from '../../src/orders/views';
import { CUSTOMER_SORTS, listCustomerPage } from '../../src/privacy/customer-list';
import type { Access } from '../../src/store/access-log';
import { insertActivations } from '../../src/store/licenses/activations';
import { table, type Transaction } from '../../src/store/engine/database';
import { insertOrder } from '../../src/store/orders/orders';
import { insertRelease } from '../../src/store/releases';
import {
  DATABASE_KINDS,
  giveLicense,
  givePlan,
  newPlace,
  startTestService,
  type TestService,
} from '../support/service';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** Lists that are sorted by their columns. license-list.test.ts has the list of licences. */

const NOW = new Date('2026-11-23T09:00:00Z');
const DAY_MS = 24 * 60 * 60 * 1000;
const daysAgo = (days: number) => new Date(NOW.getTime() - days * DAY_MS);

type Value = string | number | null;

/** A list with its reader, and for each column a row's value and the value that decides between equal ones. */
interface List<Row> {
  sorts: readonly string[];
  read: (service: TestService, page: PageRequest, sort: string | undefined) => Promise<Page<Row>>;
  values: Record<string, (row: Row) => [Value, string | number]>;
  nameOf: (row: Row) => unknown;
}

const list = <Row>(one: List<Row>) => one as unknown as List<unknown>;

const LICENSED: Record<number, number> = { 42: 3, 43: 1, 44: 1, 45: 0 };
const NAMES: Record<number, string> = { 42: 'Plan 10', 43: 'plan 2', 44: 'Äpfel', 45: 'Zebra' };

const LISTS = {
  customers: list({
    sorts: CUSTOMER_SORTS,
    read: ({ db }, page, sort) => listCustomerPage(db, { q: undefined, sort }, page, NOW),
    values: { customer: ({ customer }) => [customer, customer] },
    nameOf: (row) => row,
  }),
  orders: list({
    sorts: ORDER_SORTS,
    read: ({ db }, page, sort) => listOrderPage(db, {}, page, sort),
    values: { id: ({ order }) => [order.id, order.id] },
    nameOf: ({ order }) => order.number,
  }),
  'waiting orders': list({
    sorts: ORDER_SORTS,
    read: ({ db }, page, sort) => listOrderPage(db, { shop: 'a', state: 'waiting' }, page, sort),
    values: { id: ({ order }) => [order.id, order.id] },
    nameOf: ({ order }) => order.number,
  }),
  products: list({
    sorts: PRODUCT_SORTS,
    read: ({ db }, page, sort) => listProductPage(db, page, sort),
    values: {
      id: ({ id }) => [id, id],
      // The natural order, in which people look names up.
      name: ({ id }) => [[44, 43, 42, 45].indexOf(id), id],
      licenses: ({ id }) => [LICENSED[id] ?? 0, id],
    },
    nameOf: ({ id }) => id,
  }),
  versions: list({
    sorts: RELEASE_SORTS,
    read: ({ db }, page, sort) => listReleasePage(db, 42, page, sort),
    values: {
      version: ({ versionOrder }) => [versionOrder, versionOrder],
      published_at: ({ publishedAt, versionOrder }) => [publishedAt?.toISOString() ?? null, versionOrder],
    },
    nameOf: ({ version }) => version,
  }),
  'sites that are behind': list({
    sorts: OUTDATED_SITE_SORTS,
    read: async ({ db }, page, sort) => (await readProductSites(db, 42, { ...page, sort }, NOW)).behind,
    values: {
      at: ({ at, licenseId, site }) => [at.toISOString(), `${String(licenseId).padStart(9, '0')} ${site}`],
    },
    nameOf: ({ site }) => site,
  }),
  'sites of a licence': list({
    sorts: SITE_SORTS,
    read: ({ db }, page, sort) => searchSitePage(db, 1, undefined, page, sort),
    values: { id: ({ id }) => [id, id], identifier: ({ identifier }) => [identifier, identifier] },
    nameOf: ({ identifier }) => identifier,
  }),
  'keys in many hands': list({
    sorts: SPREADING_SORTS,
    read: ({ db }, page, sort) => listSpreadingPage(db, 1, page, sort, NOW),
    values: {
      at: ({ at, key }) => [at.toISOString(), key.id],
      networks: ({ networks, key }) => [networks, key.id],
      customer: ({ license, key }) => [license.customer, key.id],
    },
    nameOf: ({ key }) => key.id,
  }),
};

function compare(a: [Value, Value], b: [Value, Value]): number {
  for (const [i, one] of a.entries()) {
    const other = b[i] as Value;
    if (one === other) continue;
    if (one === null || other === null) return one === null ? 1 : -1;
    return one < other ? -1 : 1;
  }
  return 0;
}

async function fill(service: TestService): Promise<void> {
  const { db } = service;
  const plans: Record<number, number> = {};
  for (const [id, name] of Object.entries(NAMES)) {
    plans[Number(id)] = await givePlan(db, { productId: Number(id), limit: 1 }, NOW);
    await db(table(db, 'products'))
      .where({ id: Number(id) })
      .update({ name });
  }
  const customers = ['dora', 'ann', 'bob', 'ann', 'zoe'];
  const products = [42, 42, 42, 43, 44];
  for (const [i, name] of customers.entries())
    await giveLicense(db, plans[products[i] as number] as number, { customer: `${name}@example.com` }, NOW);
  await recountAfterImport(db, NOW);

  await db.transaction(async (trx) => {
    const now = trx as Transaction;
    for (let i = 1; i <= 7; i++)
      await insertOrder(now, {
        ...{ shop: i % 2 ? 'a' : 'b', number: `order-${9 - i}`, digest: String(i).repeat(64), owner: null },
        ...{ ownOnly: false, customer: null, customerName: null, language: null, mail: null, isTest: false },
        ...{ state: i % 3 ? 'waiting' : 'done', createdAt: daysAgo(7 - i), confirmedAt: null },
        ...{ failure: null, failedAt: null, retryAt: null },
      });
    await insertActivations(
      now,
      ['m', 'b', 'z', 'a', 'k'].map((name) => ({
        ...{ licenseId: 1, identifier: `${name}.example.com`, name: null, ip: null, activatedAt: NOW },
        ...{ keyId: null, free: true, site: 'example.com', heldUntil: null },
      })),
    );
  });
  for (const [version, days] of [
    ['1.10.0', 3],
    ['1.9.0', 20],
    ['2.0.0', null],
    ['1.9.1', 3],
    ['2.1.0', null],
  ] as const)
    await insertRelease(db, {
      ...{ productId: 42, version, state: days === null ? 'draft' : 'published', changelog: '' },
      versionOrder: version
        .split('.')
        .map((part) => part.padStart(4, '0'))
        .join('.'),
      publishedAt: days === null ? null : daysAgo(days),
      ...{ fileName: `${version}.zip`, fileSize: 1, sha256: 'a'.repeat(64), sha384: 'a'.repeat(96) },
      ...{ sha512: 'a'.repeat(128), createdAt: NOW },
    });
  const keys = await db(table(db, 'license_keys')).orderBy('license_id').select('id', 'license_id');
  const download = (i: number, more: Partial<Access>): Access => ({
    ...{ at: NOW, endpoint: 'download', outcome: 'ok', keyHint: null, productId: 42, version: null },
    ...{ licenseId: keys[i]!.license_id, keyId: keys[i]!.id, identifier: null, ip: null, userAgent: null },
    ...{ site: null, installedVersion: null, ...more },
  });
  const told = createSiteRecorder(db, 1);
  for (const [i, days] of [2, 5, 2, 9, 1].entries())
    await told([
      download(i, { at: daysAgo(days), site: `s${i}.example`, installedVersion: '1.8.0' }),
      ...Array.from({ length: 13 + (i % 2) }, (_, n) =>
        download(i, { at: daysAgo(days), ip: `198.51.${n}.1` }),
      ),
    ]);
}

describe.each(DATABASE_KINDS)('lists on %s', (kind) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await newPlace(kind), NOW);
    await fill(service);
  });
  afterAll(() => service.stop());

  test.each(Object.entries(LISTS))(
    '%s are the same rows in every order, however long a page is',
    async (_, one) => {
      const read = async (sort: string | undefined, limit: number) => {
        const found: unknown[] = [];
        for (let after: string | undefined; ;) {
          const { items, next } = await one.read(service, { limit, after }, sort);
          found.push(...items);
          if (next === null) return found;
          after = next;
        }
      };
      const usual = await read(undefined, 50);
      expect(usual.length).toBeGreaterThan(2);
      for (const sort of one.sorts) {
        const value = one.values[sort.replace('-', '')]!;
        const expected = [...usual].sort(
          (a, b) => (sort.startsWith('-') ? -1 : 1) * compare(value(a), value(b)),
        );
        for (const limit of [1, 2, 50])
          expect([sort, limit, (await read(sort, limit)).map(one.nameOf)]).toEqual([
            sort,
            limit,
            expected.map(one.nameOf),
          ]);
      }
      await expect(one.read(service, { limit: 1 }, 'nothing')).rejects.toMatchObject({ field: 'sort' });
    },
  );
});

describe('pages of lists', () => {
  let service: TestService;
  let seller: PagesClient;
  beforeAll(async () => {
    service = await startTestService({ LICENSING_SPREAD_FACTOR: '1' }, NOW);
    await fill(service);
    seller = await pagesClient(service);
  });
  afterAll(() => service.stop());

  test.each([
    ['/customers?q=a', 'customer', 'E-mails Z to A. 1 shown.'],
    ['/orders?shop=a', 'id', 'Newest first. 4 shown.'],
    ['/products', 'licenses', 'Most licences first. 4 shown.'],
    ['/releases?product_id=42', 'published_at', 'Latest release first. 5 shown.'],
    ['/products/42/sites', 'at', 'Latest report first. 5 shown.'],
    ['/licenses/1/sites?site=example', 'identifier', 'Names Z to A. 5 shown.'],
    ['/spreading', 'networks', 'Most networks first. 5 shown.'],
  ])('%s is sorted by a link that keeps the filter, and by a menu', async (path, column, caption) => {
    const [name, filter] = path.split('?');
    const down = `${path}${filter === undefined ? '?' : '&'}sort=-${column}`;
    const { html, status } = await seller.get(down);
    expect(status).toBe(200);
    expect(textOf(html)).toContain(caption);
    const titles = [...html.matchAll(/<th [^>]*aria-sort="(\w+)"[^>]*><a class="sort" href="([^"]*)"/g)];
    expect(titles.map(([, order]) => order)).toEqual(['descending']);
    const address = new URL((titles[0]?.[2] ?? '').replaceAll('&amp;', '&'), service.url);
    expect(address.pathname.endsWith(`/pages${name as string}`)).toBe(true);
    expect(String(address.searchParams)).toBe(
      String(new URLSearchParams(`${filter === undefined ? '' : `${filter}&`}sort=${column}`)),
    );
    const order = caption.replace(/\..*/, '');
    expect(html).toMatch(new RegExp(`<div class="chip chip-order">(?:(?!</div>).)*>${order}</a>`, 's'));
    // An unknown order is ignored.
    expect((await seller.get(down.replace(`-${column}`, 'nothing'))).status).toBe(200);
  });
});
