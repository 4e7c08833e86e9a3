'use strict';
/*
 * Prevents a double submit: a pressed button locks and shows the work in progress:
 *   <button type="submit" data-busy="Publishing...">Publish</button>
 * Do not use it for a form that is answered by a download, because the page and therefore the lock would remain. The
 * button keeps the focus and its value is sent: this needs aria-disabled, not disabled.
 */
const LOCKED = 'button[data-busy][aria-disabled]';
const contents = new WeakMap();
const unlock = () => {
  for (const button of document.querySelectorAll(LOCKED)) {
    button.replaceChildren(...contents.get(button));
    button.removeAttribute('aria-disabled');
  }
};

// Listen on the window, so that scripts which send a form themselves run first and prevent the default
addEventListener('submit', (event) => {
  if (event.defaultPrevented) return;
  if (event.target.querySelector(LOCKED)) return event.preventDefault();
  const button = event.submitter;
  if (!button?.dataset.busy) return;
  contents.set(button, [...button.childNodes]);
  button.textContent = button.dataset.busy;
  button.setAttribute('aria-disabled', 'true');
});
// The browser's Back restores the page with its locked button.
addEventListener('pageshow', unlock);
