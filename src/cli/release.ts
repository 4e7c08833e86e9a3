import { readFile } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { requireUpdateXmlSettings } from '../joomla/update-xml/write';
import { readUpdateXmlState, type FollowedXml } from '../joomla/follow-xml';
import { publish } from '../joomla/publish';
import { explainReadFault } from '../packages/file-faults';
import { OperatorError } from '../licensing/operator-error';
import { requireRelease, withdrawRelease, type Release } from '../packages/releases';
import { releaseOperations } from '../operations/releases';
import { fileName, positiveInteger, requireChange, startDate } from './arguments';
import { withSession, type Session } from './command';
import { explained } from './database';
import { describeError } from './describe-error';
import { operate, operateAll } from './operate';
import { ownFiles } from './output-file';
import {
  writeCommand,
  ALLOW_DOWNGRADE,
  describeWritten,
  followXml,
  noteFollowed,
  stateJson,
  writeAndLint,
  writtenJson,
} from './update-xml';
import { releaseJson } from '../licensing/views';
import { addNotify } from './release-notify';
import { formatTable } from './tables';

interface PublishOptions {
  product: number;
  version: string;
  file?: string;
  changelog?: string;
  changelogFile?: string;
  draft?: boolean;
  date?: Date;
  /** true: the remembered file */
  writeXml?: string | true;
  allowDowngrade?: true;
  newUpdateServer?: true;
  unchecked?: true;
  security?: boolean;
}

const WRITE_XML =
  'the file of the update XML, which is written anyway; with it, nothing changes when it cannot be written';

const NEW_UPDATE_SERVER =
  'publish a package with other addresses of update servers: Joomla up to 5.3.0 drops the Download Key';

const UNCHECKED =
  'publish a package that lacks files its manifest names, or a first one without the lines for updates';

const SECURITY = 'it closes a security hole: customers see it, and "release notify" tells them';

export function addReleaseCommands(program: Command): void {
  const release = program.command('release').description('Versions of a product and their packages.');
  addPublish(release);
  addEdit(release);
  addList(release);
  addWithdraw(release);
  addNotify(release);
}

