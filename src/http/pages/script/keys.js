'use strict';
/*
 * Keyboard shortcuts:  /  focuses <input data-search>;  ?  opens <dialog id="keys">
 *   <button type="button" hidden data-open="#keys">Keyboard</button> also opens it; the script shows this button.
 *   <kbd data-key-hint hidden>/</kbd> is shown while the shortcuts are on.
 *   In the dialog: <input type="checkbox" data-keys> switches both shortcuts; <form method="dialog"> closes it.
 * The choice is stored in this browser (localStorage licensing-keys=off).
 */
const NAME = 'licensing-keys';
const stored = {
  read() {
    try {
      return localStorage.getItem(NAME) !== 'off';
    } catch {
      return true;
    }
  },
  write(on) {
    try {
      localStorage.setItem(NAME, on ? 'on' : 'off');
    } catch {
      // Without storage, the choice lasts until the page closes.
    }
  },
};
let on = stored.read();

const prepare = () => {
  for (const button of document.querySelectorAll('button[data-open][hidden]')) button.hidden = false;
  for (const box of document.querySelectorAll('input[data-keys]')) box.checked = on;
  for (const hint of document.querySelectorAll('[data-key-hint]')) hint.hidden = !on;
};
/** Where a key is text, or moves among options. A box or a button takes only Space and Enter. */
const TYPED =
  'input:not([type=checkbox], [type=radio], [type=file]), textarea, select, [contenteditable], dialog';
const open = (selector) => {
  const dialog = document.querySelector(selector);
  if (dialog && !dialog.open) dialog.showModal();
  return dialog;
};

prepare();
document.addEventListener('licensing:content', prepare);
document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-open]');
  if (button) open(button.dataset.open);
});
document.addEventListener('change', (event) => {
  if (!event.target.matches('input[data-keys]')) return;
  on = event.target.checked;
  stored.write(on);
  prepare();
});
document.addEventListener('keydown', (event) => {
  if (!on || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest(TYPED)) return;
  const field = event.key === '/' && document.querySelector('input[data-search]');
  field && field.focus();
  if (field || (event.key === '?' && open('#keys'))) event.preventDefault();
});
