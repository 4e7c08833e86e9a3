import { createHash } from 'node:crypto';
import { createReadStream, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Element, Node } from '@xmldom/xmldom';
import { onInterrupt } from '../interrupts';
import { compareVersions, STABILITIES, type Stability } from '../licensing/versions';
import { checkZip } from '../licensing/zip';
import { API_PATH } from '../api-path';
import { API_TEXTS, KEY_REQUIRED, PRODUCT_ID_REQUIRED } from '../api-texts';
import { readDownloadAddress } from './addresses';
import { clientOfType, readClient } from './extension-types';
import { fetchAsJoomla, NoAnswer, TooLarge, type Answer } from './fetch';
import {
  describeMisses,
  findManifest,
  TOO_MUCH_XML,
  type NoManifest,
  type PackageManifest,
} from './manifest';
import { isRunaway, matchesPlatform } from './target-platform';
import { attributes, descendants, lineOf, MalformedXml, ownText, parseXml, TooMuchXml } from './xml';

/**
 * Walks through an update as Joomla's updater does, from the update XML to the unpacked package, and says what the
 * administrator of the customer's site would see. After Joomla 5.3's ExtensionAdapter, Updater, UpdateModel and
 * InstallerHelper, and what was recorded on a real one (test/fixtures/joomla-outcomes.json).
 */

/** The customer's site. */
export interface Site {
  joomla: string;
  php: string;
  /** undefined: one that the XML supports */
  database: { type: string; version: string } | undefined;
  minimumStability: Stability;
  /** the installed extension; what is undefined is as in the XML, the client as its type has it */
  installed: {
    version: string;
    element: string | undefined;
    type: string | undefined;
    client: string | undefined;
    folder: string | undefined;
  };
}

export interface Step {
  name: string;
  result: 'ok' | 'note' | 'failed';
  text: string;
}

export interface Verdict {
  steps: Step[];
  /** whether the administrator finds the update in the list */
  offered: boolean;
  installed: boolean;
  /** the version chosen from the XML */
  version: string | undefined;
  /** what Joomla shows, each with its kind in front, as `warning: ...` */
  messages: string[];
  /** what the seller does about it */
  remedy: string | undefined;
}

export interface Limits {
  /** milliseconds for the XML */
  xml: number;
  /** milliseconds for the package */
  package: number;
  packageBytes: number;
}

/**
 * Joomla gives the XML 20 s (UpdateAdapter) and the package as long as it takes; somebody waits for this one. Joomla
 * would hold the package in memory, which has room for far less than this disk shall lose to whoever answers.
 */
const LIMITS: Limits = { xml: 20_000, package: 600_000, packageBytes: 1_000_000_000 };
const TOO_LARGE =
  'Joomla holds the whole package in memory, and no site has as much. If the package is smaller, find what answers in its place.';
/** Half of PHP's default memory_limit: Joomla holds the whole package, and much else, in memory. */
const LARGE_PACKAGE = 64_000_000;
const PREFIX = 'dlid=';
/** `#__update_sites.extra_query` holds 1000 characters with the prefix. */
const MAX_KEY_LENGTH = 995;
/** Stands for the key in everything that is shown. */
export const SHOWN_KEY = 'DOWNLOAD-KEY';

/** An `update` element, read as Joomla reads it: by names in any case, the last of a name counts. */
export interface XmlUpdate {
  line: number;
  /** as it stands, blanks around it included */
  text(name: string): string | undefined;
  attribute(name: string, attribute: string): string | undefined;
  attributes(name: string): Record<string, string> | undefined;
}

/** Every `update` that lies in no other; nobody means anything by one within another. */
export function readUpdates(root: Element): XmlUpdate[] {
  return outermostUpdates(root).map((update) => {
    const elements = new Map(descendants(update).map((element) => [element.tagName.toLowerCase(), element]));
    const attributesOf = (name: string) => {
      const element = elements.get(name);
      return element && attributes(element);
    };
    return {
      line: lineOf(update),
      text(name) {
        const element = elements.get(name);
        return element && ownText(element);
      },
      attribute: (name, attribute) => attributesOf(name)?.[attribute],
      attributes: attributesOf,
    };
  });
}

