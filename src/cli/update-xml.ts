import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, type Command } from 'commander';
import { jsonOf } from '../base/json';
import { readConfig } from '../settings/config';
import { requireWebAddress } from '../joomla/addresses';
import { changelogBeside } from '../joomla/changelog';
import { EXTENSION_CLIENTS, EXTENSION_TYPES, type ExtensionType } from '../joomla/extension-types';
import type { LintFinding } from '../joomla/lint/report';
import type { SiteSystem } from '../joomla/updater/offer';
import { DEFAULT_TARGET_PLATFORM } from '../joomla/target-platform';
import { DATABASES, DEFAULT_PHP_MINIMUM, type DatabaseMinimums } from '../joomla/update-xml/saved-options';
import type { UpdateXmlInput } from '../joomla/update-xml/settings';
import { writeUpdateXml, type WrittenXml } from '../joomla/update-xml/write';
import { lintUpdateXml, lintUpdateXmlAt, type LintOptions } from '../joomla/lint/lint';
import { readPublished } from '../joomla/lint/published';
import { ASSUMED_JOOMLA, tryUpdate, type UpdateVerdict } from '../joomla/updater/try';
import { regenerateUpdateXml, type XmlResult, type UpdateXmlState } from '../joomla/regenerate-update-xml';
import { explainReadFault } from '../packages/file-faults';
import { packagePath } from '../packages/package-files';
import { OperatorError } from '../licensing/operator-error';
import { asCaller } from '../process/rights';
import { STABILITIES, type Stability } from '../licensing/versions';
import { authorities, elementName, oneOf, positiveInteger } from './arguments';
import { createOutput, withSession, type Output, type Session } from './command';
import { withDatabaseHint, isWithoutDatabase, withCurrentDatabase } from '../setup/database';
import { describeError } from './describe-error';
import { printable } from './printable';
import { ownFiles } from './output-file';
import { FROM_STANDARD_INPUT, readValue } from './standard-input';

interface WriteOptions extends Omit<UpdateXmlInput, 'tag'> {
  product: number;
  tag?: Stability;
}

interface TryOptions {
  key: string;
  installed: string;
  joomla: string;
  php: string;
  database?: SiteSystem['database'];
  minimumStability: Stability;
  ca?: string[];
  element?: string;
  type?: ExtensionType;
  client?: string;
  folder?: string;
}

export const ALLOW_DOWNGRADE =
  'also offer versions below a withdrawn one; a site that still lists the withdrawn one then installs an older version';
const CA_HELP =
  'CA certificates in PEM form that may have signed the certificates, in addition to those that Node knows';

export function addUpdateXmlCommands(program: Command): void {
  const updateXml = program
    .command('update-xml')
    .description("The update XML: a static file that Joomla's updater reads from your site.");
  addWrite(updateXml);
  addLint(updateXml);
  addTry(updateXml);
}

