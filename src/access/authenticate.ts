import type { DatabaseSettings, Db } from '../store/engine/database';
import { findTokenByDigest, setTokenUsed, type ApiToken } from '../store/tokens';
import { findSite, judgeSiteAccount, judgeSiteToken, type SiteVerdict } from '../joomla/site/api-tokens';
import { createCache } from '../licensing/core/ttl-map';
import type { Caller, Scope } from './caller';
import { createDoor, type Door } from './door';
import { readSession, type IsAccountIn } from './sessions';
import { throwSiteUnavailable } from './site-away';
import { isTokenText, tokenDigest } from './token-text';

interface AuthenticatorDependencies {
  db: Db;
  now: () => Date;
  /** the connection of `db` */
  database: DatabaseSettings;
  /** undefined without a Joomla site, which also means without its tokens */
  joomlaRoot: string | undefined;
  operatorGroups: readonly number[];
}

export interface Credentials {
  /** the header of that name */
  authorization: string | undefined;
  /** X-Joomla-Token */
  joomlaToken: string | undefined;
  /** the cookie of the operator's pages, which counts if neither header is present */
  session?: string | undefined;
}

export interface AuthRefusal {
  refused: 'UNAUTHORIZED' | 'FORBIDDEN';
}

export interface Authenticate {
  (credentials: Credentials): Promise<Caller | AuthRefusal>;
  isAccountIn: IsAccountIn;
  door: Door;
}

const UNAUTHORIZED: AuthRefusal = { refused: 'UNAUTHORIZED' };

/** The cache time of a token. With a call that is already running, a revoked token is refused within two seconds. */
const OWN_LIFETIME_MS = 1_000;
const SITE_LIFETIME_MS = 60_000;
const USE_RECORDED_EVERY_MS = 60_000;

/**
 * Authenticates a caller: by one of our own tokens, otherwise by the site's Joomla API token, otherwise by a session.
 * @throws the database's error; SITE_AWAY
 */
export function createAuthenticator({
  db,
  now,
  database,
  joomlaRoot,
  operatorGroups,
}: AuthenticatorDependencies): Authenticate {
  const site = findSite(joomlaRoot, database, operatorGroups);
  const ownTokens = createCache<ApiToken | undefined>(
    OWN_LIFETIME_MS,
    () => performance.now(),
    (token) => token !== undefined,
  );
  const clock = () => now().getTime();
  // Do not cache refusals for wrong tokens, because a caller can send any number of them.
  const siteTokens = createCache<SiteVerdict>(SITE_LIFETIME_MS, clock, isKnown);
  const siteAccounts = createCache<SiteVerdict>(SITE_LIFETIME_MS, clock, isKnown);
  const recordUse = createUseRecorder(db, now);
  const door = createDoor(db, site, now);

  async function ownCaller(credential: string): Promise<Caller | AuthRefusal> {
    if (!isTokenText(credential)) return UNAUTHORIZED;
    const digest = tokenDigest(credential);
    const token = await ownTokens(digest, () => findTokenByDigest(db, digest));
    if (token === undefined || (token.expiresAt !== null && token.expiresAt <= now())) return UNAUTHORIZED;
    const { id, name, scope, joomlaUserId, byDoor } = token;
    if (joomlaUserId !== null && !(await isAccountIn(joomlaUserId, byDoor))) return UNAUTHORIZED;
    recordUse(token);
    const by = { joomlaUserId, ...(byDoor && { byDoor: true as const }) };
    return { scope: scope as Scope, name, actor: `token:${name}`, tokenId: id, ...by, credential };
  }

  async function isAccountIn(userId: number, byDoor: boolean): Promise<boolean> {
    if (byDoor) return door.isIn(userId);
    if (typeof site === 'string') return false;
    const look = () => judgeSiteAccount(db, site, userId).catch(throwSiteUnavailable);
    return 'user' in (await siteAccounts(userId, look));
  }

  async function siteCaller(credential: string): Promise<Caller | AuthRefusal> {
    if (typeof site === 'string') return UNAUTHORIZED;
    const look = () => judgeSiteToken(db, site, credential).catch(throwSiteUnavailable);
    const verdict = await siteTokens(tokenDigest(credential), look);
    if ('refused' in verdict) return verdict;
    const { id, login } = verdict.user;
    return {
      scope: 'write',
      name: login,
      actor: `joomla:${login}`,
      tokenId: null,
      joomlaUserId: id,
      credential,
    };
  }

  async function sessionCaller(cookie: string): Promise<Caller | AuthRefusal> {
    const session = await readSession(db, 'operator', cookie, now(), isAccountIn);
    return typeof session === 'object' ? session.caller : UNAUTHORIZED;
  }

  async function authenticate(credentials: Credentials): Promise<Caller | AuthRefusal> {
    const { authorization, joomlaToken, session } = credentials;
    if (authorization === undefined && joomlaToken === undefined && session !== undefined)
      return sessionCaller(session);
    const own = /^bearer +(lgw_.*)$/i.exec(credentials.authorization ?? '')?.[1]?.trim();
    if (own !== undefined) return ownCaller(own);
    const token = siteTokenOf(credentials);
    return token === '' ? UNAUTHORIZED : siteCaller(token);
  }
  return Object.assign(authenticate, { isAccountIn, door });
}

function isKnown(verdict: SiteVerdict): boolean {
  return 'user' in verdict || verdict.refused === 'FORBIDDEN';
}

/** Reads the headers like Joomla's plugin: "Bearer " in exactly this case, and X-Joomla-Token if there is no bearer token. */
function siteTokenOf({ authorization = '', joomlaToken = '' }: Credentials): string {
  const bearer = authorization.startsWith('Bearer ') ? authorization.slice('Bearer '.length) : '';
  return bearer.replace(/[^A-Za-z0-9/+=]/g, '') || joomlaToken.trim();
}

/** Records the use of tokens, at most once a minute for each. No call waits for it or fails because of it. */
function createUseRecorder(db: Db, now: () => Date): (token: ApiToken) => void {
  const recorded = new Map<number, number>();
  return ({ id, lastUsedAt }) => {
    const at = now();
    const since = new Date(at.getTime() - USE_RECORDED_EVERY_MS);
    if (Math.max(lastUsedAt?.getTime() ?? 0, recorded.get(id) ?? 0) > since.getTime()) return;
    recorded.set(id, at.getTime());
    setTokenUsed(db, id, at, since).catch(() => undefined);
  };
}
