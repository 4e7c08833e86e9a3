import type { Command } from 'commander';
import { loginName, readConfig, wantsColor, type Config } from '../config';
import { openDatabase, type Db } from '../store/database';
import { requireCurrentSchema } from '../store/migrate';
import { toDatabaseUnusable } from '../store/error-messages';
import { printable, printableText } from './printable';
import { jsonLine, writeStandardOutput } from './standard-output';

export interface Session {
  db: Db;
  config: Config;
  now: Date;
  /** recorded in the history as the author of each change */
  actor: string;
  output: Output;
}

export interface Output {
  /** The result: one JSON value with --json, otherwise the text. */
  print(json: unknown, text: string | (() => string)): void;
  /**
   * The same for one page of a list; `more` (how to see the next page) follows the table, or goes to stderr with
   * --json.
   */
  printList(json: unknown, text: () => string, more: string[]): void;
  /** A remark for people. It goes to stderr, so that stdout holds only the result. */
  note(text: string): void;
  /**
   * Overwrites one line on stderr during long work, until the next output. Does nothing unless stderr is a terminal.
   */
  progress(text: string): void;
  endProgress(): void;
}

/** Runs a command's work on the configured database, then closes the database. */
export async function withSession(
  command: Command,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const config = readConfig();
  const output = createOutput(command);
  for (const warning of config.warnings) output.note(warning);
  const session = async (db: Db) => {
    await requireCurrentSchema(db);
    await work({ db, config, now: new Date(), actor: `operator:${loginName()}`, output });
  };
  await withDatabase(config, session, STATEMENT_TIMEOUT_MS).finally(() => output.endProgress());
}

/** Longer than reading the largest table takes, so that an unresponsive database ends the command eventually. */
export const STATEMENT_TIMEOUT_MS = 300_000;

/**
 * Opens the configured database for some work, then closes it.
 *
 * @param statementTimeout see ConnectionRules
 * @throws DatabaseUnusable when the database cannot be used
 */
export async function withDatabase<T>(
  config: Config,
  work: (db: Db) => Promise<T>,
  statementTimeout?: number,
): Promise<T> {
  const db = openDatabase(config.database, config.tablePrefix, 2, { statementTimeout });
  try {
    return await work(db);
  } catch (error) {
    throw toDatabaseUnusable(error, config.database, config.databaseSource) ?? error;
  } finally {
    await db.destroy();
  }
}

export function createOutput(command: Command): Output {
  const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
  let inProgress = false;
  const show = (text: string) => process.stderr.write(`\r\u001b[K${text}`);
  const endProgress = () => {
    if (inProgress) show('');
    inProgress = false;
  };
  const print: Output['print'] = (value, text) => {
    endProgress();
    writeStandardOutput(
      json ? jsonLine(value) : `${printableText(typeof text === 'string' ? text : text())}\n`,
    );
  };
  const note: Output['note'] = (text) => {
    endProgress();
    process.stderr.write(`${printableText(text)}\n`);
  };
  return {
    print,
    note,
    printList(value, text, more) {
      print(value, () => [text(), ...more].join('\n'));
      if (json) more.forEach(note);
    },
    progress(text) {
      inProgress = process.stderr.isTTY;
      if (inProgress) show(text);
    },
    endProgress,
  };
}

/**
 * An aligned table with headings, no wider than the terminal. Wide cells wrap.
 *
 * @param nothing replaces a table without rows, such as "No licences."
 */
export function formatTable(
  headings: string[],
  rows: (string | number | null)[][],
  nothing?: string,
): string {
  if (rows.length === 0 && nothing !== undefined) return nothing;
  const cells = rows.map((row) => row.map((cell) => (cell === null ? '-' : printable(String(cell)))));
  const widths = fitWidths(
    headings.map((heading, i) =>
      cells.reduce((widest, row) => Math.max(widest, width(row[i] ?? '')), width(heading)),
    ),
    headings.map(width),
  );
  const line = (row: string[]) => {
    const columns = row.map((cell, i) => wrap(cell, widths[i] ?? 0));
    const height = Math.max(...columns.map(({ length }) => length));
    return Array.from({ length: height }, (_, n) =>
      columns
        .map((lines, i) => (lines[n] ?? '') + ' '.repeat((widths[i] ?? 0) - width(lines[n] ?? '')))
        .join(GAP)
        .trimEnd(),
    ).join('\n');
  };
  return [heading(line(headings)), ...cells.map(line)].join('\n');
}

const GAP = '  ';
/** For files, pipes and cron's mail, which have no terminal width. */
const DEFAULT_WIDTH = 80;
const MIN_WIDTH = 8;

/** Shrinks the widest column, the last one first among equals, until all fit. */
function fitWidths(wanted: number[], least: number[]): number[] {
  const widths = [...wanted];
  const available = (process.stdout.isTTY && process.stdout.columns) || DEFAULT_WIDTH;
  let excess = widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1)) - available;
  for (; excess > 0; excess--) {
    const shrinkable = widths.map((one, i) => (one > Math.max(MIN_WIDTH, least[i] ?? 0) ? one : 0));
    const widest = Math.max(...shrinkable);
    if (widest === 0) break;
    widths[shrinkable.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

/** Breaks at spaces, otherwise after punctuation in a date, address or name, otherwise anywhere. */
function wrap(text: string, most: number): string[] {
  const lines: string[] = [];
  let rest = Array.from(text);
  while (rest.length > most) {
    const head = rest.slice(0, most + 1).join('');
    const [upToSpace] = /^.*\S(?=\s)/su.exec(head) ?? [];
    const [upToSign] = /^.*(?:[@/.,;_-]|(?<=\d)T(?=\d))(?=.)/su.exec(head) ?? [];
    const line = upToSpace ?? upToSign ?? rest.slice(0, most).join('');
    lines.push(line);
    rest = Array.from(rest.slice(width(line)).join('').trimStart());
  }
  return [...lines, rest.join('')];
}

/** Two aligned columns: field names and values. */
export function formatFields(fields: [string, string | number | null][]): string {
  const longest = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(
      ([name, value]) =>
        `${heading(name.padEnd(longest))}  ${value === null ? '-' : printable(String(value))}`,
    )
    .join('\n');
}

function heading(text: string): string {
  return wantsColor(process.stdout) ? `\u001b[1m${text}\u001b[22m` : text;
}

function width(text: string): number {
  return Array.from(text).length;
}
