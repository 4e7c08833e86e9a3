import { formatTimestamp } from '../base/days';
import type { LicenseMatch } from '../licensing/core/lookup';
import type { Refusal, RefusalCode } from '../licensing/core/verdict';
import { API_TEXTS } from '../licensing/api';
import type { Context } from './context';
import { readDownload } from './requests';

/** Writes every answer of the customers' API, and has its codes with their HTTP status (docs/contract.md, 8 and 9). */

type FaultCode =
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'SERVICE_UNAVAILABLE'
  | 'INTERNAL_ERROR';
export type CustomerErrorCode = RefusalCode | FaultCode;

const STATUSES: Record<CustomerErrorCode, number> = {
  INVALID_REQUEST: 400,
  LICENSE_NOT_FOUND: 403,
  LICENSE_INACTIVE: 403,
  LICENSE_EXPIRED: 403,
  ACTIVATION_LIMIT_REACHED: 403,
  ACTIVATION_NOT_FOUND: 404,
  ACTIVATION_HELD: 403,
  PRODUCT_MISMATCH: 403,
  DOWNLOAD_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  SERVICE_UNAVAILABLE: 503,
  INTERNAL_ERROR: 500,
};

/** Headers that describe a package. An answer without a package must not have them. */
export const PACKAGE_HEADERS = ['Content-Disposition', 'Content-Type', 'Content-Range', 'ETag'];

const JSON_TYPE = 'application/json; charset=utf-8';

/** Seconds in the `Retry-After` header when the service cannot answer. */
const RETRY_AFTER_UNAVAILABLE = 5;

export function sendData(ctx: Context, data: object): void {
  sendWritten(ctx, writeData(data));
}

export function sendJson(ctx: Context, status: number, body: object): void {
  send(ctx, status, JSON_TYPE, JSON.stringify(body));
}

/** Serializes the body for `sendWritten`, so that one body can answer many requests. */
export function writeData(data: object): string {
  return JSON.stringify({ data });
}

/** Sends a prepared body. @param body from `writeData` */
export function sendWritten(ctx: Context, body: string): void {
  send(ctx, 200, JSON_TYPE, body);
}

/** Answers a refusal, as text or JSON according to the request. */
export function sendRefusal(ctx: Context, refusal: Refusal): void {
  const { refused, message, slots, heldUntil } = refusal;
  // Answer every refused download with 403 (docs/contract.md, 9). 404 means that the package is missing.
  const status = refused === 'ACTIVATION_NOT_FOUND' && isOfDownload(ctx) ? 403 : undefined;
  sendFailure(ctx, refused, {
    ...(message === undefined ? {} : { message }),
    ...(status === undefined ? {} : { status }),
    ...(slots && {
      details: { activation_limit: slots.activationLimit, activations_used: slots.activationsUsed },
    }),
    ...(heldUntil && { details: { held_until: formatTimestamp(heldUntil) } }),
  });
}

/** Answers a refusal or fault, unless the request is already answered. `retryAfter` is in seconds. */
export function sendFailure(
  ctx: Context,
  code: CustomerErrorCode,
  options: { message?: string; status?: number; details?: object; retryAfter?: number } = {},
): void {
  if (ctx.state.answered) return;
  const message = options.message ?? API_TEXTS[code];
  const status = options.status ?? STATUSES[code];
  const retryAfter =
    options.retryAfter ?? (code === 'SERVICE_UNAVAILABLE' ? RETRY_AFTER_UNAVAILABLE : undefined);
  ctx.state.code = code;
  // Remove the headers of a package that could not be sent.
  for (const header of [...PACKAGE_HEADERS, 'Accept-Ranges']) ctx.remove(header);
  if (retryAfter !== undefined) ctx.set('Retry-After', String(retryAfter));
  if (isForPerson(ctx)) sendText(ctx, status, message);
  else sendJson(ctx, status, { error: { code, message, ...options.details } });
}

/** The fields that activate and validate share (docs/contract.md, 6). */
export function commonFields(key: string, license: LicenseMatch['license']) {
  return {
    license_key: key,
    product: license.product.name,
    plan: license.plan.name,
    activation_type: license.plan.activationType,
    activation_limit: license.activationLimit,
  };
}

/** Reports whether a failed download is text for Joomla. Only `license_key` gets JSON (docs/contract.md, 8.4). */
function isForPerson(ctx: Context): boolean {
  if (!isOfDownload(ctx)) return false;
  const { query } = readDownload(ctx);
  return !query.has('license_key') || query.has('dlid');
}

/** Reports whether the request is a download or its check: if the check fails, it gets the answer of the download. */
function isOfDownload({ state }: Context): boolean {
  return state.endpoint === 'download' || state.endpoint === 'check';
}

/** Sends plain text, for a person or for a shop that shows it to its customer. */
export function sendText(ctx: Context, status: number, text: string): void {
  send(ctx, status, 'text/plain; charset=utf-8', text);
}

function send(ctx: Context, status: number, type: string, body: string): void {
  if (ctx.state.answered || ctx.headerSent) return;
  ctx.status = status;
  // Set the headers directly, because ctx.set() makes three arrays for each header.
  const { res } = ctx;
  res.setHeader('Content-Type', type);
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  ctx.body = body;
}
