import type { ReadStream, Stats } from 'node:fs';
import type { ServerResponse } from 'node:http';
import send from 'send';
import { decideDownload } from '../licensing/download';
import { keyDigest } from '../licensing/keys';
import { createBatches, eachOnce } from '../licensing/batches';
import type { Licensing } from '../licensing/licensing';
import { isRefusal, type RefusalCode } from '../licensing/verdict';
import type { LicenseTerms } from '../store/licenses';
import { packageFileName, statPackage } from '../store/package-files';
import type { Release } from '../store/releases';
import { KEY_REQUIRED, PRODUCT_ID_REQUIRED } from '../api-texts';
import { PACKAGE_HEADERS, sendRefusal } from './answers';
import type { Context, Handler } from './context';
import { chooseKey, readProductId, readQuery, readQueryKey } from './requests';

export interface DownloadSettings {
  packagesDir: string;
  /** nginx's internal location; undefined: the service sends the bytes itself */
  accelLocation: string | undefined;
}

/** GET downloads/{product_id}: contract, section 4.4; the order of the refusals is that of decisions, "Downloads". */
export function downloadHandler(
  { lookUp, findRelease, now, accessLog }: Licensing,
  settings: DownloadSettings,
): Handler {
  const findPackage = createBatches(
    eachOnce(
      (sha256: string) => sha256,
      (sha256) => statPackage(settings.packagesDir, sha256),
    ),
  );
  return async (ctx) => {
    const query = readQuery(ctx.querystring);
    const key = chooseKey(readQueryKey(query.get('license_key')), readQueryKey(query.get('dlid')));
    const productId = readProductId(ctx);
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
        client: ctx.state.client.limitKey,
        userAgent: ctx.get('User-Agent'),
      });
    const refuse = (refused: RefusalCode, license?: LicenseTerms, message?: string) => {
      record(refused, license);
      sendRefusal(ctx, { refused, ...(message === undefined ? {} : { message }) });
    };

    if (key === undefined) return refuse('INVALID_REQUEST', undefined, KEY_REQUIRED);
    if (productId === undefined) return refuse('INVALID_REQUEST', undefined, PRODUCT_ID_REQUIRED);
    const decision = await decideDownload(
      await lookUp({ key, keyDigest: keyDigest(key), identifier }),
      findRelease,
      { productId, identifierGiven: identifier !== undefined, version },
      at,
    );
    if (isRefusal(decision)) return refuse(decision.refused, decision.license, decision.message);
    const { license, release } = decision;
    const stats = await findPackage(release.sha256);
    // One that was cut is as good as none: Joomla would unpack what there is of it.
    if (stats?.size !== release.fileSize) return refuse('FILE_NOT_FOUND', license);
    const isLate = () => ctx.state.answered;
    if (isLate()) return;
    const sent = await sendPackage(ctx, release, settings);
    if (isLate()) return;
    if (sent) record('ok', license, release);
    else refuse('FILE_NOT_FOUND', license);
  };
}

/** nginx judges these before it learns our ETag: it would refuse `If-Match` of the very same. */
const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'];

/**
 * The bytes are nginx's where it offers to send them, ranges included.
 *
 * @returns when it is decided what is sent; false: the file is gone or another than it was, and nothing was sent
 */
function sendPackage(
  ctx: Context,
  release: Release,
  { packagesDir, accelLocation }: DownloadSettings,
): Promise<boolean> {
  const { res } = ctx;
  const etag = `"${release.sha256}"`;
  // Not by ctx.set, as in answers.ts.
  res.setHeader('Content-Type', 'application/zip');
  res.setHeader('Content-Disposition', `attachment; filename="${release.fileName}"`);
  res.setHeader('ETag', etag);
  // no-transform: a proxy that recompressed the body would break its checksum
  res.setHeader('Cache-Control', 'private, no-store, no-transform');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  if (accelLocation === undefined || CONDITIONS.some((header) => ctx.get(header) !== ''))
    return streamPackage(ctx, release, packagesDir);
  if (isForPart(ctx, etag)) res.setHeader('Accept-Ranges', 'bytes');
  res.setHeader('X-Accel-Redirect', accelLocation + packageFileName(release.sha256));
  ctx.status = 200;
  ctx.body = '';
  return Promise.resolve(true);
}

/** What the library could not send: a range outside the package (416), a file that went away or cannot be read. */
interface SendError {
  statusCode: number;
  headers?: Record<string, string>;
}

/**
 * The bytes by the library: it knows ranges, If-Range and conditional requests, and stops reading when the client goes
 * away. What it answers is counted like every other answer, so the handler waits until that is decided.
 */
function streamPackage(ctx: Context, release: Release, packagesDir: string): Promise<boolean> {
  const { req, res } = ctx;
  // Of the last so many bytes of a file that has fewer, the library knows none; they are all of it (RFC 9110, 14.1.2).
  const [, last = '0'] = /^bytes=-(\d+)$/.exec(req.headers.range ?? '') ?? [];
  if (Number(last) > release.fileSize) req.headers.range = 'bytes=0-';
  // A package has no date of change, so nobody can ask by one (13.1.4); the library would answer 412.
  delete req.headers['if-unmodified-since'];
  // Not ctx.status, which would set the reason phrase too: "206 OK".
  res.statusCode = 200;
  return new Promise((resolve) => {
    const take = () => {
      ctx.respond = false;
      resolve(true);
    };
    let size: number | undefined;
    send(req, packageFileName(release.sha256), {
      root: packagesDir,
      cacheControl: false,
      lastModified: false,
      etag: false,
      dotfiles: 'deny',
      index: false,
    })
      .on('headers', (_res: ServerResponse, _path: string, stats: Stats) => {
        size = stats.size;
        // An answer without a file (HEAD, 304, 412, 416) is ended at once, however long it waits for its turn.
        process.nextTick(() => {
          if (res.writableEnded) take();
        });
      })
      .on('stream', (file: ReadStream) => {
        // The library closes it with the answer: one whose turn on the connection never comes has no end.
        const close = () => file.destroy();
        if (req.destroyed) close();
        else req.once('close', close);
        if (size !== release.fileSize) {
          close();
          resolve(false);
        }
        file.once('open', () => {
          if (ctx.state.answered) close();
          else take();
        });
        // Before the library ends the answer: a file that is cut meanwhile would leave the client waiting for the rest.
        file.on('end', () => {
          if (file.bytesRead < Number(res.getHeader('Content-Length'))) res.destroy();
        });
      })
      .on('directory', () => resolve(false))
      .on('error', ({ statusCode, headers }: SendError) => {
        if (ctx.respond === false) res.destroy();
        else if (ctx.state.answered || (statusCode !== 412 && statusCode !== 416)) resolve(false);
        else {
          for (const header of PACKAGE_HEADERS) res.removeHeader(header);
          for (const [header, value] of Object.entries(headers ?? {})) res.setHeader(header, value);
          res.statusCode = statusCode;
          res.setHeader('Content-Length', 0);
          res.end();
        }
      })
      .pipe(res);
  });
}

/**
 * Whether nginx, which lets blanks stand in a range, will answer 206. It says `Accept-Ranges` itself with a whole
 * package, and does not with a part.
 */
function isForPart(ctx: Context, etag: string): boolean {
  return (
    /^bytes= *(?:\d+ *- *\d*|-\d+) *$/i.test(ctx.get('Range')) && ['', etag].includes(ctx.get('If-Range'))
  );
}