/** Each element is looked at once, also where thousands lie in one another. */
function outermostUpdates(root: Element): Element[] {
  const updates: Element[] = [];
  const within = new Set<Node | null>();
  for (const element of [root, ...descendants(root)]) {
    const isWithin = within.has(element.parentNode);
    const isUpdate = element.tagName.toLowerCase() === 'update';
    if (isUpdate && !isWithin) updates.push(element);
    if (isUpdate || isWithin) within.add(element);
  }
  return updates;
}

/** A `tag` that Joomla does not know, also for blanks around it, counts as stable; so does none. */
export function stabilityOfTag(tag: string | undefined): Stability {
  return STABILITIES.find((stability) => stability === tag?.toLowerCase()) ?? 'stable';
}

/**
 * @param address of the update XML
 * @param typedKey what the customer typed into the Download Key field; it is in nothing that is returned
 */
export async function tryUpdate(
  address: string,
  typedKey: string,
  site: Site,
  limits: Partial<Limits> = {},
): Promise<Verdict> {
  return withTemporaryFile('licensing-try-', async (file) =>
    redact(await walk(address.trim(), typedKey, site, { ...LIMITS, ...limits }, file), typedKey),
  );
}

/** Gives some work the path of a file, and removes that afterwards, also when the work is interrupted. */
async function withTemporaryFile<T>(prefix: string, work: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const restore = onInterrupt(() => rmSync(folder, { recursive: true, force: true }));
  try {
    return await work(join(folder, 'package'));
  } finally {
    await rm(folder, { recursive: true, force: true }).finally(restore);
  }
}

