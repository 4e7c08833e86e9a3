import type { Locator, Page } from 'playwright-core';

/** The ways to use a page: with the mouse, or only with the keyboard. Tasks are written once for both. */
export interface Hands {
  /** Follows a link or button to another page, and waits for it. */
  follow(target: Locator): Promise<void>;
  /** Presses a button that stays on the page. */
  press(target: Locator): Promise<void>;
  type(field: Locator, text: string): Promise<void>;
  /** Chooses a checkbox or one of several choices. */
  choose(target: Locator): Promise<void>;
  /** Picks an option of a list by a part of its text. */
  pick(list: Locator, option: string): Promise<void>;
  /** Attaches a file in the browser's own dialogue. */
  attach(field: Locator, file: string): Promise<void>;
}

export function mouse(page: Page): Hands {
  const hands: Hands = {
    follow: (target) => leave(page, () => target.click()),
    press: (target) => target.click(),
    async type(field, text) {
      await field.click();
      await field.fill(text);
    },
    choose: (target) => target.check(),
    async pick(list, option) {
      await list.selectOption({ label: await optionOf(list, option) });
    },
    attach: (field, file) => attach(page, file, () => field.click()),
  };
  return hands;
}

export function keyboard(page: Page): Hands {
  const { keyboard: keys } = page;
  const press = async (target: Locator) => {
    await tabTo(page, target);
    await keys.press('Enter');
  };
  return {
    follow: (target) => leave(page, () => press(target)),
    press,
    async type(field, text) {
      await tabTo(page, field);
      // A date is typed in the browser's own language, which is American English.
      const [, year = '', month = '', day = ''] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
      if ((await field.getAttribute('type')) === 'date') return keys.type(`${month}${day}${year}`);
      await keys.press('Control+A');
      await keys.insertText(text);
    },
    async choose(target) {
      const name = await target.getAttribute('name');
      const isRadio = (await target.getAttribute('type')) === 'radio';
      // Tab reaches the selected radio button, and the arrow keys reach the others.
      const group = page.locator(`input[type=radio][name=${JSON.stringify(name)}]`);
      const start =
        isRadio && (await group.locator(':scope:checked').count()) > 0
          ? group.locator(':scope:checked')
          : target;
      await tabTo(page, start);
      if (!isRadio) await keys.press('Space');
      for (let i = 0; isRadio && !(await target.isChecked()); i++) {
        if (i > 20) throw new Error(`The arrows do not lead to ${String(target)}.`);
        await keys.press('ArrowDown');
      }
    },
    async pick(list, option) {
      const wanted = await optionOf(list, option);
      await tabTo(page, list);
      await keys.press('Home');
      const chosen = () => list.locator('option:checked').innerText();
      for (let i = 0; (await chosen()).trim() !== wanted; i++) {
        if (i > 50) throw new Error(`The arrows do not lead to "${wanted}".`);
        await keys.press('ArrowDown');
      }
    },
    attach: (field, file) => attach(page, file, () => press(field)),
  };
}

async function leave(page: Page, act: () => Promise<unknown>): Promise<void> {
  await Promise.all([page.waitForEvent('load'), act()]);
}

async function attach(page: Page, file: string, act: () => Promise<unknown>): Promise<void> {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), act()]);
  await chooser.setFiles(file);
}

async function optionOf(list: Locator, part: string): Promise<string> {
  const labels = await list.locator('option').allInnerTexts();
  const found = labels.find((label) => label.includes(part));
  if (found === undefined) throw new Error(`No option has "${part}": ${labels.join(' | ')}`);
  return found.trim();
}

/** Presses Tab until this element has the focus. @throws Error with the elements that it passed */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  const passed: string[] = [];
  for (let presses = 0; presses < 250; presses++) {
    if (await target.and(page.locator(':focus')).count()) return;
    await page.keyboard.press('Tab');
    passed.push(await page.evaluate<string>('document.activeElement.outerHTML.slice(0, 60)'));
  }
  throw new Error(`Tab does not lead to ${String(target)}, but to:\n${passed.join('\n')}`);
}
