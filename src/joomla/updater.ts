import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onInterrupt } from '../interrupts';
import { compareVersions } from '../licensing/versions';
import { appendKey, describeRedirect, keyRemover, SHOWN_KEY, storedKey } from './download-key';
import { checkHashes, FAULTS_OF_PACKAGE, fileName, remarksOnManifest, unpack } from './downloaded-package';
import { fetchAsJoomla, NoAnswer, TooLarge, type Answer } from './fetch';
import { chooseUpdate, compareWithInstalled, type Site } from './offer';
import { REMEDY_FOR_TOO_LARGE, remedyForNoAnswer, remedyForStatus, remedyForXml } from './remedies';
import { MalformedXml, parseXml, TooMuchXml } from './xml';
import { readUpdates, type XmlUpdate } from './xml-updates';

/**
 * Walks through an update as Joomla's updater does, from the update XML to the unpacked package, and says what the
 * administrator of the customer's site would see. After Joomla 5.3's ExtensionAdapter, Updater, UpdateModel and
 * InstallerHelper, and what was recorded on a real one (test/fixtures/joomla-outcomes.json).
 */

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
/** Half of PHP's default memory_limit: Joomla holds the whole package, and much else, in memory. */
const LARGE_PACKAGE = 64_000_000;

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
      return fail('Download', `${error.message}; the rest is not received`, [], REMEDY_FOR_TOO_LARGE);
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
      remedyForStatus(answer, downloadUrl, stored),
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
          remedy: remedyForStatus(answer, downloadUrl, key),
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
      return { problem: `The package is not examined: ${error.message}.`, remedy: REMEDY_FOR_TOO_LARGE };
    if (!(error instanceof NoAnswer)) throw error;
    return {
      problem: clean(`The package cannot be fetched: ${error.message}.`),
      remedy: remedyForNoAnswer(error.message, downloadUrl, key),
    };
  }
}