async function walk(
  address: string,
  typedKey: string,
  site: Site,
  limits: Limits,
  file: string,
): Promise<Verdict> {
  const verdict: Verdict = {
    steps: [],
    offered: false,
    installed: false,
    version: undefined,
    messages: [],
    remedy: undefined,
  };
  const step = (name: string, text: string, result: Step['result'] = 'ok') =>
    verdict.steps.push({ name, result, text });
  const fail = (name: string, text: string, messages: string[], remedy: string): Verdict => {
    step(name, text, 'failed');
    verdict.messages.push(...messages);
    return { ...verdict, remedy };
  };

  const found = await fetchXml(address, site, limits.xml);
  if ('failed' in found) return fail('Update XML', found.failed, found.messages, found.remedy);
  step('Update XML', `${found.url}: ${found.answer.size} bytes in ${found.answer.took} ms`);
  for (const redirect of found.answer.redirects) step('Update XML', `sent on to ${redirect}`, 'note');

  const { chosen, skipped, messages } = chooseUpdate(found.updates, site);
  verdict.messages.push(...messages);
  for (const reason of skipped) step('Choice', reason, 'note');
  if (chosen === undefined)
    return fail(
      'Choice',
      found.updates.length === 0
        ? 'there is no <update> in the XML'
        : `none of its updates is for Joomla ${site.joomla} with PHP ${site.php}`,
      [],
      found.updates.length === 0
        ? 'Nothing, while no version is published. Otherwise write the update XML again ("licensing update-xml write") and put it there.'
        : 'Widen <targetplatform>, <php_minimum>, <supported_databases> or <tag> ("licensing update-xml write" does), or tell the customer what the new version needs.',
    );
  const version = (verdict.version = chosen.text('version') ?? '');
  step('Choice', `version ${version} (the highest of ${found.updates.length - skipped.length})`);

  const mismatch = compareWithInstalled(chosen, site);
  if (mismatch) return fail('Installed extension', mismatch.text, [], mismatch.remedy);
  if (compareVersions(version, site.installed.version) <= 0)
    return fail(
      'Installed extension',
      `${version} is not newer than the installed ${site.installed.version}`,
      [],
      'Nothing, if that is the latest version. Otherwise publish the new one and write the update XML again.',
    );
  verdict.offered = true;
  step('Installed extension', `${site.installed.version} is offered ${version}`);

  const downloadUrl = chosen.text('downloadurl');
  const stored = storedKey(typedKey);
  if (stored === '' || stored === '0')
    return fail(
      'Download Key',
      'is missing: the update is in the list and cannot be chosen ("The Download Key is missing")',
      [],
      'The customer enters the key under System > Update > Update Sites.',
    );
  if (downloadUrl === undefined)
    return fail(
      'Download address',
      'there is no <downloadurl>',
      ['danger: Invalid extension update'],
      'Write the update XML again.',
    );
  const [url, shownUrl] = [appendKey(downloadUrl, stored), appendKey(downloadUrl, SHOWN_KEY)];
  step('Download address', shownUrl.replaceAll('&amp;', '&'));

  const manually = `danger: Failed to download package. Download it and install manually from ${shownUrl.replaceAll('&amp;', '&')}.`;
  let answer: Answer;
  try {
    answer = await fetchAsJoomla(url, {
      joomla: site.joomla,
      timeout: limits.package,
      file,
      maxBytes: limits.packageBytes,
    });
  } catch (error) {
    if (error instanceof TooLarge)
      return fail('Download', `${error.message}; the rest is not received`, [], TOO_LARGE);
    if (!(error instanceof NoAnswer)) throw error;
    return fail(
      'Download',
      error.message,
      [`warning: Error connecting to the server: ${error.message}`, manually],
      remedyForNoAnswer(error.message, downloadUrl, stored),
    );
  }
  for (const redirect of answer.redirects)
    step('Download', `sent on to ${describeRedirect(redirect, typedKey)}`, 'note');
  if (answer.status !== 200)
    return fail(
      'Download',
      `${answer.status}${firstLine(answer.body)}`,
      [`warning: Error connecting to the server: ${answer.status}`, manually],
      remedyForStatus(answer, stored, downloadUrl),
    );
  step('Download', `200, ${answer.size} bytes in ${answer.took} ms`);
  if (answer.size > LARGE_PACKAGE)
    step('Download', "Joomla holds the whole package in memory: sites with PHP's 128 MB may fail", 'note');

  const name = fileName(answer.headers.get('content-disposition'), shownUrl);
  const unpackFailed = `danger: Failed to extract file: ${name}`;
  if (!/\.zip$/i.test(name))
    return fail(
      'File name',
      `"${name}" does not end in .zip, and Joomla unpacks by that`,
      [unpackFailed],
      'The answer needs Content-Disposition: attachment; filename="name-2.0.0.zip", which this service sends. Find what drops it, or answers in its place: a proxy, a cache, an error page with status 200.',
    );
  step('File name', name);

  const manifest = await unpack(file, answer.size);
  if (typeof manifest === 'string') {
    const { text, messages, remedy } = FAULTS_OF_PACKAGE[manifest];
    return fail('Package', text, messages === undefined ? [] : [...messages, unpackFailed], remedy);
  }
  step('Package', `${manifest.path}: ${manifest.type} ${manifest.version}`);

  const hashes = await checkHashes(file, chosen);
  if (hashes.wrong !== undefined)
    return fail(
      'Checksum',
      `${hashes.wrong.name} in the XML is "${hashes.wrong.expected}", the package's is ${hashes.wrong.actual}`,
      ['danger: The checksum verification failed. Please make sure you are using the correct update server!'],
      'Write the update XML again ("licensing update-xml write") and put it in its place; its addresses must name the version. If they did, something changes the package on the way.',
    );
  if (hashes.checked.length === 0) {
    verdict.messages.push(
      'warning: This extension does not provide a checksum for validation of the integrity of the downloaded file.',
    );
    step('Checksum', 'there is none in the XML', 'note');
  } else step('Checksum', `${hashes.checked.join(', ')} agree`);

  for (const remark of remarksOnManifest(manifest, chosen, found.url)) step('Manifest', remark, 'note');
  verdict.messages.push(`success: Updating ${manifest.type} was successful.`);
  return { ...verdict, installed: true };
}

async function fetchXml(
  address: string,
  site: Site,
  timeout: number,
): Promise<
  | { url: string; answer: Answer; updates: XmlUpdate[] }
  | { failed: string; messages: string[]; remedy: string }
