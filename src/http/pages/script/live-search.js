'use strict';
/*
 * Search as you type, for filters in the address (never for a key):
 *   <form method="get" action="licenses" data-live="#results"> ... <div id="results"> <p data-live-count>
 *   <div id="choices" data-live-part> contains links of the same page, which are replaced too.
 * 250 ms after the last change it fetches the page that the form would open, and replaces the contents of #results. It
 * updates the address without a history entry, and announces the text of [data-live-count] (role=status).
 */
const WAIT = 250;
let timer;
let running;

const addressOf = (form) => {
  const filled = [...new FormData(form)].filter(([, value]) => value !== '');
  const address = new URL(form.getAttribute('action') ?? '', location.href);
  address.search = new URLSearchParams(filled);
  return address.href;
};

/** The live regions by form, created in advance: a region that appears with its text is not announced. */
const regions = new WeakMap();
const announcer = (form) => {
  if (!regions.has(form)) {
    const region = document.createElement('p');
    region.className = 'visually-hidden';
    region.setAttribute('role', 'status');
    form.append(region);
    regions.set(form, region);
  }
  return regions.get(form);
};

const search = async (form, results) => {
  const address = addressOf(form);
  const request = new AbortController();
  running = request;
  results.setAttribute('aria-busy', 'true');
  try {
    const answer = await fetch(address, { signal: request.signal, headers: { Accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const found = answer.ok && !answer.redirected && page.querySelector(form.dataset.live);
    // After a sign-out or an error, open the whole page, which explains it.
    if (!found) return location.assign(address);
    const focused = results.contains(document.activeElement) && document.activeElement.getAttribute('href');
    results.replaceChildren(...found.childNodes);
    // The links of the other filters keep the new text.
    for (const part of page.querySelectorAll('[data-live-part]'))
      document.getElementById(part.id)?.replaceChildren(...part.childNodes);
    history.replaceState(history.state, '', address);
    if (focused) (results.querySelector(`[href="${CSS.escape(focused)}"]`) ?? form.elements[0]).focus();
    announcer(form).textContent = results.querySelector('[data-live-count]')?.textContent ?? '';
    document.dispatchEvent(new Event('licensing:content'));
  } catch {
    // The next change aborted it, or the network failed: the button still works.
  } finally {
    if (running === request) results.removeAttribute('aria-busy');
  }
};

const stop = () => {
  clearTimeout(timer);
  running?.abort();
};

document.addEventListener('input', (event) => {
  const form = event.target.form;
  const results = form?.dataset.live && document.querySelector(form.dataset.live);
  if (!results) return;
  announcer(form);
  stop();
  timer = setTimeout(() => void search(form, results), WAIT);
});
document.addEventListener('submit', stop);
