import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Router from '@koa/router';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { jsx } from 'hono/jsx';
import type { Browser, Page } from 'playwright-core';
import request from 'supertest';
import { API_PATH } from '../../src/licensing/api';
import type { RequestState } from '../../src/http/context';
import { mountAssets } from '../../src/http/pages/assets';
import { UploadProgress } from '../../src/http/pages/kit/fields';
import { LINE_ICONS } from '../../src/http/pages/kit/line-icons';
import { pageTexts } from '../../src/texts/operators/languages';
import { ViewProvider } from '../../src/http/pages/view';
import { eventually } from '../support/processes';
import { sendRaw } from '../support/raw-http';
import {
  expectAccessible,
  expectClean,
  expectNoSidewaysScroll,
  focused,
  newPage,
  openBrowser,
  tabTo,
  type PageOptions,
} from './support/browser';
import { startFixture, type Fixture } from './support/fixture';

/** The style and the script of the pages: how they are served, and what the script does in a browser. */

const FOLDER = join(__dirname, '../../dist/pages');
const FILES = ['licensing.css', 'licensing.js', 'icons.svg'] as const;

let fixture: Fixture;
let browser: Browser;
beforeAll(async () => {
  fixture = await startFixture();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await fixture.stop();
});

const read = (name: string) => readFileSync(join(FOLDER, name));
const pathOf = (name: (typeof FILES)[number]) => `${API_PATH}/pages/${fixture.address(name)}`;

/** Opens a page of the fixture. The test ends with `expectClean`. */
async function open(path: string, main: string, options?: PageOptions): Promise<Page> {
  fixture.answer(path.replace(/[?#].*/, ''), () => main);
  const page = await newPage(browser, options);
  await page.goto(`${fixture.pages}/${path}`);
  return page;
}

describe('served', () => {
  test.each([
    ['licensing.css', 'text/css'],
    ['licensing.js', 'text/javascript'],
    ['icons.svg', 'image/svg+xml'],
  ] as const)('%s is cached for a year under a name with its hash', async (name, type) => {
    expect(pathOf(name)).toMatch(/\/pages\/assets\/(licensing|icons)-[0-9a-f]{16}\.(css|js|svg)$/);
    const { headers } = await request(fixture.url).get(pathOf(name)).expect(200);
    expect(headers).toMatchObject({
      'content-type': `${type}; charset=utf-8`,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    });
    await request(fixture.url)
      .get(pathOf(name))
      .set('If-None-Match', headers.etag as string)
      .expect(304);
    await request(fixture.url).head(pathOf(name)).expect(200);
    await request(fixture.url).post(pathOf(name)).expect(405).expect('Allow', 'GET, HEAD');
  });

  test.each(['inter-latin.woff2', 'inter-latin-ext.woff2'] as const)(
    'the font %s for ever, without another compression, and with its licence in the build',
    async (name) => {
      const path = `${API_PATH}/pages/${fixture.address(name)}`;
      const answer = await request(fixture.url)
        .get(path)
        .set('Accept-Encoding', 'br, gzip')
        .buffer()
        .parse((response, done) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('end', () => done(null, Buffer.concat(parts)));
        })
        .expect(200);
      expect(answer.headers).toMatchObject({
        'content-type': 'font/woff2',
        'cache-control': 'public, max-age=31536000, immutable',
      });
      expect(answer.headers['content-encoding']).toBeUndefined();
      expect((answer.body as Buffer).equals(read(name))).toBe(true);
      expect(read('LICENSE-inter.txt').toString()).toContain('SIL OPEN FONT LICENSE');
    },
  );

  test('the icons, with their licence in the build', () => {
    const icons = read('icons.svg').toString();
    expect([...icons.matchAll(/<symbol id="([^"]+)" viewBox="0 0 24 24">/g)].map(([, id]) => id)).toEqual(
      LINE_ICONS,
    );
    const tags = [...icons.matchAll(/<(\w+)/g)].map(([, tag]) => tag);
    expect(new Set(tags)).toEqual(new Set(['svg', 'symbol', 'path', 'circle', 'rect', 'line', 'polyline']));
    expect(read('LICENSE-lucide-static.txt').toString()).toContain('ISC License');
  });

  test.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
    [undefined, (bytes: Buffer) => bytes],
  ])('files are compressed as the browser allows: %s', async (encoding, unpack) => {
    for (const name of FILES) {
      const accept = encoding === undefined ? '' : `Accept-Encoding: ${encoding}\r\n`;
      const answer = await sendRaw(fixture.url, `GET ${pathOf(name)} HTTP/1.1\r\nHost: x\r\n${accept}\r\n`);
      expect(answer?.headers.get('content-encoding')).toBe(encoding);
      expect(unpack(answer!.body).equals(read(name))).toBe(true);
    }
  });

  test.each([
    'licensing-0000000000000000.css',
    'licensing.css',
    'manifest.json',
    '..%2fmanifest.json',
    '__proto__',
  ])('no other file is served: %s', async (name) => {
    await request(fixture.url).get(`${API_PATH}/pages/assets/${name}`).expect(404);
  });

  test('a folder that was not built is named at the start', () => {
    const mount = () => mountAssets(new Router<RequestState>(), '/nonexistent');
    expect(mount).toThrow('The style of the pages is not in /nonexistent. Run "npm run build" first.');
  });
});

