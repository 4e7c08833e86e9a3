import type { Page } from 'playwright-core';

/**
 * The hero picture of the README: a customer's mail, the verdict about the licence, and the answer. The verdict and the
 * answer are those of the licence's page, enlarged, so the picture shows what the program shows.
 */

export const HERO = { width: 1600, height: 900 } as const;

const STYLE = `
body { width: 1600px; height: 900px; margin: 0; overflow: hidden;
  background: light-dark(#eceffc, #12162a); }
.hero { display: flex; flex-direction: column; justify-content: center; height: 900px; padding: 0 64px; }
.hero h1 { margin: 0 0 56px; font-size: 60px; line-height: 72px; letter-spacing: -0.032em; text-align: center; }
.beats { display: grid; grid-template-columns: 424px 544px 424px; gap: 40px; margin: 0; padding: 0; list-style: none; }
.beats > li { display: flex; flex-direction: column; }
.beats > li > p { display: flex; gap: 12px; align-items: center; justify-content: center; margin: 0 0 18px;
  color: var(--text-2); font-size: 22px; font-weight: 500; line-height: 30px; }
.beats > li > p span { display: grid; place-items: center; width: 30px; height: 30px; border-radius: 50%;
  background: light-dark(#dfe4fb, #2d376b); color: light-dark(#2f3fae, #c9d3ff); font-size: 16px; font-weight: 600; }
.hero .panel { display: flex; flex: 1; flex-direction: column; margin: 0; zoom: 1.55;
  box-shadow: 0 1px 2px light-dark(#10182a0f, #0004), 0 14px 40px -16px light-dark(#28326a40, #000c); }
.hero .verdict { zoom: 1.6; }
.hero .verdict .top { flex: 1; align-content: center; }
.hero .verdict .acts p { display: none; }
.mail { padding: 18px; }
.mail p, .answer p { margin: 0 0 10px; }
.mail .says { padding: 8px 10px; border-radius: 8px; background: var(--sunk); font: 500 0.75rem/1.125rem var(--mono); }
.answer .to { padding: 10px 18px; border-bottom: 1px solid var(--line); }
.answer .to span { margin-right: 8px; color: var(--text-2); }
.answer .words { flex: 1; padding: 14px 18px 4px; }
.answer footer { padding: 12px 18px; }`;

/** Replaces the open page of an expired licence by the hero picture. */
export async function showHero(page: Page): Promise<void> {
  const verdict = await page.evaluate<string>("document.querySelector('.verdict').outerHTML");
  const answer = await page.locator('#reply').inputValue();
  const product = /Your licence for (.+?) \(/.exec(answer)![1];
  const [, reason, way] = answer.split('\n\n').map((part) => part.split('\nhttps://')[0]!.replace(/:$/, '.'));
  const style = await page.locator('link[rel=stylesheet]').getAttribute('href');
  const base = page.url();
  await page.setContent(`<!doctype html><html lang="en"><head><base href="${base}"><link rel="stylesheet" href="${style}">
<style>${STYLE}</style></head><body><main class="hero">
<h1>A customer writes “the update fails”.<br>You answer in ten seconds.</h1>
<ol class="beats">
<li><p><span>1</span>The mail</p><div class="panel mail"><p><b>Ben Moser</b><br><span class="muted">Update fails</span></p>
<p>Hi, I cannot update ${product} any more. Joomla says:</p><p class="says">Error connecting to the server: 403</p>
<p>Is my site broken?<br>Thanks, Ben</p></div></li>
<li><p><span>2</span>The reason, and the way out</p>${verdict}</li>
<li><p><span>3</span>The answer, written</p><div class="panel answer"><p class="to"><span>To</span>Ben Moser</p>
<div class="words"><p>Hello,</p><p>${reason}</p><p>${way}</p></div>
<footer><span class="btn btn-primary">Send it</span></footer></div></li>
</ol></main></body></html>`);
}
