import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { start } from '../../src/texts/operators/en/start';
import { seedDemo } from '../../seeds/demo';
import { giveYear } from '../../seeds/year/year';
import { table } from '../../src/store/engine/database';
import { temporaryFolder } from '../support/processes';
import { startTestService, type TestService } from '../support/service';
import { pagesClient, textOf, type PagesClient } from './support/session';

/** The overview of the demo's shop answers a seller's questions on a Monday, with at most two more links. */

const NOW = new Date('2026-11-23T09:02:00Z');
const SECRET = Buffer.alloc(32, 7);

let service: TestService;
let seller: PagesClient;
let overview: string;
beforeAll(async () => {
  service = await startTestService(
    {
      LICENSING_KEY_SECRET: SECRET.toString('base64'),
      LICENSING_PUBLIC_URL: 'https://shop.example',
      LICENSING_XML_DIR: temporaryFolder(),
    },
    NOW,
  );
  const { db, packagesDir } = service;
  await seedDemo(db, { packagesDir, keySecret: SECRET }, NOW);
  await giveYear(db, { packagesDir, keySecret: SECRET }, NOW);
  seller = await pagesClient(service);
  overview = (await seller.get('/?wait=1')).html;
});
afterAll(() => service.stop());

/** Follows the link with this text, or of the task that says it. */
async function follow(html: string, text: string): Promise<string> {
  const links = [...html.matchAll(/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/gs)];
  const found = links.find(
    ([, , inside = '']) =>
      inside.replace(/<[^>]*>/g, '').trim() === text || inside.includes(`<span class="by">${text}</span>`),
  );
  const path = found?.[1]?.replaceAll('&amp;', '&').replace(/^.*?\/pages/, '');
  if (path === undefined) throw new Error(`No link says "${text}".`);
  const answer = await seller.get(path);
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.html;
}

/** Returns the text of each row of a page's list. */
function rowsOf(html: string): string[] {
  const [, body = ''] = /<tbody[^>]*>(.*?)<\/tbody>/s.exec(html.slice(html.indexOf('<caption'))) ?? [];
  return [...body.matchAll(/<tr.*?<\/tr>/gs)].map(([row]) => textOf(`<main>${row}</main>`));
}

const { go } = start.gaps;
const FILLING: Record<string, string> = {
  [go.address]: 'name="public_url"',
  [go.mail]: 'name="mail_',
  [go.shop]: '/shops/new',
  [go.renewal_page]: 'name="renew_url"',
  [go.reminders]: 'name="reminders"',
};

test('what must I do today?', async () => {
  const [, list = ''] = /<ul class="todo">(.*?)<\/ul>/s.exec(overview) ?? [];
  const needs = [...list.matchAll(/<li>(.*?)<\/li>/gs)].map(([need]) => need);
  expect(needs.length).toBeGreaterThan(3);
  for (const need of needs) {
    const links = [...need.matchAll(/<a [^>]*>.*?<span class="by">(.*?)<\/span>/gs)];
    expect(links).toHaveLength(1);
    const [, text = ''] = links[0] as RegExpMatchArray;
    const page = await follow(need, text);
    // A task leads to the list that it is about, and a gap in the set-up to the field or button that fills it.
    const filling = FILLING[text];
    if (filling === undefined) expect(rowsOf(page)).not.toEqual([]);
    else expect(page).toContain(filling);
  }
});

test('who did not renew last month?', async () => {
  const lapsed = rowsOf(await follow(overview, 'Not renewed last month'));
  expect(lapsed).not.toEqual([]);
  for (const row of lapsed) expect(row).toContain('Oct 2026');
});

test('who still runs an old version?', async () => {
  const sites = await follow(overview, 'Example Shop');
  const old = rowsOf(await follow(sites, '1.0.4'));
  const told = await service
    .db(table(service.db, 'told_sites'))
    .where({ product_id: 42, version: '1.0.4' })
    .pluck<string[]>('site');
  expect(told.length).toBeGreaterThan(0);
  expect(old).toHaveLength(Math.min(50, told.length));
  for (const row of old) expect(told.some((site) => row.includes(site))).toBe(true);
});

test('which mails failed?', async () => {
  const failed = await service
    .db(table(service.db, 'outbox'))
    .where({ kind: 'mail' })
    .whereNotNull('failed_at');
  const mails = rowsOf(await follow(overview, 'See the mails'));
  expect(failed.length).toBeGreaterThan(0);
  expect(mails.filter((row) => row.includes('not delivered'))).toHaveLength(failed.length);
});

test('is this key shared?', async () => {
  const [{ license_id: id } = {}] = await service.db(table(service.db, 'spreading_keys'));
  const keys = await follow(overview, 'See the keys');
  expect(keys).toContain(`/licenses/${id}"`);
  expect(rowsOf(keys).length).toBeGreaterThan(0);
  expect(textOf((await seller.get(`/licenses/${id}`)).html)).toContain('Is the licence used?');
});

test.each([
  ...[
    '/licenses',
    '/not-renewed',
    '/customers',
    '/requests',
    '/orders',
    '/shops',
    '/unmatched',
    '/spreading',
  ],
  ...['/releases', '/products', '/products/42/sites', '/tokens', '/operators', '/mails', '/webhooks'],
])('the list %s is also a file, with all of its rows', async (path) => {
  // In the usual order, the newest versions are cards and not rows.
  const list = (await seller.get(path === '/releases' ? `${path}?sort=-published_at` : path)).html;
  const shown = rowsOf(list);
  expect(shown).not.toEqual([]);
  expect(list).toContain(`/pages${path}.csv`);

  const { status, html: file } = await seller.get(`${path}.csv`);
  const [head, ...lines] = file.trim().split('\r\n');
  expect(status).toBe(200);
  const headings = head!.split(',');
  // A field without a heading would have its own name, in small letters.
  for (const heading of headings) expect(heading).toMatch(/^"[A-Z][^"_]+"$/);
  expect(new Set(headings).size).toBe(headings.length);
  const isWhole = !list.includes('class="paging"') && path !== '/mails';
  if (isWhole) expect(lines).toHaveLength(shown.length);
  else expect(lines.length).toBeGreaterThan(shown.length);
});
