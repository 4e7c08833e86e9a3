import type { Context as KoaContext } from 'koa';
import type { Logger } from 'pino';
import { BusyError } from '../licensing/batches';
import { API_PATH } from '../api-path';
import { isUnavailable } from '../store/errors';
import { sendFailure } from './answers';
import type { Context } from './context';
import { InvalidRequestError, readPath } from './requests';

/** A request that was read is answered within this time, by a refusal if the database hangs. */
const DEADLINE_MS = 4_000;

class DeadlineError extends Error {}
class ClientGoneError extends Error {}

/**
 * Turns what a handler threw into an answer. There are two texts for a failure: a fixed one for the client, and for
 * the log what happened, with the request's id to connect them.
 */
export function answerFault(ctx: Context, error: unknown): void {
  if (error instanceof InvalidRequestError) sendFailure(ctx, 'INVALID_REQUEST', { message: error.message });
  else if (error instanceof ClientGoneError) ctx.state.code = 'CLIENT_GONE';
  else {
    ctx.state.fault = error;
    const unavailable = error instanceof DeadlineError || error instanceof BusyError || isUnavailable(error);
    sendFailure(ctx, unavailable ? 'SERVICE_UNAVAILABLE' : 'INTERNAL_ERROR');
  }
}

/**
 * Gives a handler's work up at the deadline. It begins when the body is read: a slow client is no hung database.
 * By hand, because an AbortSignal for each request costs 25 µs of CPU time.
 */
export function inTime(work: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new DeadlineError('The request was not answered in time.')),
      DEADLINE_MS,
    );
    const end = () => clearTimeout(timer);
    work.then(end, end);
    work.then(resolve, reject);
  });
}

/** The client's side of the connection went away; nobody is left to hear of it. */
const GONE = new Set(['ECONNRESET', 'EPIPE', 'ETIMEDOUT']);

/** Hears of what goes wrong while an answer is being sent; Koa's own listener prints a stack to stderr. */
export function logSendFault(log: Logger): (error: Error & { code?: string }) => void {
  return (error) => {
    if (GONE.has(error.code ?? '')) log.debug({ code: error.code }, 'the client went away');
    else log.error({ fault: describe(error) }, 'failed while answering');
  };
}

/** What koa-body could not read, in words for the client; its own messages repeat what was sent. */
export function bodyError(
  error: Error & { status?: number; type?: string; code?: string },
  { req }: KoaContext,
): never {
  // What is left of the body: unread, it would stand before the connection's next request, which then hangs.
  req.unpipe();
  req.resume();
  // A client that left before or while its body was read is no error of anybody's.
  if (error.type === 'request.aborted' || error.type === 'stream.not.readable' || error.code === 'ECONNRESET')
    throw new ClientGoneError();
  if (error.status === 413) throw new InvalidRequestError('The body must not be larger than 64 KiB.');
  if (error instanceof SyntaxError)
    throw new InvalidRequestError(
      // koa-body refuses the name, at any depth: it would change what an object is to those who copy it.
      error.message === 'Object contains forbidden prototype property'
        ? 'The body must not have a member named "__proto__".'
        : error.message.includes('only supports')
          ? 'The body must be a JSON object.'
          : 'The body is not valid JSON.',
    );
  if (error instanceof RangeError)
    throw new InvalidRequestError('The body must not have more than 1,000 fields.');
  // A charset or encoding nobody knows, a length that is not the body's.
  const isClients = error.status !== undefined && error.status >= 400 && error.status < 500;
  if (isClients || NOT_DECODABLE.test(error.code ?? error.message))
    throw new InvalidRequestError('The body cannot be read.');
  throw error;
}

/**
 * zlib's and brotli's codes for bytes that are not compressed as the client said. koa-body writes an error of another
 * realm, which Node's own are under Jest, into the message of one of its own.
 */
const NOT_DECODABLE = /\bZ_(?:DATA_ERROR|BUF_ERROR|NEED_DICT)\b|\bERR_\w*ERROR_FORMAT/;

/** Refusals and faults at `info` and up, the rest at `debug`. Neither query nor headers: they hold keys and cookies. */
export function logAnswer(log: Logger, ctx: Context): void {
  const { code, fault, requestId, client, endpoint } = ctx.state;
  const level = fault === undefined ? (code === undefined ? 'debug' : 'info') : 'error';
  if (!log.isLevelEnabled(level)) return;
  log[level](
    {
      request_id: requestId,
      method: ctx.method,
      // An endpoint's name says enough; in an address that is none, anything may be a key.
      ...(endpoint === undefined ? { path: redact(readPath(ctx) ?? '*') } : { endpoint }),
      status: ctx.status,
      code,
      ip: client.ip,
      ...(fault === undefined ? {} : { fault: describe(fault) }),
    },
    code === undefined ? 'answered' : fault === undefined ? 'refused' : 'failed',
  );
}

/** An address that is none of ours: its words are shown where they are, and what else was pasted into it is not. */
function redact(path: string): string {
  return path
    .slice(0, 200)
    .split('/')
    .map((word) => (PATH_WORDS.has(word) ? word : '*'))
    .join('/');
}

const PATH_WORDS = new Set(`${API_PATH}/licenses/activate/deactivate/validate/updates/downloads`.split('/'));

/**
 * An error without values, in which a customer's address or identifier may stand: Knex puts the statement with all of
 * its values before a driver's message, and a server quotes the one it stumbled over. What is in quotes goes from the
 * first to the last of them, since a value may have some of its own; code and number tell what it was about.
 */
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
