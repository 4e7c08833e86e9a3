import { isRecentSignIn } from '../../access/sessions';
import { OperationError } from './failures';
import type { OperationCall } from './operation';

/**
 * Step-up authentication. An operation declares (`needsNoRecentSignIn`, `noRecentSignInWith`) if an operator's session may
 * call it more than an hour after its sign-in. Any other change requires a new sign-in: the site's own scripts share our
 * origin, so an older session alone must not destroy, publish or hand out keys.
 */

/**
 * Requires a recent sign-in if an operation with `noRecentSignInWith` is called with other fields. @throws OperationError
 */
export function requireRecentSignIn({
  caller: { session },
  now,
}: Pick<OperationCall, 'caller' | 'now'>): void {
  if (session !== undefined && !isRecentSignIn(session, now)) throw signInAgainError();
}

export function signInAgainError(): OperationError {
  return new OperationError('SIGN_IN_AGAIN', 'Sign in again: your last sign-in is more than an hour ago.');
}
