import { isFresh } from '../../access/sessions';
import { ManageError } from './failures';
import type { Call } from './operation';

/**
 * Step-up authentication. An operation declares (`goesOn`, `goesOnWith`) if an operator's session may call it more than
 * an hour after its sign-in. Any other change requires a new sign-in: the site's own scripts share our origin, so an
 * older session alone must not destroy, publish or hand out keys.
 */

/** Requires a recent sign-in if an operation with `goesOnWith` is called with other fields. @throws ManageError */
export function requireRecentSignIn({ caller: { session }, now }: Pick<Call, 'caller' | 'now'>): void {
  if (session !== undefined && !isFresh(session, now)) throw signInAgain();
}

export function signInAgain(): ManageError {
  return new ManageError('SIGN_IN_AGAIN', 'Sign in again: your last sign-in is more than an hour ago.');
}
