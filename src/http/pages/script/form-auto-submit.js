'use strict';
/*
 * Submits a form at once if it is one of several steps, such as a bulk action:
 *   <form data-auto-submit>
 * If the user returned to its page, the form waits for a click.
 */
const step = document.querySelector('form[data-auto-submit]');
const [arrival] = performance.getEntriesByType('navigation');
if (step && arrival?.type === 'navigate') step.requestSubmit(step.querySelector('button[type=submit]'));
