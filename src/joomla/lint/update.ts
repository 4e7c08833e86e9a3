import { isPrerelease, isVersion, STABILITIES } from '../../licensing/versions';
import { API_PATH } from '../../licensing/api';
import { readDownloadAddress, siteFolder, type AskedDownload } from '../addresses';
import { clientOfType, EXTENSION_TYPES, prefixOfType, readClient } from '../extension-types';
import {
  DEFAULT_TARGET_PLATFORM,
  findPatternFault,
  MATCH_A_MAJOR,
  MATCH_A_MINOR,
  matchesPlatform,
} from '../target-platform';
import { isPhpVersion } from '../update-xml/validate-options';
import { DATABASES } from '../update-xml/saved-options';
import { phpTrim, stabilityOfTag, type XmlUpdate } from '../updater/xml-updates';
import { WRITE_AGAIN, type Report } from './report';

/** Lengths of Joomla's `#__updates` columns. The database refuses a longer text, so the update is lost. */
const COLUMNS = { name: 100, element: 100, type: 20, folder: 20, version: 32 };
const HASHES = { sha256: 64, sha384: 96, sha512: 128 };
export const CURRENT_JOOMLA = `<targetplatform name="joomla" version="${DEFAULT_TARGET_PLATFORM}"/>`;

/** Checks an update's fields. @returns the download it requests from this service, if any */
export function lintUpdate(
  update: XmlUpdate,
  xmlUrl: URL | undefined,
  report: Report,
): AskedDownload | undefined {
  lintIdentity(update, report);
  lintBlanks(update, report);
  lintRequirements(update, report);
  lintStability(update, report);
  const asked = lintAddress(update, xmlUrl, report);
  lintHashes(update, report);
  return asked;
}

function lintIdentity(update: XmlUpdate, report: Report): void {
  for (const [name, length] of Object.entries(COLUMNS)) {
    const text = update.text(name) ?? '';
    if (Array.from(text).length > length)
      report(
        'error',
        'too_long',
        `<${name}> has more than the ${length} characters that Joomla stores.`,
        'Shorten it.',
        update,
      );
    if (text.trim() === '' && name !== 'folder')
      report('error', 'missing', `<${name}> is missing or empty.`, WRITE_AGAIN, update);
  }
  const version = update.text('version')?.trim() ?? '';
  if (version !== '' && !isVersion(version))
    report(
      'warning',
      'version',
      `"${version}" is not a version that PHP sorts the way people do.`,
      'Write it as 2.1.0 or 2.1.0-beta2.',
      update,
    );
  const type = update.text('type')?.trim() ?? '';
  if (type === '') return;
  if (!([...EXTENSION_TYPES, 'language'] as string[]).includes(type)) {
    report(
      'error',
      'type',
      `"${type}" is not a type of extension: no installed extension has it.`,
      `Write one of ${EXTENSION_TYPES.join(', ')}.`,
      update,
    );
    return;
  }
  lintClient(update, type, report);
  lintFolder(update, type, report);
  lintElement(update, type, report);
}

/**
 * Elements that Joomla takes with the blanks around their text, apart from those with a check of their own. PHP's
 * `version_compare` ranks a version that begins with a blank below all others.
 */
const UNTRIMMED: Record<string, [level: 'error' | 'warning', effect: string]> = {
  element: ['error', ''],
  type: ['error', ''],
  folder: ['error', ''],
  version: ['error', ''],
  php_minimum: ['error', ': sites with an older PHP may be offered the update'],
  changelogurl: ['warning', ': its window shows no changelog'],
};

function lintBlanks(update: XmlUpdate, report: Report): void {
  for (const [name, [level, effect]] of Object.entries(UNTRIMMED)) {
    const text = update.text(name) ?? '';
    const problem = `<${name}> has blanks or line breaks around its text, and Joomla does not trim them${effect}.`;
    if (text !== text.trim())
      report(level, 'padded', problem, `Write <${name}>${text.trim()}</${name}>.`, update);
  }
  for (const [name, text] of Object.entries(update.attributes('supported_databases') ?? {}))
    if (text !== text.trim())
      report(
        'error',
        'padded',
        `<supported_databases> has blanks around the version of ${name}: sites with an older one may be offered the update.`,
        `Write ${name}="${text.trim()}".`,
        update,
      );
}

function lintClient(update: XmlUpdate, type: string, report: Report): void {
  const text = update.text('client');
  const client = readClient(text);
  const expected = clientOfType(type);
  const written = text === undefined ? 'A missing <client>' : `<client>${text}</client>`;
  if (client === undefined)
    report(
      'error',
      'client',
      `${written} is a client Joomla does not know.`,
      'Write <client>site</client> or <client>administrator</client>, without blanks.',
      update,
    );
  else if (expected !== undefined && client !== expected)
    report(
      'error',
      'client',
      `${written} counts as ${client}, and a ${type} is installed as ${expected}: Joomla stores the update and silently never offers it.`,
      `Write <client>${expected}</client>.`,
      update,
    );
  else if (expected === undefined && (text === undefined || text === ''))
    report(
      'warning',
      'client',
      `${written} counts as administrator, but most ${type}s belong to the site.`,
      'Write <client>site</client> or <client>administrator</client>.',
      update,
    );
}

