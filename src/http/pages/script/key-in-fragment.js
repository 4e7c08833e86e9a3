'use strict';
/*
 * A licence key in the link's fragment: P/pages/my#key=KEY
 *   <form method="post" action="my" data-key-form="key"> <input name="key">
 * Takes the key out of the address and its place in the history, writes it into the field that data-key-form names,
 * and sends the form. A fragment never reaches a server, so that the key stands in no log.
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
    // A broken link: the key as it stands there is judged like a mistyped one.
    field.value = found[1];
  }
  form.requestSubmit();
};
takeKey();
// A second link that is opened while the page is shown
addEventListener('hashchange', takeKey);
