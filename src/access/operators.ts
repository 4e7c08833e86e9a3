import { findEmail } from '../licensing/customer-email';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import { deleteCodesOf } from '../store/one-time-codes';
import {
  deleteOperator,
  findOperatorByEmail,
  insertOperator,
  listOperators,
  type Operator,
} from '../store/operators';
import { inTransaction } from '../store/engine/transaction';
import type { OperatorCode } from './one-time-codes';

declare module '../licensing/operator-error' {
  interface Refusals {
    access: { reason: 'token-name' | 'no-token' | 'is-operator' | 'no-operator' };
  }
}

/** Operators who may receive a sign-in link by mail. Signing in does not need them: `licensing sign-in` prints a link. */

export { listOperators, type Operator };

/** The maximum length with which `operator:EMAIL` fits the history's column. */
const MAX_EMAIL_LENGTH = 180;

/** Checks an operator's address. @returns it in lower case @throws OperatorError */
export function requireOperatorEmail(text: string): string {
  const email = findEmail(text);
  if (email === undefined || email.length > MAX_EMAIL_LENGTH)
    throw new OperatorError(
      `It must be an e-mail address such as jane@example.com, of at most ${MAX_EMAIL_LENGTH} characters.`,
      { code: 'INVALID_REQUEST', field: 'email' },
    );
  return email;
}

/** Adds an operator. @throws OperatorError if the address already belongs to one */
export async function addOperator(
  db: Db,
  { email: text, scope }: { email: string; scope: OperatorCode['scope'] },
  { actor, now }: { actor: string; now: Date },
): Promise<Operator> {
  const operator = { email: requireOperatorEmail(text), scope, createdBy: actor, createdAt: now };
  try {
    return { ...operator, id: await insertOperator(db, operator) };
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new OperatorError(`${operator.email} is an operator already.`, {
      code: 'CONFLICT',
      field: 'email',
      facts: { reason: 'is-operator' },
    });
  }
}

/** Removes an operator, and ends the operator's sessions and mailed links at once. @throws OperatorError */
export async function removeOperator(db: Db, text: string): Promise<Operator> {
  const email = requireOperatorEmail(text);
  return inTransaction(db, async (trx) => {
    const operator = await findOperatorByEmail(trx, email);
    // This also ends the sessions, because reading a session looks for this row.
    if (operator === undefined || !(await deleteOperator(trx, operator.id)))
      throw new OperatorError(`${email} is not an operator.`, {
        code: 'NOT_FOUND',
        facts: { reason: 'no-operator' },
      });
    await deleteCodesOf(trx, operator.id);
    return operator;
  });
}

/** Returns the rights of a mailed code; undefined if the address does not belong to a present operator. */
export async function operatorCodeFor(db: Db, email: string): Promise<OperatorCode | undefined> {
  const operator = await findOperatorByEmail(db, email);
  if (operator === undefined) return undefined;
  const { id, scope } = operator;
  return {
    kind: 'operator',
    actor: `operator:${operator.email}`,
    name: operator.email,
    scope: scope as OperatorCode['scope'],
    operatorId: id,
  };
}
