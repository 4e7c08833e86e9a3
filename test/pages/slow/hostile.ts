import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { addOperator } from '../../../src/access/operators';
import { createCode, CUSTOMER_CODE_TTL_MS } from '../../../src/access/one-time-codes';
import { customerDigest } from '../../../src/store/customer-digest';
import { table, type TableName } from '../../../src/store/engine/database';
import { giveToken } from '../../support/manage';
import { giveSampleShop, SHOP, SHOP_NOW, shopSettings } from '../../support/sample-shop';
import { PREFIX, startTestService, type TestService } from '../../support/service';
import { expectClean, newPage, openBrowser } from '../support/browser';
import { everyPage, type EveryPage } from '../support/every-page';

/**
 * Hostile texts in every column that a customer or the seller can fill, written past all checks. A browser opens every page
 * that shows them, and no text becomes an element, a link or a script.
 */

/** Returns a hostile text. Its number shows which column a page has it from. */
const hostile = (n: number) =>
  `h${n}h"'><script src=//evil.test/x></script><img src=x onerror=alert(${n})><a href="javascript:alert(${n})">`;

/** The columns with texts from outside. Digests, codes that the service makes, and times are left out. */
const COLUMNS: [TableName, string[]][] = [
  ['products', ['name', 'element', 'renew_url', 'support_url']],
  ['plans', ['name']],
  ['licenses', ['customer', 'reference', 'issued_by', 'last_check_ip', 'metadata']],
  ['license_keys', ['label', 'key_hint']],
  ['activations', ['identifier', 'name', 'ip', 'site']],
  ['releases', ['changelog', 'file_name', 'version']],
  ['access_log', ['key_hint', 'version', 'identifier', 'ip', 'user_agent']],
  ['events', ['actor', 'before_json', 'after_json']],
  ['tokens', ['name', 'created_by']],
  ['operators', ['email', 'created_by']],
  ['outbox', ['recipient', 'last_error', 'details_json', 'answer']],
  ['webhooks', ['description']],
];

let browser: Browser;
let service: TestService;
let pages: EveryPage;
let token: string;
const columns: string[] = [];

beforeAll(async () => {
  const settings = { ...shopSettings(), LICENSING_SHOP_NAME: hostile(99) };
  service = await startTestService(settings, SHOP_NOW);
  await giveSampleShop(service, settings.LICENSING_XML_DIR);
  ({ token } = await giveToken(service.db, 'write', 'browser', { now: SHOP_NOW }));
  const operator = { email: 'ann@shop.example', scope: 'write' } as const;
  await addOperator(service.db, operator, { actor: 'operator:root', now: SHOP_NOW });
  pages = await everyPage(service);
  await spoil();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await service.stop();
});

/** Writes a hostile text into each column: the same text in all rows, unless they must differ. */
async function spoil(): Promise<void> {
  const { db } = service;
  for (const [name, wanted] of COLUMNS) {
    const there = Object.keys(await db(table(db, name)).columnInfo());
    for (const column of wanted.filter((one) => there.includes(one))) {
      const text = hostile(columns.push(`${name}.${column}`));
      if (`${name}.${column}` === 'licenses.customer') await spoilCustomers(text);
      else await db(table(db, name)).update({ [column]: valueOf(name, column, text) });
    }
  }
}

function valueOf(name: string, column: string, text: string): unknown {
  const { db } = service;
  // At most eight characters.
  if (column === 'key_hint') return text.slice(0, 8);
  // Addresses are checked when they are stored, so this one has to be valid.
  if (column.endsWith('_url')) return `https://shop.example/?${text}`;
  if (column === 'metadata') return JSON.stringify({ [text]: text });
  if (column.endsWith('_json'))
    return JSON.stringify({
      reason: text,
      customer: text,
      identifier: text,
      name: text,
      plan: text,
      label: text,
      key_hint: text,
      reference: text,
      metadata: { [text]: text },
    });
  // Some of these are unique together with another column, so each row gets its own text.
  if (
    [
      'activations.identifier',
      'releases.version',
      'plans.name',
      'tokens.name',
      'licenses.reference',
    ].includes(`${name}.${column}`)
  )
    return db.raw(`? || id`, [text]);
  return text;
}

