import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isCoded } from '../../base/errors';
import { onInterrupt } from '../../process/interrupts';
import { compareVersions } from '../../licensing/versions';
import { appendKey, describeRedirect, keyRemover, SHOWN_KEY, joomlaStoredKey } from './download-key';
import {
  checkHashes,
  explainNoManifest,
  downloadFileName,
  PACK_AGAIN,
  remarksOnManifest,
  unpack,
} from './downloaded-package';
import { fetchAsJoomla, XML_TIMEOUT, type SiteResponse } from './fetch';
import { chooseUpdate, compareWithInstalled, type SiteSystem } from './offer';
import { REMEDY_FOR_TOO_LARGE, remedyForNoAnswer, remedyForStatus, remedyForXml } from './remedies';
import { findManifest, isManifest } from '../manifest';
import { describeFaults, findContentFaults } from '../package-contents';
import { parseXml } from '../xml';
import { readUpdates, type XmlUpdate } from './xml-updates';

/**
 * Simulates Joomla's updater and reports what the site's administrator would see. Follows Joomla 5.3 and a recording
 * of a real site (test/joomla/joomla-outcomes.json).
 */

export interface SimulationStep {
  name: string;
  result: 'ok' | 'note' | 'failed';
  text: string;
}

export interface UpdateVerdict {
  steps: SimulationStep[];
  /** whether the administrator sees the update in the list */
  offered: boolean;
  installed: boolean;
  version: string | undefined;
  /** Joomla's messages, each preceded by its kind, such as `warning: ...` */
  messages: string[];
  /** the seller's remedy */
  remedy: string | undefined;
}

export interface SimulationLimits {
  /** milliseconds for the XML */
  xml: number;
  /** milliseconds for the package */
  package: number;
  packageBytes: number;
}

/** The Joomla version of a site if none is given. */
export const ASSUMED_JOOMLA = '5.3.0';

/** Joomla has no time-out for a package, but a person waits here. A size limit keeps a server from filling the disk. */
const LIMITS: SimulationLimits = { xml: XML_TIMEOUT, package: 600_000, packageBytes: 1_000_000_000 };
/** Joomla holds several copies of a package in memory; with PHP's default of 128 MB, larger ones were seen to fail. */
const LARGE_PACKAGE = 40_000_000;

/** Tries an update, up to the step where Joomla would install the package. The result never contains the typed key. */
export async function tryUpdate(
  address: string,
  typedKey: string,
  site: SiteSystem,
  limits: Partial<SimulationLimits> = {},
): Promise<UpdateVerdict> {
  return withTemporaryFile('licensing-try-', async (file) =>
    redact(await walk(address.trim(), { typedKey, site, limits: { ...LIMITS, ...limits }, file }), typedKey),
  );
}

