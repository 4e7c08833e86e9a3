import { table, type Db } from './engine/database';
import { fieldsToRow, rowToFields, type RowOf } from './engine/row-fields';
import { forceIndex, rawRows } from './engine/statements';
import { toSqlTime } from './engine/time';

/** A session of the pages, with the credential that opened it, by kind. */
export interface StoredSession {
  id: number;
  /** SHA-256 of the cookie's value, in hex */
  cookieDigest: string;
  kind: 'operator' | 'customer';
  actor: string | null;
  name: string | null;
  scope: string | null;
  tokenId: number | null;
  joomlaUserId: number | null;
  /** whether that account came through the component in Joomla */
  byDoor: boolean;
  operatorId: number | null;
  licenseId: number | null;
  keyDigest: string | null;
  /** see store/customer-digest.ts */
  customerDigest: string | null;
  createdAt: Date;
  /** at most a minute behind the last use */
  usedAt: Date;
  /** the latest end, regardless of use */
  expiresAt: Date;
  /** when it was signed out */
  endedAt: Date | null;
}

/** The present state of the credential that opened a session. */
export interface SessionOpener {
  /** the token's name while it is live; null: it was revoked, or no token opened the session */
  liveName: string | null;
  tokenExpiresAt: Date | null;
  presentOperatorId: number | null;
  presentKeyId: number | null;
  keyEndsAt: Date | null;
  /** the customer's address; null: no licence has it now */
  customer: string | null;
}

export async function insertSession(db: Db, session: Omit<StoredSession, 'id'>): Promise<number> {
  const [id] = await db(table(db, 'sessions')).insert(fieldsToRow(session));
  return id as number;
}

/** Finds a session, even an ended one, with its credential, in one statement, because each request of a page runs it. */
export async function findSession(
  db: Db,
  kind: StoredSession['kind'],
  cookieDigest: string,
): Promise<(StoredSession & SessionOpener) | undefined> {
  const [row] = await rawRows<RowOf<StoredSession & SessionOpener>>(
    db,
    `SELECT s.*, t.live_name, t.expires_at AS token_expires_at, o.id AS present_operator_id,
            k.id AS present_key_id, k.ends_at AS key_ends_at,
            (SELECT l.customer FROM ${table(db, 'licenses')} l${forceIndex(db, 'licenses', 'customer_digest')}
              WHERE l.customer_digest = s.customer_digest LIMIT 1) AS customer
       FROM ${table(db, 'sessions')} s
       LEFT JOIN ${table(db, 'tokens')} t ON t.id = s.token_id
       LEFT JOIN ${table(db, 'operators')} o ON o.id = s.operator_id
       LEFT JOIN ${table(db, 'license_keys')} k${forceIndex(db, 'license_keys')}
              ON k.key_digest = s.key_digest AND k.license_id = s.license_id
      WHERE s.cookie_digest = ? AND s.kind = ?`,
    [cookieDigest, kind],
  );
  return row && rowToFields(row);
}

/** Records a use, unless a use after `unlessAfter` is recorded. */
export async function setSessionUsed(db: Db, id: number, at: Date, unlessAfter: Date): Promise<void> {
  await db(table(db, 'sessions'))
    .where({ id })
    .where('used_at', '<=', toSqlTime(unlessAfter))
    .update({ used_at: toSqlTime(at) });
}

export async function setSessionEnded(
  db: Db,
  kind: StoredSession['kind'],
  cookieDigest: string,
  now: Date,
): Promise<void> {
  await db(table(db, 'sessions'))
    .where({ cookie_digest: cookieDigest, kind })
    .whereNull('ended_at')
    .update({ ended_at: toSqlTime(now) });
}

/** Deletes a few sessions whose latest end was before `before`. @returns how many were found */
export async function pruneSessions(db: Db, before: Date, limit: number): Promise<number> {
  const ids = await db(table(db, 'sessions'))
    .where('expires_at', '<', toSqlTime(before))
    .orderBy('expires_at')
    .limit(limit)
    .pluck('id');
  for (const id of ids) await db(table(db, 'sessions')).where({ id }).delete();
  return ids.length;
}
