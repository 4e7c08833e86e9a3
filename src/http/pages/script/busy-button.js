'use strict';
/*
 * A pressed button locks and says what it does:
 *   <button type="submit" data-busy="Publishing...">Publish</button>
 * Not for a form that is answered by a download: the page stays, and so would the lock. It keeps the focus and its
 * value is sent, therefore aria-disabled and not disabled.
 */
const LOCKED = 'button[data-busy][aria-disabled]';
const contents = new WeakMap();
const unlock = () => {
  for (const button of document.querySelectorAll(LOCKED)) {
    button.replaceChildren(...contents.get(button));
    button.removeAttribute('aria-disabled');
  }
};

// At the window: after the scripts that send a form themselves and prevent the browser from it
addEventListener('submit', (event) => {
  if (event.defaultPrevented) return;
  if (event.target.querySelector(LOCKED)) return event.preventDefault();
  const button = event.submitter;
  if (!button?.dataset.busy) return;
  contents.set(button, [...button.childNodes]);
  button.textContent = button.dataset.busy;
  button.setAttribute('aria-disabled', 'true');
});
// The browser's Back shows the page as it was left.
addEventListener('pageshow', unlock);
