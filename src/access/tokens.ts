import { formatTimestamp } from '../base/days';
import { requireLabel } from '../licensing/fields';
import { isCursorId, readCursor, toPage, type Page, type PageRequest } from '../licensing/cursors';
import { redactKeys } from '../licensing/core/keys';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import { insertToken, listTokens, retireExpired, revokeToken as revoke, type Token } from '../store/tokens';
import type { Scope } from './caller';
import { generateToken, tokenDigest } from './token-text';

export { listTokens, type Token };

export interface NewToken {
  name: string;
  scope: Scope;
  /** null: never */
  expiresAt: Date | null;
}

/** Who adds a token, and when. */
interface TokenContext {
  actor: string;
  now: Date;
  /** the caller's own (access/caller.ts); the token ends with that account's right */
  joomlaUserId?: number | null;
  byDoor?: boolean | undefined;
}

export interface AddedToken {
  /** shown once, stored nowhere */
  token: string;
  stored: Token;
}

/** So that `token:NAME` fits the history's column. */
const MAX_NAME_LENGTH = 100;

/**
 * Adds a token. Its name differs from those of all live tokens, not only in case, because the history and the licences it
 * issues name it. An expired token can never be used again, so its name is free.
 * @throws OperatorError
 */
export async function addToken(
  db: Db,
  { name, scope, expiresAt }: NewToken,
  { actor, now, joomlaUserId = null, byDoor = false }: TokenContext,
): Promise<AddedToken> {
  const label = requireLabel(name, 'name', MAX_NAME_LENGTH);
  // Licences keep the name, and erasing a customer must not change whose they are.
  const wrong =
    redactKeys(label) !== label ? 'a token' : label.includes('@') ? 'an e-mail address' : undefined;
  if (wrong !== undefined)
    throw new OperatorError(`It must not hold ${wrong}.`, { code: 'INVALID_REQUEST', field: 'name' });
  if (expiresAt !== null && expiresAt <= now)
    throw new OperatorError(`Its end must be in the future, and not ${formatTimestamp(expiresAt)}.`, {
      code: 'INVALID_REQUEST',
      field: 'expires_at',
    });
  const token = generateToken();
  const row = {
    name: label,
    liveName: label.toLowerCase(),
    scope,
    tokenDigest: tokenDigest(token),
    createdBy: actor,
    joomlaUserId,
    byDoor,
    createdAt: now,
    expiresAt,
  };
  await retireExpired(db, row.liveName, now);
  try {
    const id = await insertToken(db, row);
    return { token, stored: { ...row, id, lastUsedAt: null, revokedAt: null, revokedBy: null } };
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new OperatorError(`There is a token of the name ${label} already.`, {
      code: 'CONFLICT',
      field: 'name',
      facts: { reason: 'token-name' },
    });
  }
}

/** Ends a token at once; every instance refuses it within two seconds. Its row stays. @throws OperatorError */
export async function revokeToken(
  db: Db,
  id: number,
  { actor, now }: Pick<TokenContext, 'actor' | 'now'>,
): Promise<Token> {
  const revoked = await revoke(db, id, actor, now);
  if (revoked === undefined)
    throw new OperatorError(`There is no token ${id}.`, { code: 'NOT_FOUND', facts: { reason: 'no-token' } });
  return revoked;
}

/** By id, those that have expired too. */
export async function listTokenPage(db: Db, { after, limit }: PageRequest): Promise<Page<Token>> {
  const [id] = readCursor<[number]>(after, [isCursorId]) ?? [];
  return toPage(await listTokens(db, { after: id, limit: limit + 1 }), limit, (token) => [token.id]);
}
