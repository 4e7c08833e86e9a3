import { randomUUID } from 'node:crypto';
import type { Context } from './context';

/** Sets the request's id in the answer, and returns it for the log. Only a trusted proxy may choose it. */
export function assignRequestId({ req, res }: Context, fromTrustedProxy: boolean): string {
  const given = fromTrustedProxy ? req.headers['x-request-id'] : undefined;
  const id = typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : randomUUID();
  res.setHeader('X-Request-Id', id);
  return id;
}