> {
  const attempt = async (url: string) => {
    try {
      const answer = await fetchAsJoomla(url, { joomla: site.joomla, timeout });
      if (answer.status === 200) return { url, answer, updates: readUpdates(parseXml(answer.body)) };
      return {
        failed: `${url}: ${answer.status}${firstLine(answer.body)}`,
        messages: [`warning: Update: Could not open update site #ID "NAME", URL: ${url}`],
        remedy: remedyForXml(answer.status, url),
      };
    } catch (error) {
      if (error instanceof MalformedXml)
        return {
          failed: `${url}: it is not XML: ${error.message}`,
          messages: [`warning: Update: :Extension: Could not parse ${url}`],
          remedy: 'Write the update XML again ("licensing update-xml write") and put it there unchanged.',
        };
      if (error instanceof TooMuchXml)
        return {
          failed: `${url}: ${error.message}`,
          messages: [],
          remedy:
            'Write the update XML again ("licensing update-xml write"): it leaves out what no site is offered.',
        };
      if (!(error instanceof NoAnswer)) throw error;
      return {
        failed: `${url}: ${error.message}`,
        messages: [`warning: Update: Could not open update site #ID "NAME", URL: ${url}`],
        remedy:
          'Check the address, and that its web server runs and is reached from the Internet. The update XML must be answered within 20 seconds: put it on static hosting.',
      };
    }
  };
  const first = await attempt(address);
  // UpdateAdapter: "If the URL is missing the .xml extension, try appending it"
  if (!('failed' in first) || address.endsWith('.xml')) return first;
  const second = await attempt(`${address}${address.endsWith('/') ? '' : '/'}extension.xml`);
  return 'failed' in second ? { ...second, failed: `${first.failed}; ${second.failed}` } : second;
}

function remedyForXml(status: number, url: string): string {
  const { pathname } = new URL(url);
  if (pathname.startsWith(`${API_PATH}/`))
    return `The licence service does not serve the update XML: put it beside the site's other files, and its address into the manifest's <updateservers>.`;
  if (status === 404)
    return `No file is there. Write it where the web server finds ${pathname}, mostly that path in the site's folder: licensing update-xml write --product ID --out /var/www/YOUR.SITE${pathname}. If it lies elsewhere, the manifest's <updateservers> has to name that address.`;
  if (status === 401 || status === 403)
    return 'Let everybody read the update XML without a login: chmod 644 on the file, and no password or firewall before its address.';
  return "The update XML must be answered with 200: look into the web server's error log.";
}

/** The highest version that the site may have; of equal ones the first. Element and type play no part yet. */
function chooseUpdate(
  updates: XmlUpdate[],
  site: Site,
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
  { joomla, php, database, minimumStability }: Site,
): { reason: string; message?: string } | undefined {
  const [name = '', version = ''] = [update.text('name'), update.text('version')];
  const platform = update.attribute('targetplatform', 'name');
  const pattern = update.attribute('targetplatform', 'version') ?? '';
  if (platform !== 'joomla') return { reason: `its target platform is "${platform ?? ''}", not "joomla"` };
  if (isRunaway(pattern))
    return {
      reason:
        'its target platform is too long, or repeats too much, to be tried: see "licensing update-xml lint"',
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
    refusals.push({ reason: `it is ${stability}, and the site takes ${minimumStability} at least` });
  return refusals[0];
}

function databaseName(type: string): string {
  return { mysql: 'MySQL', mariadb: 'MariaDB', postgresql: 'PostgreSQL' }[type] ?? type;
}

/** The row of `#__extensions` that the update would be matched with is another one: it is never offered. */
function compareWithInstalled(
  update: XmlUpdate,
  { installed }: Site,
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
    text: `is not the one in the XML, and the update is silently not offered: ${differing
      .map(([what, inXml = '', there = '']) => `${what} is "${inXml}" in the XML, "${there}" on the site`)
      .join('; ')}`,
    remedy:
      name === 'client'
        ? `Write <client>${onSite}</client> for type ${installedType} ("licensing update-xml write" does).`
        : 'Write into the XML what the extension is on the site: --element, --type, --client and --folder of "licensing update-xml write".',
  };
}

