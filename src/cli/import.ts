import { open, type FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { countOf } from '../base/count-of';
import { fileSettingFault } from '../operations/configuration';
import { listOf } from '../orders/catch-up/list';
import { explainReadFault } from '../packages/file-faults';
import { recountAfterImport } from '../figures/statistics';
import { OperatorError } from '../licensing/operator-error';
import { importRecords } from '../transfer/import';
import type { ImportReport } from '../transfer/import-job';
import { describeRemarks } from '../transfer/lines';
import { CSV_FIELDS, readCsvMap } from '../transfer/moving/any-csv';
import { DATE_FORMS } from '../transfer/moving/source';
import { SOURCES } from '../transfer/moving/sources';
import { asCaller } from '../process/rights';
import { folderName, asUsageError, usageError, wholeNumber } from './arguments';
import { withSession, type Session } from './command';
import { readReleaseMap, runReleases } from './move-in-releases';
import { runList, runMoveIn, runUndo, type MoveInOptions } from './move-in';
import { formatTable } from './tables';

interface ImportOptions extends MoveInOptions {
  undo?: number;
  /** the product by category; true assigns each category by its element */
  releases?: Map<string, number> | true;
  list?: boolean;
  packages?: string;
  withoutSealedKeys?: boolean;
  csv?: boolean;
}

/** The options of each way to import. */
const MOVE_OPTIONS = [
  'plans',
  'makePlans',
  'dates',
  'users',
  'confirmColumns',
  'sitePrefix',
  'releases',
] as const;
const CSV_OPTIONS = ['map', 'ignore', 'product', 'plan', 'skipBadRows'] as const;
const RECORD_OPTIONS = ['packages', 'withoutSealedKeys'] as const;

export function addImportCommand(program: Command): void {
  program
    .command('import')
    .summary('read an export, or move in from another system (--from)')
    .description(
      'Reads a file that "licensing export" wrote: all of it, or nothing. Reading the same file again changes nothing. With --from, it moves in from another system. The next such run takes what is new or has changed there, and keeps what was changed here.',
    )
    .argument(
      '[file]',
      "the file; - for standard input; leave it out for a system whose tables are in the site's database",
    )
    .addOption(
      new Option('--from <name>', 'move in from another system; csv: any table').choices(
        SOURCES.map(({ name }) => name),
      ),
    )
    .option(
      '--plans <theirs=ours,...>',
      'your plan for each of its plans; "-" leaves one out, 3+8=9 covers two, new:2:1y:"NAME" makes one',
    )
    .option(
      '--make-plans',
      'for plans that --plans does not name, make products and plans with the names there and their most usual limits and periods',
    )
    .addOption(new Option('--dates <form>', "how the file's dates are written").choices(DATE_FORMS))
    .option('--users <file>', "a second table, with the customers' addresses")
    .option('--confirm-columns', 'confirm the columns that a dry run has shown')
    .option(
      '--site-prefix <prefix>',
      "the prefix of the site's tables, such as jos_, if several sites are in the database",
    )
    .option(
      '--releases [category=product,...]',
      'of ars: publish its versions here; a category that is not named goes to the product that has its element',
      readReleaseMap,
    )
    .option('--list', 'list the moves from other systems')
    .option(
      '--undo <id>',
      'undo a move: remove what it made, except what has been used since',
      (text: string) => wholeNumber(text, { least: 1 }),
    )
    .option('--dry-run', 'print what would change, and change nothing')
    .option('--packages <dir>', "the folder to which the export copied the releases' packages", folderName)
    .option('--without-sealed-keys', 'leave out keys sealed with another LICENSING_KEY_SECRET')
    .option('--csv', 'the same as --from csv')
    .option(
      '--map <field=column,...>',
      `of csv: the column of each field, if its name does not show it; fields: ${CSV_FIELDS.join(', ')}, and metadata.NAME for the licence's metadata`,
      (text: string, before?: Map<string, string>) => asUsageError(() => readCsvMap(text, before)),
    )
    .option('--ignore <column,...>', 'of csv: columns to leave out', (text: string, before?: string[]) => [
      ...(before ?? []),
      ...text.split(',').map((name) => name.trim()),
    ])
    .option('--product <product>', 'of csv: id or name, for rows without one')
    .option('--plan <plan>', 'of csv: id or name, for rows without one')
    .option('--skip-bad-rows', 'of csv: leave out rows that do not fit, and import the others')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing import licences.jsonl --packages packages --dry-run\n  licensing import licences.csv --from csv --dry-run\n  licensing import --from membershippro --dry-run\n  licensing import --from membershippro --plans "3=7,4=8"',
    )
    .action((file: string | undefined, options: ImportOptions, command: Command) =>
      withSession(command, async (session) => {
        if (options.csv === true && options.from !== undefined && options.from !== 'csv')
          usageError(command, '--csv and --from exclude each other', 'csv');
        const from = options.csv === true ? 'csv' : options.from;
        const way = wayOf(from, options);
        const foreign = [
          ...(way === 'from' ? [] : MOVE_OPTIONS),
          ...(way === 'from' && from === 'csv' ? [] : CSV_OPTIONS),
          ...(way === 'records' ? [] : RECORD_OPTIONS),
        ];
        const odd = foreign.find((name) => options[name] !== undefined);
        if (odd !== undefined) usageError(command, oddMessage(odd), optionName(odd));
        if (way === 'undo') return runUndo(session, options.undo as number);
        if (way === 'list') return runList(session);
        if (way === 'from' && options.releases !== undefined) {
          if (from !== 'ars') usageError(command, '--releases needs --from ars', 'releases');
          const { releases, dryRun = false, sitePrefix } = options;
          const map = releases === true ? new Map<string, number>() : releases;
          return runReleases(session, map, { dryRun, sitePrefix });
        }
        if (way === 'from') return runFrom(session, from as string, file, options);
        if (file === undefined) usageError(command, 'the file is missing');
        return runRecords(session, file, options);
      }),
    );
}

