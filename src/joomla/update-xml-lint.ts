import { isPrerelease, isVersion, STABILITIES } from '../licensing/versions';
import type { Release } from '../store/releases';
import { API_PATH } from '../api-path';
import { readDownloadAddress, siteFolder } from './addresses';
import { clientOfType, EXTENSION_TYPES, prefixOfType, readClient } from './extension-types';
import { fetchAsJoomla, NoAnswer, type Answer } from './fetch';
import {
  DEFAULT_TARGET_PLATFORM,
  findPatternFault,
  isRunaway,
  MATCH_A_MAJOR,
  MATCH_A_MINOR,
  matchesCurrentJoomla,
  matchesPlatform,
} from './target-platform';
import { DATABASES, isLeftOut, isPhpVersion } from './update-xml';
import { checkPackage } from './updater';
import { MalformedXml, parseXml, TooMuchXml } from './xml';
import { phpTrim, readUpdates, stabilityOfTag, type XmlUpdate } from './xml-updates';

/** What makes updates fail, most of it silently: Joomla says nothing of an update it does not offer. */

export interface Finding {
  /** error: sites miss the update, or cannot install it; warning: it works, and something is not as it should be */
  level: 'error' | 'warning';
  code: string;
  /** of the `update` element, counted from 1; undefined when it is about the whole file */
  line: number | undefined;
  version: string | undefined;
  problem: string;
  remedy: string;
}

export interface LintOptions {
  /** a product's release; `no-product` when there is no such product. Undefined: there is no database to ask. */
  findRelease?:
    ((productId: number, version: string) => Promise<Release | 'no-product' | undefined>) | undefined;
  /** a product's published versions, the highest first */
  listPublished?: ((productId: number) => Promise<string[]>) | undefined;
  /** the packages are fetched with it */
  key?: string | undefined;
}

/** Only its User-Agent is seen. */
const JOOMLA = '5.3.0';
/** Joomla gives up after this long (UpdateAdapter), milliseconds. */
const XML_TIMEOUT = 20_000;
const SLOW = 5_000;
/** Those beyond are not judged. Each costs milliseconds, and ten megabytes hold more than a hundred thousand. */
const MAX_UPDATES = 1_000;
/** Seconds. A cache that keeps the XML longer makes a new version known late, and hashes of a withdrawn one linger. */
const LONG_CACHED = 3_600;
/** Columns of Joomla's `#__updates`; a longer text is refused by the database, and with it the update. */
const COLUMNS = { name: 100, element: 100, type: 20, folder: 20, version: 32 };
const HASHES = { sha256: 64, sha384: 96, sha512: 128 };
const WRITE_AGAIN = 'Write the update XML again with "licensing update-xml write".';
const CURRENT_JOOMLA = `<targetplatform name="joomla" version="${DEFAULT_TARGET_PLATFORM}"/>`;

type Report = (
  level: Finding['level'],
  code: string,
  problem: string,
  remedy: string,
  update?: XmlUpdate,
) => void;

/** Fetches an update XML as Joomla does, and judges it and how it is delivered. */
export async function lintUpdateXmlAt(url: string, options: LintOptions = {}): Promise<Finding[]> {
  const { findings, report } = createReport();
  if (new URL(url).pathname.startsWith(`${API_PATH}/`))
    report(
      'error',
      'below_service',
      `The update XML is below ${API_PATH}/, where everything goes to the licence service.`,
      'Host it beside the site\'s other files, and write that address into the manifest ("licensing manifest").',
    );
  let answer: Answer;
  try {
    answer = await fetchAsJoomla(url, { joomla: JOOMLA, timeout: XML_TIMEOUT });
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    report(
      'error',
      'unreachable',
      `The update XML cannot be fetched: ${error.message}.`,
      'Put it where every site on the Internet reaches it within 20 seconds.',
    );
    return findings;
  }
  lintDelivery(answer, report);
  if (answer.status === 200) findings.push(...(await lintUpdateXml(answer.body, options, new URL(url))));
  return findings;
}

