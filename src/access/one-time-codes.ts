import { customerDigest } from '../store/customer-digest';
import { findCustomerByDigest } from '../store/customers';
import type { Db } from '../store/engine/database';
import { deleteCode, findStoredCode, insertCode, type StoredCode } from '../store/one-time-codes';
import type { Scope } from './caller';
import { generateSecret, secretDigest } from './random-secret';

/** The codes of one-time links. Only their digests are stored, and each signs in once. */

export const OPERATOR_CODE_TTL_MS = 10 * 60 * 1000;
export const CUSTOMER_CODE_TTL_MS = 60 * 60 * 1000;

export interface OperatorCode {
  kind: 'operator';
  /** the author in the history: `operator:root`, `operator:EMAIL` */
  actor: string;
  name: string;
  scope: Exclude<Scope, 'issue'>;
  /** the operator that it is mailed to (access/operators.ts), with whom the session ends; null if the command printed it */
  operatorId: number | null;
}

export interface CustomerCode {
  kind: 'customer';
  /** in lower case, like the addresses of licences */
  email: string;
}

export type CodeFor = OperatorCode | CustomerCode;
type CodeOf<Kind extends CodeFor['kind']> = Extract<CodeFor, { kind: Kind }>;

/** Makes a code. @returns the code, which is not stored */
export async function createCode(db: Db, codeFor: CodeFor, lifetimeMs: number, now: Date): Promise<string> {
  const code = generateSecret();
  const isOperator = codeFor.kind === 'operator';
  await insertCode(db, {
    codeDigest: secretDigest(code) as string,
    kind: codeFor.kind,
    actor: isOperator ? codeFor.actor : null,
    name: isOperator ? codeFor.name : null,
    scope: isOperator ? codeFor.scope : null,
    operatorId: isOperator ? codeFor.operatorId : null,
    customerDigest: isOperator ? null : customerDigest(codeFor.email),
    createdAt: now,
    expiresAt: new Date(now.getTime() + lifetimeMs),
  });
  return code;
}

/**
 * Returns whom a code signs in, without using it. Used, expired and invented codes are not distinguished, and neither
 * is the code of a customer who no longer has a licence.
 */
export async function findCode<Kind extends CodeFor['kind']>(
  db: Db,
  kind: Kind,
  code: string,
  now: Date,
): Promise<CodeOf<Kind> | undefined> {
  const codeDigest = secretDigest(code);
  const stored = codeDigest && (await findStoredCode(db, { codeDigest, kind }, now));
  return stored ? ((await toCodeFor(db, stored)) as CodeOf<Kind> | undefined) : undefined;
}

/** Uses a code. If it is used several times, even in parallel, one use returns the person, and the others undefined. */
export async function consumeCode<Kind extends CodeFor['kind']>(
  db: Db,
  kind: Kind,
  code: string,
  now: Date,
): Promise<CodeOf<Kind> | undefined> {
  const found = await findCode(db, kind, code, now);
  if (found === undefined) return undefined;
  const isFirst = await deleteCode(db, { codeDigest: secretDigest(code) as string, kind });
  return isFirst ? found : undefined;
}

async function toCodeFor(db: Db, stored: StoredCode): Promise<CodeFor | undefined> {
  if (stored.kind === 'customer') {
    const email = await findCustomerByDigest(db, stored.customerDigest as string);
    return email === undefined ? undefined : { kind: 'customer', email };
  }
  const { actor, name, scope, operatorId } = stored as StoredCode & OperatorCode;
  return { kind: 'operator', actor, name, scope, operatorId };
}
