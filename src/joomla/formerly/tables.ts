import { DAY_MS } from '../../base/days';
import { isSqlite, type Db } from '../../store/engine/database';
import { driverCodeOf, messageOf } from '../../store/engine/errors';
import { rawRows } from '../../store/engine/statements';
import { fromSqlTime, toSqlTime } from '../../store/engine/time';

/** Reads tables of the seller's former system, without ever writing to them. */

/** The place of these tables. */
export interface FormerPlace {
  /** undefined for the service's own database */
  database: string | undefined;
  /** the site's prefix, such as `jos_` */
  prefix: string;
}

/** Reads rows; undefined if the table does not exist or this user may not read it. */
async function readRows<Row>(
  db: Db,
  { database, prefix }: FormerPlace,
  table: string,
  sql: (name: string) => string,
  bindings: (string | number)[],
): Promise<Row[] | undefined> {
  const quoted = (name: string) => `\`${name.replaceAll('`', '``')}\``;
  const whole = quoted(prefix + table);
  const name = database === undefined || isSqlite(db) ? whole : `${quoted(database)}.${whole}`;
  try {
    return await rawRows<Row>(db, sql(name), bindings);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const MISSING = [
  'ER_NO_SUCH_TABLE',
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_BAD_DB_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
  'ER_BAD_FIELD_ERROR',
  'ER_COLUMNACCESS_DENIED_ERROR',
];

function isMissing(error: unknown): boolean {
  return MISSING.includes(driverCodeOf(error)) || /no such (?:table|column)/.test(messageOf(error));
}

/** Returns the downloads of an update stream of Akeeba Release System, by number. */
export async function listArsItems(
  db: Db,
  place: FormerPlace,
  stream: number,
): Promise<string[] | undefined> {
  const rows = await readRows<{ id: number | string }>(
    db,
    place,
    'ars_items',
    (name) => `SELECT id FROM ${name} WHERE updatestream = ? ORDER BY id`,
    [stream],
  );
  return rows?.map(({ id }) => String(id));
}

/** Downloads of one site, or of one user and IP address, from a former system's log. */
export interface FormerSite {
  /** the domain that the site reported; null if none */
  domain: string | null;
  /** the user's or key's id in the former system */
  key: string;
  ip: string;
  /** true if its latest request was accepted */
  isAnswered: boolean;
}

export interface FormerLog {
  /** the period of the log that is read, which ends with the latest entry */
  from: Date;
  to: Date;
  sites: FormerSite[];
}

/** Reads the last days of Akeeba Release System's log; undefined if there is no such log. */
export function readArsLog(db: Db, place: FormerPlace, days: number): Promise<FormerLog | undefined> {
  return readLog(db, place, days, {
    table: 'ars_log',
    at: 'accessed_on',
    domain: 'NULL',
    key: 'user_id',
    ip: 'ip',
    answeredAt: 'MAX(CASE WHEN authorized = 1 THEN accessed_on END)',
  });
}

/** Reads the last days of Membership Pro's log, which only contains accepted downloads. */
export function readMembershipProLog(
  db: Db,
  place: FormerPlace,
  days: number,
): Promise<FormerLog | undefined> {
  return readLog(db, place, days, {
    table: 'osmembership_downloadlogs',
    at: 'download_date',
    domain: "NULLIF(domain, '')",
    key: 'download_id',
    ip: 'server_ip',
    answeredAt: 'MAX(download_date)',
  });
}

interface LogColumns {
  table: string;
  at: string;
  domain: string;
  key: string;
  ip: string;
  answeredAt: string;
}

async function readLog(
  db: Db,
  place: FormerPlace,
  days: number,
  { table, at, domain, key, ip, answeredAt }: LogColumns,
): Promise<FormerLog | undefined> {
  const ends = await readRows<{ latest: string | null }>(
    db,
    place,
    table,
    (name) => `SELECT CAST(MAX(${at}) AS CHAR) AS latest FROM ${name}`,
    [],
  );
  const last = ends?.[0]?.latest;
  if (last === undefined || last === null) return undefined;
  const to = fromSqlTime(last);
  const from = new Date(to.getTime() - days * DAY_MS);
  const rows = await readRows<{
    domain: string | null;
    who: string | number | null;
    ip: string | null;
    answered: number;
  }>(
    db,
    place,
    table,
    (name) =>
      `SELECT ${domain} AS domain, ${key} AS who, ${ip} AS ip,
              CASE WHEN ${answeredAt} = MAX(${at}) THEN 1 ELSE 0 END AS answered
         FROM ${name} WHERE ${at} > ? GROUP BY ${domain}, ${key}, ${ip}`,
    [toSqlTime(from)],
  );
  return (
    rows && {
      from,
      to,
      sites: rows.map(({ domain: site, who, ip: address, answered }) => ({
        domain: site,
        key: String(who ?? ''),
        ip: address ?? '',
        isAnswered: answered === 1,
      })),
    }
  );
}
