import { isFresh } from '../access/sessions';
import { ManageError } from './failures';
import type { Call } from './operation';

/**
 * What an operator's session may do although its sign-in is more than an hour ago, besides reading. All else that changes
 * something asks to sign in again: the site's own scripts share our origin, so a session alone shall not destroy, publish or
 * hand out keys for long. A new operation or form asks until it is named here.
 */

/** By method and path below `manage`. */
export const OPERATIONS_GO_ON: ReadonlySet<string> = new Set([
  'POST /licenses',
  'POST /licenses/{id}/renew',
  'POST /licenses/{id}/suspend',
  'POST /licenses/{id}/reinstate',
  'POST /licenses/{id}/activations',
  'DELETE /licenses/{id}/activations/{activation_id}',
  'POST /licenses/{id}/mails',
  'POST /shops/{name}/run',
]);

/** These go on only with what is named here, and otherwise ask by themselves (`requireRecentSignIn`). */
export const OPERATIONS_GO_ON_WITH: ReadonlyMap<string, string> = new Map([
  ['PATCH /licenses/{id}', 'nothing but `metadata`'],
  ['POST /products/{id}/releases', 'a draft'],
  ['PATCH /releases/{id}', 'a draft'],
  ['POST /imports', 'a dry run'],
]);

/** The forms of the operator's pages, by their path. Those of `OPERATIONS_GO_ON_WITH` are left to the operation. */
export const FORMS_GO_ON: ReadonlySet<string> = new Set([
  '/licenses/new',
  '/licenses/:id/renew',
  '/licenses/:id/suspend',
  '/licenses/:id/reinstate',
  '/licenses/:id/sites/add',
  '/licenses/:id/sites/:site/remove',
  '/licenses/:id/send-key',
  '/licenses/:id/note',
  '/shops/:name/run',
  '/start/license',
  '/products/:id/releases/new',
  '/releases/:id/edit',
  '/start/release',
  '/imports',
]);

/** For an operation of `OPERATIONS_GO_ON_WITH`, when it is called with anything else. @throws ManageError */
export function requireRecentSignIn({ caller: { session }, now }: Pick<Call, 'caller' | 'now'>): void {
  if (session !== undefined && !isFresh(session, now)) throw signInAgain();
}

export function signInAgain(): ManageError {
  return new ManageError('SIGN_IN_AGAIN', 'Sign in again: it is more than an hour ago.');
}
