import type { Page } from 'playwright-core';
import type { Settings } from '../../../src/settings/config';
import { giveToken } from '../../support/manage';
import { sharedFolder } from '../../support/processes';
import { startNginx } from '../../support/nginx';
import { giveSampleShop, SHOP_NOW, shopSettings, type ShopOptions } from '../../support/sample-shop';
import { createMariaDbDatabase, PREFIX, startTestService, type TestService } from '../../support/service';

/** The pages as a seller reaches them: a service on MariaDB behind nginx, which terminates TLS. */

export interface PagesSite {
  service: TestService;
  /** The address of the pages, without a slash at the end. */
  pages: string;
  /** The shop's address. */
  shop: string;
  xmlDir: string;
  /** A token with the scope `write`. */
  token: string;
  stop(): Promise<void>;
}

/** @param sample `undefined` for an empty shop */
export async function startPagesSite(
  sample: ShopOptions | undefined,
  settings: Settings = {},
): Promise<PagesSite> {
  // nginx reads its files as another user.
  const own = { ...shopSettings(), LICENSING_XML_DIR: sharedFolder() };
  const service = await startTestService(
    { ...own, LICENSING_DATABASE_URL: await createMariaDbDatabase(), ...settings },
    SHOP_NOW,
  );
  const xmlDir = own.LICENSING_XML_DIR;
  const nginx = await startNginx({
    upstream: service.url.replace('http://', ''),
    packagesDir: service.packagesDir,
    xmlDir,
    example: true,
  });
  const shop = nginx.url.replace('127.0.0.1', 'shop.example');
  if (sample) await giveSampleShop(service, xmlDir, sample);
  const { token } = await giveToken(service.db, 'write', 'browser', { now: SHOP_NOW });
  return {
    ...{ service, shop, xmlDir, token, pages: `${shop}${PREFIX}/pages` },
    async stop() {
      await nginx.stop();
      await service.stop();
    },
  };
}

/** Signs in like a person: types the token, and presses the button. */
export async function signIn(page: Page, { pages, token }: PagesSite, path = '/'): Promise<void> {
  await page.goto(`${pages}${path}`);
  await page.locator('#f-token').fill(token);
  await page.locator('form:has(#f-token) button[type=submit]').click();
  await page.locator('.account').waitFor();
}
