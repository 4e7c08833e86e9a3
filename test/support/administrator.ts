import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { giveToSeller } from './hosting';
import { createJoomlaSite } from './joomla-host';
import type { TestSite, TestUser } from './joomla-site';
import { sharedFolder } from './processes';

/** The administrator of a site that Apache serves, with a user who is signed in to it (test/joomla/host/administrator.php). */

/**
 * @param reach the site as visitors see it, and the way there for the site's own requests, as curl has them
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
  // Where the installer puts what the component shows.
  symlinkSync(join(folder, 'media/com_licensing'), join(site.root, 'media/com_licensing'));
  // PHP runs as nobody.
  execFileSync('chmod', ['-R', 'a+rwX', folder]);
}
