'use strict';
/* Closes <details class="menu"> by Escape, by a click outside, and when it loses the focus. Opening needs no script. */
const closeOthers = (target) => {
  for (const menu of document.querySelectorAll('details.menu[open]'))
    if (!menu.contains(target)) menu.open = false;
};

document.addEventListener('click', (event) => closeOthers(event.target));
document.addEventListener('focusin', (event) => closeOthers(event.target));
document.addEventListener('keydown', (event) => {
  const menu = event.key === 'Escape' && event.target.closest('details.menu[open]');
  if (!menu) return;
  menu.open = false;
  menu.querySelector('summary').focus();
});
