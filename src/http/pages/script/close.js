'use strict';
/*
 * Closes a notice without loading the page again: <a data-close href="this page">Close</a>. The focus goes on to the page.
 */
document.addEventListener('click', (event) => {
  const link = event.target.closest('[data-close]');
  if (!link) return;
  event.preventDefault();
  link.parentElement.remove();
  document.querySelector('main').focus();
});
