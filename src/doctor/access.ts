import { listTokens, type Token } from '../access/tokens';
import type { Config } from '../config';
import { findSite, type Site } from '../joomla/site/api-tokens';
import { readSiteSecret } from '../joomla/site/configuration';
import { quantity } from '../licensing/quantity';
import { dayOf } from '../licensing/timestamps';
import type { Db } from '../store/database';
import {
  findGroupTitles,
  findUnreadableTables,
  listTokenPlugins,
  type SiteTable,
} from '../store/site-accounts';
import { ok, warning, type Check, type Finding } from './finding';

const SOON_MS = 30 * 24 * 60 * 60 * 1000;

/** Checks who can call the operator's API: tokens of our own, and the site's Joomla API tokens. */
export const checkAccess: Check = async ({ config, db, now }) => {
  const tokens = (await listTokens(db)).filter(({ expiresAt }) => expiresAt === null || expiresAt > now());
  return [
    ok(
      'API_TOKENS',
      tokens.length === 0
        ? 'The API has no token of its own.'
        : `The API has ${quantity(tokens.length, 'token')} of its own: ${listed(tokens)}.`,
      tokens.length === 0
        ? 'Die API hat kein eigenes Token.'
        : `Die API hat ${quantity(tokens.length, 'eigenes Token', 'eigene Tokens')}: ${listed(tokens)}.`,
    ),
    ...checkEnds(tokens, now()),
    ...(await checkSiteTokens(config, db, tokens)),
  ];
};

async function checkSiteTokens(config: Config, db: Db, tokens: Token[]): Promise<Finding[]> {
  const site = await findReadableSite(config, db);
  if ('why' in site) {
    const refused = ok(
      'API_JOOMLA_TOKENS',
      `Joomla API tokens are not accepted: ${site.why}.`,
      `API-Tokens von Joomla werden nicht angenommen: ${site.german.why}.`,
    );
    const german = { ...refused.german, remedy: site.german.remedy };
    return [{ ...refused, remedy: site.remedy, german }, ...checkOrphans(tokens)];
  }
  const titles = await findGroupTitles(db, site.tables, site.operatorGroups);
  const named = [...titles].map(([id, title]) => `${title} (${id})`);
  const missing = site.operatorGroups.filter((id) => !titles.has(id));
  return [
    ok(
      'API_JOOMLA_TOKENS',
      `Joomla API tokens are accepted from super users and these groups: ${named.join(', ') || 'none'}.`,
      `API-Tokens von Joomla werden von Super-Usern und diesen Gruppen angenommen: ${named.join(', ') || 'keine'}.`,
    ),
    ...(missing.length === 0
      ? []
      : [
          warning(
            'API_JOOMLA_GROUPS',
            `The site has no user groups with these ids: ${missing.join(', ')}.`,
            {
              why: 'Nobody can manage licences by them.',
              remedy: 'Correct LICENSING_OPERATOR_GROUPS. Joomla shows the ids under Users, Groups.',
            },
            {
              what: `Die Website hat keine Benutzergruppen mit diesen IDs: ${missing.join(', ')}.`,
              why: 'Niemand kann durch sie Lizenzen verwalten.',
              remedy:
                'Berichtigen Sie LICENSING_OPERATOR_GROUPS. Joomla zeigt die IDs unter „Benutzer“, „Gruppen“.',
            },
          ),
        ]),
  ];
}

function checkEnds(tokens: Token[], now: Date): Finding[] {
  const ending = tokens.filter(
    ({ expiresAt }) => expiresAt !== null && expiresAt.getTime() < now.getTime() + SOON_MS,
  );
  if (ending.length === 0) return [];
  const named = listed(ending, ({ expiresAt }) => ` (${dayOf(expiresAt as Date)})`);
  return [
    warning(
      'API_TOKENS_ENDING',
      `${quantity(ending.length, 'API token')} will expire soon: ${named}.`,
      {
        why: 'The shop or script that uses it is refused from then on.',
        remedy:
          'At a quiet time, revoke it and make another of the same name, which sees the same licences: licensing token add --help',
      },
      {
        what: `${quantity(ending.length, 'API-Token läuft', 'API-Tokens laufen')} bald ab: ${named}.`,
        why: 'Der Shop oder das Skript, das es benutzt, wird von da an abgelehnt.',
        remedy:
          'Entziehen Sie es zu einer ruhigen Zeit und legen Sie ein neues mit demselben Namen an, das dieselben Lizenzen sieht: licensing token add --help',
      },
    ),
  ];
}