/** @param url where it is hosted, as far as known */
export async function lintUpdateXml(
  bytes: Buffer,
  { findRelease, listPublished, key }: LintOptions = {},
  url?: URL,
): Promise<Finding[]> {
  const { findings, report } = createReport();
  const all = readOrReport(bytes, report);
  if (all === undefined) return findings;
  const updates = all.slice(0, MAX_UPDATES);
  if (updates.length < all.length)
    report(
      'error',
      'too_many',
      `There are ${all.length} <update> in it, which every site reads each time; the first ${MAX_UPDATES} are judged.`,
      `${WRITE_AGAIN} It leaves out what no site is offered.`,
    );
  lintTogether(updates, report);
  const offered = new Map<number, string[]>();
  for (const update of updates) {
    lintIdentity(update, report);
    lintRequirements(update, report);
    lintStability(update, report);
    const address = lintAddress(update, url, report);
    lintHashes(update, report);
    if (address)
      offered.set(address.productId, [
        ...(offered.get(address.productId) ?? []),
        update.text('version')?.trim() ?? '',
      ]);
    if (findRelease && address) await lintAgainstRelease(update, address, findRelease, report);
    if (key !== undefined && update.text('downloadurl') !== undefined) {
      const wrong = await checkPackage(update, key, JOOMLA);
      if (wrong) report('error', 'package', wrong.problem, wrong.remedy, update);
    }
  }
  if (listPublished)
    for (const [productId, versions] of offered)
      lintLeftOut(await listPublished(productId), versions, report);
  return findings;
}

function createReport(): { findings: Finding[]; report: Report } {
  const findings: Finding[] = [];
  const report: Report = (level, code, problem, remedy, update) =>
    findings.push({
      level,
      code,
      line: update?.line,
      version: update?.text('version')?.trim(),
      problem,
      remedy,
    });
  return { findings, report };
}

function lintDelivery({ status, redirects, took, headers }: Answer, report: Report): void {
  if (status !== 200)
    report(
      'error',
      'status',
      `The update XML is answered with ${status}: Joomla takes 200 alone.`,
      "Put it where the manifest's <updateservers> says, readable for everybody without a login.",
    );
  const last = redirects.at(-1);
  if (last !== undefined)
    report(
      'warning',
      'redirected',
      `The address of the update XML sends on to ${last}.`,
      "Write that address into the next version's manifest, and keep the redirect for those who have this one.",
    );
  if (took > SLOW)
    report(
      'warning',
      'slow',
      `The update XML took ${(took / 1000).toFixed(1)} s; after 20 s Joomla gives up, and the update site is disabled meanwhile.`,
      'Host it as a static file, not behind a CMS.',
    );
  if (headers.has('content-encoding') && headers.get('content-encoding') !== 'identity')
    report(
      'error',
      'encoded',
      `The update XML is sent with Content-Encoding: ${headers.get('content-encoding') ?? ''}, which Joomla did not ask for and does not undo.`,
      'Compress it only for clients that ask (nginx: gzip, never gzip_static always).',
    );
  const cached = cachedSeconds(headers);
  if (cached > LONG_CACHED)
    report(
      'warning',
      'cached',
      `The update XML may be cached for ${cached} seconds: a new version is known that much later, and a withdrawn one offered that much longer.`,
      'Send it with Cache-Control: max-age=300, or at most an hour.',
    );
}

