import type { IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Settings } from '../../src/settings/config';
import { challengerOf } from '../../src/base/challenge';
import { createAskForXml } from '../../src/doctor/xml-reach';
import { doctor as german } from '../../src/texts/operators/de/doctor';
import { isJoomla, startCdn } from '../support/challenge';
import { startNginx } from '../support/nginx';
import { operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { sharedFolder } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';
import type { TestWebServer } from '../support/web-server-process';

/** A CDN that answers programs instead of the site: which programs are stopped, and which paths to exempt. */

interface Finding {
  code: string;
  level: string;
  checked: boolean;
  what: string;
  why: string | null;
  remedy: string | null;
}

const XML = '/licensing-updates/pkg_acme.xml';
const everyone = () => true;

let settings: Settings;
let service: TestService;
let nginx: TestWebServer;
let key: string;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  settings = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_PACKAGES_DIR: sharedFolder(),
    LICENSING_XML_DIR: sharedFolder(),
    LICENSING_ACCEL_LOCATION: '/_licensing_packages/',
    LICENSING_TRUSTED_PROXIES: '127.0.0.1',
  };
  service = await startTestService(settings);
  ({ key } = await giveLicense(service.db, await givePlan(service.db)));
  await giveRelease(service, { version: '2.1.0' });
  nginx = await startNginx({
    upstream: service.url.replace('http://', ''),
    packagesDir: service.packagesDir,
    xmlDir: settings.LICENSING_XML_DIR!,
  });
});
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(async () => {
  await nginx.stop();
  await service.stop();
});

/** Starts a CDN before the site, and writes the update XML for its address. */
async function behindCdn(isChallenged: (request: IncomingMessage) => boolean) {
  const cdn = await startCdn(nginx.url, isChallenged);
  cleanups.push(() => cdn.stop());
  const command = operator({ ...settings, LICENSING_PUBLIC_URL: cdn.url });
  const written = await command.run(['update-xml', 'write', '--product', '42', '--element', 'pkg_acme']);
  expect(written).toMatchObject({ code: 0 });
  return { url: cdn.url, run: command.run };
}

async function examine(
  isChallenged: (request: IncomingMessage) => boolean,
  more: string[] = [],
): Promise<{
  url: string;
  code: number | null;
  find: (code: string) => Finding | undefined;
  output: string;
}> {
  const { url, run } = await behindCdn(isChallenged);
  const { code, stdout } = await run(['doctor', '--json', '--url', url, ...more]);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { url, code, output: stdout, find: (name) => findings.find((one) => one.code === name) };
}

const PATHS = `${PREFIX}/, /licensing-updates/. The first one includes the packages (downloads/) and the messages of payment services (hooks/)`;

test('no program is challenged: no CDN is reported', async () => {
  const { code, output, find } = await examine(() => false);
  expect(output).not.toMatch(/Cloudflare/);
  expect(find('UPDATE_XML_SERVED')?.level).toBe('ok');
  expect(find('DOWNLOAD')?.level).toBe('ok');
  expect(code).toBe(0);
});

test('every program is challenged: the doctor reports this and no other cause', async () => {
  const { url, code, find, output } = await examine(everyone);
  expect(code).toBe(1);
  expect(find('CHALLENGED')).toMatchObject({
    level: 'problem',
    what: expect.stringMatching(
      new RegExp(`Cloudflare answers 403 for ${url}${PREFIX}/doctor-\\w+,.*All programs are stopped`),
    ),
    why: expect.stringContaining('payment services'),
    remedy: expect.stringContaining(PATHS),
  });
  expect(find('UPDATE_XML_SERVED')).toMatchObject({
    level: 'problem',
    what: expect.stringContaining(`Cloudflare answers 403 for ${url}${XML},`),
    remedy: expect.stringContaining(PATHS),
  });
  expect(find('PAGES')).toMatchObject({ checked: false, what: expect.stringContaining('CDN or firewall') });
  expect(output).not.toMatch(/PREFIX_NOT_REACHED|OTHER_SERVICE|another database|licensing nginx/);
});

test("only Joomla's updater is challenged: the rest of the site is also checked", async () => {
  const { url, code, find } = await examine(isJoomla);
  expect(code).toBe(1);
  expect(find('CHALLENGED')).toMatchObject({
    level: 'problem',
    what: expect.stringContaining("Only Joomla's updater is stopped"),
    remedy: expect.stringContaining(PATHS),
  });
  expect(find('SITE')?.level).toBe('ok');
  expect(find('UPDATES')?.level).toBe('ok');
  expect(find('UPDATE_XML_SERVED')?.what).toContain(`Cloudflare answers 403 for ${url}${XML},`);
  expect(find('DOWNLOAD')?.what).toContain(`Cloudflare answers 403 for ${url}${PREFIX}/downloads/42`);
});