function wayOf(
  from: string | undefined,
  { undo, list }: ImportOptions,
): 'from' | 'undo' | 'list' | 'records' {
  if (undo !== undefined) return 'undo';
  if (list === true) return 'list';
  return from === undefined ? 'records' : 'from';
}

function oddMessage(name: keyof ImportOptions): string {
  const isOf = (names: readonly string[]) => names.includes(name);
  const where = isOf(MOVE_OPTIONS) ? 'with --from' : isOf(CSV_OPTIONS) ? 'with --from csv' : 'without --from';
  return `this option is allowed only ${where}: --${optionName(name)}`;
}

async function runFrom(
  session: Session,
  from: string,
  file: string | undefined,
  options: ImportOptions,
): Promise<void> {
  const withFile = async <T>(
    name: string | undefined,
    read: (bytes: Bytes | undefined, readsAgain: boolean) => Promise<T>,
  ) => (name === undefined ? read(undefined, true) : withInput(name, read));
  await withFile(file, (bytes, again) =>
    withFile(options.users, (users, usersAgain) =>
      runMoveIn(session, from, options, { name: file, file: bytes, users, readsAgain: again && usersAgain }),
    ),
  );
}

function optionName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

async function runRecords(session: Session, file: string, options: ImportOptions): Promise<void> {
  const { db, config, now, actor, output } = session;
  const dryRun = options.dryRun ?? false;
  const report = await withInput(file, (bytes, readsAgain) =>
    importRecords(db, bytes, {
      readsAgain,
      packagesDir: config.packagesDir,
      packagesFrom: options.packages === undefined ? undefined : resolve(options.packages),
      secret: config.keySecret,
      withoutSealedKeys: options.withoutSealedKeys ?? false,
      dryRun,
      actor,
      now,
      settingFault: (name, value) => fileSettingFault(config, name, value),
      isOnSite: (kind) => listOf(kind)?.isOnSite ?? false,
      onProgress: (type, count) => output.progress(`${type}: ${count}`),
    }),
  );
  const { records, conflicts, conflicting, leftOut, leftOutCount, sealedUnchecked, packagesMissing } = report;
  if (!dryRun) await recountAfterImport(db, now);
  output.print({ dry_run: dryRun, records, conflicts, conflicting, left_out: leftOut }, () =>
    formatRecords(report, dryRun),
  );
  if (leftOutCount > 0) output.note(`Left out:\n${describeRemarks(leftOut, leftOutCount)}`);
  if (sealedUnchecked > 0)
    output.note(
      `${countOf(sealedUnchecked, 'licence has', 'licences have')} a sealed key, and no LICENSING_KEY_SECRET is set here: they work, but their keys cannot be shown. ` +
        '"license reveal" can show them once the secret of the installation that they come from is set.',
    );
  if (packagesMissing > 0)
    output.note(
      `The packages of ${countOf(packagesMissing, 'release')} are not in ${config.packagesDir} and cannot be downloaded. ` +
        'The same import with --packages DIR copies them there.',
    );
  if (conflicting > 0)
    throw new OperatorError(
      `An import of this file would be refused:\n${describeRemarks(conflicts, conflicting)}`,
    );
}

function formatRecords({ records }: ImportReport, dryRun: boolean): string {
  return `${formatTable(
    ['TYPE', 'NEW', 'SAME', 'CHANGED', 'CONFLICTING'],
    Object.entries(records).map(([type, { new: added, same, changed, conflicting }]) => [
      type,
      added,
      same,
      changed,
      conflicting,
    ]),
  )}\n${dryRun ? 'Nothing was changed: this was a dry run.' : 'Imported.'}`;
}

type Bytes = AsyncIterable<Buffer>;

/** Opens the file before `read`, so that a wrong name is not recorded as a failed import. Only a file can be reread. */
async function withInput<T>(
  file: string,
  read: (bytes: Bytes, readsAgain: boolean) => Promise<T>,
): Promise<T> {
  if (file === '-') return read(process.stdin as Bytes, false);
  const handle = await openInput(file);
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) throw new OperatorError(`${file} is a folder.`);
    const stream = (from?: number) =>
      handle.createReadStream({ autoClose: false, ...(from === undefined ? {} : { start: from }) }) as Bytes;
    if (!stats.isFile()) return await read(stream(), false);
    return await read({ [Symbol.asyncIterator]: () => stream(0)[Symbol.asyncIterator]() }, true);
  } finally {
    await handle.close();
  }
}

async function openInput(file: string): Promise<FileHandle> {
  try {
    return await asCaller(() => open(file, 'r'));
  } catch (error) {
    throw new OperatorError(`${file} cannot be read: ${explainReadFault(error)}.`);
  }
}
