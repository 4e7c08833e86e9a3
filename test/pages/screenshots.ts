import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { createCode, CUSTOMER_CODE_LIFETIME_MS } from '../../src/access/one-time-codes';
import { addToken } from '../../src/access/tokens';
import { packageRoot } from '../../src/config';
import { giveSampleShop, SHOP, SHOP_NOW, shopSettings } from '../support/sample-shop';
import { PREFIX, rows, startTestService, type TestService } from '../support/service';
import { openBrowser } from './support/chromium';
import { smallPng } from './support/pictures';

/** `npm run screenshots`: the pictures of the pages in docs/pictures, light and dark, of the sample shop. */

const FOLDER = join(packageRoot, 'docs/pictures');
/** So that a picture in a README stays small. */
const MOST_BYTES = 120_000;
/** Taller pages are cut off here. */
const TALLEST = { 1280: 1100, 360: 1300 };

interface Wanted {
  name: string;
  width: 1280 | 360;
  /** Goes to the page, signed in. */
  open: (page: Page, shop: Shop) => Promise<unknown>;
}

interface Shop {
  service: TestService;
  pages: string;
  token: string;
}

const asOperator =
  (path: string) =>
  async (page: Page, { pages, token }: Shop) => {
    await page.goto(`${pages}${path}`);
    await page.locator('#f-token').fill(token);
    await page.locator('main button[type=submit]').first().click();
    await page.locator('form.who').waitFor();
  };

const PICTURES: Wanted[] = [
  { name: 'overview', width: 1280, open: asOperator('/') },
  {
    name: 'licence',
    width: 1280,
    async open(page, shop) {
      const id = await licenseOf(shop, SHOP.jane.order);
      await asOperator(`/licenses/${id}`)(page, shop);
    },
  },
  { name: 'licences', width: 1280, open: asOperator('/licenses') },
  { name: 'releases', width: 1280, open: asOperator(`/releases?product_id=${SHOP.gallery}`) },
  { name: 'my-key', width: 1280, open: (page, { pages }) => page.goto(`${pages}/my#key=${SHOP.jane.key}`) },
  {
    name: 'my-mail',
    width: 360,
    async open(page, { pages, service: { db } }) {
      const who = { kind: 'customer', email: SHOP.studio.email } as const;
      const code = await createCode(db, who, CUSTOMER_CODE_LIFETIME_MS, SHOP_NOW);
      await page.goto(`${pages}/my/enter/${code}`);
      await page.locator('main button[type=submit]').first().click();
    },
  },
];

async function main(): Promise<void> {
  // Its path stands on a page.
  const settings = { ...shopSettings(), LICENSING_XML_DIR: join(tmpdir(), 'licensing-updates') };
  mkdirSync(settings.LICENSING_XML_DIR, { recursive: true });
  const service = await startTestService(settings, SHOP_NOW);
  const browser = await openBrowser();
  try {
    await giveSampleShop(service, settings.LICENSING_XML_DIR, { licences: 230, downloads: 300 });
    const newToken = { name: 'admin', scope: 'write', expiresAt: null } as const;
    const { token } = await addToken(service.db, newToken, { actor: 'operator:root', now: SHOP_NOW });
    const shop = { service, token, pages: `${service.url}${PREFIX}/pages` };
    mkdirSync(FOLDER, { recursive: true });
    const wanted = PICTURES.filter(({ name }) => process.argv.length < 3 || process.argv.includes(name));
    for (const picture of wanted) for (const dark of [false, true]) await take(browser, shop, picture, dark);
  } finally {
    await browser.close();
    await service.stop();
  }
}

async function take(
  browser: Browser,
  shop: Shop,
  { name, width, open }: Wanted,
  dark: boolean,
): Promise<void> {
  const context = await browser.newContext({
    ...{ viewport: { width, height: 800 }, colorScheme: dark ? 'dark' : 'light', locale: 'en-GB' },
  });
  const page = await context.newPage();
  await open(page, shop);
  await page.waitForLoadState('networkidle');
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  await page.setViewportSize({ width, height: Math.min(height, TALLEST[width]) });
  const file = `${name}-${dark ? 'dark' : 'light'}.png`;
  const png = smallPng(await page.screenshot({ animations: 'disabled', caret: 'hide' }));
  if (png.length > MOST_BYTES) throw new Error(`${file} has ${png.length} bytes.`);
  writeFileSync(join(FOLDER, file), png);
  process.stdout.write(`${file} ${png.length}\n`);
  await context.close();
}

async function licenseOf({ service: { db } }: Shop, order: string): Promise<number> {
  const licenses = await rows<{ id: number; reference: string }>(db, 'licenses');
  return licenses.find(({ reference }) => reference === order)!.id;
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
