import type { Context as KoaContext } from 'koa';
import type { Logger } from 'pino';
import { SealError } from '../licensing/sealing';
import { API_PATH } from '../licensing/api';
import { databaseFault } from '../licensing/licensing';
import { CodedError, isCoded, InvalidRequestError } from '../base/errors';
import { sendFailure } from './answers';
import type { Context } from './context';
import { readPath } from './requests';

/** The deadline for a request's answer after its body was read. If the database hangs, the answer is a refusal. */
export const DEADLINE_MS = 4_000;

/** Answers an error with a fixed text for the client, and keeps the details for the log under the request's id. */
export function sendFault(ctx: Context, error: unknown): void {
  if (error instanceof InvalidRequestError) sendFailure(ctx, error.code, { message: error.message });
  else if (isCoded(error, 'CLIENT_GONE')) ctx.state.code = 'CLIENT_GONE';
  else {
    ctx.state.fault = error;
    sendFailure(ctx, unexpectedErrorCode(error));
  }
}

/** Classifies an error that is not a refusal: a dependency is temporarily unavailable, or the program has a fault. */
export function unexpectedErrorCode(error: unknown): 'SERVICE_UNAVAILABLE' | 'INTERNAL_ERROR' {
  const isAway = isCoded(error, 'DEADLINE', 'BUSY', 'SITE_AWAY') || error instanceof SealError;
  return isAway || databaseFault(error) !== undefined ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_ERROR';
}

/** Rejects if a handler misses the deadline, once the body is read. An AbortSignal would cost 25 µs a request. */
export function withDeadline<T>({ state }: Pick<Context, 'state'>, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new CodedError('DEADLINE', 'The request was not answered in time.')),
      state.deadlineMs,
    );
    const end = () => clearTimeout(timer);
    work.then(end, end);
    work.then(resolve, reject);
  });
}

/** The signals by response, because a page may need the same signal for several tasks. */
const SIGNALS = new WeakMap<object, AbortSignal>();

/** Returns a signal for long work, which aborts when the client disconnects before its answer. */
export function clientGone({ res }: Context): AbortSignal {
  const known = SIGNALS.get(res);
  if (known !== undefined) return known;
  const gone = new AbortController();
  const leave = () => {
    if (!res.writableFinished) gone.abort(new CodedError('CLIENT_GONE'));
  };
  if (res.destroyed) leave();
  else res.once('close', leave);
  SIGNALS.set(res, gone.signal);
  return gone.signal;
}

/** Codes of errors after the client closed the connection, so that no answer can reach it. */
const GONE = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** Returns a listener that logs errors while an answer is sent. Koa's own listener prints a stack to stderr. */
export function logSendFault(log: Logger): (error: Error & { code?: string }) => void {
  return (error) => {
    if (GONE.has(error.code ?? '')) log.debug({ code: error.code }, 'the client went away');
    else log.error({ fault: describe(error) }, 'failed while answering');
  };
}

/** Explains to the client why koa-body could not read the body. The messages of koa-body repeat parts of the body. */
export function bodyError(
  error: Error & { status?: number; type?: string; code?: string },
  { req }: KoaContext,
): never {
  // Discard the rest of the body, because it would block the next request on this connection.
  req.unpipe();
  req.resume();
  // Do not report an error if the client disconnected before or during the body.
  if (error.type === 'request.aborted' || error.type === 'stream.not.readable' || error.code === 'ECONNRESET')
    throw new CodedError('CLIENT_GONE');
  if (error.status === 413) throw new InvalidRequestError('The body must not be larger than 64 KiB.');
  if (error instanceof SyntaxError)
    throw new InvalidRequestError(
      // koa-body refuses this name at any depth, because of prototype pollution.
      error.message === 'Object contains forbidden prototype property'
        ? 'The body must not have a member named "__proto__".'
        : error.message.includes('only supports')
          ? 'The body must be a JSON object.'
          : 'The body is not valid JSON.',
    );
  if (error instanceof RangeError)
    throw new InvalidRequestError('The body must not have more than 1,000 fields.');
  // The client's mistakes include an unknown charset or encoding, and a wrong Content-Length.
  const isClients = error.status !== undefined && error.status >= 400 && error.status < 500;
  if (isClients || NOT_DECODABLE.test(error.code ?? error.message))
    throw new InvalidRequestError('The body cannot be read.');
  throw error;
}

