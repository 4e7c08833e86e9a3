'use strict';
/* Shows the document. The theme is set before the bundle runs, so that the page does not flash. */
const dark = matchMedia('(prefers-color-scheme: dark)');
const setTheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', setTheme);
setTheme();

const page = document.getElementById('page');
const bundle = document.createElement('script');
bundle.src = page.dataset.bundle;
bundle.addEventListener('load', () => {
  globalThis.SwaggerUIBundle({
    url: page.dataset.document,
    domNode: page,
    deepLinking: true,
    docExpansion: 'none',
    defaultModelsExpandDepth: 0,
    filter: true,
    // Keep tokens only in this page's memory, and send the document to no validator.
    persistAuthorization: false,
    validatorUrl: null,
  });
});
document.head.append(bundle);