function cachedSeconds(headers: Map<string, string>): number {
  const control = headers.get('cache-control') ?? '';
  if (/no-store|no-cache/i.test(control)) return 0;
  const ages = [...control.matchAll(/(?:s-maxage|max-age)\s*=\s*"?([0-9]+)/gi)].map(([, age]) => Number(age));
  if (ages.length > 0) return Math.max(...ages);
  const expires = Date.parse(headers.get('expires') ?? '');
  const date = Date.parse(headers.get('date') ?? '') || Date.now();
  return Number.isNaN(expires) ? 0 : Math.round((expires - date) / 1000);
}

function readOrReport(bytes: Buffer, report: Report): XmlUpdate[] | undefined {
  try {
    const root = parseXml(bytes);
    const updates = readUpdates(root);
    if (updates.length > 0) return updates;
    if (root.tagName === 'updates')
      report(
        'warning',
        'no_update',
        'There is no <update> in it: no site is offered anything.',
        'That is right while no version is published; otherwise write it again with "licensing update-xml write".',
      );
    else report('error', 'no_update', `There is no <update> in it, but <${root.tagName}>.`, WRITE_AGAIN);
  } catch (error) {
    if (error instanceof TooMuchXml) report('error', 'too_much', error.message, WRITE_AGAIN);
    else if (!(error instanceof MalformedXml)) throw error;
    else report('error', 'malformed', `It is not well-formed XML: ${error.message}.`, WRITE_AGAIN);
  }
  return undefined;
}

function lintTogether(updates: XmlUpdate[], report: Report): void {
  const extensions = new Set(
    updates.map((update) =>
      ['type', 'element', 'client', 'folder'].map((name) => update.text(name) ?? '').join(' '),
    ),
  );
  if (extensions.size > 1)
    report(
      'error',
      'several_extensions',
      'It describes several extensions. Joomla picks the highest version of them all and forgets the rest.',
      'Host one update XML for each extension.',
    );
  const mayBeOffered = (update: XmlUpdate) => {
    const pattern = update.attribute('targetplatform', 'version') ?? '';
    return (
      update.attribute('targetplatform', 'name') === 'joomla' &&
      (isRunaway(pattern) || matchesCurrentJoomla(pattern))
    );
  };
  if (!updates.some(mayBeOffered))
    report(
      'error',
      'no_current_joomla',
      'No <targetplatform> in it matches any version of Joomla 4, 5 or 6: nobody is offered anything.',
      `Write ${CURRENT_JOOMLA}.`,
    );
}

/** What Joomla finds the installed extension by. */
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
    if (text !== text.trim() && name !== 'name')
      report(
        'error',
        'padded',
        `<${name}> has blanks or line breaks around its text, and Joomla does not take them off.`,
        `Write <${name}>${text.trim()}</${name}>.`,
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
      `"${version}" is no version that PHP and people order alike.`,
      'Write it as 2.1.0 or 2.1.0-beta2.',
      update,
    );
  const type = update.text('type')?.trim() ?? '';
  if (type === '') return;
  if (!([...EXTENSION_TYPES, 'language'] as string[]).includes(type)) {
    report(
      'error',
      'type',
      `"${type}" is no type of extension: no installed one has it.`,
      `Write one of ${EXTENSION_TYPES.join(', ')}.`,
      update,
    );
    return;
  }
  lintClient(update, type, report);
  lintFolder(update, type, report);
  lintElement(update, type, report);
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
      `${written} counts as administrator; most ${type}s are the site's.`,
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
      'A plugin without <folder> is matched with none that is installed: it is silently never offered.',
      'Write its group, as <folder>system</folder>.',
      update,
    );
  if (type !== 'plugin' && folder !== '')
    report(
      'error',
      'folder',
      `A ${type} is installed without a folder, so <folder>${folder}</folder> is matched with none: it is silently never offered.`,
      'Leave <folder> out.',
      update,
    );
}

/** Types in front of whose elements Joomla itself puts the prefix; other types' may be without. */
const ALWAYS_PREFIXED = ['package', 'component'];