/** Codes of zlib and brotli for badly compressed bodies. koa-body may give them only in its message. */
const NOT_DECODABLE = /\bZ_(?:DATA_ERROR|BUF_ERROR|NEED_DICT)\b|\bERR_\w*ERROR_FORMAT/;

/**
 * Returns a function that logs answers. Without its database the service fails every request, and a line for each would
 * fill the disk: only the first failure and the recovery are logged.
 */
export function createAnswerLog(log: Logger): (ctx: Context) => void {
  /** the number of failed requests since the database went away; undefined while it answers */
  let away: number | undefined;
  return (ctx) => {
    const { fault, code, endpoint } = ctx.state;
    if (fault !== undefined && isOfDatabase(fault)) {
      if (away === undefined)
        log.error(
          { fault: describe(fault) },
          'the database is unavailable or too slow: requests are answered with 503',
        );
      away = (away ?? 0) + 1;
      return logAnswer(log, ctx, 'debug');
    }
    if (away !== undefined && LICENSING.has(endpoint) && ASKED_DATABASE.has(code)) {
      log.info({ failed: away }, 'the database answers again');
      away = undefined;
    }
    logAnswer(log, ctx);
  };
}

function isOfDatabase(fault: unknown): boolean {
  return isCoded(fault, 'DEADLINE', 'BUSY') || databaseFault(fault) === 'away';
}

/** Endpoints and codes whose answers prove that the database works. Rate limits are checked without it. */
const LICENSING = new Set<unknown>(['activate', 'deactivate', 'validate', 'token']);
const ASKED_DATABASE = new Set<unknown>([
  ...[undefined, 'LICENSE_NOT_FOUND', 'LICENSE_INACTIVE', 'LICENSE_EXPIRED'],
  ...['ACTIVATION_LIMIT_REACHED', 'ACTIVATION_NOT_FOUND', 'ACTIVATION_HELD', 'PRODUCT_MISMATCH'],
]);

/** Logs refusals at `info`, faults at `error`, the rest at `debug`. Queries and headers contain keys and cookies. */
function logAnswer(log: Logger, ctx: Context, atFault: 'error' | 'debug' = 'error'): void {
  const { code, fault, requestId, client, endpoint, route } = ctx.state;
  const level = fault === undefined ? (code === undefined ? 'debug' : 'info') : atFault;
  if (!log.isLevelEnabled(level)) return;
  log[level](
    {
      request_id: requestId,
      method: ctx.method,
      // Log only the endpoint if it is known, because any part of an unknown path may be a key.
      ...(endpoint === undefined ? { path: redact(readPath(ctx) ?? '*') } : { endpoint, route }),
      status: ctx.status,
      code,
      ip: client.ip,
      ...(fault === undefined ? {} : { fault: describe(fault) }),
    },
    code === undefined ? 'answered' : fault === undefined ? 'refused' : 'failed',
  );
}

/** Replaces all unknown words of a path, because it may contain anything that was pasted. */
function redact(path: string): string {
  return path
    .slice(0, 200)
    .split('/')
    .map((word) => (PATH_WORDS.has(word) ? word : '*'))
    .join('/');
}

const PATH_WORDS = new Set(
  `${API_PATH}/licenses/activate/deactivate/validate/token/updates/downloads`.split('/'),
);

/** Describes an error without values, which may be personal. It cuts from the first quote to the last, as they nest. */
function describe(fault: unknown): object {
  if (!(fault instanceof Error)) return { message: 'not an Error' };
  const { code, errno, sqlMessage } = fault as { code?: string; errno?: number; sqlMessage?: string };
  return {
    type: fault.name,
    code,
    errno,
    message: (sqlMessage ?? fault.message)
      .replace(/["'`].*["'`]/s, '"..."')
      .split(' - ')
      .at(-1),
    at: fault.stack
      ?.split('\n')
      .filter((line) => /^\s+at /.test(line))
      .slice(0, 8)
      .map((line) => line.trim()),
  };
}
