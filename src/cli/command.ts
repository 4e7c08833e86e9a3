import type { Command } from 'commander';
import { loginName, readConfig, wantsColor, type Config } from '../config';
import { openDatabase, type Db } from '../store/database';
import { requireCurrentSchema } from '../store/migrate';
import { databaseTrouble } from '../store/trouble';
import { printable, printableText } from './printable';
import { jsonLine, writeStandardOutput } from './standard-output';

/** What every command works with. */
export interface Session {
  db: Db;
  config: Config;
  now: Date;
  /** who is named in the history of what is changed */
  actor: string;
  output: Output;
}

export interface Output {
  /** The result: with --json one JSON value, else the text. */
  print(json: unknown, text: string | (() => string)): void;
  /** A remark for people, on stderr, so that stdout holds the result alone. */
  note(text: string): void;
  /**
   * Overwrites one line on stderr while long work is under way, until something else is said; nothing unless it is a
   * terminal.
   */
  progress(text: string): void;
  /** Removes that line. */
  endProgress(): void;
}

/** Runs a command's work on the configured database, and closes that again. */
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

/** Longer than reading the largest table takes; a database that says nothing at all is not waited for without end. */
export const STATEMENT_TIMEOUT_MS = 300_000;

/**
 * Opens the configured database for some work, and closes it again.
 *
 * @param statementTimeout see ConnectionRules
 * @throws DatabaseTrouble when the database cannot be used
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
    throw databaseTrouble(error, config.database, config.databaseSource) ?? error;
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
  return {
    print(value, text) {
      endProgress();
      writeStandardOutput(
        json ? jsonLine(value) : `${printableText(typeof text === 'string' ? text : text())}\n`,
      );
    },
    note(text) {
      endProgress();
      process.stderr.write(`${printableText(text)}\n`);
    },
    progress(text) {
      inProgress = process.stderr.isTTY;
      if (inProgress) show(text);
    },
    endProgress,
  };
}

/** An aligned table with its columns' names above. */
export function formatTable(headings: string[], rows: (string | number | null)[][]): string {
  const cells = rows.map((row) => row.map((cell) => (cell === null ? '-' : printable(String(cell)))));
  const widths = headings.map((heading, i) =>
    cells.reduce((widest, row) => Math.max(widest, width(row[i] ?? '')), width(heading)),
  );
  const line = (row: string[]) =>
    row
      .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - width(cell)))
      .join('  ')
      .trimEnd();
  return [heading(line(headings)), ...cells.map(line)].join('\n');
}

/** Two aligned columns, a field's name and its value. */
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
