import { compareVersions, STABILITIES, type Stability } from '../../licensing/versions';
import { clientOfType, readClient } from '../extension-types';
import { isUntried, matchesPlatform } from '../target-platform';
import { stabilityOfTag, type XmlUpdate } from './xml-updates';

export interface SiteSystem {
  joomla: string;
  php: string;
  /** undefined: a database that the XML supports */
  database: { type: string; version: string } | undefined;
  minimumStability: Stability;
  /** the authorities it trusts; undefined: Node's own */
  ca?: string[] | undefined;
  /** the installed extension; undefined fields are as in the XML, the client as its type requires */
  installed: {
    version: string;
    element: string | undefined;
    type: string | undefined;
    client: string | undefined;
    folder: string | undefined;
  };
}

/** Chooses the highest version that the site may install, the first among equals. Joomla ignores element and type here. */
export function chooseUpdate(
  updates: XmlUpdate[],
  site: SiteSystem,
): { chosen: XmlUpdate | undefined; skipped: string[]; messages: string[] } {
  let chosen: XmlUpdate | undefined;
  const skipped: string[] = [];
  const messages: string[] = [];
  for (const update of updates) {
    const refused = refuseForSite(update, site);
    if (refused) {
      skipped.push(`version ${update.text('version') ?? '?'} (line ${update.line}): ${refused.reason}`);
      if (refused.message !== undefined) messages.push(refused.message);
    } else if (
      chosen === undefined ||
      compareVersions(update.text('version') ?? '', chosen.text('version') ?? '') > 0
    )
      chosen = update;
  }
  return { chosen, skipped, messages };
}

function refuseForSite(
  update: XmlUpdate,
  { joomla, php, database, minimumStability }: SiteSystem,
): { reason: string; message?: string } | undefined {
  const [name = '', version = ''] = [update.text('name'), update.text('version')];
  const platform = update.attribute('targetplatform', 'name');
  const pattern = update.attribute('targetplatform', 'version') ?? '';
  if (platform !== 'joomla') return { reason: `its target platform is "${platform ?? ''}", not "joomla"` };
  if (isUntried(pattern))
    return {
      reason: 'its target platform cannot be tested here: see "licensing update-xml lint"',
    };
  if (!matchesPlatform(pattern, joomla))
    return { reason: `its target platform "${pattern}" does not match Joomla ${joomla}` };
  const phpMinimum = update.text('php_minimum');
  const available = `warning: For the extension ${name} version ${version} is available, but`;
  const refusals: { reason: string; message?: string }[] = [];
  if (phpMinimum !== undefined && compareVersions(php, phpMinimum) < 0)
    refusals.push({
      reason: `it needs PHP ${phpMinimum}`,
      message: `${available} it requires at least PHP version ${phpMinimum} while your system only has ${php}`,
    });
  const databases = update.attributes('supported_databases');
  if (databases && database) {
    const minimum = databases[database.type];
    if (minimum === undefined)
      refusals.push({
        reason: `it does not support ${database.type}`,
        message: `${available} your current database ${databaseName(database.type)} is not supported anymore.`,
      });
    else if (compareVersions(database.version, minimum) < 0)
      refusals.push({
        reason: `it needs ${database.type} ${minimum}`,
        message: `${available} your current database ${databaseName(database.type)} is version ${database.version} and is not supported. Please contact your web host to update your Database version to at least version ${minimum}.`,
      });
  }
  const stability = stabilityOfTag(update.text('tag'));
  if (STABILITIES.indexOf(stability) < STABILITIES.indexOf(minimumStability))
    refusals.push({
      reason: `it is ${stability}, and the site accepts only ${minimumStability} or more stable versions`,
    });
  return refusals[0];
}

function databaseName(type: string): string {
  return { mysql: 'MySQL', mariadb: 'MariaDB', postgresql: 'PostgreSQL' }[type] ?? type;
}

/** Finds why Joomla would not match the update with the installed extension's row in `#__extensions`. */
export function compareWithInstalled(
  update: XmlUpdate,
  { installed }: SiteSystem,
): { text: string; remedy: string } | undefined {
  const element = update.text('element') ?? '';
  const type = update.text('type') ?? '';
  const folder = update.text('folder') ?? '';
  const client = readClient(update.text('client'));
  const installedType = installed.type ?? type;
  const installedClient =
    installed.client === undefined ? clientOfType(installedType) : readClient(installed.client);
  const pairs: [string, string | undefined, string | undefined][] = [
    ['element', element, installed.element ?? element],
    ['type', type, installedType],
    ['client', client, installedClient ?? client],
    ['folder', folder, installed.folder ?? folder],
  ];
  const differing = pairs.filter(([, inXml, onSite]) => inXml !== onSite);
  const [first] = differing;
  if (first === undefined) return undefined;
  const [name, , onSite = ''] = first;
  return {
    text: `is not the one in the XML, so the update is silently not offered: ${differing
      .map(([what, inXml = '', there = '']) => `${what} is "${inXml}" in the XML, "${there}" on the site`)
      .join('; ')}`,
    remedy:
      name === 'client'
        ? `Write <client>${onSite}</client> for type ${installedType} ("licensing update-xml write" does).`
        : 'Write the values of the site into the XML: --element, --type, --client and --folder of "licensing update-xml write".',
  };
}