function addWrite(updateXml: Command): void {
  updateXml
    .command('write')
    .description(
      'Writes the update XML of a product. It remembers its options, so next time --product is enough. An empty text removes an option.',
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .option(
      '--base-url <url>',
      "the site's address, such as https://shop.example; default: LICENSING_PUBLIC_URL",
    )
    .option(
      '--out <file>',
      'the file to write; default: a file in LICENSING_XML_DIR, which nginx or Apache serves',
    )
    .option('--info-url <url>', 'a page about the product; default: the base address')
    .option('--info-title <text>', "the title of that page; default: the product's name")
    .option('--description <text>', "the description of the update; default: the product's name")
    .option('--element <element>', "Joomla's name of the extension, such as pkg_example", elementName)
    .option(
      '--type <type>',
      `${EXTENSION_TYPES.join(', ')}; default: the type that the element shows`,
      orEmpty(oneOf(EXTENSION_TYPES)),
    )
    .option(
      '--client <client>',
      'site or administrator; needed for modules and templates',
      orEmpty(oneOf(EXTENSION_CLIENTS)),
    )
    .option('--folder <group>', "a plugin's group, such as system")
    .option('--target-platform <regex>', `the versions of Joomla; default: ${DEFAULT_TARGET_PLATFORM}`)
    .option('--php-minimum <version>', `the lowest version of PHP; default: ${DEFAULT_PHP_MINIMUM}`)
    .option(
      '--supported-databases <list>',
      'such as mysql=8.0.13,mariadb=10.4; default: any',
      databaseMinimums,
    )
    .option(
      '--tag <tag>',
      `${STABILITIES.join(', ')} the stability of the highest version; default: the one that its number shows`,
      oneOf(STABILITIES),
    )
    .option('--allow-downgrade', ALLOW_DOWNGRADE)
    .addHelpText(
      'after',
      '\nExample:\n  licensing update-xml write --product 42 --base-url https://shop.example --element pkg_example \\\n    --out /var/www/shop/updates/pkg_example.xml',
    )
    .action(({ product, ...given }: WriteOptions, command: Command) =>
      withSession(command, async (session) => {
        const written = await writeAndLint(session, product, given);
        const { output } = session;
        output.print({ product_id: product, ...writtenJson(written) }, describeWritten(written));
      }),
    );
}

function addLint(updateXml: Command): void {
  updateXml
    .command('lint')
    .description('Finds errors that make updates fail. Joomla does not show most of them.')
    .argument('<file-or-url>', 'a file, or the address of the update XML')
    .option('--key <key>', `also fetch the packages, with this licence key; ${FROM_STANDARD_INPUT}`)
    .option('--ca <file>', CA_HELP, authorities)
    .addHelpText(
      'after',
      '\nExamples:\n  licensing update-xml lint https://shop.example/updates/pkg_example.xml\n  licensing update-xml lint pkg_example.xml --key - < key.txt',
    )
    .action(async (source: string, { key, ca }: { key?: string; ca?: string[] }, command: Command) => {
      const output = createOutput(command);
      const typed = key === undefined ? undefined : await readValue(key, 'Licence key');
      const findings = await withReleases(output, (releases) =>
        lint(source, { ...releases, key: typed, ca }),
      );
      const errors = findings.filter(({ level }) => level === 'error').length;
      output.print(
        { source, errors, warnings: findings.length - errors, findings: findings.map(findingJson) },
        () => (findings.length === 0 ? 'No errors were found.' : findings.map(describeFinding).join('\n')),
      );
      if (errors > 0)
        throw new OperatorError(errors === 1 ? 'There is one error.' : `There are ${errors} errors.`);
    });
}

function addTry(updateXml: Command): void {
  updateXml
    .command('try')
    .description(
      "Tries an update in the way that a customer's Joomla does, and prints what the site's administrator sees. Nothing is installed.",
    )
    .argument('<url>', 'the address of the update XML')
    .requiredOption(
      '--key <key>',
      `the licence key, as it is typed into the Download Key field; ${FROM_STANDARD_INPUT}`,
    )
    .requiredOption('--installed <version>', 'the version that is installed on the site', installedVersion)
    .option('--ca <file>', CA_HELP, authorities)
    .option('--joomla <version>', "the site's version of Joomla", releaseVersion, ASSUMED_JOOMLA)
    .option('--php <version>', "the site's version of PHP", releaseVersion, '8.2.0')
    .option(
      '--database <type=version>',
      "the site's database, such as mysql=8.0.36; default: one that is supported",
      siteDatabase,
    )
    .option('--minimum-stability <tag>', STABILITIES.join(', '), oneOf(STABILITIES), 'stable')
    .option('--element <element>', 'of the installed extension; default: the one in the XML')
    .option(
      '--type <type>',
      'of the installed extension; default: the one in the XML',
      oneOf(EXTENSION_TYPES),
    )
    .option(
      '--client <client>',
      'of the installed extension; default: the usual one for its type',
      oneOf(EXTENSION_CLIENTS),
    )
    .option('--folder <group>', 'of the installed extension; default: the one in the XML')
    .addHelpText(
      'after',
      '\nExample:\n  licensing update-xml try https://shop.example/updates/pkg_example.xml --key - --installed 1.0.0 < key.txt',
    )
    .action(async (url: string, options: TryOptions, command: Command) => {
      const output = createOutput(command);
      requireWebAddress(url, 'The address of the update XML');
      const { key, installed, element, type, client, folder, database, ...site } = options;
      const verdict = await tryUpdate(url, await readValue(key, 'Licence key'), {
        ...site,
        database,
        installed: { version: installed, element, type, client, folder },
      });
      output.print(verdict, () => describeVerdict(verdict));
      if (!verdict.installed)
        throw new OperatorError(
          verdict.offered ? 'The update would not be installed.' : 'The update would not be offered.',
        );
    });
}

/** Writes and lints an update XML. Notes report assumed settings, findings, and an abandoned earlier file. */
export async function writeAndLint(
  session: Session,
  productId: number,
  given: UpdateXmlInput,
): Promise<WrittenXml> {
  const { db, config } = session;
  const written = await writeUpdateXml(db, productId, given, process.cwd(), ownFiles(config), config);
  await noteWritten(session, productId, written);
  return written;
}

/**
 * Updates the update XML after a change.
 * @param what the change, for a note if the XML could not be written
 * @returns the state for --json, and lines for the text
 */
export async function regenerateAndDescribe(
  session: Session,
  productId: number,
  what: string,
): Promise<{ json: ReturnType<typeof stateJson>; line: string[] }> {
  const followed = await regenerateQuietly(session, productId);
  return { json: stateJson(followed), line: await describeXml(session, productId, what, followed) };
}

/** Writes the update XML after a change, without notes. */
export function regenerateQuietly({ db, config }: Session, productId: number): Promise<XmlResult> {
  return regenerateUpdateXml(db, config, productId, { own: ownFiles(config) });
}

/** Notes the outcome for the update XML of a change. @returns the line for the text */
export async function describeXml(
  session: Session,
  productId: number,
  what: string,
  { state, written, fault }: XmlResult,
): Promise<string[]> {
  if (written) await noteWritten(session, productId, written);
  if (state === 'stale')
    session.output.note(
      `note: ${what}. ${describeError(withDatabaseHint(fault, session.config))} Once that is fixed: ${writeCommand(productId)}`,
    );
  return written ? [describeWritten(written)] : [];
}

export function writeCommand(productId: number): string {
  return `licensing update-xml write --product ${productId}`;
}

export function stateJson({ state, url }: UpdateXmlState) {
  return { state, url };
}

async function noteWritten({ output }: Session, productId: number, written: WrittenXml): Promise<void> {
  if (written.assumedPackage !== undefined)
    output.note(
      `note: "${written.assumedPackage}" is written as a package, because neither its prefix nor --type shows its type. If it is not a package, give the type, for example: licensing update-xml write --product ${productId} --type plugin --folder GROUP`,
    );
  const { heldBack } = written;
  if (heldBack) {
    const { versions, withdrawn } = heldBack;
    output.note(
      `note: ${versions.join(', ')} ${versions.length === 1 ? 'is' : 'are'} not offered, because ${withdrawn} was withdrawn: a site that still lists ${withdrawn} would install the version that the XML offers instead, even over a newer version. Publish a version above ${withdrawn}. To offer the lower one anyway: licensing update-xml write --product ${productId} --allow-downgrade`,
    );
  }
  const findings = (await lintUpdateXml(Buffer.from(written.xml))).filter(
    // Skip this finding if the note above already gives the reason.
    ({ code }) => code !== 'no_update' || heldBack === undefined,
  );
  for (const text of new Set(findings.map(({ problem, remedy }) => `${problem} ${remedy}`)))
    output.note(printable(`warning: ${text}`));
  if (written.leftBehind !== undefined)
    output.note(
      printable(
        `note: from now on, ${written.out} is written instead of ${written.leftBehind}, which stays unchanged. Sites that read the former file are still offered the versions in it.`,
      ),
    );
}

export function writtenJson({ out, updates, heldBack, rollouts }: WrittenXml) {
  return {
    out,
    rollouts,
    held_back: heldBack?.versions ?? [],
    updates: updates.map((one) =>
      jsonOf(one, 'version', 'tag', 'targetPlatform', 'phpMinimum', 'supportedDatabases'),
    ),
  };
}

export function describeWritten({ out, url, updates, rollouts }: WrittenXml): string {
  const offers = updates.map(({ version, tag }) => `${version} (${tag})`).join(', ') || 'nothing';
  const staged = rollouts.map(({ version, percent }) => `, and ${version} to ${percent} % of the sites`);
  return `${out} offers ${offers}${staged.join('')}.${url === null ? '' : ` Its address: ${url}`}`;
}

function lint(source: string, options: LintOptions): Promise<LintFinding[]> {
  if (/^https?:\/\//i.test(source)) {
    requireWebAddress(source, 'The address of the update XML');
    return lintUpdateXmlAt(source, options);
  }
  // Read the changelog next to the file: it will be published at the address in the file.
  const readChangelog = () => asCaller(() => readFile(changelogBeside(source))).catch(() => undefined);
  return asCaller(() => readFile(source)).then(
    (bytes) => lintUpdateXml(bytes, { ...options, readChangelog }),
    (error: unknown) => {
      throw new OperatorError(`The update XML ${source} cannot be read: ${explainReadFault(error)}.`);
    },
  );
}

/** Works without a database too, because an extension's developer may not have one. */
async function withReleases<T>(
  output: Output,
  work: (releases: Pick<LintOptions, 'findRelease' | 'listPublished' | 'packageOf'>) => Promise<T>,
): Promise<T> {
  try {
    const config = readConfig();
    const packageOf = (sha256: string) => packagePath(config.packagesDir, sha256);
    return await withCurrentDatabase(config, (db) => work({ ...readPublished(db), packageOf }));
  } catch (error) {
    if (!isWithoutDatabase(error)) throw error;
    output.note(
      'The XML was not compared with the published versions: the database is not configured, not reachable or not migrated.',
    );
    return work({});
  }
}

function findingJson({ level, code, line, version, problem, remedy }: LintFinding) {
  return { level, code, line: line ?? null, version: version ?? null, problem, remedy };
}

function describeFinding({ level, line, version, problem, remedy }: LintFinding): string {
  // The text of a problem in a changelog already contains its file and line.
  const place =
    line === undefined || /^The changelog\b/.test(problem)
      ? ''
      : ` line ${line}${version === undefined ? '' : ` (${version})`}:`;
  return printable(`${level}:${place} ${problem} ${remedy}`);
}

function describeVerdict({ steps, messages, remedy, offered }: UpdateVerdict): string {
  const signs = { ok: 'ok    ', note: 'note  ', failed: 'FAILED' };
  const lines = steps.map(({ name, result, text }) => printable(`${signs[result]}  ${name}: ${text}`));
  lines.push('', 'The administrator of the site reads:');
  if (!offered) lines.push('  (the update is not in the list)');
  else if (messages.length === 0) lines.push('  (no other message)');
  lines.push(...messages.map((message) => printable(`  ${message}`)));
  if (remedy !== undefined) lines.push('', 'What to do:', `  ${remedy}`);
  return lines.join('\n');
}

/** Accepts any version that a manifest may contain. */
function installedVersion(text: string): string {
  if (text.trim() === '')
    throw new InvalidArgumentError('It must be the version that is installed on the site, such as 1.0.0.');
  return text;
}

/** Completes 8.2 to 8.2.0, because PHP's version_compare ranks 8.2 below 8.2.0. */
function releaseVersion(text: string): string {
  if (!/^[0-9]+(\.[0-9]+){1,3}([.+~-].*)?$/.test(text))
    throw new InvalidArgumentError('It must be a version, such as 5.3.0.');
  return /^[0-9]+\.[0-9]+$/.test(text) ? `${text}.0` : text;
}

/** Makes a reader accept an empty text, which clears the remembered setting. */
function orEmpty<T extends string>(read: (text: string) => T): (text: string) => T | '' {
  return (text) => (text === '' ? '' : read(text));
}

function databaseMinimums(text: string): DatabaseMinimums {
  return Object.fromEntries(
    text
      .split(',')
      .filter((part) => part.trim() !== '')
      .map((part) => {
        const { type, version } = siteDatabase(part);
        return [type, version];
      }),
  );
}

function siteDatabase(text: string): NonNullable<SiteSystem['database']> {
  const [, type = '', version = ''] = /^\s*([a-z]+)=([0-9][0-9A-Za-z.+-]*)\s*$/.exec(text) ?? [];
  if (!(DATABASES as readonly string[]).includes(type))
    throw new InvalidArgumentError(
      `It must have the form mysql=8.0.13, with one of ${DATABASES.join(', ')}.`,
    );
  return { type, version };
}
