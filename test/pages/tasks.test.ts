import { afterAll, beforeAll, describe, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { expectClean, newPage, openBrowser } from './support/browser';
import { keyboard, mouse } from './support/hands';
import { startPagesSite, type PagesSite } from './support/site';
import { CUSTOMER_TASKS, enter, firstRun, OPERATOR_TASKS, type Desk, type Task } from './support/tasks';

/** The tasks of the guides in Chromium, behind nginx with TLS, on MariaDB: with the mouse, and the core with only the keyboard. */

let browser: Browser;
let site: PagesSite;
beforeAll(async () => {
  [browser, site] = await Promise.all([openBrowser(), startPagesSite({ licences: 4, downloads: 4 })]);
});
afterAll(async () => {
  await browser.close();
  await site.stop();
});

/** The tasks that also run by keyboard here. npm run test:pages runs all of them. */
const CORE = [
  ...['sells by hand', 'suspends and reinstates', 'adds and removes a site', 'signs out'],
  'frees a site and replaces the key, by the mailed link',
];
const core = (tasks: Record<string, Task>) => Object.entries(tasks).filter(([name]) => CORE.includes(name));

it('an operator takes the first steps on an empty database', async () => {
  const empty = await startPagesSite(undefined);
  const page = await newPage(browser);
  const desk: Desk = { page, hands: mouse(page), site: empty, name: 'first' };
  await enter(desk);
  await firstRun(desk);
  expectClean(page);
  await page.context().close();
  await empty.stop();
});

describe.each([
  ['mouse', mouse, Object.entries(OPERATOR_TASKS), Object.entries(CUSTOMER_TASKS)],
  ['keyboard', keyboard, core(OPERATOR_TASKS), core(CUSTOMER_TASKS)],
] as const)('by %s', (name, handsOf, operators, customers) => {
  let page: Page;
  const desk = (): Desk => ({ page, hands: handsOf(page), site, name });
  beforeAll(async () => {
    page = await newPage(browser);
    page.setDefaultTimeout(60_000);
    await enter(desk());
  });
  afterAll(() => page.context().close());

  it.each(operators)('an operator %s', async (_, task) => {
    await task(desk());
    expectClean(page);
  });

  it.each(customers)('a customer %s', async (_, task) => {
    await task(desk());
    expectClean(page);
  });
});
