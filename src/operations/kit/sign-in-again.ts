import { isFresh } from '../../access/sessions';
import { ManageError } from './failures';
import type { Call } from './operation';

/**
 * What an operator's session may do although its sign-in is more than an hour ago, besides reading, is declared by its
 * operation (`goesOn`, `goesOnWith`). All else that changes something asks to sign in again: the site's own scripts share our
 * origin, so a session alone shall not destroy, publish or hand out keys for long.
 */

/** For an operation with `goesOnWith`, when it is called with anything else. @throws ManageError */
export function requireRecentSignIn({ caller: { session }, now }: Pick<Call, 'caller' | 'now'>): void {
  if (session !== undefined && !isFresh(session, now)) throw signInAgain();
}

export function signInAgain(): ManageError {
  return new ManageError('SIGN_IN_AGAIN', 'Sign in again: it is more than an hour ago.');
}