/** Tokens that were made through a Joomla account, whose right nobody can check now. */
function checkOrphans(tokens: Token[]): Finding[] {
  const orphans = tokens.filter(({ joomlaUserId }) => joomlaUserId !== null);
  if (orphans.length === 0) return [];
  return [
    warning(
      'API_TOKENS_REFUSED',
      `API tokens are refused: ${listed(orphans)}.`,
      {
        why: "They were made through a Joomla account, and the account's right cannot be checked.",
        remedy: 'Make new ones: licensing token add --help',
      },
      {
        what: `API-Tokens werden abgelehnt: ${listed(orphans)}.`,
        why: 'Sie wurden über ein Joomla-Konto angelegt, und dessen Recht lässt sich nicht prüfen.',
        remedy: 'Legen Sie neue an: licensing token add --help',
      },
    ),
  ];
}

function listed(tokens: Token[], more: (token: Token) => string = () => ''): string {
  const named = tokens.slice(0, 10).map((token) => `${token.id} ${token.name}${more(token)}`);
  return [...named, ...(tokens.length > 10 ? ['...'] : [])].join(', ');
}

interface Reason {
  why: string;
  remedy: string | null;
}

interface Off extends Reason {
  german: Reason;
}

function off(why: string, german: string): Off {
  return { why, remedy: null, german: { why: german, remedy: null } };
}

async function findReadableSite(config: Config, db: Db): Promise<Site | Off> {
  const site = findSite(config.joomlaRoot, config.database, config.operatorGroups);
  switch (site) {
    case 'no-site':
      return off('LICENSING_JOOMLA_ROOT is not set', 'LICENSING_JOOMLA_ROOT ist nicht gesetzt');
    case 'sqlite':
      return off(
        "the service's database is SQLite, which cannot read the site's tables",
        'die Datenbank des Dienstes ist SQLite, und daraus sind die Tabellen der Website nicht lesbar',
      );
    case 'other-server':
      return off(
        "the site's database is on another server than the service's",
        'die Datenbank der Website ist auf einem anderen Server als die des Dienstes',
      );
    default:
      return (await whyReadingFails(config, db, site)) ?? site;
  }
}

async function whyReadingFails(config: Config, db: Db, site: Site): Promise<Off | undefined> {
  const unreadable = await findUnreadableTables(db, site.tables);
  if (unreadable.length > 0) {
    const names = unreadable.map(site.tables).join(', ');
    const statements = grants(config, site, unreadable);
    return {
      why: `the database user cannot read the site's tables ${names}`,
      remedy: `To accept them, as the database's administrator: ${statements}`,
      german: {
        why: `der Datenbankbenutzer kann die Tabellen ${names} der Website nicht lesen`,
        remedy: `Um sie anzunehmen, als Administrator der Datenbank: ${statements}`,
      },
    };
  }
  if (readSiteSecret(site.root).secret === '')
    return off(
      "$secret of the site's configuration.php is empty",
      '$secret in configuration.php der Website ist leer',
    );
  const plugins = await listTokenPlugins(db, site.tables);
  if (!plugins.some(({ folder, enabled }) => folder === 'api-authentication' && enabled === 1))
    return off(
      'the site\'s plugin "API Authentication - Web Services Joomla Token" is disabled',
      'das Plugin „API Authentication - Web Services Joomla Token“ der Website ist deaktiviert',
    );
  return undefined;
}

function grants({ database }: Config, site: Site, tables: SiteTable[]): string {
  const user = database.kind === 'mysql' ? database.user : '';
  return tables.map((name) => `GRANT SELECT ON ${site.tables(name)} TO '${user}'@'...';`).join(' ');
}
