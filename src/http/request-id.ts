import { randomUUID } from 'node:crypto';
import type { Context } from './context';

/**
 * Names the request in the answer and in the log, so that a customer's report finds its line. A trusted proxy's own
 * name for it is taken over; anybody else's is not.
 */
export function assignRequestId(ctx: Context, fromTrustedProxy: boolean): void {
  const given = ctx.get('X-Request-Id');
  ctx.state.requestId = fromTrustedProxy && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
  ctx.res.setHeader('X-Request-Id', ctx.state.requestId);
}
