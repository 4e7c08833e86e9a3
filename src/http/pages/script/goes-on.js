'use strict';
/*
 * Submits a form at once if it is one of several steps, such as a bulk action:
 *   <form data-goes-on>
 * If the user returned to its page, the form waits for a click.
 */
const step = document.querySelector('form[data-goes-on]');
const [arrival] = performance.getEntriesByType('navigation');
if (step && arrival?.type === 'navigate') step.requestSubmit(step.querySelector('button[type=submit]'));