/** What Joomla stores of what was typed: its filter takes tags out and decodes entities, the field has one line. */
function storedKey(typed: string): string {
  const decoded = typed
    .replace(/[\r\n]+$/, '')
    .replace(/[\r\n]+/g, ' ')
    .replace(/<\/?[a-z!?][^>]*>/gi, '')
    .replace(/&(amp|lt|gt|quot|#0*39);/g, (entity, name: string) => {
      const known: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"' };
      return known[name] ?? (entity.endsWith('39;') ? "'" : entity);
    });
  return Array.from(decoded).slice(0, MAX_KEY_LENGTH).join('');
}

/** UpdateModel::install: joined as in HTML, which Joomla's own client undoes. */
function appendKey(downloadUrl: string, key: string): string {
  return phpTrim(downloadUrl) + (downloadUrl.includes('?') ? '&amp;' : '?') + PREFIX + key;
}

/** Without the blanks that Joomla takes off a download address. */
export function phpTrim(text: string): string {
  // eslint-disable-next-line no-control-regex -- PHP's trim() has NUL among its blanks
  return text.replace(/^[ \t\n\r\v\u0000]+|[ \t\n\r\v\u0000]+$/g, '');
}

/** InstallerHelper::downloadPackage: the header by this very pattern, up to a ";"; else the end of the address. */
function fileName(disposition: string | undefined, url: string): string {
  const given = /\s*filename\s?=\s?(.*)/.exec(disposition ?? '')?.[1];
  const target = given?.split(';')[0]?.replace(/^"+|"+$/g, '');
  if (target !== undefined && target !== '' && target !== '0')
    return target.replace(/\/+$/, '').split('/').pop() ?? '';
  return (url.split('/').pop() ?? '')
    .replace(/[^a-z0-9_\-.]/gi, '_')
    .replace(/^_+|_+$/g, '')
    .replace(/__+/g, '_');
}

const NO_MANIFEST = {
  text: "there is no extension's manifest in it",
  remedy: "Publish a package that has the extension's manifest at its top.",
};
const FAULTS_OF_PACKAGE: Record<
  NoManifest | 'damaged',
  { text: string; messages: string[] | undefined; remedy: string }
> = {
  damaged: {
    text: 'it is no readable zip file',
    messages: [],
    remedy:
      'Something else than the package was sent with status 200, or changed it on the way. Download it by hand and look into it.',
  },
  'no-xml': { ...NO_MANIFEST, messages: ["warning: JInstaller: :Install: Can't find XML setup file."] },
  'no-manifest': {
    ...NO_MANIFEST,
    messages: ["warning: JInstaller: :Install: Can't find Joomla XML setup file."],
  },
  // What Joomla makes of it depends on the memory of the site.
  'too-much-xml': {
    text: TOO_MUCH_XML,
    messages: undefined,
    remedy: 'Publish a package whose XML files, but for the manifest, lie in folders of folders.',
  },
};

async function unpack(file: string, size: number): Promise<PackageManifest | NoManifest | 'damaged'> {
  // PHP opens an empty file as an empty archive.
  if (size === 0) return 'no-xml';
  try {
    await checkZip(file);
    return await findManifest(file);
  } catch {
    return 'damaged';
  }
}

interface HashCheck {
  checked: string[];
  wrong: { name: string; expected: string; actual: string } | undefined;
}

/** Every one that is in the XML counts, an empty one too; upper case is fine, blanks are not. */
async function checkHashes(file: string, update: XmlUpdate): Promise<HashCheck> {
  const checked: string[] = [];
  for (const name of ['sha256', 'sha384', 'sha512']) {
    const expected = update.text(name);
    if (expected === undefined) continue;
    const hash = createHash(name);
    await pipeline(createReadStream(file), hash);
    const actual = hash.digest('hex');
    if (expected.toLowerCase() !== actual) return { checked, wrong: { name, expected, actual } };
    checked.push(name);
  }
  return { checked, wrong: undefined };
}

function remarksOnManifest(manifest: PackageManifest, update: XmlUpdate, url: string): string[] {
  const version = update.text('version') ?? '';
  const element = update.text('element') ?? '';
  const remarks: string[] = [];
  if (compareVersions(manifest.version, version) < 0)
    remarks.push(
      `its version is ${manifest.version}, the XML's ${version}: Joomla will offer this update again and again`,
    );
  if (manifest.element !== undefined && manifest.element !== element)
    remarks.push(`it installs ${manifest.element}, the XML says ${element}`);
  remarks.push(...describeMisses(manifest).map((miss) => `it ${miss}`));
  if (manifest.updateServers.length > 0 && !manifest.updateServers.includes(url))
    remarks.push(`its <updateservers> name ${manifest.updateServers.join(', ')}, not ${url}`);
  return remarks;
}

