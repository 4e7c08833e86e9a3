import type { ReadStream, Stats } from 'node:fs';
import type { ServerResponse } from 'node:http';
import send from 'send';
import { jsonOf } from '../base/json';
import { decideDownload } from '../licensing/download';
import { gatherFacts, type DownloadFacts } from '../licensing/download-check';
import type { Licensing } from '../licensing/licensing';
import type { Refusal, RefusalCode } from '../licensing/core/verdict';
import { createPackageFinder, packageFileName } from '../packages/package-files';
import type { Release } from '../packages/releases';
import { API_TEXTS, KEY_REQUIRED, PRODUCT_ID_REQUIRED } from '../licensing/api';
import { PACKAGE_HEADERS, sendData, sendRefusal } from './answers';
import type { Context, Handler } from './context';
import { readDownload, readProductId } from './requests';

export interface DownloadSettings {
  packagesDir: string;
  /** the internal location of nginx for X-Accel-Redirect; undefined if the service sends the bytes itself */
  accelLocation: string | undefined;
}

/** The licence and key that are known despite a refusal, for the access log. */
type LicenseOfRefusal = Pick<Refusal, 'license' | 'keyId'>;

/** Returns the endpoint of a request: with `check=1` it asks only for the verdict. */
export function downloadEndpoint(ctx: Context): 'download' | 'check' {
  return readDownload(ctx).query.get('check')?.trim() === '1' ? 'check' : 'download';
}

/**
 * Handles GET downloads/{product_id} (docs/contract.md, 8). With `check=1` it sends the same verdict as JSON, without
 * the package (docs/contract.md, 8.6).
 */
export function downloadHandler(
  { lookUp, releases, findProduct, findPlan, now, accessLog }: Licensing,
  settings: DownloadSettings,
): Handler {
  const findPackage = createPackageFinder(settings.packagesDir);
  return async (ctx) => {
    const { query, key, keyDigest } = readDownload(ctx);
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
        // Headers of the plugin that a seller gives to customers (joomla-side).
        site: ctx.get('X-Licensing-Site') || undefined,
        installedVersion: ctx.get('X-Licensing-Version') || undefined,
      });
    const refuse = (refused: RefusalCode, known: LicenseOfRefusal = {}, message?: string) => {
      record(refused, known);
      sendRefusal(ctx, { refused, ...(message === undefined ? {} : { message }) });
    };

    if (keyDigest === undefined) return refuse('INVALID_REQUEST', undefined, KEY_REQUIRED);
    if (productId === undefined) return refuse('INVALID_REQUEST', undefined, PRODUCT_ID_REQUIRED);
    const found = await lookUp({ key, keyDigest, identifier, productId });
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
    ...(facts.entitledSecurity && { entitled_security: true }),
  });
}

/** Conditional headers. nginx checks them before it receives our ETag, and would refuse an `If-Match` with it. */
const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const;

/** Sends a package, through nginx if it offers that. Resolves when the answer is decided; false if nothing was sent. */
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
  // Forbid transformations: a proxy that recompresses the body would break the package's checksum.
  res.setHeader('Cache-Control', 'private, no-store, no-transform');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  if (accelLocation === undefined || CONDITIONS.some((header) => ctx.req.headers[header]))
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

/** Streams a package with the `send` library. It resolves when the answer is decided, so that it counts like others. */
function streamPackage(ctx: Context, release: Release, packagesDir: string): Promise<boolean> {
  const { req, res } = ctx;
  // A suffix range longer than the file means the whole file (RFC 9110, 14.1.2), for which the library sends nothing.
  const [, last = '0'] = /^bytes=-(\d+)$/.exec(req.headers.range ?? '') ?? [];
  if (Number(last) > release.fileSize) req.headers.range = 'bytes=0-';
  // Ignore this header: a package has no modification date (RFC 9110, 13.1.4), and the library would answer 412.
  delete req.headers['if-unmodified-since'];
  // Set the status on `res`, because ctx.status would also set the reason phrase: "206 OK".
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
        // Resolve now for an answer without a file (HEAD, 304, 412, 416), even if the connection sends it later.
        process.nextTick(() => {
          if (res.writableEnded) take();
        });
      })
      .on('stream', (file: ReadStream) => {
        // Close the file when the connection closes early: the library closes it only when the answer ends.
        const close = () => file.destroy();
        // Watch the response if the request's body was read to its end, which has already destroyed the request.
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
        // End the connection if the file was cut: the client would wait. This runs before the library ends the answer.
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

/** Reports whether nginx, which allows blanks in a range, will answer 206. nginx adds no `Accept-Ranges` to a 206. */
function isForPart(ctx: Context, etag: string): boolean {
  const { range } = ctx.req.headers;
  if (range === undefined || !/^bytes= *(?:\d+ *- *\d*|-\d+) *$/i.test(range)) return false;
  return ['', etag].includes(ctx.get('If-Range'));
}
