import type { ReadStream, Stats } from 'node:fs';
import type { ServerResponse } from 'node:http';
import send from 'send';
import { decideDownload } from '../licensing/download';
import { keyDigest } from '../licensing/keys';
import type { Licensing } from '../licensing/licensing';
import { isRefusal, type RefusalCode } from '../licensing/refusals';
import type { LicenseTerms } from '../store/licenses';
import { packageFileName, statPackage } from '../store/package-files';
import type { Release } from '../store/releases';
import { messageOf, sendRefusal } from './answers';
import type { Context, Handler } from './context';
import { chooseKey, readProductId, readQuery, readQueryKey } from './requests';

export interface DownloadSettings {
  packagesDir: string;
  /** nginx's internal location; undefined: the service sends the bytes itself */
  accelLocation: string | undefined;
}

/** How failures are written: as text, unless the client called with `license_key` alone (contract, section 4.4). */
export function chooseDownloadAnswers(ctx: Context): void {
  const query = readQuery(ctx.querystring);
  ctx.state.answerAs = query.has('license_key') && !query.has('dlid') ? 'json' : 'text';
}

/** GET downloads/{product_id}: contract, section 4.4; the order of the refusals is that of decisions, "Downloads". */
export function downloadHandler(
  { db, lookUp, now, accessLog }: Licensing,
  settings: DownloadSettings,
): Handler {
  return async (ctx) => {
    const query = readQuery(ctx.querystring);
    const key = chooseKey(readQueryKey(query.get('license_key')), readQueryKey(query.get('dlid')));
    const productId = readProductId((ctx.params as { product_id?: string }).product_id);
    const identifier = query.get('identifier')?.trim() || undefined;
    const version = query.get('version')?.trim() || undefined;
    const at = now();
    const record = (outcome: RefusalCode | 'ok', license?: LicenseTerms, release?: Release) =>
      accessLog.record({
        at,
        endpoint: 'download',
        outcome,
        key,
        license,
        identifier,
        productId,
        version: release?.version ?? version,
        ip: ctx.state.client.ip,
        userAgent: ctx.get('User-Agent'),
      });
    const refuse = (refused: RefusalCode, license?: LicenseTerms, message?: string) => {
      record(refused, license);
      sendRefusal(ctx, { refused, ...(message === undefined ? {} : { message }) });
    };

    if (key === undefined)
      return refuse('INVALID_REQUEST', undefined, 'Download ID (license key) is required');
    if (productId === undefined) return refuse('INVALID_REQUEST', undefined, 'Product ID must be an integer');
    const decision = await decideDownload(
      db,
      () => lookUp({ keyDigest: keyDigest(key), identifier }),
      { productId, identifierGiven: identifier !== undefined, version },
      at,
    );
    if (isRefusal(decision)) return refuse(decision.refused, decision.license, decision.message);
    const { license, release } = decision;
    const stats = await statPackage(settings.packagesDir, release.sha256);
    // One that was cut is as good as none: Joomla would unpack what there is of it.
    if (stats?.size !== release.fileSize) return refuse('FILE_NOT_FOUND', license);
    if (ctx.state.answered) return;
    record('ok', license, release);
    sendPackage(ctx, release, settings);
  };
}

/** What the library could not send: a range outside the package (416), a file that went away or cannot be read. */
interface SendError {
  statusCode: number;
  headers?: Record<string, string>;
}

/** nginx judges these before it learns our ETag: it would refuse `If-Match` of the very same. */
const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'];

/** The bytes are nginx's where it offers to send them, ranges included. */
function sendPackage(ctx: Context, release: Release, { packagesDir, accelLocation }: DownloadSettings): void {
  const name = packageFileName(release.sha256);
  const etag = `"${release.sha256}"`;
  ctx.set({
    'Content-Type': 'application/zip',
    'Content-Disposition': `attachment; filename="${release.fileName}"`,
    'Accept-Ranges': 'bytes',
    ETag: etag,
    // no-transform: a proxy that recompressed the body would break its checksum
    'Cache-Control': 'private, no-store, no-transform',
    'X-Content-Type-Options': 'nosniff',
  });
  if (accelLocation !== undefined && CONDITIONS.every((header) => ctx.get(header) === '')) {
    if (!isForPart(ctx, etag)) ctx.remove('Accept-Ranges');
    ctx.set('X-Accel-Redirect', accelLocation + name);
    ctx.status = 200;
    ctx.body = '';
    return;
  }
  // From here the answer is the library's: it knows ranges, If-Range and conditional requests, and stops reading
  // when the client goes away. (ctx.status would set the reason phrase too: "206 OK".)
  ctx.respond = false;
  ctx.res.statusCode = 200;
  let size: number | undefined;
  send(ctx.req, name, {
    root: packagesDir,
    cacheControl: false,
    lastModified: false,
    etag: false,
    dotfiles: 'deny',
    index: false,
  })
    .on('headers', (_res: ServerResponse, _path: string, stats: Stats) => (size = stats.size))
    .on('stream', (file: ReadStream) => {
      if (size !== release.fileSize) {
        file.destroy();
        failSending(ctx.res);
      }
      // Before the library ends the answer: a file that is cut meanwhile would leave the client waiting for the rest.
      file.on('end', () => {
        if (file.bytesRead < Number(ctx.res.getHeader('Content-Length'))) ctx.res.destroy();
      });
    })
    .on('directory', () => failSending(ctx.res))
    .on('error', (error: SendError) => failSending(ctx.res, error))
    .pipe(ctx.res);
}

/** The end of an answer whose file changed after it was looked at, or of a range or condition that cannot be met. */
function failSending(res: ServerResponse, { statusCode, headers }: SendError = { statusCode: 404 }): void {
  if (res.headersSent) {
    res.destroy();
    return;
  }
  for (const header of ['Content-Disposition', 'Content-Type', 'Content-Range', 'ETag'])
    res.removeHeader(header);
  if (statusCode === 412 || statusCode === 416) {
    for (const [header, value] of Object.entries(headers ?? {})) res.setHeader(header, value);
    res.statusCode = statusCode;
    res.setHeader('Content-Length', 0);
    res.end();
    return;
  }
  res.removeHeader('Accept-Ranges');
  const text = messageOf('FILE_NOT_FOUND');
  res.statusCode = 404;
  res.setHeader('Content-Type', 'text/plain; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

/** Whether nginx will answer 206. It says `Accept-Ranges` itself with a whole package, and does not with a part. */
function isForPart(ctx: Context, etag: string): boolean {
  return /^bytes=(\d+-\d*|-\d+)$/i.test(ctx.get('Range')) && ['', etag].includes(ctx.get('If-Range'));
}