/** Puts the text before each address, because the pages of Jane and the studio are opened by their addresses. */
async function spoilCustomers(text: string): Promise<void> {
  const { db } = service;
  for (const one of await db(table(db, 'licenses'))
    .distinct('customer')
    .whereNotNull('customer')
    .pluck<string[]>('customer')) {
    const customer = `${text.toLowerCase()}${one}`;
    await db(table(db, 'licenses'))
      .where({ customer: one })
      .update({ customer, customer_digest: customerDigest(customer) });
  }
}

/** The elements of a page that only a hostile text can have made. */
const FOREIGN = `[...document.querySelectorAll('img[src="x"], script:not([src^="/api/"]), [onerror], iframe:not(.mail-frame[sandbox=""]), base, a[href^="javascript:" i], form[action*="evil" i]')]
  .map((element) => element.outerHTML.slice(0, 200))`;

describe('no text becomes more than a text', () => {
  const seen = new Set<number>();

  async function visit(page: Page, paths: string[]): Promise<string[]> {
    const found: string[] = [];
    page.on('dialog', (dialog) => {
      found.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    for (const path of paths) {
      const response = await page.goto(`${service.url}${PREFIX}/pages${path}`);
      if (response!.status() >= 500) found.push(`${path}: ${response!.status()}`);
      for (const element of await page.evaluate<string[]>(FOREIGN)) found.push(`${path}: ${element}`);
      for (const [, n] of (await page.content()).matchAll(/h(\d+)h/gi)) seen.add(Number(n));
    }
    expectClean(page);
    return found;
  }

  it('for the operator', async () => {
    const page = await newPage(browser);
    await page.goto(`${service.url}${PREFIX}/pages/`);
    await page.locator('#f-token').fill(token);
    await page.locator('form:has(#f-token) button[type=submit]').click();
    const digest = customerDigest(
      (await service.db(table(service.db, 'licenses')).first<{ customer: string }>()).customer,
    );
    const paths = pages.operator.map((path) => path.replace(/(?<=^\/customers\/)[0-9a-f]{32}/, digest));
    expect(await visit(page, paths)).toEqual([]);
    for (const about of [hostile(98), '198.51.100.7', SHOP.jane.key, 'h']) {
      await page.locator('#find').fill(about);
      await page.getByRole('search').getByRole('button').first().click();
      await page.waitForLoadState();
      expect(await page.evaluate<string[]>(FOREIGN)).toEqual([]);
    }
    await page.goto(`${service.url}${PREFIX}/pages/licenses?q=${encodeURIComponent(hostile(97))}`);
    expect(await page.evaluate<string[]>(FOREIGN)).toEqual([]);
    expectClean(page);
  });

  it('for the customer', async () => {
    const byKey = await newPage(browser);
    await byKey.goto(`${service.url}${PREFIX}/pages/my#key=${SHOP.jane.key}`);
    await byKey.waitForURL(/\/my$/);
    expect(await visit(byKey, ['/my'])).toEqual([]);
    const licenses = service.db(table(service.db, 'licenses'));
    const { customer: email } = await licenses
      .where('customer', 'like', '%studio@example.net')
      .first<{ customer: string }>();
    const code = await createCode(service.db, { kind: 'customer', email }, CUSTOMER_CODE_TTL_MS, SHOP_NOW);
    const byMail = await newPage(browser);
    await byMail.goto(`${service.url}${PREFIX}/pages/my/enter/${code}`);
    await byMail.locator('main .btn-primary[type=submit]').click();
    expect(await visit(byMail, pages.byMail)).toEqual([]);
    await byMail.goto(`${service.url}${PREFIX}/pages/my#key=${encodeURIComponent(hostile(96))}`);
    await byMail.getByRole('alert').waitFor();
    expect(await byMail.evaluate<string[]>(FOREIGN)).toEqual([]);
  });

  it('and the texts were shown', () => {
    const missing = columns.filter((_, i) => !seen.has(i + 1));
    // Columns that no page shows, or only in the service's words, such as the agent as a version of Joomla.
    const HIDDEN = [
      ...['licenses.issued_by', 'licenses.last_check_ip', 'activations.site', 'releases.file_name'],
      ...['access_log.key_hint', 'access_log.user_agent', 'events.before_json', 'tokens.created_by'],
      ...['outbox.recipient', 'outbox.last_error'],
    ];
    expect(missing.filter((one) => !HIDDEN.includes(one))).toEqual([]);
  });
});