test('the style has at most 45 KB, 10 KB compressed, the script 12 KB compressed, and the fonts 60 KB', () => {
  const fonts = ['inter-latin.woff2', 'inter-latin-ext.woff2'].map((name) => read(name).length);
  expect(fonts.reduce((sum, bytes) => sum + bytes)).toBeLessThan(60_000);
  expect(read('licensing.css').length).toBeLessThan(45_000);
  expect(read('licensing.css.br').length).toBeLessThan(10_000);
  expect(read('licensing.js.br').length).toBeLessThan(12_000);
  expect(read('licensing.js').toString()).not.toMatch(/eval\(|innerHTML|document\.write|sourceMappingURL/);
  expect(read('licensing.css').toString()).not.toMatch(
    /@import|url\((?!"data:|inter-latin(?:-ext)?-[0-9a-f]{16}\.woff2\))|sourceMappingURL/,
  );
});

/** The computed colours of the page, of a field, a filled button, an error and a link */
const COLOURS = `['body', 'select', '.btn-primary', '.err', 'a'].flatMap((selector) => {
  const { color, backgroundColor, borderTopColor } = getComputedStyle(document.querySelector(selector));
  return [color, backgroundColor, borderTopColor];
})`;
const COLOURED =
  '<select class="select" aria-label="x"></select><span class="btn-primary">x</span><p class="err">x</p><a href="x">x</a>';

test('"auto" follows the system, with the colours of the chosen theme', async () => {
  const of = async (theme: string, dark: boolean) => {
    const page = await open('theme', COLOURED, { dark });
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
    const colours = await page.evaluate<string[]>(COLOURS);
    await page.context().close();
    return colours;
  };
  const [light, dark] = [await of('light', false), await of('dark', false)];
  expect(light).not.toEqual(dark);
  expect(await of('auto', false)).toEqual(light);
  expect(await of('auto', true)).toEqual(dark);
  expect(await of('light', true)).toEqual(light);
});

test('the text is in Inter, and only a name with further letters fetches the second font', async () => {
  const loaded = async (text: string) => {
    const page = await open('font', `<p>${text}</p>`);
    await page.evaluate('document.fonts.ready.then(() => undefined)');
    const faces = await page.evaluate<string[]>(
      `[...document.fonts].filter(({ status, family }) => status === 'loaded' && family === 'Inter').map(({ unicodeRange }) => unicodeRange)`,
    );
    expectClean(page);
    await page.context().close();
    return faces;
  };
  const [latin, ...others] = await loaded('Jörg Großmann');
  expect([latin, others]).toEqual([expect.stringMatching(/^U\+20-7E/i), []]);
  expect(await loaded('Małgorzata Wiśniewska')).toHaveLength(2);
});

const TABLE = `<section class="panel"><header><h2>Licences</h2><button class="btn btn-sm" type="button">Verlängerungserinnerungen verschicken</button></header>
<table class="t lines" role="table"><caption>Newest first.</caption>
<thead role="rowgroup"><tr role="row">${[
  'Status',
  'Customer',
  'Plan',
  'Slots',
  'Ends',
  'Key ends in',
  'Order',
  'ID',
]
  .map((name) => `<th scope="col" role="columnheader">${name}</th>`)
  .join('')}</tr></thead><tbody role="rowgroup"><tr role="row">
<td role="cell"><span class="tag tag-ok">Active</span></td>
<td role="cell" class="cust" data-label=""><a href="x">it-abteilung@buero-nord-und-sued-und-noch-etwas-laenger.example.com</a></td>
<td role="cell" data-label="">Gallery Pro · Agency 25</td><td role="cell" class="num beside">25 / 25</td>
<td role="cell" data-label="ends">19 Aug 2027</td><td role="cell" class="mono" data-label="key ends in">9912CD30</td>
<td role="cell" data-label="order">order-3388-with-a-reference-that-has-no-space-at-all-in-it</td>
<td role="cell" class="num" data-label="ID">1659</td></tr></tbody></table></section>`;

test.each([
  { width: 1280, dark: false },
  { width: 1280, dark: true },
  { width: 360, dark: false },
  { width: 360, dark: true },
])('a table fits, and axe finds nothing: %o', async (options) => {
  const page = await open('table', TABLE, options);
  await expectNoSidewaysScroll(page);
  await expectAccessible(page);
  const label = `getComputedStyle(document.querySelector('[data-label=ends]'), '::before').content`;
  expect(await page.evaluate(label)).toBe(options.width === 360 ? '"ends "' : 'none');
  expectClean(page);
  await page.context().close();
});

test.each(['<button class="btn btn-primary">Save</button>', '<input class="input" name="Save">'])(
  'the focus is a line of 2 px: %s',
  async (part) => {
    const page = await open('focus', `<form><label>Save ${part}</label></form>`);
    await tabTo(page, 'Save');
    const { outlineWidth, outlineStyle } = await page.evaluate<CSSLike>(
      '({ ...getComputedStyle(document.activeElement) })',
    );
    expect({ outlineWidth, outlineStyle }).toEqual({
      outlineWidth: '2px',
      outlineStyle: 'solid',
    });
    await page.context().close();
  },
);
interface CSSLike {
  outlineWidth: string;
  outlineStyle: string;
}

describe('a key in the fragment', () => {
  const FORM =
    '<form method="post" action="my" data-key-form="license_key"><label>Key <input name="license_key"></label><button>Show</button></form>';
  const sent = () => fixture.requests.filter(({ method, path }) => method === 'POST' && path === '/my');

  test('is sent by POST, and is in no address', async () => {
    fixture.requests.length = 0;
    const page = await open('my#key=AAAA-BBBB%2BCCCC', FORM);
    await waitUntil(() => sent().length > 0);
    expect(sent()).toEqual([{ method: 'POST', path: '/my', body: 'license_key=AAAA-BBBB%2BCCCC' }]);
    await page.waitForLoadState();
    expect(page.url()).toBe(`${fixture.pages}/my`);
    await page.goBack({ timeout: 2000 }).catch(() => null);
    expect(page.url()).not.toContain('AAAA');
    expect(sent()).toHaveLength(1);
    expectClean(page);
    await page.context().close();
  });

  test('a second link is used too while the page is open', async () => {
    fixture.requests.length = 0;
    const page = await open('my', FORM);
    await page.goto(`${fixture.pages}/my#key=BBBB`);
    await waitUntil(() => sent().length > 0);
    expect(sent()).toEqual([{ method: 'POST', path: '/my', body: 'license_key=BBBB' }]);
    await page.waitForURL(`${fixture.pages}/my`);
    await page.context().close();
  });

  test('is removed even without the form, and another fragment stays', async () => {
    const page = await open('other#key=CCCC', '<p id="part">Nothing to fill in</p>');
    expect(page.url()).toBe(`${fixture.pages}/other`);
    await page.goto(`${fixture.pages}/other#part`);
    expect(page.url()).toBe(`${fixture.pages}/other#part`);
    expectClean(page);
    await page.context().close();
  });
});

describe('copying', () => {
  const BUTTON =
    '<p>Key <code id="key">AAAA-BBBB</code> <button type="button" hidden data-copy="#key" data-copied="Copied." data-copy-failed="Press Ctrl+C.">Copy</button></p>';
  const said = (page: Page) => page.locator('[role=status]').textContent();

  test('copies the text and says so', async () => {
    const page = await open('copy', BUTTON);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await tabTo(page, 'Copy');
    await page.keyboard.press('Enter');
    await waitUntil(async () => (await said(page)) === 'Copied.');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('AAAA-BBBB');
    await expectAccessible(page);
    expectClean(page);
    await page.context().close();
  });

  test('selects the text if the clipboard is refused', async () => {
    fixture.answer('copy', () => BUTTON);
    const page = await newPage(browser);
    // Browsers have no clipboard over http, except on localhost.
    await page.goto(`${fixture.pages.replace('127.0.0.1', 'shop.test')}/copy`);
    await page.getByRole('button', { name: 'Copy' }).click();
    await waitUntil(async () => (await said(page)) === 'Press Ctrl+C.');
    expect(await page.evaluate('String(getSelection())')).toBe('AAAA-BBBB');
    expectClean(page);
    await page.context().close();
  });

  test('without a script there is no button', async () => {
    const page = await open('copy', BUTTON, { javaScript: false });
    expect(await page.getByRole('button').count()).toBe(0);
    await page.context().close();
  });
});

describe('search as you type', () => {
  const results = (query: string) => {
    const asked = new URLSearchParams(query).get('q') ?? '';
    return `<form method="get" action="list" data-live="#results" role="search">
<label>Find <input name="q" type="search"></label> <label>Status <select name="status"><option value="">All</option><option>active</option></select></label> <button>Filter</button></form>
<div id="results"><p data-live-count>Found for "${asked}": ${asked.length}</p><a href="list?after=1">Next</a></div>`;
  };
  /** Sends the late answer to "a", which must not replace the answer to "abc". */
  let answerLate: () => void;
  const list = async (options?: PageOptions) => {
    const late = new Promise<void>((resolve) => (answerLate = resolve));
    fixture.requests.length = 0;
    fixture.answer('list', async ({ path }) => {
      const query = path.split('?')[1] ?? '';
      if (query === 'q=a') await late;
      return query.includes('signed-out') ? { location: 'enter' } : results(query);
    });
    const page = await newPage(browser, options);
    await page.goto(`${fixture.pages}/list`);
    return page;
  };

  test('replaces the results and the address, keeps the focus, and says the count', async () => {
    const page = await list();
    const steps = await page.evaluate('history.length');
    const isDropped = page.waitForEvent('requestfailed', (one) => one.url().endsWith('q=a'));
    await page.getByLabel('Find').pressSequentially('a');
    await waitUntil(() => fixture.requests.length === 2);
    await page.getByLabel('Find').pressSequentially('bc');
    await page.getByText('Found for "abc": 3').first().waitFor();
    answerLate();
    await isDropped;
    expect(await page.locator('#results').innerText()).toContain('Found for "abc": 3');
    expect(page.url()).toBe(`${fixture.pages}/list?q=abc`);
    expect(await page.evaluate('history.length')).toBe(steps);
    expect(await focused(page)).toContain('Find');
    expect(await page.locator('form [role=status]').textContent()).toBe('Found for "abc": 3');
    expect(fixture.requests.map(({ path }) => path)).toEqual(['/list', '/list?q=a', '/list?q=abc']);
    await expectAccessible(page);
    expectClean(page);
    await page.context().close();
  });

  test('opens the whole page when the answer is a different page', async () => {
    fixture.answer('enter', () => '<p>Sign in</p>');
    const page = await list();
    await page.getByLabel('Find').fill('signed-out');
    await page.getByText('Sign in').waitFor();
    expect(page.url()).toBe(`${fixture.pages}/enter`);
    await page.context().close();
  });

  test('without a script the button searches', async () => {
    const page = await list({ javaScript: false });
    await page.getByLabel('Find').fill('xy');
    await page.getByRole('button', { name: 'Filter' }).click();
    expect(page.url()).toBe(`${fixture.pages}/list?q=xy&status=`);
    await page.getByText('Found for "xy": 2').waitFor();
    await page.context().close();
  });
});

describe('an upload', () => {
  /** Renders the progress bar as the pages with an upload do. */
  const progress = () => {
    const view = { t: pageTexts('en') };
    const whole: unknown = jsx(ViewProvider, { value: view }, jsx(UploadProgress, {}));
    return String(whole);
  };
  const FORM = `<form method="post" action="releases" enctype="multipart/form-data" data-upload data-upload-sent="{sent} of {total}"
data-upload-left="{sent} of {total}, about {time} left." data-upload-saving="Reading the package..." data-upload-stopped="Stopped. Nothing was saved." data-upload-failed="The connection broke.">
<label>Package <input type="file" name="file"></label>${progress()}<button name="action" value="publish" data-busy="Publishing...">Publish</button></form>`;
  const FILE = { name: 'x.zip', mimeType: 'application/zip', buffer: Buffer.alloc(600_000, 'x') };
  const released = async (
    answer: () => ReturnType<Parameters<Fixture['answer']>[1]>,
    options?: PageOptions,
  ) => {
    fixture.requests.length = 0;
    fixture.answer('releases', ({ method }) => (method === 'POST' ? answer() : FORM));
    fixture.answer('published', () => '<p role="status">Published.</p><p data-upload-plain>Plain</p>');
    const page = await newPage(browser, options);
    await page.goto(`${fixture.pages}/releases`);
    await page.getByLabel('Package').setInputFiles(FILE);
    return page;
  };
  /** Slows the upload down, by default to half a minute for the file. @returns a function that ends the slowness */
  const slow = async (page: Page, bytesASecond = 20_000) => {
    const session = await page.context().newCDPSession(page);
    const limit = (uploadThroughput: number) =>
      session.send('Network.emulateNetworkConditions', {
        offline: false,
        latency: 0,
        downloadThroughput: -1,
        uploadThroughput,
      });
    await limit(bytesASecond);
    return () => limit(-1);
  };
  const publish = (page: Page) => page.getByRole('button', { name: 'Publish' }).click();

  test('shows its progress, then the page of the answer', async () => {
    const page = await released(() => ({ location: 'published' }));
    expect(await page.getByText(pageTexts('en').common.upload.plain).isVisible()).toBe(false);
    const endSlowness = await slow(page);
    await publish(page);
    await page.getByText(/^0\.\d MB of 0\.6 MB, about \d+ seconds? left\.$/).waitFor();
    const full = await page.evaluate<number>("document.querySelector('progress').position");
    expect([full > 0, full < 1]).toEqual([true, true]);
    await expectAccessible(page);
    // A second press sends nothing more.
    await publish(page);
    await endSlowness();
    await page.getByText('Published.').waitFor();
    expect(page.url()).toBe(`${fixture.pages}/published`);
    expect(await page.evaluate('document.activeElement.tagName')).toBe('MAIN');
    expect(await page.getByText('Plain').isVisible()).toBe(false);
    const posts = fixture.requests.filter(({ method }) => method === 'POST');
    expect(posts).toHaveLength(1);
    expect(posts[0]!.body).toContain('name="action"\r\n\r\npublish');
    expect(posts[0]!.body.length).toBeGreaterThan(600_000);
    expect(fixture.requests.filter(({ path }) => path === '/published')).toHaveLength(1);
    await page.goBack();
    await page.getByLabel('Package').waitFor();
    expectClean(page);
    await page.context().close();
  });

  test('shows a form with an error instead of the page', async () => {
    const page = await released(() => ({
      status: 422,
      text: '<p role="alert">The package has version 2.1.0.</p>',
    }));
    await publish(page);
    await page.getByText('The package has version 2.1.0.').waitFor();
    expect(page.url()).toBe(`${fixture.pages}/releases`);
    expectClean(page);
    await page.context().close();
  });

  test('can be stopped', async () => {
    const page = await released(() => ({ location: 'published' }));
    // Far longer than a busy machine takes to press a button.
    await slow(page, 2_000);
    await publish(page);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped. Nothing was saved.').waitFor();
    expect(await page.getByRole('progressbar').isVisible()).toBe(false);
    expect(await focused(page)).toBe('Publish');
    await page.context().close();
  });

  test('reports that the connection broke', async () => {
    const page = await released(() => ({ location: 'published' }));
    await page.context().setOffline(true);
    await publish(page);
    await page.getByText('The connection broke.').waitFor();
    await page.context().close();
  });

  test('without a script it is an ordinary form', async () => {
    const page = await released(() => ({ location: 'published' }), { javaScript: false });
    expect(await page.getByText(pageTexts('en').common.upload.plain).isVisible()).toBe(true);
    await publish(page);
    await page.getByText('Published.').waitFor();
    await page.context().close();
  });
});

describe('a pressed button', () => {
  const FORM =
    '<form method="post" action="sell"><button name="do" value="sell" data-busy="Selling...">Sell<span class="visually-hidden"> it</span></button></form>';

  test('locks, says what it does, is sent once, and unlocks when the page comes back', async () => {
    fixture.requests.length = 0;
    // 204: the browser stays on the page, as it does while it waits for an answer.
    fixture.answer('sell', ({ method }) => (method === 'GET' ? FORM : { status: 204, text: '' }));
    const page = await newPage(browser);
    await page.goto(`${fixture.pages}/sell`);
    const button = page.getByRole('button');
    await button.focus();
    await page.keyboard.press('Enter');
    await page.getByText('Selling...').waitFor();
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    expect(await focused(page)).toBe('Selling...');
    await waitUntil(() => fixture.requests.length === 2);
    await page.keyboard.press('Enter');
    await page.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
    expect(await button.innerHTML()).toBe('Sell<span class="visually-hidden"> it</span>');
    expect(await button.getAttribute('aria-disabled')).toBeNull();
    await page.keyboard.press('Enter');
    await waitUntil(() => fixture.requests.length === 3);
    expect(fixture.requests.map(({ body }) => body)).toEqual(['', 'do=sell', 'do=sell']);
    expectClean(page);
    await page.context().close();
  });
});

describe('keys', () => {
  const PAGE = `<form role="search" action="find" method="post"><input data-search name="about" aria-label="Search"></form>
<label><input type="checkbox"> A row</label>
<button type="button" class="btn" hidden data-open="#keys">Keyboard</button>
<dialog id="keys" aria-labelledby="k"><h2 id="k">Keys</h2><label><input type="checkbox" data-keys> Keys are on</label><form method="dialog"><button class="btn">Close</button></form></dialog>`;
  const isOpen = (page: Page) => page.getByRole('dialog').isVisible();

  test('/ goes to the search, ? lists the keys, and both can be switched off', async () => {
    const page = await open('keys', PAGE);
    await page.keyboard.press('/');
    expect(await focused(page)).toBe('Search');
    await page.keyboard.press('?');
    expect(await isOpen(page)).toBe(false);
    expect(await page.getByLabel('Search').inputValue()).toBe('?');
    // A box takes no text.
    await page.getByLabel('A row').focus();
    await page.keyboard.press('?');
    expect(await isOpen(page)).toBe(true);
    await expectAccessible(page);
    await page.getByLabel('Keys are on').uncheck();
    await page.getByRole('button', { name: 'Close' }).click();
    expect(await isOpen(page)).toBe(false);

    await page.reload();
    await page.keyboard.press('?');
    await page.keyboard.press('/');
    expect([await isOpen(page), await focused(page)]).not.toContain('Search');
    expect(await isOpen(page)).toBe(false);
    await page.getByRole('button', { name: 'Keyboard' }).click();
    expect(await page.getByLabel('Keys are on').isChecked()).toBe(false);
    await page.keyboard.press('Escape');
    expect(await isOpen(page)).toBe(false);
    expectClean(page);
    await page.context().close();
  });
});

test('a menu stays in the window of a phone', async () => {
  const page = await open(
    'menu-360',
    '<div class="head"><div class="acts"><button class="btn">Verlängern</button><details class="menu" open><summary class="btn">Weitere Aktionen</summary><ul class="pop"><li><a href="x">Plätze ändern</a></li></ul></details></div></div>',
    { width: 360 },
  );
  await expectNoSidewaysScroll(page);
  expect((await page.getByRole('list').boundingBox())!.x).toBeGreaterThanOrEqual(0);
  await page.context().close();
});

test('a menu closes by Escape, by a click outside, and when the focus leaves it', async () => {
  const menu =
    '<details class="menu"><summary class="btn">More</summary><ul class="pop"><li><a href="x">Suspend</a></li><li class="cut"><a href="y">Revoke</a></li></ul></details><p><a href="z">After</a></p>';
  const page = await open('menu', menu);
  const isOpen = () => page.getByText('Suspend').isVisible();
  const reopen = async () => {
    await page.getByText('More').click();
    expect(await isOpen()).toBe(true);
  };
  await reopen();
  await expectAccessible(page);
  await tabTo(page, 'Revoke');
  await page.keyboard.press('Escape');
  expect([await isOpen(), await focused(page)]).toEqual([false, 'More']);
  await reopen();
  // Below everything: a part of the page that the menu does not cover.
  await page.mouse.click(600, 600);
  expect(await isOpen()).toBe(false);
  await reopen();
  await tabTo(page, 'After');
  expect(await isOpen()).toBe(false);
  expectClean(page);
  await page.context().close();
});

async function waitUntil(holds: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => expect(await holds()).toBe(true));
}
