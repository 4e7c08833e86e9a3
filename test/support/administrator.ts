import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { giveToSeller } from './hosting';
import { createJoomlaSite } from './joomla-host';
import type { TestSite, TestUser } from './joomla-site';
import { sharedFolder } from './processes';

/** Opens the administrator of a site that Apache serves, with a signed-in user (test/joomla/host/administrator.php). */

/**
 * Opens the administrator. @param reach the site's public address, and the way to it for the site's own requests (curl)
 */
export async function openAdministrator(
  site: TestSite,
  user: TestUser,
  reach: { root: string; connect: string[]; ca: string },
): Promise<void> {
  const folder = sharedFolder();
  await createJoomlaSite('5.3', { ca: '', resolve: [] }, 'component', folder);
  mkdirSync(join(folder, 'media'));
  mkdirSync(join(site.root, 'administrator'));
  mkdirSync(join(site.root, 'media/vendor'), { recursive: true });
  const ca = join(folder, 'ca.pem');
  copyFileSync(reach.ca, ca);
  const given = { ...reach, ca, folder, secret: site.secret, user: [user.id, user.login] };
  writeFileSync(
    join(site.root, 'administrator/index.php'),
    `<?php
$site = json_decode(<<<'JSON'
${JSON.stringify(given)}
JSON, true);
require ${JSON.stringify(join(__dirname, '../joomla/host/administrator.php'))};
`,
  );
  const bootstrap = require.resolve('bootstrap/dist/css/bootstrap.min.css');
  copyFileSync(bootstrap, join(site.root, 'media/vendor/bootstrap.min.css'));
  giveToSeller(site.root);
  // Link the folder in which the installer puts the component's media.
  symlinkSync(join(folder, 'media/com_licensing'), join(site.root, 'media/com_licensing'));
  // Allow all users, because PHP runs as nobody.
  execFileSync('chmod', ['-R', 'a+rwX', folder]);
}
