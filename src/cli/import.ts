import { open, type FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { quantity } from '../quantity';
import { fileSettingFault } from '../operations/configuration';
import { explainReadFault } from '../packages/file-faults';
import { NOT_SENT_WHOLE } from '../licensing/core/keys';
import { countAfterImport } from '../licensing/statistics';
import { OperatorError } from '../licensing/operator-error';
import { CSV_FIELDS, readCsvMap, type CsvTarget } from '../transfer/csv-licenses';
import { importRecords } from '../transfer/import';
import { importCsv, type CsvImportReport } from '../transfer/import-csv';
import type { ImportReport } from '../transfer/import-job';
import { describeRemarks } from '../transfer/lines';
import { DATE_FORMS } from '../transfer/moving/source';
import { SOURCES } from '../transfer/moving/sources';
import { asCaller } from '../process/rights';
import { folderName, usage, usageError, wholeNumber } from './arguments';
import { withSession, type Session } from './command';
import { REKEY } from './hints';
import { readReleaseMap, runReleases } from './move-in-releases';
import { runList, runMoveIn, runUndo, type MoveInOptions } from './move-in';
import { formatTable } from './tables';

interface ImportOptions extends MoveInOptions {
  undo?: number;
  /** true: each category by its element */
  releases?: Map<string, number> | true;
  list?: boolean;
  packages?: string;
  withoutSealedKeys?: boolean;
  csv?: boolean;
  map?: Map<CsvTarget, string>;
  ignore?: string[];
  delimiter?: string;
  separator?: string;
  product?: string;
  plan?: string;
  skipBadRows?: boolean;
}

/** The name of any table of another system. */
const CSV = 'csv';

/** Of the ways to import, which options go with which. */
const MOVE_OPTIONS = [
  'plans',
  'makePlans',
  'dates',
  'users',
  'confirmColumns',
  'sitePrefix',
  'releases',
] as const;
const CSV_OPTIONS = ['map', 'ignore', 'delimiter', 'separator', 'product', 'plan', 'skipBadRows'] as const;
const RECORD_OPTIONS = ['packages', 'withoutSealedKeys'] as const;

export function addImportCommand(program: Command): void {
  program
    .command('import')
    .summary('read an export, or move in from another system (--from, --csv)')
    .description(
      'Reads a file that "licensing export" wrote, or with --csv a table of licences of another system: all of it, or nothing. The same file once more changes nothing. With --from it moves in from a system by its name: the same once more takes what is new or has changed there, and keeps what was changed here.',
    )
    .argument(
      '[file]',
      "the file; - for standard input; none for a system whose tables are in the site's database",
    )
    .addOption(
      new Option('--from <name>', 'move in from another system; csv: any table, as --csv').choices([
        ...SOURCES.map(({ name }) => name),
        CSV,
      ]),
    )
    .option(
      '--plans <theirs=ours,...>',
      'what becomes of its plans; "-" leaves one out, 3+8=9 covers two, new:2:1y:"NAME" makes one',
    )
    .option(
      '--make-plans',
      'make products and plans by its names and most usual limits and periods, where --plans says nothing',
    )
    .addOption(new Option('--dates <form>', "how the file's dates are written").choices(DATE_FORMS))
    .option('--users <file>', "a second table, with the customers' addresses")
    .option('--confirm-columns', 'the columns that a dry run has shown are right')
    .option('--site-prefix <prefix>', "of the site's tables, such as jos_, where several sites are there")
    .option(
      '--releases [category=product,...]',
      'of ars: publish its versions here; a category that is not named goes by its element',
      readReleaseMap,
    )
    .option('--list', 'list the moves from other systems')
    .option('--undo <id>', 'take a move back: what it made, and nobody has used since', (text: string) =>
      wholeNumber(text, { least: 1 }),
    )
    .option('--dry-run', 'tell what would change, and change nothing')
    .option('--packages <dir>', "a folder with the releases' packages, as the export copied them", folderName)
    .option('--without-sealed-keys', 'leave out keys sealed with another LICENSING_KEY_SECRET')
    .option(
      '--csv',
      "the file is a table of comma-separated values with the columns' names in its first line",
    )
    .option(
      '--map <field=column,...>',
      `which column is what; fields: ${CSV_FIELDS.join(', ')}, and metadata.NAME for the licence's metadata`,
      (text: string, before?: Map<CsvTarget, string>) => readMap(text, before),
    )
    .option(
      '--ignore <column,...>',
      'columns that look like a status, an expiry or a customer and are left out on purpose',
      (text: string, before?: string[]) => [...(before ?? []), ...text.split(',').map((name) => name.trim())],
    )
    .addOption(
      new Option('--delimiter <character>', 'between cells: comma, semicolon or tab are detected').argParser(
        readDelimiter,
      ),
    )
    .addOption(
      new Option(
        '--separator <text>',
        'between the activations in a cell: a new line, | and for domains , and ; by default',
      ).argParser(readSeparator),
    )
    .option('--product <product>', 'id or name, for rows that name none')
    .option('--plan <plan>', 'id or name, for rows that name none')
    .option('--skip-bad-rows', 'import the others when some rows do not fit')
    .addHelpText(
      'after',
      '\nExamples:\n  licensing import licences.jsonl --packages packages --dry-run\n  licensing import licences.csv --csv --map "key=License Key,plan=Plan,status=Status,expiry=Expires,customer=E-mail,activations=Sites" --product 42 --dry-run\n  licensing import --from membershippro --dry-run\n  licensing import --from membershippro --plans "3=7,4=8"',
    )
    .action((file: string | undefined, options: ImportOptions, command: Command) =>
      withSession(command, async (session) => {
        const way = wayOf(options);
        const foreign = [
          ...(way === 'from' ? [] : MOVE_OPTIONS),
          ...(way === 'csv' ? [] : CSV_OPTIONS),
          ...(way === 'records' ? [] : RECORD_OPTIONS),
        ];
        const odd = foreign.find((name) => options[name] !== undefined);
        if (odd !== undefined) usageError(command, oddMessage(odd), optionName(odd));
        if (options.csv === true && options.from !== undefined && options.from !== CSV)
          usageError(command, '--csv does not go with --from', 'csv');
        if (way === 'undo') return runUndo(session, options.undo as number);
        if (way === 'list') return runList(session);
        if (way === 'from' && options.releases !== undefined) {
          if (options.from !== 'ars') usageError(command, '--releases goes with --from ars only', 'releases');
          const { releases, dryRun = false, sitePrefix } = options;
          const map = releases === true ? new Map<string, number>() : releases;
          return runReleases(session, map, { dryRun, sitePrefix });
        }
        if (way === 'from') return runFrom(session, options.from as string, file, options);
        if (file === undefined) usageError(command, 'the file is missing');
        return way === 'csv' ? runCsv(session, file, options) : runRecords(session, file, options);
      }),
    );
}

function wayOf({ from, csv, undo, list }: ImportOptions): 'from' | 'csv' | 'undo' | 'list' | 'records' {
  if (undo !== undefined) return 'undo';
  if (list === true) return 'list';
  if (csv === true || from === CSV) return 'csv';
  return from === undefined ? 'records' : 'from';
}

function oddMessage(name: keyof ImportOptions): string {
  const isOf = (names: readonly string[]) => names.includes(name);
  const where = isOf(MOVE_OPTIONS) ? 'with --from' : isOf(CSV_OPTIONS) ? 'with --csv' : 'without --csv';
  return `this option goes ${where} only: --${optionName(name)}`;
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
      onProgress: (type, count) => output.progress(`${type}: ${count}`),
    }),
  );
  const { records, conflicts, conflicting, leftOut, leftOutCount, sealedUnchecked, packagesMissing } = report;
  if (!dryRun) await countAfterImport(db, now);
  output.print({ dry_run: dryRun, records, conflicts, conflicting, left_out: leftOut }, () =>
    formatRecords(report, dryRun),
  );
  if (leftOutCount > 0)
    output.note(`Settings that were left out:\n${describeRemarks(leftOut, leftOutCount)}`);
  if (sealedUnchecked > 0)
    output.note(
      `${quantity(sealedUnchecked, 'licence has', 'licences have')} a sealed key, and no LICENSING_KEY_SECRET is set here: they work, and their keys cannot be shown. ` +
        '"license reveal" can when the secret of the installation they come from is set.',
    );
  if (packagesMissing > 0)
    output.note(
      `The packages of ${quantity(packagesMissing, 'release')} are not in ${config.packagesDir}: they cannot be downloaded until they are. ` +
        'The same import with --packages DIR brings them.',
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

async function runCsv(session: Session, file: string, options: ImportOptions): Promise<void> {
  const { db, config, now, actor, output } = session;
  const {
    map,
    ignore = [],
    delimiter,
    separator,
    product,
    plan,
    skipBadRows = false,
    dryRun = false,
  } = options;
  if (map === undefined)
    throw new OperatorError(
      'Which column is what? Say it with --map, as --map "key=License Key,plan=Plan,status=Status,expiry=Expires,customer=E-mail".',
    );
  const report = await withInput(file, (bytes, readsAgain) =>
    importCsv(db, bytes, {
      readsAgain,
      map,
      ignore,
      delimiter,
      separator,
      product,
      plan,
      skipBadRows,
      dryRun,
      secret: config.keySecret,
      actor,
      now,
      onProgress: (rows) => output.progress(quantity(rows, 'row')),
    }),
  );
  const { bad, badRows, overLimit, overLimitRows, notSentWhole, notSentWholeLines, twins, twinRows } = report;
  if (!dryRun) await countAfterImport(db, now);
  output.print(csvJson(report, dryRun), () => formatCsv(report, dryRun));
  if (overLimit > 0)
    output.note(
      `Rows with more activations than slots, which all were kept:\n${describeRemarks(overLimitRows, overLimit)}`,
    );
  if (notSentWhole > 0)
    output.note(
      `${quantity(notSentWhole, 'key')} cannot be used in Joomla's Download Key field (line ${notSentWholeLines.join(', ')}${
        notSentWhole > notSentWholeLines.length ? ' and more' : ''
      }). ${NOT_SENT_WHOLE} ${REKEY}`,
    );
  if (twins > 0)
    output.note(
      `Keys that differ from another in case or hyphens alone. Each works only as it is written:\n${describeRemarks(twinRows, twins)}`,
    );
  if (bad > 0 && skipBadRows) output.note(`Rows that do not fit:\n${describeRemarks(badRows, bad)}`);
  else if (bad > 0)
    throw new OperatorError(
      `An import of this file would be refused. Rows that do not fit:\n${describeRemarks(badRows, bad)}`,
    );
}

function csvJson(report: CsvImportReport, dryRun: boolean) {
  return {
    dry_run: dryRun,
    rows: report.rows,
    new: report.new,
    same: report.same,
    bad: report.bad,
    over_limit: report.overLimit,
    not_sent_whole: report.notSentWhole,
    twins: report.twins,
    unmapped_columns: report.unmappedColumns,
    bad_rows: report.badRows,
    over_limit_rows: report.overLimitRows,
    twin_rows: report.twinRows,
    not_sent_whole_lines: report.notSentWholeLines,
  };
}

function formatCsv(
  { rows, new: added, same, bad, unmappedColumns }: CsvImportReport,
  dryRun: boolean,
): string {
  const counts = `${quantity(rows, 'row')}: ${added} ${dryRun ? 'would be new' : 'imported'}, ${same} here already, ${bad} that ${bad === 1 ? 'does' : 'do'} not fit.`;
  return [
    counts,
    ...(unmappedColumns.length > 0 ? [`Columns that were left out: ${unmappedColumns.join(', ')}.`] : []),
    ...(dryRun ? ['Nothing was changed: this was a dry run.'] : []),
  ].join('\n');
}

type Bytes = AsyncIterable<Buffer>;

/** Opens the file first, so that a wrong name does not count as a failed import, and closes it however `read` ends. */
/** Only a regular file can be read again, when somebody else works on the same rows. */
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

function readMap(text: string, before?: Map<CsvTarget, string>): Map<CsvTarget, string> {
  return usage(() => readCsvMap(text, before));
}

/** A separator that occurs inside an activation would split it, and an import cannot be undone. */
function readSeparator(text: string): string {
  if (/^[\p{L}\p{N}.-]*$/u.test(text))
    throw new InvalidArgumentError(
      'It must be what stands between two activations and within none, as a comma.',
    );
  return text;
}

function readDelimiter(text: string): string {
  const character = { tab: '\t', '\\t': '\t', comma: ',', semicolon: ';' }[text] ?? text;
  if (character.length !== 1 || /["\r\n]/.test(character))
    throw new InvalidArgumentError('It must be one character, or the word tab.');
  return character;
}
