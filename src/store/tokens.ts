import { table, type Db } from './engine/database';
import { fieldsToRow, rowToFields } from './engine/row-fields';
import { toSqlTime } from './engine/time';

/** A token of the operator's API, without its secret. */
export interface ApiToken {
  id: number;
  name: string;
  /** a Scope (access/caller.ts) */
  scope: string;
  /** SHA-256 of the whole token, in hex */
  tokenDigest: string;
  /** the name in lower case, unique; null: the token has ended */
  liveName: string | null;
  createdBy: string;
  /** the Joomla account that created the token; the token ends with that account's permission */
  joomlaUserId: number | null;
  /** whether that account came through the component in Joomla */
  byDoor: boolean;
  createdAt: Date;
  /** null: the token does not expire */
  expiresAt: Date | null;
  lastUsedAt: Date | null;
  revokedAt: Date | null;
  revokedBy: string | null;
}

/** @throws a duplicate (`isDuplicate`) if a live token has this name */
export async function insertToken(
  db: Db,
  token: Omit<ApiToken, 'id' | 'lastUsedAt' | 'revokedAt' | 'revokedBy'>,
): Promise<number> {
  const [id] = await db(table(db, 'tokens')).insert(fieldsToRow(token));
  return id as number;
}

/** Finds a live token, which may have expired. */
export async function findTokenByDigest(db: Db, digest: string): Promise<ApiToken | undefined> {
  const row = await db(table(db, 'tokens')).where({ token_digest: digest }).whereNotNull('live_name').first();
  return row && rowToFields(row);
}

/** Lists live tokens by id, including expired ones. */
export async function listTokens(
  db: Db,
  { after, limit }: { after?: number | undefined; limit?: number | undefined } = {},
): Promise<ApiToken[]> {
  const query = db(table(db, 'tokens')).whereNotNull('live_name').orderBy('id');
  if (after !== undefined) query.where('id', '>', after);
  if (limit !== undefined) query.limit(limit);
  return (await query).map(rowToFields);
}

/** Frees the name of a token that has expired. */
export async function retireExpired(db: Db, liveName: string, now: Date): Promise<void> {
  // By id: a search for a name that no longer exists would lock the gap that others insert into.
  const ids = await db(table(db, 'tokens'))
    .where({ live_name: liveName })
    .where('expires_at', '<=', toSqlTime(now))
    .pluck('id');
  for (const id of ids)
    await db(table(db, 'tokens')).where({ id, live_name: liveName }).update({ live_name: null });
}

/** @returns the token, or undefined if no live token has this id */
export async function markRevoked(db: Db, id: number, by: string, now: Date): Promise<ApiToken | undefined> {
  const changed = await db(table(db, 'tokens'))
    .where({ id })
    .whereNotNull('live_name')
    .update({ live_name: null, revoked_at: toSqlTime(now), revoked_by: by });
  if (changed === 0) return undefined;
  const row = await db(table(db, 'tokens')).where({ id }).first();
  return row && rowToFields(row);
}

/** Records a use, unless a use after `unlessAfter` is recorded. */
export async function setTokenUsed(db: Db, id: number, at: Date, unlessAfter: Date): Promise<void> {
  await db(table(db, 'tokens'))
    .where({ id })
    .where((earlier) =>
      earlier.whereNull('last_used_at').orWhere('last_used_at', '<=', toSqlTime(unlessAfter)),
    )
    .update({ last_used_at: toSqlTime(at) });
}