/**
 * What this service says in its plain-text answers (contract, section 4.4), and what the seller does about it; ID is
 * the product's.
 */
const REMEDIES = new Map(
  Object.entries({
    [KEY_REQUIRED]:
      'The key did not arrive: look for a "#" in the <downloadurl>, or a redirect; both drop it.',
    [API_TEXTS.LICENSE_NOT_FOUND]:
      'No licence has this key. Compare it with the one issued: "licensing license show -", or "licensing why" with its end.',
    [API_TEXTS.LICENSE_INACTIVE]:
      'The licence is suspended, revoked or cancelled: "licensing license history KEY" says since when and why.',
    [API_TEXTS.LICENSE_EXPIRED]:
      'The licence has expired: "licensing license renew KEY --for 1y" extends it.',
    [API_TEXTS.PRODUCT_MISMATCH]:
      "The key is for another product than the one in the <downloadurl>: give the customer this product's, or correct the product's id in the XML.",
    [API_TEXTS.DOWNLOAD_NOT_FOUND]:
      'The version in the <downloadurl> is not published, or it was withdrawn. See: licensing release list --product ID. Then: licensing update-xml write --product ID',
    [API_TEXTS.FILE_NOT_FOUND]:
      'The package is not in the folder of packages, or the service or nginx may not read it there. Run "licensing doctor" on the server, as the user the service runs as: it names the file, and the command that mends it.',
    [API_TEXTS.RATE_LIMITED]:
      'The rate limit refused it: wait a minute, and see LICENSING_DOWNLOAD_RATE_LIMIT.',
    [PRODUCT_ID_REQUIRED]:
      'The <downloadurl> is not the download address. Write the update XML again: licensing update-xml write',
  }),
);

function remedyForStatus({ status, body, redirects }: Answer, key: string, downloadUrl: string): string {
  const id = readDownloadAddress(phpTrim(downloadUrl))?.productId;
  const last = redirects.at(-1);
  const known = REMEDIES.get(body.toString('utf8').trim())?.replace(/\bID\b/g, String(id ?? 'ID'));
  if (last !== undefined && !carriesKey(last, key) && [400, 401, 403].includes(status))
    return `The address sends on to another, and the key is not carried over: write the last one into the <downloadurl> (--base-url).${known === undefined ? '' : ` ${known}`}`;
  if (known !== undefined) return known;
  // eslint-disable-next-line no-control-regex -- what is not ASCII
  if (status === 400 && /[^\u0000-\u007f]/.test(key))
    return 'The typed key has a character that is not ASCII, mostly an invisible blank from a mail or web page: the customer types it again. The nginx configuration of "licensing nginx" drops such characters.';
  if (status === 404)
    return id === undefined
      ? `That is not the address of a download, which ends in ${API_PATH}/downloads/ID. Write the update XML again: licensing update-xml write --product ID --base-url https://YOUR.SITE`
      : `The web server answers, and not the licence service: either --base-url of "licensing update-xml write --product ${id}" named another site, or nginx does not pass the address on. See: licensing doctor --url ${siteOf(phpTrim(downloadUrl))}`;
  if (status === 401 || status === 403)
    return 'Something before the licence service refuses: a firewall, a login, the site itself. The service answers in one of its own texts.';
  if (status >= 500)
    return "The service or what is before it fails: look into its log, and nginx's error log.";
  return `Joomla takes 200 alone, and this is ${status}: find what answers so, a cache or a proxy before the service.`;
}

/** Joomla adds the key to the first address alone: it arrives where the redirect's own address repeats it. */
function carriesKey(address: string, key: string): boolean {
  return [address, decodeEscapes(address)].some((text) =>
    text.toLowerCase().includes(key.trim().toLowerCase()),
  );
}

