import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Child } from 'hono/jsx';
import type { Context } from '../context';
import { setFlash, takeFlash } from './preference-cookies';
import { csvFile } from './csv';
import type { PageResponse, PageCall } from './page';
import { ViewProvider, type View } from './view';

/** Sends the answer of a route's handler. */
export async function sendPageResponse(call: PageCall, answer: PageResponse): Promise<void> {
  const { ctx, view } = call;
  if ('sent' in answer) return;
  const base = view.to('');
  if ('to' in answer) {
    if (answer.flash) setFlash(ctx, answer.flash, base);
    ctx.status = 303;
    ctx.set('Location', view.to(answer.to));
    return;
  }
  if ('csv' in answer || 'file' in answer) {
    // Read the first row before sending headers: an error then shows a page, and does not cut off the file.
    const rows = 'csv' in answer ? await begun(answer.rows) : undefined;
    const [name, type] = 'csv' in answer ? [answer.csv, 'text/csv'] : [answer.file, answer.type];
    ctx.attachment(name);
    ctx.set(
      'Content-Type',
      'file' in answer && Buffer.isBuffer(answer.content) ? type : `${type}; charset=utf-8`,
    );
    ctx.status = 200;
    ctx.body = 'file' in answer ? answer.content : rows && Readable.from(csvFile(rows, view.t.csv));
    return;
  }
  view.flash = takeFlash(ctx, view.t, base);
  ctx.status = answer.status ?? 200;
  ctx.set('Content-Type', 'text/html; charset=utf-8');
  ctx.set('Vary', 'Accept-Encoding, Accept-Language, Cookie');
  ctx.body = await packed(ctx, `<!doctype html>${render(view, answer.page)}`);
}

/** Returns the same rows after reading the first one. */
async function begun<Row>(rows: AsyncIterable<Row>): Promise<AsyncIterable<Row>> {
  const iterator = rows[Symbol.asyncIterator]();
  const first = await iterator.next();
  return (async function* () {
    try {
      for (let next = first; !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  })();
}

const toGzip = promisify(gzip);

/**
 * Compresses the answer to a GET. Keys and tokens are only in answers to POST: next to submitted text, the compressed
 * length would reveal them (BREACH).
 */
async function packed(ctx: Context, html: string): Promise<string | Buffer> {
  if (ctx.method === 'POST' || ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return html;
  const body = await toGzip(html);
  ctx.set('Content-Encoding', 'gzip');
  return body;
}

function render(view: View, page: Child): string {
  const whole: { toString: () => string } = <ViewProvider value={view}>{page}</ViewProvider>;
  return whole.toString();
}
