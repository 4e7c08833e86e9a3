import { DAY_MS, dayOf } from '../base/days';
import { listTokens, type ApiToken } from '../access/tokens';
import type { Config } from '../settings/config';
import { findSite, type Site } from '../joomla/site/api-tokens';
import { DOOR_ELEMENT } from '../joomla/door';
import { readSiteSecret } from '../joomla/site/configuration';
import type { Db } from '../store/engine/database';
import {
  findGroupTitles,
  findUnreadableTables,
  hasComponent,
  listTokenPlugins,
  type JoomlaTable,
} from '../joomla/site/accounts';
import type { OperatorTexts } from '../texts/operators/texts';
import { ok, warning, type Check, type CheckFinding, type Say } from './finding';

const SOON_MS = 30 * DAY_MS;

/** Checks the callers of the operator's API: our own tokens, and the site's Joomla API tokens. */
export const checkAccess: Check = async ({ config, db, now }) => {
  const tokens = (await listTokens(db)).filter(({ expiresAt }) => expiresAt === null || expiresAt > now());
  return [
    ok('API_TOKENS', (t) => t.apiTokens(tokens.length, listed(tokens))),
    ...checkEnds(tokens, now()),
    ...(await checkSiteTokens(config, db, tokens)),
    await checkDoor(config, db),
  ];
};

async function checkSiteTokens(config: Config, db: Db, tokens: ApiToken[]): Promise<CheckFinding[]> {
  const site = await findReadableSite(config, db);
  if ('say' in site) return [ok('API_JOOMLA_TOKENS', site.say), ...checkOrphans(tokens)];
  const titles = await findGroupTitles(db, site.tables, site.operatorGroups);
  const named = [...titles].map(([id, title]) => `${title} (${id})`);
  const missing = site.operatorGroups.filter((id) => !titles.has(id));
  return [
    ok('API_JOOMLA_TOKENS', (t) => t.joomlaTokens(named.join(', '))),
    ...(missing.length === 0
      ? []
      : [warning('API_JOOMLA_GROUPS', (t) => t.joomlaGroups(missing.join(', ')))]),
  ];
}

/** Checks the component in Joomla, through which the site's administrators sign in (access/door.ts). */
async function checkDoor(config: Config, db: Db): Promise<CheckFinding> {
  const shut = (reason: keyof OperatorTexts['doctor']['doorOff']) =>
    ok('JOOMLA_DOOR', (t) => t.doorShut(t.doorOff[reason]));
  const site = findSite(config.joomlaRoot, config.database, config.operatorGroups);
  if (typeof site === 'string') return shut(site);
  const unreadable = await findUnreadableTables(db, site.tables);
  if (DOOR_TABLES.some((table) => unreadable.includes(table))) return shut('tables');
  if (readSiteSecret(site.root).secret === '') return shut('no-secret');
  if (config.publicUrl === undefined) return shut('no-address');
  const isInstalled =
    !unreadable.includes('extensions') && (await hasComponent(db, site.tables, DOOR_ELEMENT));
  return ok('JOOMLA_DOOR', (t) => (isInstalled ? t.doorOpen : t.doorMissing));
}

const DOOR_TABLES = ['users', 'user_usergroup_map', 'usergroups'] as const;

function checkEnds(tokens: ApiToken[], now: Date): CheckFinding[] {
  const ending = tokens.filter(
    ({ expiresAt }) => expiresAt !== null && expiresAt.getTime() < now.getTime() + SOON_MS,
  );
  if (ending.length === 0) return [];
  const named = listed(ending, ({ expiresAt }) => ` (${dayOf(expiresAt as Date)})`);
  return [warning('API_TOKENS_ENDING', (t) => t.tokensEnding(ending.length, named))];
}

/** Finds tokens that were created through a Joomla account, whose permission cannot be checked at present. */
function checkOrphans(tokens: ApiToken[]): CheckFinding[] {
  const orphans = tokens.filter(({ joomlaUserId }) => joomlaUserId !== null);
  if (orphans.length === 0) return [];
  return [warning('API_TOKENS_REFUSED', (t) => t.tokensRefused(listed(orphans)))];
}

function listed(tokens: ApiToken[], more: (token: ApiToken) => string = () => ''): string {
  const named = tokens.slice(0, 10).map((token) => `${token.id} ${token.name}${more(token)}`);
  return [...named, ...(tokens.length > 10 ? ['...'] : [])].join(', ');
}

/** The reason why Joomla's tokens are not accepted. */
interface Off {
  say: Say;
}

function off(reason: keyof OperatorTexts['doctor']['joomlaOff']): Off {
  return { say: (t) => t.joomlaTokensOff(t.joomlaOff[reason]) };
}

async function findReadableSite(config: Config, db: Db): Promise<Site | Off> {
  const site = findSite(config.joomlaRoot, config.database, config.operatorGroups);
  switch (site) {
    case 'no-site':
    case 'sqlite':
    case 'other-server':
      return off(site);
    default:
      return (await whyReadingFails(config, db, site)) ?? site;
  }
}

async function whyReadingFails(config: Config, db: Db, site: Site): Promise<Off | undefined> {
  const unreadable = await findUnreadableTables(db, site.tables);
  if (unreadable.length > 0) {
    const names = unreadable.map(site.tables).join(', ');
    const statements = grants(config, site, unreadable);
    return { say: (t) => t.joomlaTablesShut(names, statements) };
  }
  if (readSiteSecret(site.root).secret === '') return off('no-secret');
  const plugins = await listTokenPlugins(db, site.tables);
  if (!plugins.some(({ folder, enabled }) => folder === 'api-authentication' && enabled === 1))
    return off('no-plugin');
  return undefined;
}

function grants({ database }: Config, site: Site, tables: JoomlaTable[]): string {
  const user = database.kind === 'mysql' ? database.user : '';
  return tables.map((name) => `GRANT SELECT ON ${site.tables(name)} TO '${user}'@'...';`).join(' ');
}
