import readRawBody from 'raw-body';
import type { Context } from './context';
import { CodedError, InvalidRequestError } from '../base/errors';
import { bodyError } from './faults';

/** How a request's body is read: as it came, and never more of it than a limit. */

/** A few bytes of a compressed body could become millions. @throws InvalidRequestError; the body is left unread */
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
 * Reads a whole body, once it is known who asks and that they are within their limits.
 * @throws InvalidRequestError, BODY_TOO_LARGE, CLIENT_GONE
 */
export async function readBytes(ctx: Context, limit: number): Promise<Buffer> {
  refuseEncoded(ctx);
  try {
    return await readRawBody(ctx.req, { limit, length: ctx.request.length });
  } catch (error) {
    if ((error as { type?: string }).type !== 'entity.too.large') return bodyError(error as Error, ctx);
    // The rest would block the next request on this connection.
    ctx.req.unpipe();
    ctx.req.resume();
    throw new CodedError('BODY_TOO_LARGE');
  }
}
