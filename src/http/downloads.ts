import type { ReadStream, Stats } from 'node:fs';
import type { ServerResponse } from 'node:http';
import send from 'send';
import { jsonOf } from '../base/json';
import { decideDownload } from '../licensing/download';
import { gatherFacts, type DownloadFacts } from '../licensing/download-check';
import { keyDigest } from '../licensing/core/keys';
import type { Licensing } from '../licensing/licensing';
import type { Refusal, RefusalCode } from '../licensing/core/verdict';
import { createPackageFinder, packageFileName } from '../packages/package-files';
import type { Release } from '../packages/releases';
import { API_TEXTS, KEY_REQUIRED, PRODUCT_ID_REQUIRED } from '../licensing/api';
import { PACKAGE_HEADERS, sendData, sendRefusal } from './answers';
import type { Context, Handler } from './context';
import { readDownloadKey, readProductId, readQuery } from './requests';

export interface DownloadSettings {
  packagesDir: string;
  /** nginx's internal location; undefined: the service sends the bytes itself */
  accelLocation: string | undefined;
}

/** What is known of the licence, for the access log. */
type LicenseOfRefusal = Pick<Refusal, 'license' | 'keyId'>;

/** A request with `check=1` asks for the verdict only. */
export function downloadEndpoint(ctx: Context): 'download' | 'check' {
  // Nearly all do not, and reading a query takes some µs.
  if (!ctx.querystring.includes('check')) return 'download';
  return readQuery(ctx.querystring).get('check')?.trim() === '1' ? 'check' : 'download';
}

/**
 * GET downloads/{product_id}: docs/contract.md, 8. With `check=1` the
 * same verdict as JSON, without the package: docs/contract.md, 8.6.
 */
export function downloadHandler(
  { lookUp, releases, findProduct, findPlan, now, accessLog }: Licensing,
  settings: DownloadSettings,
): Handler {
  const findPackage = createPackageFinder(settings.packagesDir);
  return async (ctx) => {
    const query = readQuery(ctx.querystring);
    const key = readDownloadKey(query);
    const productId = readProductId(ctx);
    const identifier = query.get('identifier')?.trim() || undefined;
    const version = query.get('version')?.trim() || undefined;
    const at = now();
    const record = (outcome: RefusalCode | 'ok', { license, keyId }: LicenseOfRefusal, release?: Release) =>
      accessLog.record({
        at,
        endpoint: ctx.state.endpoint === 'check' ? 'check' : 'download',
        outcome,
        key,
        license,
        keyId,
        identifier,
        productId,
        version: release?.version ?? version,
        ip: ctx.state.client.ip,
        client: ctx.state.client.limitKey,
        userAgent: ctx.get('User-Agent'),
        // From the plugin that a seller gives to customers (joomla-side).
        site: ctx.get('X-Licensing-Site') || undefined,
        installedVersion: ctx.get('X-Licensing-Version') || undefined,
      });
    const refuse = (refused: RefusalCode, known: LicenseOfRefusal = {}, message?: string) => {
      record(refused, known);
      sendRefusal(ctx, { refused, ...(message === undefined ? {} : { message }) });
    };

    if (key === undefined) return refuse('INVALID_REQUEST', undefined, KEY_REQUIRED);
    if (productId === undefined) return refuse('INVALID_REQUEST', undefined, PRODUCT_ID_REQUIRED);
    const found = await lookUp({ key, keyDigest: keyDigest(key), identifier, productId });
    ctx.state.keyIsKnown = found !== undefined;
    const { limitKey: network } = ctx.state.client;
    const request = { productId, identifierGiven: identifier !== undefined, version, network };
    const finders = { releases, findPackage };
    const { refusal, release, known } = await decideDownload(found, finders, request, at);
    if (refusal === undefined) ctx.state.granted = `${productId} ${release?.version ?? ''}`;
    if (ctx.state.endpoint === 'check') {
      const code = refusal?.refused ?? null;
      const catalogue = { releases, findProduct, findPlan };
      const facts = await gatherFacts(found, { code, release }, request, catalogue, at);
      record(code ?? 'ok', known, release);
      return sendVerdict(ctx, refusal, facts);
    }
    if (refusal) return refuse(refusal.refused, known, refusal.message);
    const isLate = () => ctx.state.answered;
    if (isLate()) return;
    const sent = await sendPackage(ctx, release as Release, settings);
    if (isLate()) return;
    if (sent) record('ok', known, release);
    else refuse('FILE_NOT_FOUND', known);
  };
}

