import { readFile } from 'node:fs/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { requireUpdateXmlSettings } from '../joomla/update-xml/write';
import { readUpdateXmlState, type XmlResult, type UpdateXmlState } from '../joomla/regenerate-update-xml';
import { publish } from '../joomla/publish';
import { explainReadFault } from '../packages/file-faults';
import { OperatorError } from '../licensing/operator-error';
import { asCaller } from '../process/rights';
import type { Db } from '../licensing/licensing';
import { listFixLinks, readCveList, requireRelease, type AdviceGiven } from '../packages/releases';
import { releaseOperations } from '../operations/releases';
import { fileName, positiveInteger, requireChange, startDate } from './arguments';
import { withSession, type Session } from './command';
import { withDatabaseHint } from '../setup/database';
import { describeError } from './describe-error';
import { operate, operateAll } from './operate';
import { ownFiles } from './output-file';
import {
  writeCommand,
  ALLOW_DOWNGRADE,
  describeWritten,
  regenerateQuietly,
  regenerateAndDescribe,
  describeXml,
  stateJson,
  writeAndLint,
  writtenJson,
} from './update-xml';
import { releaseJson } from '../licensing/views';
import { addNotify } from './release-notify';
import { addSbom, readSbomFile } from './release-sbom';
import { formatTable } from './tables';

interface PublishOptions extends AdviceOptions {
  product: number;
  version: string;
  file?: string;
  changelog?: string;
  changelogFile?: string;
  draft?: boolean;
  date?: Date;
  /** the file to write; true for the remembered file */
  writeXml?: string | true;
  allowDowngrade?: true;
  newUpdateServer?: true;
  unchecked?: true;
  rollout?: number;
  security?: boolean;
  sbom?: string;
}

const WRITE_XML =
  'the file for the update XML, which is written in any case; with this option, nothing is changed if the file cannot be written';

const NEW_UPDATE_SERVER =
  'publish a package although its update servers differ from those of the version before or, in a first package, from this service';

const UNCHECKED =
  'publish a package although it lacks files that its manifest names or, if it is the first, the lines for updates';

const SECURITY =
  'mark it as a security release: customers see this, and "licensing release notify" mails them';

const ADVISORY = 'advice for the users of a security release, in Markdown, at most 2,000 characters';
const CVES = 'the vulnerabilities that it closes, such as CVE-2026-12345, with commas between them';
const SAME_FIX_AS =
  'the version whose fix it brings to another branch, or its id: each customer is notified once of both';

export function addReleaseCommands(program: Command): void {
  const release = program.command('release').description('Versions of a product and their packages.');
  addPublish(release);
  addEdit(release);
  addList(release);
  addRollout(release);
  addWithdraw(release);
  addNotify(release);
  addSbom(release);
}