function lintFolder(update: XmlUpdate, type: string, report: Report): void {
  const folder = update.text('folder')?.trim() ?? '';
  if (type === 'plugin' && folder === '')
    report(
      'error',
      'folder',
      'Without <folder>, the update matches no installed plugin: Joomla silently never offers it.',
      'Write its group, such as <folder>system</folder>.',
      update,
    );
  if (type !== 'plugin' && folder !== '')
    report(
      'error',
      'folder',
      `A ${type} is installed without a folder, so <folder>${folder}</folder> matches no installed extension: Joomla silently never offers the update.`,
      'Leave <folder> out.',
      update,
    );
}

/** Joomla itself adds the prefix to elements of these types; elements of other types may lack it. */
const ALWAYS_PREFIXED = ['package', 'component'];

function lintElement(update: XmlUpdate, type: string, report: Report): void {
  const element = update.text('element')?.trim() ?? '';
  const prefix = prefixOfType(type);
  if (ALWAYS_PREFIXED.includes(type) && element !== '' && !element.startsWith(prefix))
    report(
      'error',
      'element',
      `The element of an installed ${type} begins with ${prefix}, so "${element}" matches no installed extension.`,
      type === 'package'
        ? `Write <element>${prefix}${element}</element>. If it is not a package, write its own <type> instead: pass it to "licensing update-xml write" with --type, such as --type plugin --folder GROUP.`
        : `Write <element>${prefix}${element}</element>.`,
      update,
    );
  if (type === 'plugin' && element.startsWith('plg_'))
    report(
      'error',
      'element',
      `The element of an installed plugin is its name without a prefix, so "${element}" matches no installed plugin.`,
      `Write <element>${element.split('_').pop() ?? ''}</element>, and its group into <folder>.`,
      update,
    );
}

function lintRequirements(update: XmlUpdate, report: Report): void {
  const platform = update.attribute('targetplatform', 'name');
  const pattern = update.attribute('targetplatform', 'version') ?? '';
  if (platform !== 'joomla')
    report(
      'error',
      'platform',
      platform === undefined
        ? 'No <targetplatform> has a name: Joomla ignores this update.'
        : `The target platform's name is "${platform}"; Joomla accepts only "joomla", in lower case.`,
      `Write ${CURRENT_JOOMLA}.`,
      update,
    );
  else lintPattern(update, pattern, report);
  const phpMinimum = update.text('php_minimum');
  if (phpMinimum !== undefined && !isPhpVersion(phpMinimum.trim()))
    report(
      'warning',
      'php_minimum',
      `<php_minimum> "${phpMinimum}" is not a version of PHP.`,
      'Write it as 8.1.',
      update,
    );
  for (const database of Object.keys(update.attributes('supported_databases') ?? {}))
    if (!(DATABASES as readonly string[]).includes(database))
      report(
        'warning',
        'database',
        `<supported_databases> names "${database}", which no site reports as its database.`,
        `Name ${DATABASES.join(', ')}.`,
        update,
      );
}

function lintPattern(update: XmlUpdate, pattern: string, report: Report): void {
  const error = (problem: string, remedy: string) => report('error', 'platform', problem, remedy, update);
  if (pattern !== pattern.trim())
    return error(
      `The target platform "${pattern}" has blanks around it: no version of Joomla matches it.`,
      `Write ${CURRENT_JOOMLA}.`,
    );
  const found = findPatternFault(pattern);
  switch (found?.fault) {
    case 'runaway':
      return error(
        `The target platform "${Array.from(pattern).slice(0, 60).join('')}" is too long or too repetitive to be tested against Joomla's versions.`,
        `Repeat only single digits, such as ${DEFAULT_TARGET_PLATFORM}.`,
      );
    case 'php-only':
      return report(
        'warning',
        'platform',
        `The target platform "${pattern}" was not checked: only PHP understands a part of it.`,
        `Use only digits, dots, brackets and alternatives, such as ${DEFAULT_TARGET_PLATFORM}.`,
        update,
      );
    case 'no-expression':
      return error(
        `The target platform "${pattern}" is not a regular expression: Joomla ignores this update.`,
        `${MATCH_A_MAJOR}.`,
      );
    case 'accidents':
      return error(
        `The target platform "${pattern}" also matches Joomla ${found.accidents}: Joomla anchors only its first alternative at the beginning, and none at the end.`,
        MATCH_A_MINOR,
      );
  }
  if (matchesPlatform(pattern, '3.10.12'))
    report(
      'warning',
      'platform',
      `The target platform "${pattern}" also matches Joomla 3.`,
      `Name the versions it runs on, such as ${DEFAULT_TARGET_PLATFORM}.`,
      update,
    );
}

