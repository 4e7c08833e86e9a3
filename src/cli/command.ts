import type { Command } from 'commander';
import { loginName, readConfig, type Config } from '../settings/config';
import { readEffective } from '../settings/stored';
import { withCurrentDatabase, type Db } from '../setup/database';
import { printableText } from './printable';
import { jsonLine, writeStandardOutput } from './standard-output';

export interface Session {
  command: Command;
  db: Db;
  config: Config;
  now: Date;
  /** the login name of the user who runs the command */
  name: string;
  /** the author of each change in the history */
  actor: string;
  output: Output;
}

export interface Output {
  /** Prints the result: one JSON value with --json, otherwise the text. */
  print(json: unknown, text: string | (() => string)): void;
  /** Prints a list. `more` explains how to see the next page; with --json it is written to stderr. */
  printList(json: unknown, text: () => string, more: string[]): void;
  /** Prints a remark for people to stderr, so that stdout contains only the result. */
  note(text: string): void;
  /** Overwrites one line on stderr until the next output, if stderr is a terminal. */
  progress(text: string): void;
  endProgress(): void;
}

/** Runs a command's work on the configured database, then closes the database. */
export async function withSession(
  command: Command,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  const environment = readConfig();
  const output = createOutput(command);
  for (const warning of environment.warnings) output.note(warning);
  const name = loginName();
  const about = { command, name, actor: `operator:${name}`, output };
  await withCurrentDatabase(environment, async (db) => {
    const config = await readEffective(db, environment);
    for (const warning of config.warnings) if (!environment.warnings.includes(warning)) output.note(warning);
    return work({ ...about, config, db, now: new Date() });
  }).finally(() => output.endProgress());
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