function lintElement(update: XmlUpdate, type: string, report: Report): void {
  const element = update.text('element')?.trim() ?? '';
  const prefix = prefixOfType(type);
  if (ALWAYS_PREFIXED.includes(type) && element !== '' && !element.startsWith(prefix))
    report(
      'error',
      'element',
      `The element of an installed ${type} begins with ${prefix}; "${element}" is matched with none.`,
      `Write <element>${prefix}${element}</element>.`,
      update,
    );
  if (type === 'plugin' && element.startsWith('plg_'))
    report(
      'error',
      'element',
      `The element of an installed plugin is its bare name; "${element}" is matched with none.`,
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
        ? 'There is no <targetplatform> with a name: Joomla passes this update over.'
        : `The target platform's name is "${platform}"; Joomla takes "joomla" alone, in lower case.`,
      `Write ${CURRENT_JOOMLA}.`,
      update,
    );
  else lintPattern(update, pattern, report);
  const phpMinimum = update.text('php_minimum');
  if (phpMinimum !== undefined && !isPhpVersion(phpMinimum.trim()))
    report(
      'warning',
      'php_minimum',
      `<php_minimum> "${phpMinimum}" is no version of PHP.`,
      'Write it as 8.1.',
      update,
    );
  for (const database of Object.keys(update.attributes('supported_databases') ?? {}))
    if (!(DATABASES as readonly string[]).includes(database))
      report(
        'warning',
        'database',
        `<supported_databases> names "${database}", which no site says of itself.`,
        `Name ${DATABASES.join(', ')}.`,
        update,
      );
}

function lintPattern(update: XmlUpdate, pattern: string, report: Report): void {
  const error = (problem: string, remedy: string) => report('error', 'platform', problem, remedy, update);
  const found = findPatternFault(pattern);
  switch (found?.fault) {
    case 'runaway':
      return error(
        `The target platform "${Array.from(pattern).slice(0, 60).join('')}" is too long, or repeats too much, to be tried on Joomla's versions.`,
        `Repeat nothing but single digits, as ${DEFAULT_TARGET_PLATFORM}.`,
      );
    case 'no-expression':
      return error(
        `The target platform "${pattern}" is no regular expression: Joomla passes this update over.`,
        `${MATCH_A_MAJOR}.`,
      );
    case 'accidents':
      return error(
        `The target platform "${pattern}" also matches Joomla ${found.accidents.join(', ')}: Joomla ties it to the beginning only.`,
        MATCH_A_MINOR,
      );
  }
  if (matchesPlatform(pattern, '3.10.12'))
    report(
      'warning',
      'platform',
      `The target platform "${pattern}" matches Joomla 3 too.`,
      `Name the versions it runs on, as ${DEFAULT_TARGET_PLATFORM}.`,
      update,
    );
}

function lintStability(update: XmlUpdate, report: Report): void {
  const tag = update.text('tag');
  const version = update.text('version')?.trim() ?? '';
  if (tag !== undefined && !(STABILITIES as readonly string[]).includes(tag.toLowerCase()))
    report(
      'warning',
      'tag',
      `<tag>${tag}</tag> is none that Joomla knows, so it counts as stable.`,
      `Write one of ${STABILITIES.join(', ')}, without blanks.`,
      update,
    );
  const stability = stabilityOfTag(tag);
  if (version === '' || !isVersion(version)) return;
  if (isPrerelease(version) && stability === 'stable')
    report(
      'warning',
      'tag',
      `${version} is a pre-release and counts as stable: every site is offered it.`,
      'Write <tags><tag>beta</tag></tags>, or as early as it is.',
      update,
    );
  if (!isPrerelease(version) && stability !== 'stable')
    report(
      'warning',
      'tag',
      `${version} is tagged ${stability}: only sites that ask for such are offered it.`,
      'Write <tags><tag>stable</tag></tags> when it is for everybody.',
      update,
    );
}

interface Address {
  productId: number;
  version: string | undefined;
}

