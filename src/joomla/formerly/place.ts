import type { FormerPlace } from './tables';
import { readJoomlaSite } from '../site/configuration';

/** The tables of a system that ran in the site are beside the site's own. @throws ConfigError */
export function formerPlace(at: { joomlaRoot: string | undefined; tablePrefix: string }): FormerPlace {
  if (at.joomlaRoot === undefined) return { database: undefined, prefix: at.tablePrefix };
  const { database, tablePrefix } = readJoomlaSite(at.joomlaRoot);
  return { database: database.database, prefix: tablePrefix };
}