function lintStability(update: XmlUpdate, report: Report): void {
  const tag = update.text('tag');
  const version = update.text('version')?.trim() ?? '';
  if (tag !== undefined && !isStability(tag)) {
    const meant = tag.trim();
    const isForFew = meant.toLowerCase() !== 'stable' && (isStability(meant) || isPrerelease(version));
    return report(
      isForFew ? 'error' : 'warning',
      'tag',
      `${meant === tag ? `Joomla does not know <tag>${tag}</tag>` : `<tag> has blanks or line breaks around "${meant}", which Joomla does not trim`}, so the update counts as stable${isForFew ? ': every site is offered it' : ''}.`,
      `Write one of ${STABILITIES.join(', ')}, without blanks.`,
      update,
    );
  }
  const stability = stabilityOfTag(tag);
  if (version === '' || !isVersion(version)) return;
  if (isPrerelease(version) && stability === 'stable')
    report(
      'warning',
      'tag',
      `${version} is a pre-release and counts as stable: every site is offered it.`,
      'Write <tags><tag>beta</tag></tags>, or the tag of its stage.',
      update,
    );
  if (!isPrerelease(version) && stability !== 'stable')
    report(
      'warning',
      'tag',
      `${version} is tagged ${stability}: only sites that accept this stability are offered it.`,
      'Write <tags><tag>stable</tag></tags> if it is for all sites.',
      update,
    );
}

function isStability(tag: string): boolean {
  return (STABILITIES as readonly string[]).includes(tag.toLowerCase());
}

/** @returns the download that it requests from this service, if any */
function lintAddress(update: XmlUpdate, xmlUrl: URL | undefined, report: Report): AskedDownload | undefined {
  const text = update.text('downloadurl');
  const address = phpTrim(text ?? '');
  const error = (code: string, problem: string, remedy = WRITE_AGAIN) =>
    report('error', code, problem, remedy, update);
  if (address === '') {
    error('download', 'The update has no <downloadurl>: Joomla reports "Invalid extension update".');
    return undefined;
  }
  if (/\s/.test(address)) {
    error('download', 'The <downloadurl> contains a blank: Joomla does not request such an address.');
    return undefined;
  }
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    error('download', `The <downloadurl> "${address}" is not a complete address.`);
    return undefined;
  }
  if (address.includes('#'))
    error(
      'download',
      'The <downloadurl> contains a "#": Joomla appends the key after it, where it is never sent.',
    );
  lintHost(update, new URL(address), xmlUrl, report);
  if (address.includes('&') && !address.includes('?'))
    error(
      'download',
      'The <downloadurl> contains a "&" but no "?": Joomla appends "?" and the key, and the part before it is not an address.',
    );
  const asked = readDownloadAddress(address);
  if (!asked) {
    report(
      'warning',
      'download',
      `The <downloadurl> is not an address of the licence service: that ends in ${API_PATH}/downloads/ and the product's id.`,
      WRITE_AGAIN,
      update,
    );
    return undefined;
  }
  const { pathname } = new URL(address);
  const before = pathname.slice(0, pathname.lastIndexOf(API_PATH));
  if (siteFolder(before) !== before)
    error(
      'download',
      "The <downloadurl> contains the service's path, or a part of it, twice: the service does not answer there.",
      'Write the update XML again with only the address of the site (--base-url).',
    );
  const version = update.text('version')?.trim();
  if (asked.version === undefined)
    error(
      'download_version',
      'The <downloadurl> names no version: as soon as the next version is published, the package no longer matches the hashes.',
      `Add ?version=${encodeURIComponent(version ?? '')} at its end.`,
    );
  else if (version !== undefined && asked.version !== version)
    error('download_version', `The <downloadurl> asks for version ${asked.version}, not ${version}.`);
  return asked;
}

function lintHost(update: XmlUpdate, download: URL, xmlUrl: URL | undefined, report: Report): void {
  const local = /^(localhost|127\.|\[::1\])/.test(download.hostname);
  if (download.protocol === 'http:' && (xmlUrl?.protocol === 'https:' || !local))
    report(
      xmlUrl?.protocol === 'https:' ? 'error' : 'warning',
      'download_http',
      "The <downloadurl> uses http: every customer's key is sent unencrypted, and a redirect to https would drop it.",
      'Write it with https (--base-url).',
      update,
    );
  if (xmlUrl !== undefined && download.hostname !== xmlUrl.hostname)
    report(
      'warning',
      'download_host',
      `The <downloadurl> is on ${download.hostname}, the update XML on ${xmlUrl.hostname}.`,
      'Make sure that this is intended: the keys are sent there.',
      update,
    );
}

function lintHashes(update: XmlUpdate, report: Report): void {
  const present = Object.entries(HASHES).filter(([name]) => update.text(name) !== undefined);
  if (present.length === 0)
    report(
      'warning',
      'hash_missing',
      'The update has no checksum: Joomla installs the package with a warning.',
      WRITE_AGAIN,
      update,
    );
  for (const [name, length] of present) {
    const text = update.text(name) ?? '';
    if (!new RegExp(`^[0-9a-f]{${length}}$`, 'i').test(text))
      report(
        'error',
        'hash',
        `<${name}> ${text === '' ? 'is empty' : text !== text.trim() ? 'has blanks around it' : `is not ${length} hexadecimal digits`}: "The checksum verification failed."`,
        WRITE_AGAIN,
        update,
      );
  }
}
