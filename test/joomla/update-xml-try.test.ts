import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { SiteSystem } from '../../src/joomla/updater/offer';
import { tryUpdate, type SimulationLimits, type UpdateVerdict } from '../../src/joomla/updater/try';
import { createAuthority } from '../support/certificates';
import { operator } from '../support/operator';
import { makePackage } from '../support/packages';
import { eventually, startProcess, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { processEnvironment } from '../support/service-process';
import { startStaticSite, startTlsFront, type StaticSite } from '../support/static-site';
import type { ServerResponse } from 'node:http';

/** Tests what a site is offered and gets in cases without a recording. The expected results follow Joomla's sources. */

const KEY = 'A1B2C3D4-E5F6A7B8-C9D0E1F2-A3B4C5D6';
const manifest = (more: string, version = '2.0.0', type = 'package') =>
  `<extension type="${type}"><packagename>example</packagename><version>${version}</version>${more}</extension>`;

let site: StaticSite;
let answers: Record<string, string | Buffer | ((response: ServerResponse) => void)>;
let zip: Buffer;

beforeAll(async () => {
  site = await startStaticSite((request, response) => {
    const answer = answers[(request.url ?? '').split('?')[0] ?? ''];
    if (typeof answer === 'function') answer(response);
    else if (answer === undefined) response.writeHead(404).end('Not found');
    else response.setHeader('Content-Disposition', 'attachment; filename="x.zip"').end(answer);
  });
});
afterAll(() => site.stop());
beforeEach(async () => {
  site.requests.length = 0;
  zip = await packageOf({
    'pkg_example.xml': manifest(
      `<updateservers><server type="extension">${site.url}/update.xml</server></updateservers><dlid prefix="dlid=" suffix=""/>`,
    ),
  });
  answers = { '/update.xml': xml(update()), '/42': zip };
});

const packageOf = async (entries: Record<string, string>) => (await makePackage(entries)).bytes;
const xml = (...updates: string[]) =>
  `<?xml version="1.0" encoding="UTF-8"?><updates>${updates.join('')}</updates>`;

function update({
  version = '2.0.0',
  more = '',
  platform = '5\\.[0-9]+',
  type = 'package',
  client = 'site',
  origin = site.url,
} = {}): string {
  return `<update><name>Example</name><element>pkg_example</element><type>${type}</type><version>${version}</version>
    <client>${client}</client><downloads><downloadurl>${origin}/42</downloadurl></downloads>
    <sha256>${createHash('sha256').update(zip).digest('hex')}</sha256>${more}
    <targetplatform name="joomla" version="${platform}"/></update>`;
}

interface Having extends Partial<Omit<SiteSystem, 'installed'>> {
  installed?: Partial<SiteSystem['installed']>;
}

function attempt(
  { installed, ...having }: Having = {},
  path = '/update.xml',
  limits?: Partial<SimulationLimits>,
): Promise<UpdateVerdict> {
  return tryUpdate(
    site.url + path,
    KEY,
    {
      joomla: '5.3.0',
      php: '8.2.0',
      database: undefined,
      minimumStability: 'stable',
      ...having,
      installed: {
        version: '1.0.0',
        element: undefined,
        type: undefined,
        client: undefined,
        folder: undefined,
        ...installed,
      },
    },
    limits,
  );
}

describe('of the updates in the XML, Joomla takes the highest that the site may have', () => {
  const php = (minimum: string) => `<php_minimum>${minimum}</php_minimum>`;
  const tag = (name: string) => `<tags><tag>${name}</tag></tags>`;
  const databases = (attributes: string) => `<supported_databases ${attributes}/>`;
  it.each<[string, () => string[], Having, string | undefined]>([
    [
      "the highest, in PHP's order",
      () => [update({ version: '1.9' }), update({ version: '1.10' }), update({ version: '1.10-rc1' })],
      {},
      '1.10',
    ],
    ['none that is installed already', () => [update({ version: '1.0.0' })], {}, undefined],
    ['none that is older', () => [update({ version: '1.0.0-rc1' })], {}, undefined],
    [
      'one for its Joomla',
      () => [update({ version: '3.0', platform: '6\\.' }), update({ version: '2.0' })],
      {},
      '2.0',
    ],
    [
      'one whose pattern ends within a number',
      () => [update({ platform: '5.1' })],
      { joomla: '5.10.2' },
      '2.0.0',
    ],
    ['none whose pattern is not at the beginning', () => [update({ platform: '3\\.0' })], {}, undefined],
    ['none whose pattern is no expression', () => [update({ platform: '(5' })], {}, undefined],
    [
      'one for its PHP',
      () => [update({ version: '3.0', more: php('8.3') }), update({ version: '2.0', more: php('8.2') })],
      {},
      '2.0',
    ],
    ['one whose later PHP has a blank before it', () => [update({ more: php(' 9.0') })], {}, '2.0.0'],
    ['one whose tag has line breaks', () => [update({ more: tag('\nbeta\n') })], {}, '2.0.0'],
    ['none for a later PHP', () => [update({ more: php('8.2.1') })], {}, undefined],
    [
      'one for its database',
      () => [update({ more: databases('mysql="8.0.13"') })],
      { database: { type: 'mysql', version: '8.0.36' } },
      '2.0.0',
    ],
    [
      'none for a later database',
      () => [update({ more: databases('MYSQL="8.0.13"') })],
      { database: { type: 'mysql', version: '8.0.2' } },
      undefined,
    ],
    [
      'none for another database',
      () => [update({ more: databases('mysql="8.0.13"') })],
      { database: { type: 'mariadb', version: '10.11' } },
      undefined,
    ],
    ['no beta', () => [update({ version: '3.0-beta1', more: tag('beta') }), update()], {}, '2.0.0'],
    [
      'a beta that is asked for',
      () => [update({ version: '3.0-beta1', more: tag('BETA') }), update()],
      { minimumStability: 'alpha' },
      '3.0-beta1',
    ],
    [
      'a beta whose tag has blanks, which is none',
      () => [update({ version: '3.0-beta1', more: tag(' beta ') })],
      {},
      '3.0-beta1',
    ],
    ['a beta without a tag', () => [update({ version: '3.0-beta1' })], {}, '3.0-beta1'],
    ['one for the client the type has', () => [update({ client: '0' })], {}, '2.0.0'],
    ['none for another client', () => [update({ client: '1' })], {}, undefined],
    [
      'none for an empty client, which counts as administrator',
      () => [update({ client: '' })],
      {},
      undefined,
    ],
    [
      'none for a missing client, which does too',
      () => [update().replace(/<client>.*<\/client>/, '')],
      {},
      undefined,
    ],
    ['none for a client Joomla does not know', () => [update({ client: 'front' })], {}, undefined],
    [
      'one for a component, which needs no client',
      () => [update({ type: 'component', client: '' })],
      {},
      '2.0.0',
    ],
    [
      'one for the module that is installed',
      () => [update({ type: 'module' })],
      { installed: { client: 'site' } },
      '2.0.0',
    ],
    [
      "none for the other client's module",
      () => [update({ type: 'module' })],
      { installed: { client: 'administrator' } },
      undefined,
    ],
    ['none for another element', () => [update()], { installed: { element: 'pkg_other' } }, undefined],
    ['none for another type', () => [update()], { installed: { type: 'component' } }, undefined],
    [
      'none for another group',
      () => [update({ type: 'plugin', more: '<folder>system</folder>' })],
      { installed: { folder: 'content' } },
      undefined,
    ],
    [
      'the last of elements that are there twice',
      () => [update({ more: '<version>2.5.0</version>' })],
      {},
      '2.5.0',
    ],
    ['nothing from an empty one', () => [], {}, undefined],
  ])('%s', async (_what, updates, having, version) => {
    answers['/update.xml'] = xml(...updates());
    const verdict = await attempt(having);
    expect(verdict.offered).toBe(version !== undefined);
    if (version === undefined)
      expect(verdict).toMatchObject({ installed: false, remedy: expect.any(String) });
    else expect(verdict.version).toBe(version);
  });

  it('and a pattern that might never end is not run', async () => {
    answers['/update.xml'] = xml(update({ platform: `${'(.*)'.repeat(40)}x` }));
    const { steps } = await attempt();
    expect(steps.map(({ text }) => text)).toContainEqual(expect.stringMatching(/cannot be tested here/));
  });

  it('and says why not the others, if Joomla does', async () => {
    answers['/update.xml'] = xml(update({ version: '3.0', more: php('8.3') }), update());
    expect(await attempt()).toMatchObject({
      installed: true,
      messages: [
        'warning: For the extension Example version 3.0 is available, but it requires at least PHP version 8.3 while your system only has 8.2.0',
        'success: Updating package was successful.',
      ],
    });
  });
});

describe('the update XML is fetched', () => {
  it("with Joomla's headers and the mark of a simulation, and without the key", async () => {
    let headers: string[] = [];
    answers['/update.xml'] = (response) => {
      headers = response.req.rawHeaders;
      response.end(xml(update()));
    };
    expect((await attempt()).installed).toBe(true);
    expect(headers).toEqual([
      ...['Host', site.url.slice('http://'.length)],
      ...['User-Agent', 'Mozilla/5.0 Joomla!/5.3.0 Joomla licensing-trial', 'Accept', '*/*'],
    ]);
    expect(site.requests).toEqual(['GET /update.xml', `GET /42?dlid=${KEY}`]);
  });

  it('from extension.xml below an address that does not end in .xml', async () => {
    answers['/updates/extension.xml'] = xml(update());
    expect((await attempt({}, '/updates')).installed).toBe(true);
    expect(site.requests.slice(0, 2)).toEqual(['GET /updates', 'GET /updates/extension.xml']);
  });

  it('may offer nothing, which is right while nothing is published', async () => {
    answers['/update.xml'] = '<updates></updates>';
    expect(await attempt()).toMatchObject({
      offered: false,
      messages: [],
      remedy: expect.stringMatching(/^Do nothing while no version is published, /),
    });
  });

  it('is not read if it has an absurd number of tags, without a claim that Joomla refuses it', async () => {
    answers['/update.xml'] = xml('<a/>'.repeat(60_000));
    expect(await attempt()).toMatchObject({
      offered: false,
      messages: [],
      steps: [
        {
          result: 'failed',
          text: expect.stringMatching(/It has more than 50000 tags, so it was not read\.$/),
        },
      ],
      remedy: expect.any(String),
    });
  });

  it.each<[string, string | ((response: ServerResponse) => void), RegExp]>([
    [
      'is not there',
      (response) => response.writeHead(404).end(),
      /^warning: Update: Could not open update site .*update\.xml$/,
    ],
    ['is too slow', () => undefined, /^warning: Update: Could not open update site/],
    ['is no XML', 'Not found', /^warning: Update: :Extension: Could not parse .*update\.xml$/],
    [
      'breaks off',
      (response) =>
        void response
          .writeHead(200, { 'Content-Length': 100 })
          .write('<updates>', () => response.socket?.end()),
      /Could not open/,
    ],
    [
      'redirects in a loop',
      (response) => response.writeHead(302, { Location: '/update.xml' }).end(),
      /Could not open/,
    ],
  ])('and nothing is offered when it %s', async (_what, answer, message) => {
    answers['/update.xml'] = answer;
    const verdict = await attempt({}, '/update.xml', { xml: 400, package: 400 });
    expect(verdict).toMatchObject({
      offered: false,
      installed: false,
      messages: [expect.stringMatching(message)],
      remedy: expect.any(String),
    });
    expect(site.requests).not.toContain(`GET /42?dlid=${KEY}`);
  });
});

describe('an answer of 404 is explained by what is missing, with the command that mends it', () => {
  const DOWNLOAD = '/api/index.php/v1/licensing/downloads/42';
  const offering = (path: string) =>
    (answers['/update.xml'] = xml(update().replace(`${site.url}/42`, site.url + path)));

  it('the update XML', async () => {
    delete answers['/update.xml'];
    expect((await attempt()).remedy).toContain(
      'licensing update-xml write --product ID --out /var/www/YOUR.SITE/update.xml',
    );
    expect((await attempt({}, '/api/index.php/v1/licensing/update.xml')).remedy).toMatch(
      /^The licence service does not serve the update XML/,
    );
    answers['/update.xml'] = (response) => response.writeHead(403).end();
    expect((await attempt()).remedy).toMatch(/without a login: chmod 644/);
  });

  it.each([
    ['The package file is missing', /"licensing doctor" on the server, as the user the service runs as/],
    [
      'No download is available for this product',
      /licensing release list --product 42\. Then: licensing update-xml write --product 42$/,
    ],
    ['<html>Not found', /^The web server answers.*licensing doctor --url http:\/\/127\.0\.0\.1:\d+$/],
  ])('the download: %s', async (body, remedy) => {
    offering(DOWNLOAD);
    answers[DOWNLOAD] = (response) => response.writeHead(404).end(body);
    expect((await attempt()).remedy).toMatch(remedy);
  });

  it('the download, if the answer is the name of a property of every object', async () => {
    answers['/42'] = (response) => response.writeHead(403).end('constructor');
    expect(await attempt()).toMatchObject({
      installed: false,
      remedy: expect.stringMatching(/^Something in front of the licence service refuses/),
    });
  });

  it('the download, for a site where the key is not activated', async () => {
    answers['/42'] = (response) => response.writeHead(403).end('Activation not found');
    expect((await attempt()).remedy).toMatch(/^The <downloadurl> has an "identifier"/);
  });

  it('the download, at an address that does not exist', async () => {
    offering('/index.php?option=com_shop');
    expect((await attempt()).remedy).toMatch(/^That is not the address of a download.* --base-url/);
  });
});

describe('the package', () => {
  const deliver = async (entries: Record<string, string>) => {
    zip = await packageOf(entries);
    answers = { '/update.xml': xml(update()), '/42': zip };
    return attempt();
  };
  const remarks = ({ steps }: UpdateVerdict) =>
    steps.filter(({ name, result }) => name === 'Manifest' && result === 'note').map(({ text }) => text);

  it('is installed without a remark if nothing is wrong', async () => {
    const verdict = await attempt();
    expect(verdict.steps.map(({ result }) => result)).not.toContain('note');
    expect(verdict.installed).toBe(true);
  });

  it('may have its manifest one folder down, or everything in one folder', async () => {
    for (const path of ['admin/pkg_example.xml', 'pkg_example.xml'])
      expect((await deliver({ [path]: manifest('') })).installed).toBe(true);
    expect((await deliver({ 'a/b/pkg_example.xml': manifest('') })).installed).toBe(false);
  });

  it("is refused without a manifest, in Joomla's words", async () => {
    expect(await deliver({ 'readme.txt': 'x' })).toMatchObject({
      installed: false,
      messages: [
        "warning: JInstaller: :Install: Can't find XML setup file.",
        'danger: Failed to extract file: x.zip',
      ],
    });
    expect(await deliver({ 'config.xml': '<config/>' })).toMatchObject({
      installed: false,
      messages: [
        "warning: JInstaller: :Install: Can't find Joomla XML setup file.",
        'danger: Failed to extract file: x.zip',
      ],
    });
  });

  it('is not examined when its XML files would not fit into memory', async () => {
    const large = `<a>${' '.repeat(4_000_000)}</a>`;
    const verdict = await deliver(Object.fromEntries([1, 2, 3, 4, 5, 6].map((i) => [`${i}.xml`, large])));
    expect(verdict).toMatchObject({ installed: false, messages: [], remedy: expect.any(String) });
    expect(verdict.steps.at(-1)?.text).toMatch(/^the XML files at its top .* have more than 20 MB/);
  });

  it('is named by its own type, and searched for faults that break the next update', async () => {
    const component = await deliver({
      'example.xml': manifest('<element>com_other</element>', '1.9.0', 'component'),
    });
    expect(component.messages).toEqual(['success: Updating component was successful.']);
    expect(remarks(component)).toEqual([
      'its version is 1.9.0, but the XML has 2.0.0: Joomla will offer this update again and again',
      'it installs com_other, but the XML names pkg_example',
      'it has no <dlid>: once this version is installed, the Download Key field disappears',
      'it has no <updateservers>: sites that install this version are never offered another version',
    ]);
    const elsewhere = '<updateservers><server>https://old.example/u.xml</server></updateservers>';
    expect(remarks(await deliver({ 'a.xml': manifest(elsewhere) })).at(-1)).toBe(
      `its <updateservers> name https://old.example/u.xml, not ${site.url}/update.xml`,
    );
  });

  it('may have an unknown type, even one named like a property of every object', async () => {
    const verdict = await deliver({ 'a.xml': manifest('<element>x</element>', '2.0.0', 'constructor') });
    expect(verdict.messages.at(-1)).toBe('success: Updating constructor was successful.');
    expect(remarks(verdict).join()).not.toContain('it installs');
  });

  it('is waited for until the time is up', async () => {
    answers['/42'] = (response) => response.writeHead(200).write('PK');
    const verdict = await attempt({}, '/update.xml', { xml: 5_000, package: 500 });
    expect(verdict.messages[0]).toBe(
      'warning: Error connecting to the server: Operation timed out after 500 milliseconds with 2 bytes received',
    );
  });

  const endless = (response: ServerResponse) => {
    const chunk = Buffer.alloc(1_000_000);
    const send = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', send);
    send();
  };

  it('is received up to a limit', async () => {
    answers['/42'] = endless;
    const verdict = await attempt({}, '/update.xml', { package: 5_000, packageBytes: 20_000_000 });
    expect(verdict).toMatchObject({ installed: false, messages: [], remedy: expect.any(String) });
    expect(verdict.steps.at(-1)?.text).toBe('more than 20000000 bytes are sent; the rest is not received');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('is not left behind by %s', async (signal) => {
    answers['/42'] = (response) => void response.writeHead(200).write('PK');
    const TMPDIR = temporaryFolder();
    const child = startProcess(
      process.execPath,
      [CLI, 'update-xml', 'try', `${site.url}/update.xml`, '--key', KEY, '--installed', '1.0.0'],
      { env: processEnvironment({}, { TMPDIR }) },
    );
    const ended = once(child, 'exit');
    await eventually(() => {
      const [folder = ''] = readdirSync(TMPDIR);
      expect(statSync(join(TMPDIR, folder, 'package')).size).toBe(2);
    });
    child.kill(signal);
    expect(await ended).toEqual([null, signal]);
    expect(readdirSync(TMPDIR)).toEqual([]);
  });

  it('is not found where no server listens', async () => {
    answers['/update.xml'] = xml(update().replaceAll(site.url, 'http://127.0.0.1:1'));
    const { messages, remedy } = await attempt();
    expect(messages[0]).toMatch(
      /^warning: Error connecting to the server: Failed to connect to 127\.0\.0\.1/,
    );
    expect(remedy).toMatch(/^The <downloadurl>'s host does not answer/);
  });

  it('is not fetched over an untrusted certificate, such as one without its intermediates', async () => {
    const { cert, key } = createAuthority().issue('IP:127.0.0.1');
    const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    answers['/update.xml'] = xml(update().replaceAll(site.url, `https://127.0.0.1:${port}`));
    const { messages, remedy } = await attempt();
    server.close();
    expect(messages[0]).toMatch(/^warning: Error connecting to the server: SSL certificate problem: /);
    expect(remedy).toContain('fullchain.pem');
  });
});

describe('the key', () => {
  it('is in no message, whoever repeats it', async () => {
    answers['/42'] = (response) =>
      response.writeHead(302, { Location: `/moved/${KEY.toLowerCase()}?again=${KEY}` }).end();
    answers[`/moved/${KEY.toLowerCase()}`] = (response) => response.writeHead(403).end(`No licence ${KEY}`);
    const verdict = await attempt();
    expect(verdict.steps.map(({ text }) => text)).toEqual(
      expect.arrayContaining([
        `redirected to ${site.url}/moved/DOWNLOAD-KEY?again=DOWNLOAD-KEY, with the key, which the redirect repeats`,
      ]),
    );
    expect(verdict.steps.at(-1)?.text).toBe('403 "No licence DOWNLOAD-KEY"');
    expect(verdict.remedy).toMatch(/^Something in front of the licence service refuses/);
    expect(JSON.stringify(verdict).toUpperCase()).not.toContain(KEY);

    answers['/42'] = (response) =>
      response.setHeader('Content-Disposition', `attachment; filename="${KEY}.txt"`).end('x');
    const named = await attempt();
    expect(named.messages).toEqual(['danger: Failed to extract file: DOWNLOAD-KEY.txt']);
    expect(JSON.stringify(named)).not.toContain(KEY);
  });

  it.each([
    [
      'without the key',
      '/other',
      '/other, without the key',
      /^The address redirects to another one, and the redirect drops the key/,
    ],
    [
      'with it',
      `/other?dlid=${KEY}`,
      '/other?dlid=DOWNLOAD-KEY, with the key, which',
      /^Something in front of/,
    ],
    [
      'with it in lower case',
      `/other?dlid=${KEY.toLowerCase()}`,
      '/other?dlid=DOWNLOAD-KEY, with the key, which',
      /^Something in front of/,
    ],
    [
      'with it in escapes of its own',
      `/other?dlid=${KEY.replaceAll('-', '%2D').replace('A1', '%411')}`,
      ', with the key, which',
      /^Something in front of/,
    ],
  ])('is reported as forwarded by a redirect, %s', async (_what, location, shown, remedy) => {
    answers['/42'] = (response) => response.writeHead(302, { Location: location }).end();
    answers['/other'] = (response) => response.writeHead(403).end();
    const verdict = await attempt();
    expect(verdict.steps.map(({ text }) => text)).toContainEqual(
      expect.stringContaining(`redirected to ${site.url}${shown}`),
    );
    expect(verdict.remedy).toMatch(remedy);
    expect(decodeURIComponent(JSON.stringify(verdict)).toUpperCase()).not.toContain(KEY);
  });

  it("is read from standard input as if it were typed, and the command's exit code is the result", async () => {
    const shop = operator({});
    const run = (...more: string[]) =>
      shop.run(['update-xml', 'try', `${site.url}/update.xml`, '--key', '-', ...more], { stdin: `${KEY}\n` });
    const updated = await run('--installed', '1.0.0', '--joomla', '5.4', '--php', '8.2', '--json');
    expect([updated.code, updated.stderr]).toEqual([0, '']);
    expect(JSON.parse(updated.stdout)).toMatchObject({ offered: true, installed: true, version: '2.0.0' });
    expect(site.requests.at(-1)).toBe(`GET /42?dlid=${KEY}`);

    const current = await run('--installed', '2.0.0');
    expect([current.code, current.stderr]).toEqual([1, 'error: The update would not be offered.\n']);
    expect(current.stdout).toMatch(/\(the update is not in the list\)[^]*What to do:/);
    const keyless = await shop.run([
      ...['update-xml', 'try', `${site.url}/update.xml`, '--key', '', '--installed', '1.0.0'],
    ]);
    expect(keyless.stdout).toMatch(
      /The Download Key is missing[^]*reads:\n {2}\(no other message\)\n\nWhat to do:/,
    );
    for (const wrong of [
      ['--php', 'eight'],
      ['--database', 'oracle=1'],
      ['--minimum-stability', 'old'],
    ])
      expect((await run('--installed', '1.0.0', ...wrong)).code).toBe(2);
  });
});

it('trusts an authority that --ca names, for the XML and the package', async () => {
  const authority = createAuthority();
  const front = await startTlsFront(site.url, authority.issue('IP:127.0.0.1'));
  answers['/update.xml'] = xml(update({ origin: front.url }));
  const { run } = operator({});
  const tried = ['update-xml', 'try', `${front.url}/update.xml`, '--key', KEY, '--installed', '1.0.0'];
  const linted = ['update-xml', 'lint', `${front.url}/update.xml`, '--key', KEY];
  expect((await run(tried)).stdout).toContain('SSL certificate problem');
  expect(await run([...tried, '--ca', authority.ca])).toMatchObject({ code: 0 });
  expect((await run(linted)).stdout).toContain('SSL certificate problem');
  expect((await run([...linted, '--ca', authority.ca])).stdout).not.toMatch(/SSL|could not be fetched/);
  expect(site.requests.map((line) => line.split('?')[0])).toEqual(
    ['/update.xml', '/42', '/update.xml', '/42'].map((path) => `GET ${path}`),
  );
  await front.stop();
});