test("every program but Joomla's updater is challenged: payment services are named", async () => {
  const { find, output } = await examine((request) => !isJoomla(request));
  expect(find('CHALLENGED')).toMatchObject({
    what: expect.stringContaining("Other programs are stopped, but not Joomla's updater."),
    remedy: expect.stringContaining('payment services'),
  });
  expect(find('UPDATE_XML_SERVED')?.level).toBe('ok');
  expect(output).not.toContain('OTHER_SERVICE');
});

test('only downloads are challenged: another database is not reported', async () => {
  const { find, output } = await examine(({ url }) => url?.includes('/downloads/') === true);
  expect(find('CHALLENGED')).toBeUndefined();
  for (const code of ['FORWARDED_ADDRESS', 'DOWNLOAD'])
    expect(find(code)).toMatchObject({ level: 'problem', what: expect.stringContaining('Cloudflare') });
  expect(output).not.toContain('OTHER_SERVICE');
  expect(await rows(service.db, 'licenses')).toHaveLength(1);
});

test('an address of the former system is challenged: the web server is not blamed', async () => {
  settings.LICENSING_FORMERLY = 'path=/old/updates.xml:42';
  try {
    const { find } = await examine(({ url }) => url === '/old/updates.xml');
    expect(find('FORMERLY')).toMatchObject({
      level: 'problem',
      remedy: expect.stringMatching(/\/licensing-updates\/, \/old\/updates\.xml\./),
    });
    expect(find('FORMERLY_UNANSWERED')).toBeUndefined();
  } finally {
    delete settings.LICENSING_FORMERLY;
  }
});

test('lint and try name the challenge and the paths, and nothing about files', async () => {
  const { url, run } = await behindCdn(isJoomla);
  const lint = await run(['update-xml', 'lint', url + XML]);
  expect(lint.code).toBe(1);
  expect(lint.stdout).toContain('Cloudflare answers instead of the site');
  expect(lint.stdout).toContain(PATHS);
  expect(lint.stdout).not.toMatch(/login|chmod/);
  const tried = await run(['update-xml', 'try', url + XML, '--key', '-', '--installed', '1.0.0'], {
    stdin: key,
  });
  expect(tried.code).toBe(1);
  expect(tried.stdout).toContain(PATHS);
  expect(tried.stdout).not.toMatch(/login|chmod/);
});

test('lint and try name the challenge of a download and of a changelog', async () => {
  const { url, run } = await behindCdn(({ url: path }) => /downloads|changelog/.test(path ?? ''));
  const lint = await run(['update-xml', 'lint', url + XML, '--key', '-'], { stdin: key });
  expect(lint.stdout).toMatch(/The package was not sent: 403.* Cloudflare answers instead of the site/);
  expect(lint.stdout).toMatch(/The server answers 403 for the changelog \S+ Cloudflare answers instead/);
  expect(lint.stdout).not.toContain('let everyone read');
  const tried = await run(['update-xml', 'try', url + XML, '--key', '-', '--installed', '1.0.0'], {
    stdin: key,
  });
  expect(tried.stdout).toContain('Cloudflare answers instead of the site');
  expect(tried.stdout).not.toContain(key);
});

test("the page of releases names the CDN that stops Joomla's updater", async () => {
  const { url } = await behindCdn(isJoomla);
  const reach = await createAskForXml(() => new Date())(url + XML);
  expect(reach).toMatchObject({ state: 'silent', challenge: { by: 'Cloudflare', status: 403 } });
});

test('a rollout to a share of the addresses is refused if a CDN answers', async () => {
  const { run } = await behindCdn(everyone);
  const { code, stderr } = await run(['release', 'rollout', '--product', '42', '--version', '2.1.0', '50']);
  expect(code).toBe(1);
  expect(stderr).toContain('Cloudflare answers instead of the site');
  expect(stderr).not.toContain('licensing nginx');
});

test('both languages name who is affected and the paths', () => {
  const challenge = { by: 'AWS WAF', url: 'https://shop.example/x', status: 202, paths: ['/a/', '/b/'] };
  const all = (['all', 'joomla', 'others', undefined] as const).map((who) =>
    german.challenged({ ...challenge, ...(who && { who }) }),
  );
  expect(new Set(all.map(({ what }) => what)).size).toBe(4);
  for (const { what, remedy } of all) {
    expect(what).toContain('antwortet AWS WAF mit 202');
    expect(remedy).toContain('/a/, /b/');
  }
});

test.each([
  [{ 'cf-mitigated': 'challenge' }, 'Cloudflare'],
  [{ 'x-amzn-waf-action': 'challenge' }, 'AWS WAF'],
  [{ 'x-amzn-waf-action': 'captcha' }, 'AWS WAF'],
  [{ 'x-sucuri-block': 'FBP007' }, 'Sucuri'],
  [{ server: 'cloudflare', 'cf-ray': '8a', 'x-sucuri-id': '19002' }, undefined],
])('recognises a CDN by its headers: %j', (headers: Record<string, string>, name) => {
  expect(challengerOf((header) => headers[header])).toBe(name);
});
