import { expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normalizeIdentifier } from '../../src/licensing/core/identifiers';
import { isLocalSite, isStagingName, registrableDomain } from '../../src/licensing/core/staging-sites';

/** The pages with examples: the documentation, and more of them next to this file. */
const pages = ['../../docs/staging-sites.md', 'staging-sites.md'].map((name) =>
  readFileSync(join(__dirname, name), 'utf8'),
);
const ROW = /^\| `([^`]+)` +\| (?:`([^`]+)`|none) +\| (free, local|free, staging|takes one) +\| .*\|$/gm;
const vectors = pages
  .flatMap((page) => [...page.matchAll(ROW)])
  .map(([, site = '', carrier, slot = '']) => [site, carrier, slot] as const);

/** Decides which slot a site takes, by the three functions that the ledger uses. */
function slotOf(site: string, carrier: string | undefined): string {
  if (isLocalSite(site)) return 'free, local';
  const domain = registrableDomain(site);
  const isCarried =
    domain !== undefined &&
    carrier !== undefined &&
    domain === registrableDomain(carrier) &&
    carrier !== site;
  return isCarried && isStagingName(site, domain) ? 'free, staging' : 'takes one';
}

test('every line of the tables is an example, and there are at least 150', () => {
  const rows = pages.flatMap((page) => page.slice(page.indexOf('## Examples')).match(/^\|.*\|$/gm) ?? []);
  expect(vectors).toHaveLength(rows.length - 2 * pages.length);
  expect(vectors.length).toBeGreaterThanOrEqual(150);
});

test.each(vectors)('%s, with %s having a slot: %s', (site, carrier, slot) => {
  // The tables write IPv4-mapped addresses in decimal. Their normalised form is hexadecimal.
  const normalized = normalizeIdentifier('domain', site);
  expect(normalized).toBeDefined();
  expect(slotOf(normalized as string, carrier)).toBe(slot);
  if (!site.startsWith('::ffff:')) expect(normalized).toBe(site);
});
