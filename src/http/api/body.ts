import { koaBody, HttpMethodEnum } from 'koa-body';
import type { Context as KoaContext } from 'koa';
import type { Context, Middleware } from '../context';
import { bodyError } from '../faults';
import { refuseEncoded } from '../read-body';
import { OperationError } from '../../operations/kit/failures';

const LIMIT = '1mb';

let readBody: Middleware | undefined;

/** Creates the body parser when the first body arrives, because loading koa-body takes 40 ms. */
const createReadBody = () =>
  koaBody({
    json: true,
    urlencoded: false,
    text: false,
    multipart: false,
    jsonLimit: LIMIT,
    parsedMethods: [HttpMethodEnum.POST, HttpMethodEnum.PUT, HttpMethodEnum.PATCH, HttpMethodEnum.DELETE],
    onError: (error, ctx) => {
      if ((error as { status?: number }).status === 413) discard(ctx);
      bodyError(error, ctx);
    },
  }) as Middleware;

/** Reads a request's body as a JSON object; an empty one if it has no body. @throws OperationError, InvalidRequestError */
export async function readJsonBody(ctx: Context): Promise<object> {
  if (!hasBody(ctx)) return {};
  refuseEncoded(ctx);
  // Refuse every other content type: koa-body would silently ignore such a body.
  if (!ctx.is('application/json', 'application/vnd.api+json')) throw unsupported(ctx, ['application/json']);
  readBody ??= createReadBody();
  await readBody(ctx, () => Promise.resolve());
  return ctx.request.body as object;
}

export function hasBody({ headers }: Context): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Returns the refusal of a body whose content type is not expected. */
export function unsupported(ctx: Context, types: readonly string[]): OperationError {
  drain(ctx);
  return new OperationError('UNSUPPORTED_MEDIA_TYPE', `The body must be ${types.join(' or ')}.`);
}

function discard(ctx: KoaContext): never {
  drain(ctx);
  throw new OperationError('PAYLOAD_TOO_LARGE', 'The body must not be larger than 1 MiB.');
}

/** Discards the rest of the body, because it would block the next request on this connection. */
export function drain({ req }: Pick<KoaContext, 'req'>): void {
  req.unpipe();
  req.resume();
}