/** Passes a temporary file's path to `work` and removes the file afterwards, even after an interruption. */
async function withTemporaryFile<T>(prefix: string, work: (file: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const restore = onInterrupt(() => rmSync(folder, { recursive: true, force: true }));
  try {
    return await work(join(folder, 'package'));
  } finally {
    await rm(folder, { recursive: true, force: true }).finally(restore);
  }
}

interface Attempt {
  typedKey: string;
  site: SiteSystem;
  limits: SimulationLimits;
  file: string;
}

interface Recorder {
  verdict: UpdateVerdict;
  step: (name: string, text: string, result?: SimulationStep['result']) => void;
  fail: (name: string, text: string, messages: string[], remedy: string) => undefined;
}

function createRecorder(): Recorder {
  const verdict: UpdateVerdict = {
    steps: [],
    offered: false,
    installed: false,
    version: undefined,
    messages: [],
    remedy: undefined,
  };
  const step: Recorder['step'] = (name, text, result = 'ok') => {
    verdict.steps.push({ name, result, text });
  };
  return {
    verdict,
    step,
    fail(name, text, messages, remedy) {
      step(name, text, 'failed');
      verdict.messages.push(...messages);
      verdict.remedy = remedy;
    },
  };
}

async function walk(address: string, attempt: Attempt): Promise<UpdateVerdict> {
  const recorder = createRecorder();
  const { verdict } = recorder;
  const { site } = attempt;
  const xml = await fetchXml(address, attempt, recorder);
  if (!xml) return verdict;
  const update = choose(xml.updates, site, recorder);
  if (!update) return verdict;
  verdict.version = update.text('version') ?? '';
  verdict.offered = matchInstalled(update, verdict.version, site, recorder);
  if (!verdict.offered) return verdict;
  const downloaded = await download(update, attempt, recorder);
  if (!downloaded) return verdict;
  verdict.installed = await install(downloaded, update, xml.url, attempt.file, recorder);
  return verdict;
}

interface FetchedXml {
  url: string;
  answer: SiteResponse;
  updates: XmlUpdate[];
}

async function fetchXml(
  address: string,
  attempt: Attempt,
  { step, fail }: Recorder,
): Promise<FetchedXml | undefined> {
  const first = await askForXml(address, attempt);
  let found = first;
  // UpdateAdapter: "If the URL is missing the .xml extension, try appending it"
  if ('failed' in first && !address.endsWith('.xml')) {
    const second = await askForXml(`${address}${address.endsWith('/') ? '' : '/'}extension.xml`, attempt);
    found = 'failed' in second ? { ...second, failed: `${first.failed}; ${second.failed}` } : second;
  }
  if ('failed' in found) return fail('Update XML', found.failed, found.messages, found.remedy);
  const { url, answer } = found;
  step('Update XML', `${url}: ${answer.size} bytes in ${answer.took} ms`);
  for (const redirect of answer.redirects) step('Update XML', `redirected to ${redirect}`, 'note');
  return found;
}

async function askForXml(
  url: string,
  { site, limits }: Attempt,
): Promise<FetchedXml | { failed: string; messages: string[]; remedy: string }> {
  try {
    const answer = await fetchAsJoomla(url, { joomla: site.joomla, ca: site.ca, timeout: limits.xml });
    if (answer.status === 200) return { url, answer, updates: readUpdates(parseXml(answer.body)) };
    return {
      failed: `${url}: ${answer.status}${firstLine(answer.body)}`,
      messages: [`warning: Update: Could not open update site #ID "NAME", URL: ${url}`],
      remedy: remedyForXml(answer, url),
    };
  } catch (error) {
    if (isCoded(error, 'MALFORMED_XML'))
      return {
        failed: `${url}: it is not XML: ${error.message}`,
        messages: [`warning: Update: :Extension: Could not parse ${url}`],
        remedy: 'Write the update XML again ("licensing update-xml write") and put it there unchanged.',
      };
    if (isCoded(error, 'XML_TOO_BIG'))
      return {
        failed: `${url}: ${error.message}`,
        messages: [],
        remedy:
          'Write the update XML again ("licensing update-xml write"): it leaves out versions that no site is offered.',
      };
    if (!isCoded(error, 'NO_ANSWER')) throw error;
    return {
      failed: `${url}: ${error.message}`,
      messages: [`warning: Update: Could not open update site #ID "NAME", URL: ${url}`],
      remedy:
        'Check the address, and that its web server runs and can be reached from the Internet. It must send the update XML within 20 seconds: put the file on static hosting.',
    };
  }
}

function choose(
  updates: XmlUpdate[],
  site: SiteSystem,
  { verdict, step, fail }: Recorder,
): XmlUpdate | undefined {
  const { chosen, skipped, messages } = chooseUpdate(updates, site);
  verdict.messages.push(...messages);
  for (const reason of skipped) step('Choice', reason, 'note');
  if (updates.length === 0)
    return fail(
      'Choice',
      'the XML has no <update>',
      [],
      'Do nothing while no version is published, or after the highest one was withdrawn. Otherwise write the update XML again ("licensing update-xml write") and put it there.',
    );
  if (chosen === undefined)
    return fail(
      'Choice',
      `none of its updates is for Joomla ${site.joomla} with PHP ${site.php}`,
      [],
      'Widen <targetplatform>, <php_minimum>, <supported_databases> or <tag> ("licensing update-xml write" does), or tell the customer what the new version needs.',
    );
  const version = chosen.text('version') ?? '';
  step('Choice', `version ${version} (the highest of ${updates.length - skipped.length})`);
  return chosen;
}

function matchInstalled(
  update: XmlUpdate,
  version: string,
  site: SiteSystem,
  { step, fail }: Recorder,
): boolean {
  const refuse = (text: string, remedy: string) => {
    fail('Installed extension', text, [], remedy);
    return false;
  };
  const { installed } = site;
  const mismatch = compareWithInstalled(update, site);
  if (mismatch) return refuse(mismatch.text, mismatch.remedy);
  if (compareVersions(version, installed.version) <= 0)
    return refuse(
      `${version} is not newer than the installed ${installed.version}`,
      'Do nothing if that is the latest version. Otherwise publish the new one and write the update XML again.',
    );
  step('Installed extension', `${installed.version} is offered ${version}`);
  return true;
}

interface Downloaded {
  /** its file name, by whose ending Joomla unpacks it */
  name: string;
  /** in bytes */
  size: number;
}

async function download(
  update: XmlUpdate,
  attempt: Attempt,
  recorder: Recorder,
): Promise<Downloaded | undefined> {
  const { step, fail } = recorder;
  const downloadUrl = update.text('downloadurl');
  const key = joomlaStoredKey(attempt.typedKey);
  if (key === '' || key === '0')
    return fail(
      'Download Key',
      'is missing: the update is in the list but cannot be chosen ("The Download Key is missing")',
      [],
      'The customer enters the key under System > Update > Update Sites.',
    );
  if (downloadUrl === undefined)
    return fail(
      'Download address',
      'the XML has no <downloadurl>',
      ['danger: Invalid extension update'],
      'Write the update XML again.',
    );
  const shownUrl = appendKey(downloadUrl, SHOWN_KEY);
  step('Download address', shownUrl.replaceAll('&amp;', '&'));
  const answer = await fetchPackage(downloadUrl, key, attempt, recorder);
  if (!answer) return undefined;
  const { size } = answer;
  step('Download', `200, ${size} bytes in ${answer.took} ms`);
  if (size > LARGE_PACKAGE)
    step('Download', "Joomla holds the whole package in memory: sites with PHP's 128 MB may fail", 'note');
  const name = downloadFileName(answer.headers.get('content-disposition'), shownUrl);
  if (!/\.zip$/i.test(name))
    return fail(
      'File name',
      `"${name}" does not end in .zip, and Joomla needs that ending to unpack it`,
      [extractionFailed(name)],
      'The answer needs Content-Disposition: attachment; filename="name-2.0.0.zip", which this service sends. Find out what drops it or answers instead of the service: a proxy, a cache or an error page with status 200.',
    );
  step('File name', name);
  return { name, size };
}

async function fetchPackage(
  downloadUrl: string,
  key: string,
  { typedKey, site, limits, file }: Attempt,
  { step, fail }: Recorder,
): Promise<SiteResponse | undefined> {
  const failed = (reason: string, quoted: string, remedy: string) =>
    fail(
      'Download',
      quoted,
      [
        `warning: Error connecting to the server: ${reason}`,
        `danger: Failed to download package. Download it and install manually from ${appendKey(downloadUrl, SHOWN_KEY).replaceAll('&amp;', '&')}.`,
      ],
      remedy,
    );
  let answer: SiteResponse;
  try {
    answer = await fetchAsJoomla(appendKey(downloadUrl, key), {
      joomla: site.joomla,
      ca: site.ca,
      timeout: limits.package,
      file,
      maxBytes: limits.packageBytes,
    });
  } catch (error) {
    if (isCoded(error, 'TOO_LARGE'))
      return fail('Download', `${error.message}; the rest is not received`, [], REMEDY_FOR_TOO_LARGE);
    if (!isCoded(error, 'NO_ANSWER')) throw error;
    const { message } = error;
    return failed(message, message, remedyForNoAnswer(message, downloadUrl, key));
  }
  const { status, redirects, body } = answer;
  for (const redirect of redirects)
    step('Download', `redirected to ${describeRedirect(redirect, typedKey)}`, 'note');
  if (status === 200) return answer;
  return failed(String(status), `${status}${firstLine(body)}`, remedyForStatus(answer, downloadUrl, key));
}

function extractionFailed(name: string): string {
  return `danger: Failed to extract file: ${name}`;
}

async function install(
  { name, size }: Downloaded,
  update: XmlUpdate,
  xmlUrl: string,
  file: string,
  { verdict, step, fail }: Recorder,
): Promise<boolean> {
  const manifest = await unpack(file, size);
  if ('none' in manifest) {
    const { text, messages, remedy } = explainNoManifest(manifest);
    fail('Package', text, messages === undefined ? [] : [...messages, extractionFailed(name)], remedy);
    return false;
  }
  step('Package', `${manifest.path}: ${manifest.type} ${manifest.version}`);
  const { checked, wrong } = await checkHashes(file, update);
  if (wrong) {
    fail(
      'Checksum',
      `${wrong.name} in the XML is "${wrong.expected}", but that of the package is ${wrong.actual}`,
      ['danger: The checksum verification failed. Please make sure you are using the correct update server!'],
      'Write the update XML again ("licensing update-xml write") and replace the old file; its addresses must name the version. If they did, something changes the package on the way.',
    );
    return false;
  }
  if (checked.length === 0) {
    verdict.messages.push(
      'warning: This extension does not provide a checksum for validation of the integrity of the downloaded file.',
    );
    step('Checksum', 'the XML has no checksum', 'note');
  } else step('Checksum', `${checked.join(', ')} agree`);
  const faults = await findContentFaults(file, manifest);
  const aborts = faults.find((fault) => fault.aborts !== undefined)?.aborts;
  if (aborts !== undefined) {
    fail('Files', describeFaults(faults), [`warning: ${aborts}`], PACK_AGAIN);
    return false;
  }
  if (faults.length > 0) step('Files', `${describeFaults(faults)}: Joomla installs it without`, 'note');
  for (const remark of remarksOnManifest(manifest, update, xmlUrl)) step('Manifest', remark, 'note');
  verdict.messages.push(`success: Updating ${manifest.type} was successful.`);
  return true;
}

function firstLine(body: Buffer): string {
  const line = body.subarray(0, 400).toString('utf8').trim().split('\n')[0] ?? '';
  return line === '' ? '' : ` "${Array.from(line).slice(0, 120).join('')}"`;
}

function redact(verdict: UpdateVerdict, typedKey: string): UpdateVerdict {
  const clean = keyRemover(typedKey);
  return {
    ...verdict,
    steps: verdict.steps.map((step) => ({ ...step, text: clean(step.text) })),
    messages: verdict.messages.map(clean),
    remedy: verdict.remedy && clean(verdict.remedy),
  };
}

/**
 * Downloads a package as Joomla would and checks its hashes.
 * @param examine examines the sent package if it is the right one
 * @returns the fault, without the key, if any
 */
export async function checkPackage(
  update: XmlUpdate,
  typedKey: string,
  site: Pick<SiteSystem, 'joomla' | 'ca'>,
  examine: (file: string) => Promise<void>,
): Promise<{ problem: string; remedy: string; lacksChangelog?: true } | undefined> {
  const downloadUrl = update.text('downloadurl') ?? '';
  const key = joomlaStoredKey(typedKey);
  const clean = keyRemover(typedKey);
  try {
    return await withTemporaryFile('licensing-lint-', async (file) => {
      const answer = await fetchAsJoomla(appendKey(downloadUrl, key), {
        joomla: site.joomla,
        ca: site.ca,
        timeout: LIMITS.package,
        file,
        maxBytes: LIMITS.packageBytes,
      });
      if (answer.status !== 200)
        return {
          problem: clean(`The package was not sent: ${answer.status}${firstLine(answer.body)}.`),
          remedy: remedyForStatus(answer, downloadUrl, key),
        };
      const { wrong } = await checkHashes(file, update);
      if (wrong)
        return {
          problem: `The package that was sent has a different ${wrong.name} (${wrong.actual}): Joomla refuses it.`,
          remedy:
            'Write the update XML again. If that does not help, something changes the package on the way.',
        };
      await examine(file);
      if (!update.text('changelogurl')) return undefined;
      const manifest = await findManifest(file).catch(() => undefined);
      return manifest === undefined || !isManifest(manifest) || manifest.hasChangelog
        ? undefined
        : {
            lacksChangelog: true,
            problem:
              'The manifest in the package has no <changelogurl>: Joomla shows the changelog neither among the installed extensions nor, up to 5.2.3, before an update.',
            remedy:
              'Add the line that "licensing manifest" prints, best in the first version: Joomla 4.4 keeps the line from a package\'s first installation.',
          };
    });
  } catch (error) {
    if (isCoded(error, 'TOO_LARGE'))
      return { problem: `The package was not examined: ${error.message}.`, remedy: REMEDY_FOR_TOO_LARGE };
    if (!isCoded(error, 'NO_ANSWER')) throw error;
    return {
      problem: clean(`The package could not be fetched: ${error.message}.`),
      remedy: remedyForNoAnswer(error.message, downloadUrl, key),
    };
  }
}
