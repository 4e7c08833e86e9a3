'use strict';
/*
 * A form that is one of several steps sends itself:
 *   <form data-goes-on>
 * Not when somebody came back to its page.
 */
const step = document.querySelector('form[data-goes-on]');
const [arrival] = performance.getEntriesByType('navigation');
if (step && arrival?.type === 'navigate') step.requestSubmit(step.querySelector('button[type=submit]'));
