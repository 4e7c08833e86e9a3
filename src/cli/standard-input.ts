import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { OperatorError } from '../licensing/operator-error';

/** What a command reads from its standard input, or asks whoever sits at the terminal. */

/** Of an option that takes a key. */
export const FROM_STANDARD_INPUT = '- reads it from standard input (< key.txt), or asks for it';

/**
 * What was given, or for `-` what standard input holds, so that it stays out of the process list.
 *
 * @param name what a person at the terminal is asked for, as "Licence key"
 * @throws OperatorError when they end the question unanswered
 */
export async function readValue(given: string, name: string): Promise<string> {
  return given === '-' ? ((await ask(`${name}: `)) ?? text(process.stdin)) : given;
}

/**
 * Asks a yes-or-no question on the terminal.
 *
 * @returns undefined when there is nobody to ask: the command then needs an option that answers it
 * @throws OperatorError when they end the question unanswered
 */
export async function askYesOrNo(question: string): Promise<boolean | undefined> {
  const answer = await ask(question);
  return answer === undefined ? undefined : /^y(es)?$/i.test(answer.trim());
}

/** @returns undefined when there is nobody to ask */
async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // By Ctrl-C or Ctrl-D the question fails, or in some releases of Node is never answered.
  const ended = once(terminal, 'close').then(() => undefined);
  const answer = await Promise.race([terminal.question(question).catch(() => undefined), ended]);
  terminal.close();
  if (answer !== undefined) return answer;
  process.stderr.write('\n');
  throw new OperatorError('Nothing was done: the question was not answered.');
}
