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
  type SiteTableName,
} from './accounts';
import type { ServerLocation } from '../../store/engine/tls';
import { readJoomlaSite, readSiteSecret } from './configuration';

/**
 * Joomla's API tokens, as Joomla 4.0 to 6.1 check them: plugins/api-authentication/token, plugins/user/token,
 * plugins/user/joomla (core.login.api), libraries/src/Access. Only reads the site's tables.
 */

export interface Site {
  root: string;
  tables: SiteTableName;
  /** groups whose accounts may manage licences */
  operatorGroups: readonly number[];
}

/** Why the site's tokens cannot be checked. */
export type SiteOff = 'no-site' | 'sqlite' | 'other-server';

/** Where the service's own connection finds the site's tables. @throws ConfigError */
export function findSite(
  root: string | undefined,
  database: DatabaseSettings,
  operatorGroups: readonly number[],
): Site | SiteOff {
  if (root === undefined) return 'no-site';
  if (database.kind === 'sqlite') return 'sqlite';
  const site = readJoomlaSite(root);
  // Another server may have a copy of the site under the same names, with accounts that are no longer blocked there.
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

/** Debian has `/run` under both names. */
function withoutVar(path: string): string {
  return path.replace(/^\/var\/run\//, '/run/');
}

function hostOf({ host, socketPath }: ServerLocation): string {
  const name = host.toLowerCase();
  return socketPath !== undefined || ['localhost', '127.0.0.1', '::1'].includes(name) ? 'localhost' : name;
}

export type SiteVerdict = { user: { id: number; login: string } } | { refused: 'UNAUTHORIZED' | 'FORBIDDEN' };

const UNAUTHORIZED = { refused: 'UNAUTHORIZED' } as const;

/** Longer ones are refused unread; Joomla's have about 180 characters. */
const MAX_TOKEN_LENGTH = 1_000;

/**
 * Judges a token: UNAUTHORIZED is what Joomla itself would refuse, or what cannot be looked up; FORBIDDEN is an account that
 * is in none of the operator's groups.
 * @throws what the database throws; ConfigError
 */
export function judgeSiteToken(db: Db, site: Site, token: string): Promise<SiteVerdict> {
  const parts = readSiteToken(token);
  if (parts === undefined) return Promise.resolve(UNAUTHORIZED);
  return judge(db, site, parts.userId, (account, secret) => matches(parts, account?.seed ?? null, secret));
}

/** Whether an account that was let in by its token may still come in by what it made. @throws as `judgeSiteToken` */
export function judgeSiteAccount(db: Db, site: Site, userId: number): Promise<SiteVerdict> {
  return judge(db, site, userId, () => true);
}

/**
 * Whether an account that Joomla itself signed in may manage licences: it is there, not blocked, and an operator. Its API token and who may use the site's API do not matter. @throws as `judgeSiteToken`
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
    // A wrong token ends here, after the same steps for an account that does not exist: a flood costs one query each.
    if (!isRight(account, secret) || account === undefined) return UNAUTHORIZED;
    const [groups, plugins, rules] = await Promise.all([
      listSiteGroups(db, site.tables, userId),
      listTokenPlugins(db, site.tables),
      findRootRules(db, site.tables),
    ]);
    const facts = { account, groups, plugins, rules: (parseObject(rules) ?? {}) as Rules };
    return judgeAccount(facts, rootUser, site.operatorGroups);
  } catch (error) {
    // Then the site's tokens are not accepted; the doctor says why.
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
  // PHP's (int): the digits in front; anything else is the account 0, which no site has.
  const userId = Number(/^\s*\+?(\d{1,15})/.exec(user ?? '')?.[1] ?? 0);
  return { algorithm, userId, hmac: rest.join(':') };
}

/** PHP's base64_decode() skips all other characters, also "=" in the middle. */
function decodeLax(text: string): Buffer {
  return Buffer.from(text.replace(/[^A-Za-z0-9+/]/g, ''), 'base64');
}

/** Takes the place of a seed that is not there. */
const NO_SEED = randomBytes(32);

function matches({ algorithm, hmac }: SiteToken, stored: string | null, secret: string): boolean {
  const seed = decodeLax(stored ?? '');
  const expected = createHmac(algorithm, secret)
    .update(seed.length === 0 ? NO_SEED : seed)
    .digest('hex');
  // Digests, because timingSafeEqual() needs equal lengths.
  const isEqual = timingSafeEqual(hash('sha256', hmac, 'buffer'), hash('sha256', expected, 'buffer'));
  return isEqual && seed.length > 0;
}

/** What the site says of an account. */
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

/** Super users are operators whatever LICENSING_OPERATOR_GROUPS names, by token and through the door. */
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
 * The plugin's parameter as PHP reads it. Joomla's Registry::get() takes the default, super users, where it is absent, null
 * or an empty text; another empty value means every group.
 */
function allowedUserGroups(plugin: SitePlugin | undefined): number[] {
  const value = parseObject(plugin?.params)?.allowedUserGroups;
  if (value === undefined || value === null || value === '') return [SUPER_USERS];
  if (typeof value === 'object') return Object.values(value).map(Number);
  return isEmpty(value) ? [] : [Number(value)];
}

/** PHP's empty(), for what is not a list. */
function isEmpty(value: unknown): boolean {
  return ['0', 0, false].includes(value as number);
}

/** Joomla's Rule::allow(): one refusal among the identities outweighs every permission. */
function isAllowed(rule: Record<string, unknown> | undefined, identities: number[]): boolean {
  const said = identities
    .map((identity) => rule?.[identity])
    .filter((one) => one !== undefined && one !== null);
  return said.length > 0 && !said.some(isEmpty);
}

/** `$root_user` of the configuration: an id or a login name. */
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
