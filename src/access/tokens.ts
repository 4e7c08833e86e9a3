import { formatTimestamp } from '../base/days';
import { requireLabel } from '../licensing/fields';
import { isCursorId, readCursor, toPage, type Page, type PageRequest } from '../licensing/cursors';
import { redactKeys } from '../licensing/core/keys';
import { OperatorError } from '../licensing/operator-error';
import type { Db } from '../store/engine/database';
import { isDuplicate } from '../store/engine/errors';
import {
  insertToken,
  listTokens,
  retireExpired,
  markRevoked as revoke,
  type ApiToken,
} from '../store/tokens';
import type { Scope } from './caller';
import { generateToken, tokenDigest } from './token-text';

export { listTokens, type ApiToken };

export interface NewToken {
  name: string;
  scope: Scope;
  /** null if it never expires */
  expiresAt: Date | null;
}

/** The caller who adds a token, and the time. */
interface TokenContext {
  actor: string;
  now: Date;
  /** the caller's own account (access/caller.ts), with whose rights the token ends */
  joomlaUserId?: number | null;
  byDoor?: boolean | undefined;
}

export interface AddedToken {
  /** the token's text, which is shown once and not stored */
  token: string;
  stored: ApiToken;
}

/** The maximum length with which `token:NAME` fits the history's column. */
const MAX_NAME_LENGTH = 100;

/**
 * Adds a token. Its name must differ from those of all live tokens, ignoring case, because the history and the issued
 * licences contain it. The name of an expired token is free, because that token can never be used again.
 * @throws OperatorError
 */
export async function addToken(
  db: Db,
  { name, scope, expiresAt }: NewToken,
  { actor, now, joomlaUserId = null, byDoor = false }: TokenContext,
): Promise<AddedToken> {
  const label = requireLabel(name, 'name', MAX_NAME_LENGTH);
  // Refuse personal data: licences keep the name, and erasing a customer must not change their issuer.
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

/** Revokes a token at once; every instance refuses it within two seconds. Its row stays. @throws OperatorError */
export async function revokeToken(
  db: Db,
  id: number,
  { actor, now }: Pick<TokenContext, 'actor' | 'now'>,
): Promise<ApiToken> {
  const revoked = await revoke(db, id, actor, now);
  if (revoked === undefined)
    throw new OperatorError(`There is no token ${id}.`, { code: 'NOT_FOUND', facts: { reason: 'no-token' } });
  return revoked;
}

/** Lists tokens by id, including expired ones. */
export async function listTokenPage(db: Db, { after, limit }: PageRequest): Promise<Page<ApiToken>> {
  const [id] = readCursor<[number]>(after, [isCursorId]) ?? [];
  return toPage(await listTokens(db, { after: id, limit: limit + 1 }), limit, (token) => [token.id]);
}
