import dns from 'node:dns';
import { createReadStream, mkdtempSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { seedDemo } from '../../seeds/demo';
import { giveYear } from '../../seeds/year/year';
import { createCode, CUSTOMER_CODE_TTL_MS } from '../../src/access/one-time-codes';
import { addToken } from '../../src/access/tokens';
import { regenerateUpdateXml } from '../../src/joomla/regenerate-update-xml';
import { openKey } from '../../src/licensing/issue';
import { table, type Db } from '../../src/store/engine/database';
import { findLicense, type License } from '../../src/store/licenses/licenses';
import { toSqlTime } from '../../src/store/engine/time';
import { PREFIX, startTestService, type TestService } from '../support/service';
import { openBrowser } from './support/chromium';
import { HERO, showHero } from './support/hero';
import { savePicture } from './support/pictures';

/** `npm run screenshots` takes the pictures of the pages in docs/pictures, light and dark, from the demo's shop. */

/** A Monday morning. */
const NOW = new Date('2026-11-23T09:02:00Z');
const SECRET = Buffer.alloc(32, 7);
const HOST = 'acme.example';
/** Long enough for a machine that is busy with other work. */
const TIMEOUT_MS = 180_000;
/** Pages that are taller are cut off at these heights. */
const TALLEST = { 1280: 1100, 360: 1300, [HERO.width]: HERO.height };

interface Wanted {
  name: string;
  width: 1280 | 360 | typeof HERO.width;
  /** The height at which the page is cut off. */
  height?: number;
  /** Signs in, and goes to the page. */
  open: (page: Page, shop: Shop) => Promise<unknown>;
}

interface Shop {
  service: TestService;
  pages: string;
  token: string;
  /** An expired licence, whose sites still ask for updates. */
  expired: License;
}

const asOperator =
  (path: string) =>
  async (page: Page, { pages, token }: Shop) => {
    await page.goto(`${pages}${path}`);
    await page.locator('#f-token').fill(token);
    await page.locator('form:has(#f-token) button[type=submit]').click();
    await page.locator('.account').waitFor();
  };

const PICTURES: Wanted[] = [
  // Wait for all figures, however slow this machine is.
  { name: 'overview', width: 1280, open: asOperator('/?wait=1') },
  {
    name: 'licence',
    width: 1280,
    open: (page, shop) => asOperator(`/licenses/${shop.expired.id}`)(page, shop),
  },
  {
    name: 'hero',
    width: HERO.width,
    async open(page, shop) {
      await asOperator(`/licenses/${shop.expired.id}`)(page, shop);
      await showHero(page);
    },
  },
  { name: 'licences', width: 1280, open: asOperator('/licenses') },
  { name: 'releases', width: 1280, open: asOperator('/releases?product_id=42') },
  { name: 'rollout', width: 1280, open: asOperator('/releases?product_id=43') },
  { name: 'sites', width: 1280, open: asOperator('/products/42/sites') },
  { name: 'spreading', width: 1280, height: 450, open: asOperator('/spreading') },
  // Below this height are the limits of the test and the folders of this machine.
  { name: 'settings', width: 1280, height: 432, open: asOperator('/settings') },
  {
    name: 'my-key',
    width: 1280,
    open: (page, { pages, expired }) => page.goto(`${pages}/my#key=${openKey(expired.id, expired, SECRET)}`),
  },
  {
    name: 'my-mail',
    width: 360,
    async open(page, { pages, service: { db } }) {
      const who = { kind: 'customer', email: 'web@studio-nord.example' } as const;
      const code = await createCode(db, who, CUSTOMER_CODE_TTL_MS, NOW);
      await page.goto(`${pages}/my/enter/${code}`);
      await page.locator('main .btn-primary[type=submit]').first().click();
    },
  },
];

async function main(): Promise<void> {
  const xmlDir = mkdtempSync(join(tmpdir(), 'licensing-updates-'));
  const site = await serveUpdateXmls(xmlDir);
  const settings = {
    LICENSING_KEY_SECRET: SECRET.toString('base64'),
    LICENSING_PUBLIC_URL: `http://${HOST}:${(site.address() as AddressInfo).port}`,
    LICENSING_SHOP_NAME: 'Acme Extensions',
    LICENSING_XML_DIR: xmlDir,
    LICENSING_MAIL_URL: `smtp://mail.${HOST}?from=shop@${HOST}`,
    LICENSING_MANAGE_RATE_LIMIT: '100000',
  };
  const service = await startTestService(settings, NOW);
  const browser = await openBrowser();
  try {
    const { db, packagesDir } = service;
    await seedDemo(db, { packagesDir, keySecret: SECRET }, NOW);
    await giveYear(db, { packagesDir, keySecret: SECRET }, NOW);
    for (const id of [42, 43, 45])
      await regenerateUpdateXml(db, { xmlDir, publicUrl: settings.LICENSING_PUBLIC_URL }, id);
    const newToken = { name: 'admin', scope: 'write', expiresAt: null } as const;
    const { token } = await addToken(db, newToken, { actor: 'operator:root', now: NOW });
    const shop = { service, token, pages: `${service.url}${PREFIX}/pages`, expired: await findExpired(db) };
    const wanted = PICTURES.filter(({ name }) => process.argv.length < 3 || process.argv.includes(name));
    for (const picture of wanted) for (const dark of [false, true]) await take(browser, shop, picture, dark);
  } finally {
    await browser.close();
    await service.stop();
    site.close();
  }
}

/** Serves the update XML like the shop's web server. Without it, a page says that sites are offered nothing. */
async function serveUpdateXmls(folder: string): Promise<Server> {
  const lookUp = dns.lookup;
  // The shop's name is reserved, so no server resolves it.
  Object.assign(dns, {
    lookup: (name: string, ...rest: unknown[]) =>
      (lookUp as (...all: unknown[]) => void)(name === HOST ? '127.0.0.1' : name, ...rest),
  });
  const server = createServer(({ url }, response) => {
    const file = createReadStream(join(folder, basename(url ?? '')));
    file
      .on('error', () => response.writeHead(404).end())
      .pipe(response.setHeader('Content-Type', 'text/xml'));
  });
  await new Promise<void>((resolve) => server.listen(8080, '127.0.0.1', resolve));
  return server;
}

/** Finds the expired licence whose update was refused last. */
async function findExpired(db: Db): Promise<License> {
  const found = await db(table(db, 'licenses'))
    .join(`${table(db, 'license_refusals')} as r`, 'r.license_id', `${table(db, 'licenses')}.id`)
    .where('expires_at', '<', toSqlTime(NOW))
    .where({ status: 'active' })
    .orderBy('r.at', 'desc')
    .first<{ id: number }>('id');
  return (await findLicense(db, found.id)) as License;
}

async function take(
  browser: Browser,
  shop: Shop,
  { name, width, height: most = TALLEST[width], open }: Wanted,
  dark: boolean,
): Promise<void> {
  const context = await browser.newContext({
    ...{ viewport: { width, height: 800 }, colorScheme: dark ? 'dark' : 'light', locale: 'en-GB' },
    // The pages' policy allows no style inside a page, which the hero picture has.
    bypassCSP: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  await open(page, shop);
  await page.waitForLoadState('networkidle');
  await savePicture(page, `${name}-${dark ? 'dark' : 'light'}`, most);
  await context.close();
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
