'use strict';
/*
 * Copies the text of an element or a field:
 *   <button type="button" hidden data-copy="#key" data-copied="Copied" data-copy-failed="Press Ctrl+C">Copy</button>
 * Shows the button, which is hidden without scripts, and reports the result next to it (role=status).
 */
const COPY = 'button[data-copy]';

const showButtons = () => {
  for (const button of document.querySelectorAll(`${COPY}[hidden]`)) {
    button.hidden = false;
    const status = document.createElement('span');
    status.className = 'small muted';
    status.setAttribute('role', 'status');
    button.after(status);
  }
};

const copy = async (button) => {
  const source = document.querySelector(button.dataset.copy);
  if (!source) return;
  const status = button.nextElementSibling;
  status.textContent = '';
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent.trim());
    status.textContent = button.dataset.copied;
  } catch {
    // Without https, or without permission, select the text, so that one press of the keys copies it.
    if (source.select) source.select();
    else getSelection().selectAllChildren(source);
    status.textContent = button.dataset.copyFailed;
  }
};

showButtons();
document.addEventListener('licensing:content', showButtons);
document.addEventListener('click', (event) => {
  const button = event.target.closest(COPY);
  if (button) void copy(button);
});
