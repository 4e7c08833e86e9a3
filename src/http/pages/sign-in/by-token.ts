import { openOperatorSession, type OperatorSignIn } from '../../../access/sessions';
import { ManageError } from '../../../operations/kit/failures';
import { readSessionCookie } from '../../session-cookies';
import type { PageCall } from '../page';

/** Signing in by an API token, at first and again. */

export type SignedIn = Extract<OperatorSignIn, { cookie: string }>;

/**
 * Opens a session for who a token belongs to, in the place of the browser's earlier one.
 * @returns `sentence`: why it was refused, in the page's language
 * @throws ManageError for too many failures
 */
export async function signInByToken(
  call: PageCall,
  token: string,
): Promise<SignedIn | { sentence: string; status: number }> {
  const { signIn } = call.view.t;
  // As the API judges it, from either header.
  const caller = await call.authenticate({ authorization: `Bearer ${token}`, joomlaToken: undefined });
  if ('refused' in caller) {
    await countFailure(call);
    const isKnown = caller.refused === 'FORBIDDEN';
    return { sentence: isKnown ? signIn.wrongGroup : signIn.wrongToken, status: 401 };
  }
  const replaces = readSessionCookie(call.ctx, 'operator');
  const opened = await openOperatorSession(call.db, { caller }, call.at, { replaces });
  return 'refused' in opened ? { sentence: signIn.shopToken, status: 403 } : opened;
}

/** @throws ManageError for the eleventh failure of a client in a minute */
export async function countFailure({ limiter, ctx }: PageCall): Promise<void> {
  const { allowed, retryAfter } = await limiter('manage_failures', ctx.state.client.limitKey);
  if (!allowed) throw new ManageError('RATE_LIMITED', '', { retryAfter });
}
