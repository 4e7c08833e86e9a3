import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type Router from '@koa/router';
import { sendFailure } from '../answers';
import type { Context, Middleware, State } from '../context';
import { buildDocument } from './openapi';
import { PAGE_FILES } from './page-files';

/** `openapi.json`, and the page `docs` that shows it: public, and made by the first request. */

export interface DocumentSettings {
  /** of the program */
  version: string;
  /** where the build put the page's scripts and styles */
  pageFolder: string;
}

interface File {
  type: string;
  etag: string;
  plain: Buffer;
  br: Buffer;
  gzip: Buffer;
}

const TYPES: Record<string, string> = { css: 'text/css', js: 'text/javascript' };

/** Loads nothing of other hosts, and runs nothing that stands in the page. */
const PAGE_HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** Adds `openapi.json`, `docs` and `docs/FILE` to the router. */
export function mountDocument(router: Router<State>, { version, pageFolder }: DocumentSettings): void {
  const openapi = once(() => compress('application/json', JSON.stringify(buildDocument(version))));
  router.all('/openapi.json', serve(openapi));
  const page = once(() => compress('text/html', pageIn('docs/')));
  const pageInside = once(() => compress('text/html', pageIn('')));
  router.all(
    '/docs',
    serve((ctx) => (ctx.path.endsWith('/') ? pageInside() : page()), PAGE_HEADERS),
  );
  for (const name of PAGE_FILES) {
    const type = TYPES[name.split('.').at(-1) ?? ''] ?? '';
    const read = once(async () => compress(type, await readFile(join(pageFolder, name))));
    router.all(`/docs/${name}`, serve(read));
  }
}

/** Its addresses are relative, because the site may be in a folder. @param folder from the page to its files */
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

function serve(load: (ctx: Context) => Promise<File>, headers: Record<string, string> = {}): Middleware {
  return async (ctx) => {
    ctx.state.endpoint = 'document';
    if (!['GET', 'HEAD'].includes(ctx.method)) {
      ctx.set('Allow', 'GET, HEAD');
      sendFailure(ctx, 'METHOD_NOT_ALLOWED');
      return;
    }
    send(ctx, await load(ctx), headers);
  };
}

function send(ctx: Context, file: File, headers: Record<string, string>): void {
  const encoding = ctx.acceptsEncodings(['br', 'gzip', 'identity']);
  ctx.set({
    ...headers,
    ETag: file.etag,
    'Cache-Control': 'no-cache',
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
  });
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  const packed = encoding === 'br' || encoding === 'gzip' ? file[encoding] : undefined;
  if (packed) ctx.set('Content-Encoding', encoding as string);
  ctx.set('Content-Type', `${file.type}; charset=utf-8`);
  ctx.body = packed ?? file.plain;
}

const toGzip = promisify(gzip);
const toBrotli = promisify(brotliCompress);

async function compress(type: string, content: string | Buffer): Promise<File> {
  const plain = Buffer.from(content);
  // 5 takes 30 ms for the largest; 11, the default, would take 3 s.
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  return {
    type,
    // Weak: it is the same for each encoding.
    etag: `W/"${createHash('sha256').update(plain).digest('base64url')}"`,
    plain,
    br: await toBrotli(plain, quality),
    gzip: await toGzip(plain),
  };
}

/** Its first success is kept. */
function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
}
