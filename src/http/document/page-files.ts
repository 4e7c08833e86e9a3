/** The scripts and styles of the page, which the build writes into `dist/docs-page` (scripts/build-docs-page.mjs). */
export const PAGE_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'page.css', 'page.js'];
