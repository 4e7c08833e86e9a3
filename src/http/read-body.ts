import readRawBody from 'raw-body';
import type { Context } from './context';
import { bodyError } from './faults';
import { EncodedBodyError } from './requests';

/** How a request's body is read: as it came, and never more of it than a limit. */

/** The body is larger than the limit. */
export class LargeBodyError extends Error {}

/** @throws EncodedBodyError; the body is left unread */
export function refuseEncoded({ headers, req }: Pick<Context, 'headers' | 'req'>): void {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding === '' || encoding === 'identity') return;
  req.resume();
  throw new EncodedBodyError('The body must not be compressed: send it without Content-Encoding.');
}

/**
 * Reads a whole body, once it is known who asks and that they are within their limits.
 * @throws EncodedBodyError, LargeBodyError, ClientGoneError, InvalidRequestError
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
    throw new LargeBodyError();
  }
}
