import type { FormerPlace } from './tables';
import { readJoomlaSite } from '../site/configuration';

/** Returns the place of the former system's tables, which are next to those of the site that it ran in. @throws ConfigError */
export function formerPlace(at: { joomlaRoot: string | undefined; tablePrefix: string }): FormerPlace {
  if (at.joomlaRoot === undefined) return { database: undefined, prefix: at.tablePrefix };
  const { database, tablePrefix } = readJoomlaSite(at.joomlaRoot);
  return { database: database.database, prefix: tablePrefix };
}
