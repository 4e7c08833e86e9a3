import { table, type Db } from './database';
import { fromSqlTime, toSqlTime } from './time';

/** A download granted or refused, a refused activation or deactivation, or an address that reached its limit. */
export interface Access {
  at: Date;
  endpoint: 'activate' | 'deactivate' | 'validate' | 'updates' | 'download';
  /** `ok`, or the refusal's code */
  outcome: string;
  licenseId: number | null;
  keyHint: string | null;
  productId: number | null;
  version: string | null;
  identifier: string | null;
  ip: string | null;
  userAgent: string | null;
}

interface AccessRow {
  at: string;
  endpoint: Access['endpoint'];
  outcome: string;
  license_id: number | null;
  key_hint: string | null;
  product_id: number | null;
  version: string | null;
  identifier: string | null;
  ip: string | null;
  user_agent: string | null;
}

export async function insertAccesses(db: Db, accesses: Access[]): Promise<void> {
  await db(table(db, 'access_log')).insert(
    accesses.map((access) => ({
      at: toSqlTime(access.at),
      endpoint: access.endpoint,
      outcome: access.outcome,
      license_id: access.licenseId,
      key_hint: access.keyHint,
      product_id: access.productId,
      version: access.version,
      identifier: access.identifier,
      ip: access.ip,
      user_agent: access.userAgent,
    })),
  );
}

/** The newest first. */
export async function listAccesses(
  db: Db,
  by: { licenseId: number } | { keyHint: string } | { ip: string },
  limit: number,
): Promise<Access[]> {
  const [column, value] =
    'licenseId' in by
      ? ['license_id', by.licenseId]
      : 'keyHint' in by
        ? ['key_hint', by.keyHint]
        : ['ip', by.ip];
  const rows = (await db(table(db, 'access_log'))
    .where(column, value)
    .orderBy([
      { column: 'at', order: 'desc' },
      { column: 'id', order: 'desc' },
    ])
    .limit(limit)) as AccessRow[];
  return rows.map((row) => ({
    at: fromSqlTime(row.at),
    endpoint: row.endpoint,
    outcome: row.outcome,
    licenseId: row.license_id,
    keyHint: row.key_hint,
    productId: row.product_id,
    version: row.version,
    identifier: row.identifier,
    ip: row.ip,
    userAgent: row.user_agent,
  }));
}

/**
 * Removes some of the entries older than `before`: a few at a time, so that no lock lasts.
 *
 * @returns how many went; fewer than `limit` means none are left
 */
export async function pruneAccesses(db: Db, before: Date, limit: number): Promise<number> {
  const ids = await db(table(db, 'access_log'))
    .where('at', '<', toSqlTime(before))
    .orderBy('at')
    .limit(limit)
    .pluck<number[]>('id');
  return ids.length === 0 ? 0 : db(table(db, 'access_log')).whereIn('id', ids).delete();
}