/** A redirect's address without the key; where that is written in a way of its own, not more than its site. */
function describeRedirect(address: string, typedKey: string): string {
  if (!carriesKey(address, storedKey(typedKey))) return `${address}, without the key`;
  const cleaned = keyRemover(typedKey)(address);
  return `${carriesKey(cleaned, storedKey(typedKey)) ? siteOf(address) : cleaned}, with the key, which the redirect repeats`;
}

/** Percent-encoded bytes as characters; those that are no text stay as they are. */
function decodeEscapes(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}

/** `https://shop.example` of an address, without a user name or password it may hold. */
function siteOf(address: string): string {
  return address.replace(/^(https?:\/\/)(?:[^/?#]*@)?([^/?#]*).*$/is, '$1$2');
}

function remedyForNoAnswer(message: string, downloadUrl: string, key: string): string {
  if (message.startsWith('URL using'))
    return /\s/.test(phpTrim(downloadUrl)) || !/\s/.test(key)
      ? 'The <downloadurl> is no address Joomla can ask: write the update XML again.'
      : 'There is a blank in the typed key: the customer enters it again, without blanks before, in or after it.';
  if (message.startsWith('Maximum')) return 'The address sends on in a circle: correct the redirect.';
  if (message.startsWith('transfer closed'))
    return 'The connection broke while the package was sent: look into the logs of the service and of what is before it.';
  return "Check the name, the certificate and the firewall of the <downloadurl>'s host.";
}

function firstLine(body: Buffer): string {
  const line = body.subarray(0, 400).toString('utf8').trim().split('\n')[0] ?? '';
  return line === '' ? '' : ` "${Array.from(line).slice(0, 120).join('')}"`;
}

function redact(verdict: Verdict, typedKey: string): Verdict {
  const clean = keyRemover(typedKey);
  return {
    ...verdict,
    steps: verdict.steps.map((step) => ({ ...step, text: clean(step.text) })),
    messages: verdict.messages.map(clean),
    remedy: verdict.remedy && clean(verdict.remedy),
  };
}

/** Takes the key out of a text, whoever wrote it there: a redirect's address, a file name, an error page. */
function keyRemover(typedKey: string): (text: string) => string {
  const spellings = [
    typedKey,
    typedKey.trim(),
    storedKey(typedKey),
    encodeURIComponent(typedKey.trim()),
  ].flatMap((spelling) => [spelling, spelling.toUpperCase(), spelling.toLowerCase()]);
  // Shorter ones are no keys, and would be found everywhere.
  const secrets = [...new Set(spellings)].filter((spelling) => spelling.trim().length >= 6);
  return (text) => secrets.reduce((cleaned, secret) => cleaned.replaceAll(secret, SHOWN_KEY), text);
}

/**
 * Downloads the package of one update as Joomla would, and compares it with the hashes in the XML.
 *
 * @returns what is wrong, without the key; undefined when nothing is
 */
export async function checkPackage(
  update: XmlUpdate,
  typedKey: string,
  joomla: string,
): Promise<{ problem: string; remedy: string } | undefined> {
  const downloadUrl = update.text('downloadurl') ?? '';
  const key = storedKey(typedKey);
  const clean = keyRemover(typedKey);
  try {
    return await withTemporaryFile('licensing-lint-', async (file) => {
      const answer = await fetchAsJoomla(appendKey(downloadUrl, key), {
        joomla,
        timeout: LIMITS.package,
        file,
        maxBytes: LIMITS.packageBytes,
      });
      if (answer.status !== 200)
        return {
          problem: clean(`The package is not sent: ${answer.status}${firstLine(answer.body)}.`),
          remedy: remedyForStatus(answer, key, downloadUrl),
        };
      const { wrong } = await checkHashes(file, update);
      return (
        wrong && {
          problem: `The package that is sent has another ${wrong.name} (${wrong.actual}): Joomla refuses it.`,
          remedy:
            'Write the update XML again; if that is of no use, something changes the package on the way.',
        }
      );
    });
  } catch (error) {
    if (error instanceof TooLarge)
      return { problem: `The package is not examined: ${error.message}.`, remedy: TOO_LARGE };
    if (!(error instanceof NoAnswer)) throw error;
    return {
      problem: clean(`The package cannot be fetched: ${error.message}.`),
      remedy: remedyForNoAnswer(error.message, downloadUrl, key),
    };
  }
}
