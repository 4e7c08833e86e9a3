import { secretDigest } from '../../access/random-secret';
import { sendText } from '../answers';
import type { Context } from '../context';
import { CodedError, isCoded } from '../../base/errors';
import { CUSTOMERS } from '../../texts/customers/languages';
import type { Limiter } from '../limits/rate-limit';
import { readSessionCookie } from '../session-cookies';
import { permitInTime, type AcquirePermit } from '../limits/keyed-semaphore';
import { languageOf } from './preference-cookies';
import { isCustomerPage } from './call';

/** Rate limits of the pages. They apply before a page is built, because a refusal must cost far less than a page. */

export const noPermit = (): void => undefined;

/** Counts a view of a public page by network, before all other work. @throws OVER_LIMIT */
export async function limitPageViews(ctx: Context, limiter: Limiter): Promise<void> {
  const { allowed, retryAfter } = await limiter('pages', ctx.state.client.limitKey);
  if (!allowed) throw new CodedError('OVER_LIMIT', '', retryAfter);
}

/**
 * Counts a request of a customer's session by its cookie, without the database, and waits until the previous one ends.
 * @returns a function that releases the permit
 * @throws OVER_LIMIT, CLIENT_GONE
 */
export async function sessionPermit(
  ctx: Context,
  limiter: Limiter,
  takeTurn: AcquirePermit,
): Promise<() => void> {
  const session = secretDigest(readSessionCookie(ctx, 'customer') ?? '');
  if (session === undefined) return noPermit;
  const { allowed, retryAfter } = await limiter('my_sessions', session);
  if (!allowed) throw new CodedError('OVER_LIMIT', '', retryAfter);
  const endTurn = await permitInTime(ctx, takeTurn(session));
  if (endTurn === undefined) throw new CodedError('OVER_LIMIT', '', 1);
  if (!ctx.req.socket.destroyed) return endTurn;
  endTurn();
  throw new CodedError('CLIENT_GONE');
}

/** Answers with plain text, because a page takes a hundred times as long. @throws any other error */
export function sendTooManyRequests(ctx: Context, error: unknown): void {
  if (!isCoded(error, 'OVER_LIMIT')) throw error;
  ctx.state.code = 'RATE_LIMITED';
  ctx.set('Retry-After', String(error.facts));
  sendText(ctx, 429, CUSTOMERS[languageOf(ctx, isCustomerPage(ctx))].kit.errors.tooMany);
}
