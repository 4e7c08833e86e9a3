'use strict';
/* Closes a notice without reloading the page: <a data-close href="this page">Close</a>. The focus moves to the page. */
document.addEventListener('click', (event) => {
  const link = event.target.closest('[data-close]');
  if (!link) return;
  event.preventDefault();
  link.parentElement.remove();
  document.querySelector('main').focus();
});
