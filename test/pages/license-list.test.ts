import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { listLicensePage } from '../../src/licensing/lists';
import { countAllLicenses } from '../../src/figures/statistics';
import { listSortedPositions, type LicenseSort } from '../../src/store/licenses/license-lists';
import { acquireOrRenewLease } from '../../src/store/leases';
import { listLatestEvents } from '../../src/store/events';
import {
  DATABASE_KINDS,
  giveLicense,
  givePlan,
  newPlace,
  startTestService,
  type TestService,
} from '../support/service';
import { formOf, pagesClient, textOf, type PagesClient } from './support/session';

/** The list of licences: sorting by column, totals, rows, and actions on several licences. */

const NOW = new Date('2026-11-23T09:00:00Z');
/** Customers out of order, some with several licences, and ends that repeat. */
const CUSTOMERS = ['dora', 'ann', null, 'bob', 'ann', 'émile', 'zoe', null, 'bob', 'carl'];
const ENDS = [3, 1, null, 2, 2, 9, null, 4, 1, -5];
const DAY_MS = 24 * 60 * 60 * 1000;
const endIn = (days: number | null) => (days === null ? null : new Date(NOW.getTime() + days * DAY_MS));

describe.each(DATABASE_KINDS)('the order of licences on %s', (kind) => {
  let service: TestService;
  const plans: number[] = [];
  beforeAll(async () => {
    service = await startTestService(await newPlace(kind), NOW);
    for (const productId of [42, 43]) plans.push(await givePlan(service.db, { productId }, NOW));
    for (const [i, name] of CUSTOMERS.entries())
      await giveLicense(
        service.db,
        plans[i % 2] as number,
        {
          customer: name === null ? undefined : `${name}@example.com`,
          expiresAt: endIn(ENDS[i] ?? null),
        },
        NOW,
      );
  });
  afterAll(() => service.stop());

  /** Reads a whole list, page by page. */
  async function all(query: object, limit: number) {
    const found = [];
    for (let after: string | undefined; ;) {
      const { items, next } = await listLicensePage(service.db, query, { limit, after }, NOW);
      found.push(...items);
      if (next === null) return found;
      after = next;
    }
  }

  test.each(['customer', '-customer', 'expires_at', '-expires_at', 'id', '-id'])('%s', async (sort) => {
    const isDown = sort.startsWith('-');
    const by = sort.replace('-', '');
    for (const query of [{}, { planId: plans[0] }, { status: 'active' }, { status: 'expired' }, { q: 'a' }])
      for (const limit of [1, 3, 50]) {
        const found = await all({ ...query, sort }, limit);
        const expected = (await all(query, 50)).sort((a, b) => {
          const [one, other] = [a, b].map((license) =>
            by === 'id'
              ? ''
              : by === 'customer'
                ? license.customer
                : (license.expiresAt?.toISOString() ?? null),
          ) as [string | null, string | null];
          const order =
            one === other
              ? a.id - b.id
              : one === null
                ? 1
                : other === null
                  ? -1
                  : Buffer.compare(Buffer.from(one), Buffer.from(other));
          return isDown ? -order : order;
        });
        expect([query, limit, found.map(({ id }) => id)]).toEqual([
          query,
          limit,
          expected.map(({ id }) => id),
        ]);
      }
  });

  test('does not depend on how many licences each part of the filter leaves', async () => {
    for (const column of ['customer', 'expires_at'] as const)
      for (const isDown of [false, true]) {
        const sort: LicenseSort = { column, isDown };
        const read = (few: number, sortable: number) =>
          listSortedPositions(
            service.db,
            { planIds: plans, status: 'active' },
            { sort, after: undefined, limit: 5 },
            NOW,
            { few, sortable, window: 2 },
          );
        const expected = await read(2_000, 200_000);
        expect(await read(0, 200_000)).toEqual(expected);
        expect(await read(0, 0)).toEqual(expected);
      }
  });
});