function addPublish(release: Command): void {
  release
    .command('publish')
    .description(
      'Takes over a zip file and publishes it as a version, which never changes then. The API offers it within a second, Joomla by the update XML, which is written too.',
    )
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .requiredOption('--version <version>', 'as 2.1.0 or 2.1.0-beta2')
    .option('--file <zip>', 'the package; left out, the draft of this version is published', fileName)
    .addOption(new Option('--changelog <text>', 'what is new').conflicts('changelogFile'))
    .option('--changelog-file <file>', 'a text file with what is new', fileName)
    .option('--draft', 'store it without publishing')
    .option('--date <date>', 'publication date, instead of now', startDate)
    .addOption(new Option('--write-xml [file]', WRITE_XML).conflicts('draft'))
    .option('--new-update-server', NEW_UPDATE_SERVER)
    .option('--unchecked', UNCHECKED)
    .option('--security', SECURITY)
    .addHelpText(
      'after',
      '\nExample:\n  licensing release publish --product 42 --version 2.1.0 --file pkg_example.zip --changelog "Faster"',
    )
    .action((options: PublishOptions, command: Command) =>
      withSession(command, async (session) => {
        const { db, config, now, output } = session;
        const { writeXml } = options;
        if (writeXml !== undefined) await requireXml(session, options.product, writeXml);
        const {
          release: published,
          remarks,
          manifestRemark,
        } = await publish(
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
            security: options.security,
          },
          now,
          (bytes) => output.progress(`${(bytes / 1_000_000).toFixed(0)} MB`),
        );
        for (const remark of remarks) output.note(`note: ${remark}`);
        if (manifestRemark !== undefined)
          output.note(`note: ${manifestRemark} "licensing manifest" prints what to add.`);
        const text = `Version ${published.version} is ${published.state === 'draft' ? 'stored as a draft' : 'published'}: ${published.fileName}, ${published.fileSize} bytes.`;
        // Publish before writing the XML, so that updaters find the package it names.
        await printWithXml(session, published, text, {
          writeXml,
          otherwise: 'IS published, but Joomla offers it only when its update XML is written',
        });
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
    .addOption(new Option('--changelog <text>', 'what is new').conflicts('changelogFile'))
    .option('--changelog-file <file>', 'a text file with what is new', fileName)
    .option('--security', SECURITY)
    .option('--no-security', 'it closes none')
    .addHelpText(
      'after',
      '\nExample:\n  licensing release edit --product 42 --version 2.1.0 --changelog-file CHANGES.txt',
    )
    .action(
      (
        options: Pick<PublishOptions, 'product' | 'version' | 'changelog' | 'changelogFile' | 'security'>,
        command: Command,
      ) =>
        withSession(command, async (session) => {
          const { security } = options;
          requireChange(command, options.changelog, options.changelogFile, security);
          const changelog = await changelogOf(options);
          const { id } = await requireRelease(session.db, options.product, options.version.trim());
          const seen: { xml?: FollowedXml } = {};
          const edited = await operate(session, releaseOperations.updateRelease, {
            path: { id },
            body: { changelog, security },
            onXml: (followed) => void (seen.xml = followed),
          });
          const { version, state, product_id: product } = edited;
          // Nobody is offered a draft.
          const line =
            seen.xml && state !== 'draft'
              ? await noteFollowed(session, product, `Version ${version} is changed`, seen.xml)
              : [];
          session.output.print(edited, [describeEdit(version, changelog, security), ...line].join('\n'));
        }),
    );
}

function describeEdit(version: string, changelog: string | undefined, security: boolean | undefined): string {
  const marked = `Version ${version} is ${security ? 'a security release' : 'no security release'}.`;
  return [
    changelog === undefined ? [] : `The changelog of version ${version} is changed.`,
    security === undefined ? [] : marked,
  ]
    .flat()
    .join(' ');
}

function addList(release: Command): void {
  release
    .command('list')
    .description("Lists a product's versions, the highest first.")
    .requiredOption('--product <id>', 'product id', positiveInteger)
    .addHelpText('after', '\nExample:\n  licensing release list --product 42')
    .action(({ product }: { product: number }, command: Command) =>
      withSession(command, async (session) => {
        const path = { id: product };
        const releases = await operateAll(session, releaseOperations.listProductReleases, { path });
        session.output.print(releases, () =>
          formatTable(
            ['VERSION', 'STATE', 'PUBLISHED', 'BYTES', 'FILE'],
            releases.map((one) => [one.version, one.state, one.published_at, one.file_size, one.file_name]),
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
      'Takes a version back, for good: it is downloaded no more. The API stops offering it within a second, Joomla by the update XML, which is written too.',
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
          const { db } = session;
          if (allowDowngrade && writeXml === undefined)
            command.error('error: --allow-downgrade is of the update XML: it needs --write-xml');
          if (writeXml !== undefined) await requireXml(session, product, writeXml);
          const withdrawn = await withdrawRelease(db, product, version.trim(), session.now);
          await printWithXml(session, withdrawn, `Version ${withdrawn.version} is withdrawn.`, {
            writeXml,
            otherwise: 'IS withdrawn, but Joomla offers it until its update XML is written',
            allowDowngrade,
          });
        }),
    );
}

function outOf(writeXml: PublishOptions['writeXml']): { out: string | undefined } {
  return { out: typeof writeXml === 'string' ? writeXml : undefined };
}

/** Refuses an update XML that could not be written, before anything is changed. */
function requireXml(
  { db, config }: Session,
  productId: number,
  writeXml: PublishOptions['writeXml'],
): Promise<void> {
  return requireUpdateXmlSettings(db, productId, outOf(writeXml), process.cwd(), ownFiles(config), config);
}

interface XmlWanted {
  writeXml: PublishOptions['writeXml'];
  /** the state of the version when the XML cannot be written */
  otherwise: string;
  allowDowngrade?: true | undefined;
}

/** Writes the XML first. */
async function printWithXml(
  session: Session,
  release: Release,
  text: string,
  { writeXml, otherwise, allowDowngrade }: XmlWanted,
): Promise<void> {
  const { db, config, output } = session;
  const { productId, version, state } = release;
  // Nobody is offered a draft.
  if (state === 'draft') {
    const xml = await readUpdateXmlState(db, config, productId);
    output.print({ ...releaseJson(release), update_xml: stateJson(xml) }, text);
    return;
  }
  if (writeXml === undefined) {
    const { json, line } = await followXml(session, productId, `Version ${version} ${otherwise}`);
    output.print({ ...releaseJson(release), update_xml: json }, [text, ...line].join('\n'));
    return;
  }
  const { out } = outOf(writeXml);
  const written = await writeAndLint(session, productId, { out, allowDowngrade }).catch((error: unknown) => {
    const again = `${writeCommand(productId)}${out === undefined ? '' : ` --out ${out}`}${allowDowngrade ? ' --allow-downgrade' : ''}`;
    throw new OperatorError(
      `Version ${version} ${otherwise}. ${describeError(explained(error, config))} When that is mended: ${again}`,
    );
  });
  output.print(
    {
      ...releaseJson(release),
      update_xml: { state: 'written', url: written.url, ...writtenJson(written) },
    },
    `${text}\n${describeWritten(written)}`,
  );
}

async function changelogOf({
  changelog,
  changelogFile: file,
}: Pick<PublishOptions, 'changelog' | 'changelogFile'>): Promise<string | undefined> {
  if (file === undefined) return changelog;
  return readFile(file, 'utf8').then(
    (text) => text.trim(),
    (error: unknown) => {
      throw new OperatorError(`The changelog ${file} cannot be read: ${explainReadFault(error)}.`);
    },
  );
}