/** @returns what it asks this service for, when it can be asked */
function lintAddress(update: XmlUpdate, xmlUrl: URL | undefined, report: Report): Address | undefined {
  const text = update.text('downloadurl');
  const address = phpTrim(text ?? '');
  const error = (code: string, problem: string, remedy = WRITE_AGAIN) =>
    report('error', code, problem, remedy, update);
  if (address === '') {
    error('download', 'There is no <downloadurl>: "Invalid extension update".');
    return undefined;
  }
  if (/\s/.test(address)) {
    error('download', 'There is a blank in the <downloadurl>, and Joomla does not ask such an address.');
    return undefined;
  }
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    error('download', `The <downloadurl> "${address}" is no complete address.`);
    return undefined;
  }
  if (address.includes('#'))
    error('download', 'The <downloadurl> has a "#": the key is joined behind it, and never sent.');
  lintHost(update, new URL(address), xmlUrl, report);
  if (address.includes('&') && !address.includes('?'))
    error(
      'download',
      'The <downloadurl> has a "&" and no "?": the key is joined with "?", and what is before it is no address.',
    );
  const asked = readDownloadAddress(address);
  if (!asked) {
    report(
      'warning',
      'download',
      `The <downloadurl> is not the licence service's: that ends in ${API_PATH}/downloads/ and the product's id.`,
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
      "The <downloadurl> has the service's path, or a part of it, twice: nobody answers there.",
      'Write the update XML again with the address of the site alone (--base-url).',
    );
  const version = update.text('version')?.trim();
  if (asked.version === undefined)
    error(
      'download_version',
      'The <downloadurl> names no version: as soon as the next one is published, other bytes come than the hashes say.',
      `Write ?version=${encodeURIComponent(version ?? '')} at its end.`,
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
      "The <downloadurl> is http: every customer's key travels in clear, and a redirect to https would drop it.",
      'Write it with https (--base-url).',
      update,
    );
  if (xmlUrl !== undefined && download.hostname !== xmlUrl.hostname)
    report(
      'warning',
      'download_host',
      `The <downloadurl> is on ${download.hostname}, the update XML on ${xmlUrl.hostname}.`,
      'Make sure that this is meant: the keys go there.',
      update,
    );
}

function lintHashes(update: XmlUpdate, report: Report): void {
  const present = Object.entries(HASHES).filter(([name]) => update.text(name) !== undefined);
  if (present.length === 0)
    report(
      'warning',
      'hash_missing',
      'There is no checksum: Joomla installs the package and warns.',
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

/** The highest version of all, and the highest that is no pre-release: what `update-xml write` would put in. */
function lintLeftOut(published: string[], offered: string[], report: Report): void {
  const highest = [published[0], published.find((version) => !isPrerelease(version))];
  for (const version of new Set(highest))
    if (version !== undefined && isLeftOut(version, offered))
      report(
        'warning',
        'left_out',
        `Version ${version} is published, and not in it: Joomla offers it to nobody.`,
        WRITE_AGAIN,
      );
}

async function lintAgainstRelease(
  update: XmlUpdate,
  { productId, version }: Address,
  findRelease: NonNullable<LintOptions['findRelease']>,
  report: Report,
): Promise<void> {
  const asked = version ?? update.text('version')?.trim() ?? '';
  const release = await findRelease(productId, asked);
  if (release === 'no-product')
    report('error', 'product', `There is no product ${productId}.`, WRITE_AGAIN, update);
  else if (release?.state !== 'published')
    report(
      'error',
      'not_published',
      `Version ${asked} is ${release === undefined ? 'unknown' : release.state === 'draft' ? 'a draft' : 'withdrawn'}: its download answers 404.`,
      release?.state === 'draft'
        ? `Publish it (licensing release publish --product ${productId} --version ${asked}), or take it out: ${WRITE_AGAIN}`
        : 'Write the update XML again with "licensing update-xml write", which leaves it out.',
      update,
    );
  else
    for (const name of ['sha256', 'sha384', 'sha512'] as const) {
      const text = update.text(name);
      if (text !== undefined && text.trim() !== '' && text.trim().toLowerCase() !== release[name])
        report('error', 'hash', `<${name}> is not the published package's.`, WRITE_AGAIN, update);
    }
}