describe('the page of licences', () => {
  let service: TestService;
  let seller: PagesClient;
  let planId: number;
  beforeAll(async () => {
    service = await startTestService({ LICENSING_PUBLIC_URL: 'https://shop.example' }, NOW);
    planId = await givePlan(service.db, {}, NOW);
    seller = await pagesClient(service);
  });
  afterAll(() => service.stop());

  const give = (customer: string) => giveLicense(service.db, planId, { customer }, NOW);
  const suspensions = async (id: number) =>
    (await listLatestEvents(service.db, id, { limit: 50 })).filter(({ action }) => action === 'suspend');
  const boxes = (html: string) =>
    [...html.matchAll(/<input[^>]*type="checkbox"[^>]*name="license-(\d+)"/g)].map(([, id]) => Number(id));
  test('sorts by indexed columns, shows the total, and has one link per row', async () => {
    for (const name of ['b', 'a', 'c']) await give(`${name}@example.com`);
    const lease = { name: 'housekeeping', holder: 'test' };
    // By then, the lease of another instance has expired.
    const later = new Date(Date.now() + 24 * 60 * 60 * 1000);
    expect(await acquireOrRenewLease(service.db, lease, later)).toBe(true);
    expect(await countAllLicenses(service.db, lease, () => NOW)).toBe(true);
    const { html } = await seller.get('/licenses?sort=customer');
    expect([...html.matchAll(/>([abc])@example\.com</g)].map(([, name]) => name)).toEqual(['a', 'b', 'c']);
    expect(textOf(html)).toContain('Customers A to Z. 3 shown.');
    expect(html).toMatch(/<th [^>]*aria-sort="ascending"[^>]*><a class="sort" href="[^"]*sort=-customer"/);
    expect([...html.matchAll(/class="sort"/g)]).toHaveLength(2);
    for (const [row] of html.matchAll(/<tr role="row"><td.*?<\/tr>/gs))
      expect(row.match(/<a /g)).toHaveLength(1);
    const first = await seller.get('/licenses?q=a%40');
    expect(textOf(first.html)).toContain('Newest first. 1 shown.');
    expect((await seller.get('/licenses?sort=plan')).status).toBe(200);
  });

  test('suspends selected licences after showing the effect, and names those that changed meanwhile', async () => {
    const [one, two, three, four] = await Promise.all(
      ['d', 'e', 'f', 'g'].map((name) => give(`${name}@example.org`)),
    );
    await seller.post(`/licenses/${three!.id}/suspend`, { reason: 'earlier' });
    const { html } = await seller.get('/licenses?q=');
    expect(boxes(html)).toEqual(expect.arrayContaining([one!.id, two!.id, three!.id, four!.id]));

    const selected: Record<string, string> = {};
    for (const license of [one, two, three, four]) selected[`license-${license!.id}`] = '1';
    const asked = await seller.post('/licenses/bulk', { action: 'suspend', ...selected });
    expect(textOf(asked.html)).toContain('Suspend 3 licences?');
    expect(textOf(asked.html)).toContain('1 is suspended already and stays so.');
    expect(textOf(asked.html)).toContain('Customers get no mail about it.');
    expect(await suspensions(one!.id)).toEqual([]);

    // Meanwhile, another operator changes one of them.
    await seller.post(`/licenses/${two!.id}/slots`, { activation_limit: '7' });
    const sent = { ...formOf(asked.html, '/licenses/bulk/suspend'), reason: 'charge-back' };
    const done = await seller.post('/licenses/bulk/suspend', sent);
    expect(done.status).toBe(303);
    const told = await seller.get(done.location as string);
    expect(textOf(told.html)).toContain('2 licences were suspended');
    expect(told.html).toContain('e@example.org');
    expect(told.html).not.toContain('d@example.org');
    expect(await suspensions(one!.id)).toMatchObject([{ after: { reason: 'charge-back' } }]);
    expect(await suspensions(two!.id)).toEqual([]);
    expect(textOf((await seller.get(`/licenses/${one!.id}`)).html)).toContain('charge-back');

    // A second click changes nothing, and shows the same result.
    const again = await seller.post('/licenses/bulk/suspend', sent);
    expect([again.status, again.location]).toEqual([303, done.location]);
    expect(await suspensions(one!.id)).toHaveLength(1);
  });

  test('exports the selected licences, and all of a page', async () => {
    const { html } = await seller.get('/licenses');
    const page = /name="page" value="([^"]*)"/.exec(html)?.[1] as string;
    const [first] = page.split(' ');
    const csv = await seller.post('/licenses/bulk', { action: 'export', [`license-${String(first)}`]: '1' });
    expect(csv.html.trim().split('\n')).toHaveLength(2);
    const whole = await seller.post('/licenses/bulk', { action: 'export', all: '1', page });
    expect(whole.html.trim().split('\n')).toHaveLength(1 + page.split(' ').length);
    const none = await seller.post('/licenses/bulk', { action: 'suspend' });
    expect([none.status, none.location]).toEqual([303, '/licenses']);
  });

  test('leads back to the same page of the list, and works with the results of a search as you type', async () => {
    const { html } = await seller.get('/licenses?q=a%40&sort=-customer');
    expect(
      /<div id="results"[^>]*>.*<form id="bulk".*<\/form>/s.exec(html.split('id="keys"')[0] as string),
    ).not.toBeNull();
    const { list } = formOf(html, '/licenses/bulk');
    expect(list).toBe('q=a%40&sort=-customer');
    const back = '/licenses?q=a%40&sort=-customer';
    const none = await seller.post('/licenses/bulk', { action: 'suspend', list: list as string });
    expect(none.location).toBe(back);
    const [first] = boxes(html);
    const asked = await seller.post('/licenses/bulk', {
      ...{ action: 'mail', list: list as string },
      [`license-${String(first)}`]: '1',
    });
    expect(asked.html).toContain(`${back.replaceAll('&', '&amp;')}"`);
    const done = await seller.get(
      `/licenses/bulk?${String(new URLSearchParams({ did: 'mail', count: '1', list: list as string }))}`,
    );
    expect(done.html).toContain(`${back.replaceAll('&', '&amp;')}"`);
  });

  test('handles a whole list like a page, in several steps, and names licences that changed meanwhile', async () => {
    const many = await givePlan(service.db, { productId: 77 }, NOW);
    for (let i = 0; i < 260; i++)
      await giveLicense(service.db, many, { customer: `many-${i}@example.org` }, NOW);
    const [first] = (await listLicensePage(service.db, { planId: many, sort: 'id' }, { limit: 1 }, NOW))
      .items;
    const list = `plan_id=${many}&sort=customer`;
    const asked = await seller.post('/licenses/bulk', { action: 'suspend', found: '1', list });
    expect(textOf(asked.html)).toContain('Suspend 260 licences?');
    expect(textOf(asked.html)).toContain('What you selected. 50 of 260 shown.');
    await seller.post(`/licenses/${first!.id}/slots`, { activation_limit: '9' });

    const sent = { ...formOf(asked.html, '/licenses/bulk/suspend'), reason: 'closed down' };
    const step = await seller.post('/licenses/bulk/suspend', sent);
    expect([step.status, textOf(step.html)]).toEqual([200, expect.stringContaining('250 of 260 done')]);
    expect(step.html).toContain('data-auto-submit');
    const rest = formOf(step.html, '/licenses/bulk/suspend');
    // Reloading repeats no step, and the next form stays the same, so that a mail is sent only once.
    const reloaded = await seller.post('/licenses/bulk/suspend', sent);
    expect(textOf(reloaded.html)).toContain('250 of 260 done');
    expect(formOf(reloaded.html, '/licenses/bulk/suspend')).toEqual(rest);
    expect(rest.reason).toBe('closed down');
    const done = await seller.send('/licenses/bulk/suspend', rest);
    expect(textOf(done.html)).toContain('259 licences were suspended');
    expect(textOf(done.html)).toContain('many-0@example.org');
    const page = await listLicensePage(
      service.db,
      { planId: many, status: 'suspended' },
      { limit: 500 },
      NOW,
    );
    expect([page.items.length, page.next]).toEqual([259, null]);
    for (const one of page.items.slice(0, 20)) expect(await suspensions(one.id)).toHaveLength(1);
    expect(await suspensions(first!.id)).toEqual([]);

    const csv = await seller.post('/licenses/bulk', { action: 'export', found: '1', list });
    expect([csv.status, csv.location]).toEqual([303, `/licenses.csv?${list}`]);
    const nothing = await seller.post('/licenses/bulk', {
      ...{ action: 'suspend', found: '1', list: 'plan_id=999999' },
    });
    expect(nothing.location).toBe('/licenses?plan_id=999999');
  });

  test('offers no action to an operator who may only read', async () => {
    const reader = await pagesClient(service, { scope: 'read' });
    const { html } = await reader.get('/licenses');
    expect(boxes(html)).toEqual([]);
    expect((await reader.post('/licenses/bulk', { action: 'suspend', 'license-1': '1' })).status).toBe(403);
  });

  test('shows ended licences by their end, the last first, and in the file too', async () => {
    const ended = (days: number) =>
      giveLicense(service.db, planId, { customer: 'ended@example.com', expiresAt: endIn(-days) }, NOW);
    const [yesterday, before] = [(await ended(1)).id, (await ended(2)).id];
    const shown = async (query: string) => {
      const { html } = await seller.get(`/licenses${query}`);
      return [...html.matchAll(/\/licenses\/(\d+)"/g)].map(([, id]) => Number(id));
    };
    const first = [yesterday, before];
    expect([...new Set(await shown('?status=expired'))]).toEqual(first);
    expect([...new Set(await shown('?status=expired&sort=-id'))]).toEqual([before, yesterday]);
    const [, ...lines] = (await seller.get('/licenses.csv?status=expired')).html.trim().split('\r\n');
    expect(lines.map((line) => Number(/\d+/.exec(line)?.[0]))).toEqual(first);
  });
});
