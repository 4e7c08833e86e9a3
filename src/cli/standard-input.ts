import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../licensing/operator-error';

/** The help of options that accept a key. */
export const FROM_STANDARD_INPUT = '- reads it from standard input (< key.txt), or asks for it';

/** Returns a value, or reads it for `-`, which keeps keys out of the process list. @throws OperatorError without it */
export async function readValue(given: string, name: string): Promise<string> {
  return given === '-' ? ((await ask(`${name}: `)) ?? text(process.stdin)) : given;
}

/** Asks a question; undefined without a terminal, which an option replaces. @throws OperatorError without an answer */
export async function askYesOrNo(question: string): Promise<boolean | undefined> {
  const answer = await ask(question);
  return answer === undefined ? undefined : /^y(es)?$/i.test(answer.trim());
}

/** Asks for a line. @returns undefined without a terminal */
async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Detect the closed terminal: after Ctrl-C or Ctrl-D the question rejects, or in some Node releases never settles.
  const ended = once(terminal, 'close').then(() => undefined);
  const answer = await Promise.race([terminal.question(question).catch(() => undefined), ended]);
  terminal.close();
  if (answer !== undefined) return answer;
  process.stderr.write('\n');
  throw new OperatorError('Nothing was done: the question was not answered.');
}