function sendVerdict(ctx: Context, refusal: Refusal | undefined, facts: DownloadFacts): void {
  const code = refusal?.refused ?? null;
  ctx.state.code = code ?? undefined;
  sendData(ctx, {
    allowed: code === null,
    code,
    message: code === null ? '' : (refusal?.message ?? API_TEXTS[code]),
    ...jsonOf(facts, 'expiresAt', 'version', 'entitledVersion', 'renewUrl', 'supportUrl', 'latest'),
    ...(facts.upgradeUrl !== null && { upgrade_url: facts.upgradeUrl }),
    ...(facts.security && { security: true }),
  });
}

/** nginx checks these before it learns our ETag, and would refuse an `If-Match` with that very ETag. */
const CONDITIONS = ['If-Match', 'If-None-Match', 'If-Modified-Since', 'If-Unmodified-Since'];

/** Lets nginx send the bytes where it offers to. Resolves once the answer is decided; false: nothing was sent. */
export function sendPackage(
  ctx: Context,
  release: Release,
  { packagesDir, accelLocation }: DownloadSettings,
): Promise<boolean> {
  const { res } = ctx;
  const etag = `"${release.sha256}"`;
  res.setHeader('Content-Type', 'application/zip');
  res.setHeader('Content-Disposition', `attachment; filename="${release.fileName}"`);
  res.setHeader('ETag', etag);
  // no-transform: a proxy that recompresses the body would break its checksum
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

interface SendError {
  statusCode: number;
  headers?: Record<string, string>;
}

/** Sends the bytes with the `send` library. Waits until the answer is decided, so that it is counted like others. */
function streamPackage(ctx: Context, release: Release, packagesDir: string): Promise<boolean> {
  const { req, res } = ctx;
  // A suffix range longer than the file means the whole file (RFC 9110, 14.1.2); the library returns none.
  const [, last = '0'] = /^bytes=-(\d+)$/.exec(req.headers.range ?? '') ?? [];
  if (Number(last) > release.fileSize) req.headers.range = 'bytes=0-';
  // Ignore it: a package has no modification date (RFC 9110, 13.1.4), and the library would answer 412.
  delete req.headers['if-unmodified-since'];
  // Not ctx.status, which would also set the reason phrase: "206 OK".
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
        // Answers without a file (HEAD, 304, 412, 416) end at once, even if the connection sends them later.
        process.nextTick(() => {
          if (res.writableEnded) take();
        });
      })
      .on('stream', (file: ReadStream) => {
        // The library closes the file when the answer ends, which it never does if the connection closes before.
        const close = () => file.destroy();
        // Reading a form's body to its end has destroyed the request already.
        const connection = req.readableEnded ? res : req;
        if (connection.destroyed) close();
        else connection.once('close', close);
        if (size !== release.fileSize) {
          close();
          resolve(false);
        }
        file.once('open', () => {
          if (ctx.state.answered) close();
          else take();
        });
        // Runs before the library ends the answer. If the file was cut meanwhile, the client would wait for the rest.
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

/** Whether nginx, which allows blanks in a range, will answer 206. It adds no `Accept-Ranges` to a 206. */
function isForPart(ctx: Context, etag: string): boolean {
  return (
    /^bytes= *(?:\d+ *- *\d*|-\d+) *$/i.test(ctx.get('Range')) && ['', etag].includes(ctx.get('If-Range'))
  );
}
