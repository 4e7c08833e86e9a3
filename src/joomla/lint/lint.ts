import { isCoded } from '../../base/errors';
import { API_PATH } from '../../licensing/api';
import { fetchAsJoomla, XML_TIMEOUT, type SiteResponse } from '../updater/fetch';
import { CHANGELOG_XML } from '../changelog';
import { lintChangelog } from './changelog';
import { lintDelivery } from './delivery';
import { findManifest, isManifest } from '../manifest';
import { findLack, findUnnamedChildren } from '../package-contents';
import { lintAgainstRelease, lintMissingVersions, type FindRelease } from './published';
import { createReport, WRITE_AGAIN, type LintFinding, type Report } from './report';
import { CURRENT_JOOMLA, lintUpdate } from './update';
import { isUntried, matchesCurrentJoomla } from '../target-platform';
import { explainNoManifest, PACK_AGAIN } from '../updater/downloaded-package';
import { remedyForChallenge } from '../updater/remedies';
import { ASSUMED_JOOMLA, checkPackage } from '../updater/try';
import { parseXml } from '../xml';
import { readUpdates, type XmlUpdate } from '../updater/xml-updates';

export interface LintOptions {
  /** undefined: no database */
  findRelease?: FindRelease | undefined;
  /** a product's published versions, highest first */
  listPublished?: ((productId: number) => Promise<string[]>) | undefined;
  /** the file of a published package; undefined: packages are not examined */
  packageOf?: ((sha256: string) => string) | undefined;
  /** downloads the packages too */
  key?: string | undefined;
  /** authorities for certificates; undefined: Node's own */
  ca?: string[] | undefined;
  /** reads a changelog by its address; undefined, or if it returns undefined: the changelog is not examined */
  readChangelog?: ((url: string) => Promise<Buffer | undefined>) | undefined;
}

/** The maximum of updates; further ones are ignored: each costs milliseconds, and 10 MB hold over a hundred thousand. */
const MAX_UPDATES = 1_000;

/** Fetches an update XML as Joomla does, and checks its content and delivery. */
export async function lintUpdateXmlAt(url: string, options: LintOptions = {}): Promise<LintFinding[]> {
  const { findings, report } = createReport();
  if (new URL(url).pathname.startsWith(`${API_PATH}/`))
    report(
      'error',
      'below_service',
      `The update XML is below ${API_PATH}/, and all requests there go to the licence service.`,
      'Host it next to the site\'s other files, and write that address into the manifest ("licensing manifest").',
    );
  let answer: SiteResponse;
  try {
    answer = await fetchAsJoomla(url, { joomla: ASSUMED_JOOMLA, ca: options.ca, timeout: XML_TIMEOUT });
  } catch (error) {
    if (!isCoded(error, 'NO_ANSWER')) throw error;
    report(
      'error',
      'unreachable',
      `The update XML cannot be fetched: ${error.message}.`,
      'Put it where every site on the Internet can fetch it within 20 seconds.',
    );
    return findings;
  }
  lintDelivery(answer, url, report);
  if (answer.status !== 200) return findings;
  const readChangelog = (address: string) => fetchChangelog(address, options.ca, report);
  findings.push(...(await lintUpdateXml(answer.body, { ...options, readChangelog }, new URL(url))));
  return findings;
}

/** Fetches a changelog as Joomla does when an administrator opens its window. */
async function fetchChangelog(
  url: string,
  ca: string[] | undefined,
  report: Report,
): Promise<Buffer | undefined> {
  const remedy =
    'Put the changelog at that address, and let everyone read it: "licensing update-xml write" writes it next to the update XML.';
  try {
    const answer = await fetchAsJoomla(url, { joomla: ASSUMED_JOOMLA, ca, timeout: XML_TIMEOUT });
    if (answer.status === 200) return answer.body;
    const why = remedyForChallenge(answer, url) ?? remedy;
    report('warning', 'changelog', `The server answers ${answer.status} for the changelog ${url}.`, why);
  } catch (error) {
    if (!isCoded(error, 'NO_ANSWER')) throw error;
    report('warning', 'changelog', `The changelog ${url} cannot be fetched: ${error.message}.`, remedy);
  }
  return undefined;
}

