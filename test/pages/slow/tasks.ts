import { afterAll, beforeAll, describe, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { expectClean, newPage, openBrowser, type PageOptions } from '../support/browser';
import { keyboard, mouse, type Hands } from '../support/hands';
import { startPagesSite, type PagesSite } from '../support/site';
import { CUSTOMER_TASKS, enter, firstRun, OPERATOR_TASKS, type Desk } from '../support/tasks';

/** All tasks with only the keyboard, without scripts, and on a phone. ../tasks.test.ts does them with the mouse. */

const WAYS: [string, (page: Page) => Hands, PageOptions][] = [
  ['by keyboard', keyboard, {}],
  ['without-scripts', mouse, { javaScript: false }],
  ['on a phone', mouse, { width: 360 }],
  ['by keyboard on a phone', keyboard, { width: 360, dark: true }],
];

describe.each(WAYS)('%s', (name, handsOf, options) => {
  let browser: Browser;
  let site: PagesSite;
  let page: Page;
  const desk = (on = site): Desk => ({
    ...{ page, hands: handsOf(page), site: on, name: name.replaceAll(' ', '-') },
    hasScript: options.javaScript !== false,
  });
  beforeAll(async () => {
    [browser, site] = await Promise.all([openBrowser(), startPagesSite({ licences: 4, downloads: 4 })]);
    page = await newPage(browser, options);
    page.setDefaultTimeout(60_000);
    await enter(desk());
  });
  afterAll(async () => {
    await browser.close();
    await site.stop();
  });

  it.each(Object.entries(OPERATOR_TASKS))('an operator %s', async (_, task) => {
    await task(desk());
    expectClean(page);
  });

  it.each(Object.entries(CUSTOMER_TASKS))('a customer %s', async (_, task) => {
    await task(desk());
    expectClean(page);
  });

  it('an operator takes the first steps', async () => {
    const empty = await startPagesSite(undefined);
    page = await newPage(browser, options);
    await enter(desk(empty));
    await firstRun(desk(empty));
    expectClean(page);
    await empty.stop();
  });
});
