import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type Router from '@koa/router';
import type { RequestState } from '../context';
import { compress, memoizeSuccess, serveFile, typeOf } from '../static-file';
import { buildDocument } from './openapi';
import { PAGE_FILES } from './page-files';

/** Serves `openapi.json` and the page `docs` that shows it. Both are public, and built at the first request. */

export interface DocumentSettings {
  /** the program's version */
  version: string;
  /** the folder into which the build writes the page's scripts and styles */
  pageFolder: string;
}

/** The headers of the page: it may load nothing from other hosts, and run no inline script. */
const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** Adds `openapi.json`, `docs` and `docs/FILE` to the router. */
export function mountDocument(router: Router<RequestState>, { version, pageFolder }: DocumentSettings): void {
  const openapi = memoizeSuccess(() => compress('application/json', JSON.stringify(buildDocument(version))));
  router.all('/openapi.json', serveFile(openapi, 'document'));
  const page = memoizeSuccess(() => compress('text/html', pageIn('docs/')));
  const pageInside = memoizeSuccess(() => compress('text/html', pageIn('')));
  router.all(
    '/docs',
    serveFile((ctx) => (ctx.path.endsWith('/') ? pageInside() : page()), 'document', PAGE_HEADERS),
  );
  for (const name of PAGE_FILES) {
    const read = memoizeSuccess(async () => compress(typeOf(name), await readFile(join(pageFolder, name))));
    router.all(`/docs/${name}`, serveFile(read, 'document'));
  }
}

/**
 * Returns the page. Its addresses are relative: the site may be in a folder. @param folder from the page to its files
 */
function pageIn(folder: string): string {
  const up = folder === '' ? '../' : '';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>The API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${folder}swagger-ui.css">
<link rel="stylesheet" href="${folder}page.css">
<script src="${folder}page.js" defer></script>
</head>
<body>
<noscript>This page needs JavaScript. The document itself: <a href="${up}openapi.json">openapi.json</a></noscript>
<main id="page" data-document="${up}openapi.json" data-bundle="${folder}swagger-ui-bundle.js"></main>
</body>
</html>
`;
}
