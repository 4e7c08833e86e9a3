import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { DatabaseSettings, Db } from '../../store/engine/database';
import { locationsOf } from '../../store/engine/mysql';
import {
  findRootRules,
  findSiteAccount,
  findSiteUser,
  isSiteUnreadable,
  listSiteGroups,
  listTokenPlugins,
  siteTableNames,
  type SiteAccount,
  type SitePlugin,
  type JoomlaTableName,
} from './accounts';
import type { ServerLocation } from '../../store/engine/tls';
import { readJoomlaSite, readSiteSecret } from './configuration';

/**
 * Verifies Joomla's API tokens like Joomla 4.0 to 6.1: plugins/api-authentication/token, plugins/user/token,
 * plugins/user/joomla (core.login.api), libraries/src/Access. It only reads the site's tables.
 */

export interface Site {
  root: string;
  tables: JoomlaTableName;
  /** the groups whose accounts may manage licences */
  operatorGroups: readonly number[];
}

/** The reasons that the site's tokens cannot be verified. */
export type SiteOff = 'no-site' | 'sqlite' | 'other-server';

/** Returns the site whose tables the service's own connection can read. @throws ConfigError */
export function findSite(
  root: string | undefined,
  database: DatabaseSettings,
  operatorGroups: readonly number[],
): Site | SiteOff {
  if (root === undefined) return 'no-site';
  if (database.kind === 'sqlite') return 'sqlite';
  const site = readJoomlaSite(root);
  // Another server may have a copy of the site under the same names, with accounts that are blocked in the original.
  if (!locationsOf(database).some((server) => isSameServer(site.database, server))) return 'other-server';
  return { root, tables: siteTableNames(site.database.database, site.tablePrefix), operatorGroups };
}

const DEFAULT_PORT = 3306;

function isSameServer(one: ServerLocation, other: ServerLocation): boolean {
  if (one.socketPath !== undefined && other.socketPath !== undefined)
    return withoutVar(one.socketPath) === withoutVar(other.socketPath);
  const portOf = ({ socketPath, port }: ServerLocation) => (socketPath === undefined ? port : DEFAULT_PORT);
  return hostOf(one) === hostOf(other) && portOf(one) === portOf(other);
}