/** @param url the address where it is hosted, if known */
export async function lintUpdateXml(
  bytes: Buffer,
  { findRelease, listPublished, packageOf, key, ca, readChangelog }: LintOptions = {},
  url?: URL,
): Promise<LintFinding[]> {
  if (CHANGELOG_XML.isOne(bytes.toString('utf8', 0, 65_536))) return lintChangelog(bytes, url?.href ?? '');
  const { findings, report } = createReport();
  const all = readOrReport(bytes, report);
  if (all === undefined) return findings;
  const updates = all.slice(0, MAX_UPDATES);
  if (updates.length < all.length)
    report(
      'error',
      'too_many',
      `The update XML has ${all.length} <update> elements, which every site reads each time. Only the first ${MAX_UPDATES} were checked.`,
      `${WRITE_AGAIN} It leaves out versions that no site is offered.`,
    );
  lintTogether(updates, report);
  const offered = new Map<number, string[]>();
  for (const update of updates) {
    const asked = lintUpdate(update, url, report);
    if (asked)
      offered.set(asked.productId, [
        ...(offered.get(asked.productId) ?? []),
        update.text('version')?.trim() ?? '',
      ]);
    const release =
      findRelease && asked ? await lintAgainstRelease(update, asked, findRelease, report) : undefined;
    if (release && packageOf && key === undefined)
      await lintPackage(packageOf(release.sha256), update, report);
    if (key !== undefined && update.text('downloadurl') !== undefined) {
      const wrong = await checkPackage(update, key, { joomla: ASSUMED_JOOMLA, ca }, (file) =>
        lintPackage(file, update, report),
      );
      if (wrong?.lacksChangelog) report('warning', 'changelog', wrong.problem, wrong.remedy, update);
      else if (wrong) report('error', 'package', wrong.problem, wrong.remedy, update);
    }
  }
  for (const [address, versions] of readChangelog ? changelogsOf(updates) : []) {
    const changelog = await readChangelog?.(address);
    if (changelog !== undefined) findings.push(...lintChangelog(changelog, address, versions));
  }
  if (listPublished)
    for (const [productId, versions] of offered)
      lintMissingVersions(await listPublished(productId), versions, report);
  return findings;
}

/** Reports what Joomla would miss in a package. A package that cannot be opened is reported elsewhere. */
async function lintPackage(file: string, update: XmlUpdate, report: Report): Promise<void> {
  const manifest = await findManifest(file).catch(() => undefined);
  if (manifest === undefined) return;
  if (!isManifest(manifest)) {
    const { text, remedy } = explainNoManifest(manifest);
    report('error', 'package', `The package cannot be installed: ${text}.`, remedy, update);
    return;
  }
  const lack = await findLack(file, manifest);
  if (lack !== undefined) report('error', 'package_files', lack.problem, PACK_AGAIN, update);
  const unnamed = await findUnnamedChildren(file, manifest);
  if (unnamed.length === 0) return;
  const named = unnamed.map((path) => `"${path}"`).join(', ');
  report(
    'warning',
    'package_children',
    `The package has extensions whose manifests lack <packagename>: ${named}. Tools that manage many sites may list them apart from the package, without an update site.`,
    'Write the <packagename> of the package into the manifest of each, and publish the next version.',
    update,
  );
}

/** Returns the versions that Joomla looks for at each address of a changelog. */
function changelogsOf(updates: XmlUpdate[]): Map<string, string[]> {
  const addresses = new Map<string, string[]>();
  for (const update of updates) {
    const address = update.text('changelogurl') ?? '';
    if (address !== '')
      addresses.set(address, [...(addresses.get(address) ?? []), update.text('version')?.trim() ?? '']);
  }
  return addresses;
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
        'The update XML has no <update>: no site is offered an update.',
        'That is right while no version is published, or if the highest one was withdrawn. Otherwise write it again with "licensing update-xml write".',
      );
    else
      report('error', 'no_update', `The update XML has <${root.tagName}> instead of <update>.`, WRITE_AGAIN);
  } catch (error) {
    if (isCoded(error, 'XML_TOO_BIG')) report('error', 'too_much', error.message, WRITE_AGAIN);
    else if (!isCoded(error, 'MALFORMED_XML')) throw error;
    else report('error', 'malformed', `The update XML is not well-formed: ${error.message}.`, WRITE_AGAIN);
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
      'The update XML describes several extensions. Joomla picks the highest version of them all and forgets the rest.',
      'Host one update XML for each extension.',
    );
  const mayBeOffered = (update: XmlUpdate) => {
    const pattern = update.attribute('targetplatform', 'version') ?? '';
    return (
      update.attribute('targetplatform', 'name') === 'joomla' &&
      (isUntried(pattern) || matchesCurrentJoomla(pattern))
    );
  };
  if (!updates.some(mayBeOffered))
    report(
      'error',
      'no_current_joomla',
      'No <targetplatform> in the update XML matches any version of Joomla 4, 5 or 6: no site is offered an update.',
      `Write ${CURRENT_JOOMLA}.`,
    );
}
