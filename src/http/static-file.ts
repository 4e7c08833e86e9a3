import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { sendFailure } from './answers';
import type { Context, Middleware, RequestState } from './context';

/** Serves files from memory, compressed with an encoding that the client accepts. */

export interface StaticFile {
  type: string;
  etag: string;
  plain: Buffer;
  /** undefined for a file that is compressed already */
  br?: Buffer;
  gzip?: Buffer;
}

const TYPES: Record<string, string> = {
  css: 'text/css',
  js: 'text/javascript',
  html: 'text/html',
  png: 'image/png',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

/** Returns the content type of a file by its name; empty for other kinds of files. */
export function typeOf(name: string): string {
  return TYPES[name.split('.').at(-1) ?? ''] ?? '';
}

/** Answers GET and HEAD with the file, or 404 for undefined. @param headers override those of every file */
export function serveFile(
  load: (ctx: Context) => StaticFile | undefined | Promise<StaticFile>,
  endpoint: RequestState['endpoint'],
  headers: Record<string, string> = {},
): Middleware {
  return async (ctx) => {
    ctx.state.endpoint = endpoint;
    if (!['GET', 'HEAD'].includes(ctx.method)) {
      ctx.set('Allow', 'GET, HEAD');
      sendFailure(ctx, 'METHOD_NOT_ALLOWED');
      return;
    }
    const file = await load(ctx);
    if (file) send(ctx, file, headers);
    else sendFailure(ctx, 'NOT_FOUND');
  };
}

function send(ctx: Context, file: StaticFile, headers: Record<string, string>): void {
  const encoding = ctx.acceptsEncodings(['br', 'gzip', 'identity']);
  ctx.set({
    ETag: file.etag,
    'Cache-Control': 'no-cache',
    Vary: 'Accept-Encoding',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
  });
  ctx.status = 200;
  if (ctx.fresh) {
    ctx.status = 304;
    return;
  }
  const packed = encoding === 'br' || encoding === 'gzip' ? file[encoding] : undefined;
  if (packed) ctx.set('Content-Encoding', encoding as string);
  ctx.set('Content-Type', IS_TEXT.test(file.type) ? `${file.type}; charset=utf-8` : file.type);
  ctx.body = packed ?? file.plain;
}

const IS_TEXT = /^text\/|json|javascript|xml/;

const toGzip = promisify(gzip);
const toBrotli = promisify(brotliCompress);

/** Compresses a file that the build has not compressed. */
export async function compress(type: string, content: string | Buffer): Promise<StaticFile> {
  const plain = Buffer.from(content);
  // Use quality 5, which takes 30 ms for the largest file; 11, the default, would take 3 s.
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  return { type, etag: etagOf(plain), plain, br: await toBrotli(plain, quality), gzip: await toGzip(plain) };
}

/** Returns a weak ETag, because it is the same for each encoding. */
export function etagOf(plain: Buffer): string {
  return `W/"${createHash('sha256').update(plain).digest('base64url')}"`;
}

/** Returns a function that loads a value at its first call. A successful result is kept, a failure is not. */
export function memoizeSuccess<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));
}