/** Removes `/var`, because Debian has `/run` under both names. */
function withoutVar(path: string): string {
  return path.replace(/^\/var\/run\//, '/run/');
}

function hostOf({ host, socketPath }: ServerLocation): string {
  const name = host.toLowerCase();
  return socketPath !== undefined || ['localhost', '127.0.0.1', '::1'].includes(name) ? 'localhost' : name;
}

export type SiteVerdict = { user: { id: number; login: string } } | { refused: 'UNAUTHORIZED' | 'FORBIDDEN' };

const UNAUTHORIZED = { refused: 'UNAUTHORIZED' } as const;

/** The maximum length of a token that is read; Joomla's have about 180 characters. */
const MAX_TOKEN_LENGTH = 1_000;

/**
 * Verifies a token. UNAUTHORIZED: Joomla itself would refuse it, or it cannot be looked up. FORBIDDEN: the account is
 * in none of the operators' groups.
 * @throws the database's error; ConfigError
 */
export function judgeSiteToken(db: Db, site: Site, token: string): Promise<SiteVerdict> {
  const parts = readSiteToken(token);
  if (parts === undefined) return Promise.resolve(UNAUTHORIZED);
  return judge(db, site, parts.userId, (account, secret) => matches(parts, account?.seed ?? null, secret));
}

/** Checks whether an account may still use what it made with its token. @throws like `judgeSiteToken` */
export function judgeSiteAccount(db: Db, site: Site, userId: number): Promise<SiteVerdict> {
  return judge(db, site, userId, () => true);
}

/**
 * Checks whether an account that Joomla signed in may manage licences: it exists, is not blocked, and is an operator.
 * Neither its API token nor the right to use the site's API matters. @throws like `judgeSiteToken`
 */
export async function judgeSiteOperator(db: Db, site: Site, userId: number): Promise<SiteVerdict> {
  try {
    const user = await findSiteUser(db, site.tables, userId);
    if (user?.block !== 0) return UNAUTHORIZED;
    const groups = await listSiteGroups(db, site.tables, userId);
    const accepted = { user: { id: user.id, login: user.username } };
    if (isInGroup(groups, site.operatorGroups)) return accepted;
    const rules = (parseObject(await findRootRules(db, site.tables)) ?? {}) as Rules;
    const { rootUser } = readSiteSecret(site.root);
    return isSuperUser({ account: user, groups, rules }, rootUser) ? accepted : { refused: 'FORBIDDEN' };
  } catch (error) {
    if (isSiteUnreadable(error)) return UNAUTHORIZED;
    throw error;
  }
}

async function judge(
  db: Db,
  site: Site,
  userId: number,
  isRight: (account: SiteAccount | undefined, secret: string) => boolean,
): Promise<SiteVerdict> {
  const { secret, rootUser } = readSiteSecret(site.root);
  if (secret === '') return UNAUTHORIZED;
  try {
    const account = await findSiteAccount(db, site.tables, userId);
    // Refuse a wrong token here, after the same steps as for an unknown account: a flood costs one query for each.
    if (!isRight(account, secret) || account === undefined) return UNAUTHORIZED;
    const [groups, plugins, rules] = await Promise.all([
      listSiteGroups(db, site.tables, userId),
      listTokenPlugins(db, site.tables),
      findRootRules(db, site.tables),
    ]);
    const facts = { account, groups, plugins, rules: (parseObject(rules) ?? {}) as Rules };
    return judgeAccount(facts, rootUser, site.operatorGroups);
  } catch (error) {
    // Accept no tokens of the site; the doctor explains the reason.
    if (isSiteUnreadable(error)) return UNAUTHORIZED;
    throw error;
  }
}

type Algorithm = 'sha256' | 'sha512';

interface SiteToken {
  algorithm: Algorithm;
  userId: number;
  hmac: string;
}

function readSiteToken(token: string): SiteToken | undefined {
  if (token.length > MAX_TOKEN_LENGTH) return undefined;
  const [algorithm, user, ...rest] = decodeLax(token).toString('latin1').split(':');
  if (rest.length === 0 || (algorithm !== 'sha256' && algorithm !== 'sha512')) return undefined;
  // Parse like PHP's (int), which takes the leading digits. Other texts give the account 0, which does not exist on any
  // site.
  const userId = Number(/^\s*\+?(\d{1,15})/.exec(user ?? '')?.[1] ?? 0);
  return { algorithm, userId, hmac: rest.join(':') };
}

/** Decodes like PHP's base64_decode(), which skips all other characters, even "=" in the middle. */
function decodeLax(text: string): Buffer {
  return Buffer.from(text.replace(/[^A-Za-z0-9+/]/g, ''), 'base64');
}

/** The value that replaces a missing seed. */
const NO_SEED = randomBytes(32);

function matches({ algorithm, hmac }: SiteToken, stored: string | null, secret: string): boolean {
  const seed = decodeLax(stored ?? '');
  const expected = createHmac(algorithm, secret)
    .update(seed.length === 0 ? NO_SEED : seed)
    .digest('hex');
  // Compare digests, because timingSafeEqual() needs equal lengths.
  const isEqual = timingSafeEqual(hash('sha256', hmac, 'buffer'), hash('sha256', expected, 'buffer'));
  return isEqual && seed.length > 0;
}

/** The site's data about an account. */
interface Facts {
  account: SiteAccount;
  groups: number[];
  plugins: SitePlugin[];
  rules: Rules;
}

type Named = Pick<SiteAccount, 'id' | 'username'>;
type Rules = Record<string, Record<string, unknown> | undefined>;

function judgeAccount(
  { account, groups, plugins, rules }: Facts,
  rootUser: string,
  operatorGroups: readonly number[],
): SiteVerdict {
  if (Number(account.enabled ?? 0) !== 1) return UNAUTHORIZED;
  const { id, username } = account;
  if (!plugins.some(({ folder, enabled }) => folder === 'api-authentication' && enabled === 1))
    return UNAUTHORIZED;
  const userPlugin = plugins.find(({ folder, enabled }) => folder === 'user' && enabled === 1);
  const allowed = allowedUserGroups(userPlugin);
  if (allowed.length > 0 && !groups.some((group) => allowed.includes(group))) return UNAUTHORIZED;
  const isPending = !['', '0'].includes((account.activation ?? '').trim());
  if (account.block !== 0 || account.requireReset !== 0 || isPending) return UNAUTHORIZED;
  const isSuper = isSuperUser({ account, groups, rules }, rootUser);
  if (!isSuper && !isAllowed(rules['core.login.api'], [-id, ...groups])) return UNAUTHORIZED;
  if (!isSuper && !isInGroup(groups, operatorGroups)) return { refused: 'FORBIDDEN' };
  return { user: { id, login: username } };
}

/** Reports whether an account is a super user, who is always an operator, regardless of LICENSING_OPERATOR_GROUPS. */
function isSuperUser(
  { account, groups, rules }: Pick<Facts, 'groups' | 'rules'> & { account: Named },
  rootUser: string,
): boolean {
  return isRootUser(rootUser, account) || isAllowed(rules['core.admin'], [-account.id, ...groups]);
}

function isInGroup(groups: number[], operatorGroups: readonly number[]): boolean {
  return groups.some((group) => operatorGroups.includes(group));
}

const SUPER_USERS = 8;

/**
 * Returns the plugin's parameter as PHP reads it. Joomla's Registry::get() takes the default, super users, if it is
 * absent, null or an empty text. Another empty value means every group.
 */
function allowedUserGroups(plugin: SitePlugin | undefined): number[] {
  const value = parseObject(plugin?.params)?.allowedUserGroups;
  if (value === undefined || value === null || value === '') return [SUPER_USERS];
  if (typeof value === 'object') return Object.values(value).map(Number);
  return isEmpty(value) ? [] : [Number(value)];
}

/** Returns PHP's empty() of a value that is not a list. */
function isEmpty(value: unknown): boolean {
  return ['0', 0, false].includes(value as number);
}

/** Returns Joomla's Rule::allow(): one refusal among the identities outweighs every permission. */
function isAllowed(rule: Record<string, unknown> | undefined, identities: number[]): boolean {
  const said = identities
    .map((identity) => rule?.[identity])
    .filter((one) => one !== undefined && one !== null);
  return said.length > 0 && !said.some(isEmpty);
}

/** Reports whether an account is the configuration's `$root_user`, which is an id or a login name. */
function isRootUser(rootUser: string, { id, username }: Named): boolean {
  if (rootUser === '') return false;
  return /^\d+$/.test(rootUser) ? Number(rootUser) === id : rootUser === username;
}

function parseObject(json: string | undefined): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(json ?? '') as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
