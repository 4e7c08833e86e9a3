import type { Db } from '../../store/engine/database';
import { driverCodeOf } from '../../store/engine/errors';
import { placeholders, rawRows } from '../../store/engine/statements';

/** Reads the Joomla tables that decide who may use the site's API, without ever writing to them. */

/** The tables that these functions read, without prefix. */
const SITE_TABLES = [
  'users',
  'user_profiles',
  'user_usergroup_map',
  'usergroups',
  'extensions',
  'assets',
] as const;
export type JoomlaTable = (typeof SITE_TABLES)[number];

/** Returns a table's quoted name with its database. */
export type JoomlaTableName = (table: JoomlaTable) => string;

/** @param prefix the site's, such as `jos_` */
export function siteTableNames(database: string, prefix: string): JoomlaTableName {
  const quoted = (name: string) => `\`${name.replaceAll('`', '``')}\``;
  return (table) => `${quoted(database)}.${quoted(prefix + table)}`;
}

/** A row of `#__users` with the account's profile values; null for a missing value. */
export interface SiteAccount {
  id: number;
  username: string;
  block: number;
  activation: string | null;
  requireReset: number;
  seed: string | null;
  enabled: string | null;
}

export async function findSiteAccount(
  db: Db,
  name: JoomlaTableName,
  id: number,
): Promise<SiteAccount | undefined> {
  const profile = (alias: string, key: string) =>
    `LEFT JOIN ${name('user_profiles')} ${alias} ON ${alias}.user_id = u.id AND ${alias}.profile_key = '${key}'`;
  const [account] = await rawRows<SiteAccount>(
    db,
    `SELECT u.id, u.username, u.block, u.activation, u.requireReset, s.profile_value AS seed, e.profile_value AS enabled
       FROM ${name('users')} u
       ${profile('s', 'joomlatoken.token')}
       ${profile('e', 'joomlatoken.enabled')}
      WHERE u.id = ?`,
    [id],
  );
  return account;
}

/** Returns an account without its token. */
export async function findSiteUser(
  db: Db,
  name: JoomlaTableName,
  id: number,
): Promise<Pick<SiteAccount, 'id' | 'username' | 'block'> | undefined> {
  const [user] = await rawRows<Pick<SiteAccount, 'id' | 'username' | 'block'>>(
    db,
    `SELECT id, username, block FROM ${name('users')} WHERE id = ?`,
    [id],
  );
  return user;
}

/** Lists the ids of an account's groups and of their parents. */
export async function listSiteGroups(db: Db, name: JoomlaTableName, userId: number): Promise<number[]> {
  const rows = await rawRows<{ id: number }>(
    db,
    `SELECT DISTINCT parent.id
       FROM ${name('user_usergroup_map')} m
       JOIN ${name('usergroups')} own ON own.id = m.group_id
       JOIN ${name('usergroups')} parent ON parent.lft <= own.lft AND parent.rgt >= own.rgt
      WHERE m.user_id = ?`,
    [userId],
  );
  return rows.map(({ id }) => id);
}

/** Returns the titles of groups by id; groups that do not exist are missing. */
export async function findGroupTitles(
  db: Db,
  name: JoomlaTableName,
  ids: readonly number[],
): Promise<Map<number, string>> {
  const rows = await rawRows<{ id: number; title: string }>(
    db,
    `SELECT id, title FROM ${name('usergroups')} WHERE id IN (${placeholders(ids.length)})`,
    [...ids],
  );
  return new Map(rows.map(({ id, title }) => [id, title]));
}

export interface SitePlugin {
  /** `user` gives accounts their tokens, `api-authentication` accepts them */
  folder: string;
  enabled: number;
  /** JSON */
  params: string;
}

/** Lists the two plugins with the element `token`. */
export function listTokenPlugins(db: Db, name: JoomlaTableName): Promise<SitePlugin[]> {
  return rawRows<SitePlugin>(
    db,
    `SELECT folder, enabled, params FROM ${name('extensions')}
      WHERE type = 'plugin' AND element = 'token' AND folder IN ('user', 'api-authentication')`,
    [],
  );
}

/** Reports whether a component is installed and enabled. */
export async function hasComponent(db: Db, name: JoomlaTableName, element: string): Promise<boolean> {
  const rows = await rawRows<{ enabled: number }>(
    db,
    `SELECT enabled FROM ${name('extensions')} WHERE type = 'component' AND element = ?`,
    [element],
  );
  return rows.some(({ enabled }) => enabled === 1);
}

/** Returns the rules of the site's root asset, as JSON. */
export async function findRootRules(db: Db, name: JoomlaTableName): Promise<string | undefined> {
  const [asset] = await rawRows<{ rules: string }>(
    db,
    `SELECT rules FROM ${name('assets')} WHERE id = 1`,
    [],
  );
  return asset?.rules;
}

const UNREADABLE = new Set([
  'ER_TABLEACCESS_DENIED_ERROR',
  'ER_COLUMNACCESS_DENIED_ERROR',
  'ER_DBACCESS_DENIED_ERROR',
  'ER_NO_SUCH_TABLE',
  'ER_BAD_DB_ERROR',
  'ER_BAD_FIELD_ERROR',
]);

/** Reports whether a table of the site does not exist, or cannot be read by this database user. */
export function isSiteUnreadable(error: unknown): boolean {
  return UNREADABLE.has(driverCodeOf(error));
}

/** Lists the tables that this database user cannot read. */
export async function findUnreadableTables(db: Db, name: JoomlaTableName): Promise<JoomlaTable[]> {
  const unreadable: JoomlaTable[] = [];
  for (const table of SITE_TABLES)
    try {
      await rawRows(db, `SELECT 1 FROM ${name(table)} LIMIT 1`, []);
    } catch (error) {
      if (!isSiteUnreadable(error)) throw error;
      unreadable.push(table);
    }
  return unreadable;
}
