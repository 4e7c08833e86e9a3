import { readFileSync } from 'node:fs';
import { expect } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';

export { openBrowser } from './chromium';

/** Pages in a real browser. */

export interface PageOptions {
  /** The width of the window in pixels. 360 is a phone. */
  width?: number;
  /** If true, the system's theme is dark. */
  dark?: boolean;
  /** If false, the page's scripts do not run. */
  javaScript?: boolean;
  language?: 'en' | 'de';
}

/** The problems of each page, for `expectClean`. */
const problems = new WeakMap<Page, string[]>();
const withoutScript = new WeakSet<Page>();

/** Opens a page with its own cookies, and records the problems that `expectClean` reports. */
export async function newPage(
  browser: Browser,
  { width = 1280, dark = false, javaScript = true, language = 'en' }: PageOptions = {},
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    javaScriptEnabled: javaScript,
    locale: language === 'de' ? 'de-DE' : 'en-GB',
  });
  const page = await context.newPage();
  if (!javaScript) withoutScript.add(page);
  const found: string[] = [];
  problems.set(page, found);
  let host: string | undefined;
  // A violation of the content security policy is a message in the console, too.
  page.on('console', (message) => {
    if (!message.text().startsWith('Failed to load resource: the server responded with a status of'))
      found.push(`console ${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => found.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!url.protocol.startsWith('http')) return;
    host ??= url.host;
    if (url.host !== host) found.push(`request to another host: ${request.url()}`);
  });
  page.on('response', (response) => {
    // A page may answer 404 or 422, but a file that it loads may not.
    if (response.status() >= 400 && !['document', 'fetch', 'xhr'].includes(response.request().resourceType()))
      found.push(`${response.status()}: ${response.url()}`);
  });
  return page;
}

/** Expects an empty console, no error, no violation of the policy, no request to another host, and no missing file. */
export function expectClean(page: Page): void {
  expect(problems.get(page)).toEqual([]);
}

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const RUN_AXE = `axe.run({ runOnly: { type: 'tag', values: ${JSON.stringify(RULES)} } }).then(({ violations }) =>
  violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => [id, html, failureSummary].join('\\n'))))`;

/** Expects that axe-core finds nothing. It needs scripts, so a page without scripts is not checked. */
export async function expectAccessible(page: Page): Promise<void> {
  if (withoutScript.has(page)) return;
  // The browser's own protocol is not subject to the page's policy.
  await page.evaluate(AXE);
  expect(await page.evaluate<string[]>(RUN_AXE)).toEqual([]);
}

const WIDER = `[...document.querySelectorAll('body *')]
  .filter((element) => element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 120))`;

/** Expects that neither the page nor a part of it scrolls sideways. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  if (excess > 0) expect(await page.evaluate<string[]>(WIDER)).toEqual([]);
  expect(excess).toBeLessThanOrEqual(0);
}

const FOCUSED = `(() => {
  const { activeElement: at } = document;
  const words = [at.getAttribute('aria-label'), at.labels?.[0]?.textContent, at.innerText, at.value, at.name];
  return words.find((word) => word?.trim())?.trim() ?? at.tagName;
})()`;

/** Returns the name of the focused element. */
export function focused(page: Page): Promise<string> {
  return page.evaluate<string>(FOCUSED);
}

/** Presses Tab until the element with this text, label or name has the focus. @throws Error with the elements that it passed */
export async function tabTo(page: Page, text: string): Promise<void> {
  const passed: string[] = [];
  for (let presses = 0; presses < 150; presses++) {
    await page.keyboard.press('Tab');
    const name = await focused(page);
    if (name.includes(text)) return;
    passed.push(name);
  }
  throw new Error(`Tab does not lead to "${text}", but to: ${passed.join(' | ')}`);
}
