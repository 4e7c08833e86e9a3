'use strict';
/*
 * Sends a form automatically that is one of several steps:
 *   <form data-goes-on>
 * It does not do so when the user returned to its page.
 */
const step = document.querySelector('form[data-goes-on]');
const [arrival] = performance.getEntriesByType('navigation');
if (step && arrival?.type === 'navigate') step.requestSubmit(step.querySelector('button[type=submit]'));
