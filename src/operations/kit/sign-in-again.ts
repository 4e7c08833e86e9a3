import { isFresh } from '../../access/sessions';
import { OperationError } from './failures';
import type { OperationCall } from './operation';

/**
 * Step-up authentication. An operation declares (`goesOn`, `goesOnWith`) if an operator's session may call it more than
 * an hour after its sign-in. Any other change requires a new sign-in: the site's own scripts share our origin, so an
 * older session alone must not destroy, publish or hand out keys.
 */

/** Requires a recent sign-in if an operation with `goesOnWith` is called with other fields. @throws OperationError */
export function requireRecentSignIn({
  caller: { session },
  now,
}: Pick<OperationCall, 'caller' | 'now'>): void {
  if (session !== undefined && !isFresh(session, now)) throw signInAgain();
}

export function signInAgain(): OperationError {
  return new OperationError('SIGN_IN_AGAIN', 'Sign in again: it is more than an hour ago.');
}
