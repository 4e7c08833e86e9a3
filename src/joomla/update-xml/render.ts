import { downloadAddress } from '../addresses';
import { nameInJoomla } from '../manifest';
import { escapeAttribute, escapeXml } from '../xml';
import type { PlannedUpdate } from './plan-updates';
import type { UpdateXmlSettings } from './saved-options';
import type { KnownProduct } from './settings';

/** Returns an `<updates>` document for Joomla. @param changelogUrl undefined if unknown */
export function renderUpdateXml(
  { id, name, element }: KnownProduct,
  settings: UpdateXmlSettings,
  updates: PlannedUpdate[],
  changelogUrl: string | undefined,
): string {
  const { baseUrl, infoUrl, infoTitle, description, type, client, folder } = settings;
  const lines = updates.flatMap(({ release, tag, targetPlatform, phpMinimum, supportedDatabases }) => [
    '    <update>',
    `        <name>${escapeXml(nameInJoomla(name))}</name>`,
    `        <description>${escapeXml(description)}</description>`,
    `        <element>${escapeXml(element)}</element>`,
    `        <type>${type}</type>`,
    ...(folder === '' ? [] : [`        <folder>${escapeXml(folder)}</folder>`]),
    `        <version>${escapeXml(release.version)}</version>`,
    `        <client>${client}</client>`,
    `        <infourl title="${escapeAttribute(infoTitle)}">${escapeXml(infoUrl)}</infourl>`,
    ...(changelogUrl === undefined
      ? []
      : [`        <changelogurl>${escapeXml(changelogUrl)}</changelogurl>`]),
    '        <downloads>',
    `            <downloadurl type="full" format="zip">${escapeXml(downloadAddress(baseUrl, id, release.version))}</downloadurl>`,
    '        </downloads>',
    `        <sha256>${release.sha256}</sha256>`,
    `        <sha384>${release.sha384}</sha384>`,
    `        <sha512>${release.sha512}</sha512>`,
    `        <tags><tag>${tag}</tag></tags>`,
    `        <targetplatform name="joomla" version="${escapeAttribute(targetPlatform)}"/>`,
    `        <php_minimum>${escapeXml(phpMinimum)}</php_minimum>`,
    ...(Object.keys(supportedDatabases).length === 0
      ? []
      : [
          `        <supported_databases${Object.entries(supportedDatabases)
            .map(([database, version]) => ` ${database}="${escapeAttribute(version)}"`)
            .join('')}/>`,
        ]),
    '    </update>',
  ]);
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<updates>', ...lines, '</updates>', ''].join('\n');
}