function addPublish(release: Command): void {
  release
    .command('publish')
    .description(
      'Publishes a zip file as a version, which can never be changed. The API offers it within a second, and Joomla with the update XML, which is written as well.',
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--version <version>', 'such as 2.1.0 or 2.1.0-beta2')
    .option('--file <zip>', 'the package; without it, the draft of this version is published', fileName)
    .addOption(new Option('--changelog <text>', 'the changes in this version').conflicts('changelogFile'))
    .option('--changelog-file <file>', 'a text file with the changes in this version', fileName)
    .option('--draft', 'store it without publishing it')
    .option('--date <date>', 'the publication date, instead of now', startDate)
    .addOption(new Option('--write-xml [file]', WRITE_XML).conflicts('draft'))
    .option('--new-update-server', NEW_UPDATE_SERVER)
    .option('--unchecked', UNCHECKED)
    .addOption(
      new Option('--rollout <percent>', 'offer it to this share of the sites first, in percent')
        .argParser(percent)
        .conflicts('draft'),
    )
    .option('--security', SECURITY)
    .option('--advisory <text>', ADVISORY)
    .option('--cve <names>', CVES, cveList)
    .option('--same-fix-as <version>', SAME_FIX_AS)
    .option(
      '--sbom <file>',
      'its SBOM (CycloneDX 1.4 or a later 1.x, or SPDX 2.3); without it, one is generated from the lock files in the package',
      fileName,
    )
    .addHelpText(
      'after',
      '\nExample:\n  licensing release publish --product 42 --version 2.1.0 --file pkg_example.zip --changelog "Faster"',
    )
    .action((options: PublishOptions, command: Command) =>
      withSession(command, async (session) => {
        const { db, config, now, output } = session;
        const { writeXml } = options;
        if (writeXml !== undefined) await requireXml(session, options.product, writeXml);
        const { release: published, remarks } = await publish(
          db,
          { packagesDir: config.packagesDir, home: config },
          {
            productId: options.product,
            version: options.version.trim(),
            file: options.file,
            changelog: await changelogOf(options),
            draft: options.draft ?? false,
            date: options.date,
            newUpdateServer: options.newUpdateServer ?? false,
            unchecked: options.unchecked ?? false,
            rollout: options.rollout,
            security: options.security,
            ...(await adviceOf(db, options)),
            sbom: options.sbom === undefined ? undefined : await readSbomFile(options.sbom),
          },
          now,
          (bytes) => output.progress(`${(bytes / 1_000_000).toFixed(0)} MB`),
        );
        for (const { message } of remarks) output.note(`note: ${message}`);
        const text = `Version ${published.version} is ${published.state === 'draft' ? 'stored as a draft' : 'published'}: ${published.fileName}, ${published.fileSize} bytes.`;
        // Publish before writing the XML, so that updaters find the package that it names.
        const { productId, version } = published;
        const what = `Version ${version} IS published, but Joomla offers it only once its update XML is written`;
        const { json, line } =
          published.state === 'draft'
            ? // A draft is offered to no customer.
              { json: stateJson(await readUpdateXmlState(db, config, productId)), line: [] }
            : await writeOrFollow(session, { productId, writeXml, what });
        output.print(
          { ...releaseJson(published), remarks, update_xml: json },
          [text, ...line, ...noticeLine(published.productId, published)].join('\n'),
        );
      }),
    );
}

function addEdit(release: Command): void {
  release
    .command('edit')
    .description(
      "Changes a version's changelog, or marks it as a security release. Its package never changes.",
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--version <version>', 'the version')
    .addOption(new Option('--changelog <text>', 'the changes in this version').conflicts('changelogFile'))
    .option('--changelog-file <file>', 'a text file with the changes in this version', fileName)
    .option('--security', SECURITY)
    .option('--no-security', 'it is not a security release')
    .option('--advisory <text>', `${ADVISORY}; none removes it`)
    .option('--cve <names>', `${CVES}; none removes them`, cveList)
    .option('--same-fix-as <version>', `${SAME_FIX_AS}; none removes it`)
    .addHelpText(
      'after',
      '\nExample:\n  licensing release edit --product 42 --version 2.1.0 --changelog-file CHANGES.txt',
    )
    .action(
      (
        options: Pick<
          PublishOptions,
          'product' | 'version' | 'changelog' | 'changelogFile' | 'security' | keyof AdviceOptions
        >,
        command: Command,
      ) =>
        withSession(command, async (session) => {
          const { security, advisory, cve, sameFixAs } = options;
          const { changelogFile } = options;
          requireChange(command, options.changelog, changelogFile, security, advisory, cve, sameFixAs);
          const changelog = await changelogOf(options);
          const advice = await adviceOf(session.db, options);
          const { id } = await requireRelease(session.db, options.product, options.version.trim());
          const seen: { xml?: XmlResult } = {};
          const edited = await operate(session, releaseOperations.updateRelease, {
            path: { id },
            body: { changelog, security, advisory: advice.advisory, cve, same_fix_as: advice.sameFixAs },
            followXml: async () => (seen.xml = await regenerateQuietly(session, options.product)),
          });
          const { version, state, product_id: product } = edited;
          // A draft is offered to no customer.
          const line =
            seen.xml && state !== 'draft'
              ? await describeXml(session, product, `Version ${version} is changed`, seen.xml)
              : [];
          const notice = security === true ? noticeLine(product, edited) : [];
          session.output.print(
            edited,
            [describeEdit(version, changelog, security, advice), ...line, ...notice].join('\n'),
          );
        }),
    );
}

/** Returns a line that leads from a security release to its notice. */
function noticeLine(
  product: number,
  { version, state, security }: { version: string; state: string; security: boolean },
): string[] {
  if (!security || state !== 'published') return [];
  return [`To notify customers by mail: licensing release notify --product ${product} --version ${version}`];
}

function addRollout(release: Command): void {
  release
    .command('rollout')
    .description(
      'Offers a published version to a share of the sites; 100 offers it to all. Raising the share never takes the version away from a site. To stop a rollout, withdraw the version. nginx needs no change.',
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--version <version>', 'the version')
    .argument('<percent>', '1 to 100', percent)
    .addHelpText('after', '\nExample:\n  licensing release rollout --product 42 --version 2.1.0 25')
    .action(
      (
        rollout: number,
        { product, version }: Pick<PublishOptions, 'product' | 'version'>,
        command: Command,
      ) =>
        withSession(command, async (session) => {
          const { id } = await requireRelease(session.db, product, version.trim());
          const seen: { xml?: XmlResult } = {};
          const changed = await operate(session, releaseOperations.updateRelease, {
            path: { id },
            body: { rollout },
            followXml: async () => (seen.xml = await regenerateQuietly(session, product)),
          });
          const what = `Version ${changed.version} is for ${describeShare(changed.rollout)}`;
          const line = seen.xml ? await describeXml(session, product, what, seen.xml) : [];
          session.output.print(changed, [`${what}.`, ...line].join('\n'));
        }),
    );
}

function describeShare(percent: number): string {
  return percent === 100 ? 'everybody' : `${percent} % of the sites`;
}

function percent(text: string): number {
  const value = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > 100)
    throw new InvalidArgumentError('It must be a whole number from 1 to 100 (percent).');
  return value;
}

function describeEdit(
  version: string,
  changelog: string | undefined,
  security: boolean | undefined,
  advice: AdviceGiven,
): string {
  const marked = `Version ${version} is ${security ? 'a security release' : 'not a security release'}.`;
  return [
    changelog === undefined ? [] : `The changelog of version ${version} is changed.`,
    security === undefined ? [] : marked,
    Object.values(advice).some((given) => given !== undefined)
      ? `The advice of version ${version} is changed.`
      : [],
  ]
    .flat()
    .join(' ');
}

function addList(release: Command): void {
  release
    .command('list')
    .description("Lists a product's versions, highest first.")
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing release list --product 42')
    .action(({ product }: { product: number }, command: Command) =>
      withSession(command, async (session) => {
        const path = { id: product };
        const releases = await operateAll(session, releaseOperations.listProductReleases, { path });
        session.output.print(releases, () =>
          formatTable(
            ['VERSION', 'STATE', 'ROLLOUT', 'SECURITY', 'PUBLISHED', 'BYTES', 'FILE'],
            releases.map((one) => [
              one.version,
              one.state,
              `${one.rollout} %`,
              one.security ? 'yes' : '',
              one.published_at,
              one.file_size,
              one.file_name,
            ]),
            'No versions.',
          ),
        );
      }),
    );
}

function addWithdraw(release: Command): void {
  release
    .command('withdraw')
    .description(
      'Withdraws a version for good: it can no longer be downloaded. The API stops offering it within a second, and Joomla with the update XML, which is written as well.',
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--version <version>', 'the version')
    .option('--write-xml [file]', WRITE_XML)
    .option('--allow-downgrade', `with --write-xml: ${ALLOW_DOWNGRADE}`)
    .addHelpText('after', '\nExample:\n  licensing release withdraw --product 42 --version 2.1.0 --write-xml')
    .action(
      (
        {
          product,
          version,
          writeXml,
          allowDowngrade,
        }: Pick<PublishOptions, 'product' | 'version' | 'writeXml' | 'allowDowngrade'>,
        command: Command,
      ) =>
        withSession(command, async (session) => {
          if (allowDowngrade && writeXml === undefined)
            command.error('error: --allow-downgrade needs --write-xml');
          if (writeXml !== undefined) await requireXml(session, product, writeXml);
          const { id } = await requireRelease(session.db, product, version.trim());
          const otherwise = 'IS withdrawn, but Joomla offers it until its update XML is written';
          const told: Partial<ToldXml> = {};
          const withdrawn = await operate(session, releaseOperations.withdrawRelease, {
            path: { id },
            async followXml(productId) {
              const xml = {
                productId,
                writeXml,
                allowDowngrade,
                what: `Version ${version.trim()} ${otherwise}`,
              };
              return Object.assign(told, await writeOrFollow(session, xml)).json;
            },
          });
          session.output.print(
            { ...withdrawn, update_xml: told.json },
            [`Version ${withdrawn.version} is withdrawn.`, ...(told.line ?? [])].join('\n'),
          );
        }),
    );
}

function outOf(writeXml: PublishOptions['writeXml']): { out: string | undefined } {
  return { out: typeof writeXml === 'string' ? writeXml : undefined };
}

/** Refuses an update XML that cannot be written, before anything is changed. */
function requireXml(
  { db, config }: Session,
  productId: number,
  writeXml: PublishOptions['writeXml'],
): Promise<void> {
  return requireUpdateXmlSettings(db, productId, outOf(writeXml), process.cwd(), ownFiles(config), config);
}

interface XmlWanted {
  productId: number;
  writeXml: PublishOptions['writeXml'];
  /** the change, for the error if the XML cannot be written */
  what: string;
  allowDowngrade?: true | undefined;
}

/** The state of the update XML for --json and the text. */
interface ToldXml {
  json: UpdateXmlState;
  line: string[];
}

/** Writes a change's update XML by the options, or lets it follow. @throws OperatorError if a requested XML fails */
async function writeOrFollow(
  session: Session,
  { productId, writeXml, what, allowDowngrade }: XmlWanted,
): Promise<ToldXml> {
  if (writeXml === undefined) return regenerateAndDescribe(session, productId, what);
  const { out } = outOf(writeXml);
  const written = await writeAndLint(session, productId, { out, allowDowngrade }).catch((error: unknown) => {
    const again = `${writeCommand(productId)}${out === undefined ? '' : ` --out ${out}`}${allowDowngrade ? ' --allow-downgrade' : ''}`;
    throw new OperatorError(
      `${what}. ${describeError(withDatabaseHint(error, session.config))} Once that is fixed: ${again}`,
    );
  });
  const json = { state: 'written' as const, url: written.url, ...writtenJson(written) };
  return { json, line: [describeWritten(written)] };
}

/** The options about the holes that a version closes. */
interface AdviceOptions {
  advisory?: string;
  cve?: string[];
  sameFixAs?: string;
}

function cveList(text: string, before: string[] = []): string[] {
  return text === 'none' ? [] : [...before, ...readCveList(text)];
}

async function adviceOf(
  db: Db,
  { product, advisory, cve, sameFixAs }: AdviceOptions & { product: number },
): Promise<AdviceGiven> {
  const isNamed = sameFixAs !== undefined && sameFixAs !== 'none';
  return {
    advisory: advisory === 'none' ? null : advisory,
    cve,
    sameFixAs: isNamed ? await releaseIdOf(db, product, sameFixAs.trim()) : sameFixAs && null,
  };
}

/** Returns the id of a version, which may be given itself. */
async function releaseIdOf(db: Db, product: number, given: string): Promise<number> {
  const named = (await listFixLinks(db, product)).find(({ version }) => version === given);
  if (named === undefined && /^\d{1,9}$/.test(given)) return Number(given);
  return (named ?? (await requireRelease(db, product, given))).id;
}

async function changelogOf({
  changelog,
  changelogFile: file,
}: Pick<PublishOptions, 'changelog' | 'changelogFile'>): Promise<string | undefined> {
  if (file === undefined) return changelog;
  return asCaller(() => readFile(file, 'utf8')).then(
    (text) => text.trim(),
    (error: unknown) => {
      throw new OperatorError(`The changelog ${file} cannot be read: ${explainReadFault(error)}.`);
    },
  );
}
