'use strict';
/*
 * Reads a licence key from the link's fragment: P/pages/my#key=KEY
 *   <form method="post" action="my" data-key-form="key"> <input name="key">
 * Removes the key from the address and the history, writes it into the field that data-key-form names, and sends the
 * form. A fragment never reaches a server, so that no log contains the key.
 */
const takeKey = () => {
  const found = /^#(?:.*&)?key=([^&]*)/.exec(location.hash);
  if (!found) return;
  history.replaceState(history.state, '', location.pathname + location.search);
  const form = document.querySelector('form[data-key-form]');
  const field = form?.elements.namedItem(form.dataset.keyForm);
  if (!field) return;
  try {
    field.value = decodeURIComponent(found[1]);
  } catch {
    // In a broken link, the undecoded key is checked like a mistyped one.
    field.value = found[1];
  }
  form.requestSubmit();
};
takeKey();
// Handle a second link that is opened while the page is shown
addEventListener('hashchange', takeKey);
