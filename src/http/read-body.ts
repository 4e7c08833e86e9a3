import readRawBody from 'raw-body';
import type { Context } from './context';
import { CodedError, InvalidRequestError } from '../base/errors';
import { bodyError } from './faults';

/** Reads a request's body unparsed, and never more of it than a limit. */

/** Refuses a compressed body: a few bytes could become millions. @throws InvalidRequestError; it stays unread */
export function refuseEncoded({ headers, req }: Pick<Context, 'headers' | 'req'>): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return;
  req.resume();
  throw new InvalidRequestError(
    'The body must not be compressed: send it without Content-Encoding.',
    'UNSUPPORTED_MEDIA_TYPE',
  );
}

/**
 * Reads a whole body. Call it after authentication and rate limits.
 * @throws InvalidRequestError, BODY_TOO_LARGE, CLIENT_GONE
 */
export async function readBytes(ctx: Context, limit: number): Promise<Buffer> {
  refuseEncoded(ctx);
  try {
    return await readRawBody(ctx.req, { limit, length: ctx.request.length });
  } catch (error) {
    if ((error as { type?: string }).type !== 'entity.too.large') return bodyError(error as Error, ctx);
    // Discard the rest, because it would block the next request on this connection.
    ctx.req.unpipe();
    ctx.req.resume();
    throw new CodedError('BODY_TOO_LARGE');
  }
}
