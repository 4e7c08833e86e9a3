import { openOperatorSession, type OperatorSignIn } from '../../../access/sessions';
import { OperationError } from '../../../operations/kit/failures';
import { readSessionCookie } from '../../session-cookies';
import type { PageCall } from '../page';

/** Signs an operator in by an API token, for a new session or step-up authentication. */

export type SignedIn = Extract<OperatorSignIn, { cookie: string }>;

/**
 * Opens a session for the owner of a token. It replaces the browser's earlier session.
 * @returns `sentence`: the reason for a refusal in the page's language
 * @throws OperationError after too many failures
 */
export async function signInByToken(
  call: PageCall,
  token: string,
): Promise<SignedIn | { sentence: string; status: number }> {
  const { signIn } = call.view.t;
  // Check the token like the API, which accepts it in either header.
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

/** Counts a failed sign-in. @throws OperationError for a client's eleventh failure in a minute */
export async function countFailure({ limiter, ctx }: PageCall): Promise<void> {
  const { allowed, retryAfter } = await limiter('manage_failures', ctx.state.client.limitKey);
  if (!allowed) throw new OperationError('RATE_LIMITED', '', { retryAfter });
}
