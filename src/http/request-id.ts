import { randomUUID } from 'node:crypto';
import type { Context } from './context';

/**
 * Names the request in the answer and in the log, so that a customer's report finds its line. A trusted proxy's own
 * name for it is taken over; anybody else's is not.
 */
export function assignRequestId({ req, res }: Context, fromTrustedProxy: boolean): string {
  const given = fromTrustedProxy ? req.headers['x-request-id'] : undefined;
  const id = typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
  res.setHeader('X-Request-Id', id);
  return id;
}
