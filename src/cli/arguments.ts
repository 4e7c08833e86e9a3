import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { InvalidArgumentError, type Command, type CommanderError } from 'commander';
import { requireEmail } from '../licensing/customer-email';
import { requireDuration } from '../licensing/durations';
import { explainReadFault } from '../licensing/file-faults';
import { containsKey } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import { parseMoment } from '../licensing/timestamps';
import { MAX_IDENTIFIER_LENGTH, MAX_LABEL_LENGTH, MAX_UINT32 } from '../store/columns';

/** Readers of options and arguments; what they refuse is a usage error (exit 2) that names the option. */

export function positiveInteger(text: string): number {
  return integerIn(1, MAX_UINT32, text);
}

export function nonNegativeInteger(text: string): number {
  return integerIn(0, MAX_UINT32, text);
}

function integerIn(least: number, most: number, text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most)
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  return value;
}

/** A number of things that one run does; for more, the command is run again. */
export function upTo(most: number): (text: string) => number {
  return (text) => integerIn(1, most, text);
}

/** When something ends: a date without a time is the whole of that day. */
export function endDate(text: string): Date {
  return usage(() => parseMoment(text, 'last', 'refused'));
}

/** When something begins: a date without a time is the first second of that day. */
export function startDate(text: string): Date {
  return usage(() => parseMoment(text, 'first', 'refused'));
}

export function duration(text: string): string {
  return usage(() => requireDuration(text));
}

/** The word stays what it is here: commander makes an empty text of a reader's null. */
export function durationOrLifetime(text: string): string {
  return text === LIFETIME ? text : duration(text);
}

/** As a plan stores it; null: lifetime */
export function planDuration(given: string): string | null {
  return given === LIFETIME ? null : given;
}

const LIFETIME = 'lifetime';

export function oneOf<T extends string>(values: readonly T[]): (text: string) => T {
  return (text) => {
    if (!(values as readonly string[]).includes(text))
      throw new InvalidArgumentError(`It must be one of ${values.join(', ')}.`);
    return text as T;
  };
}

/** An empty text, as of a variable that is not set, would be read as the folder the operator stands in. */
export function fileName(text: string): string {
  return named(text, 'file');
}

/** As with a file's. */
export function folderName(text: string): string {
  return named(text, 'folder');
}

/** The authorities that Node knows, and those of a PEM file. */
export function authorities(file: string): string[] {
  let pem: string;
  try {
    pem = readFileSync(fileName(file), 'utf8');
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    throw new InvalidArgumentError(`It cannot be read: ${explainReadFault(error)}.`);
  }
  try {
    new X509Certificate(pem);
  } catch {
    throw new InvalidArgumentError('It must hold certificates of authorities in PEM form.');
  }
  return [...rootCertificates, pem];
}

function named(text: string, what: string): string {
  if (text === '') throw new InvalidArgumentError(`It must name a ${what}.`);
  return text;
}

/** A name of one line that is not blank, fits its column, and is no licence key: it is stored and shown as it is. */
export function label(text: string): string {
  const line = lineUpTo(MAX_LABEL_LENGTH, text);
  if (containsKey(line)) throw new InvalidArgumentError('It must not hold a licence key.');
  return line;
}

/** A customer's address, without the name before it. */
export function emailAddress(text: string): string {
  return label(usage(() => requireEmail(text)));
}

/** What names a site, device, seat or instance; whether it does is for its plan's type to say. */
export function identifierText(text: string): string {
  return lineUpTo(MAX_IDENTIFIER_LENGTH, text);
}

function lineUpTo(most: number, text: string): string {
  const trimmed = text.trim();
  if (
    trimmed === '' ||
    Array.from(trimmed).length > most ||
    /\p{Cc}/u.test(trimmed) ||
    !trimmed.isWellFormed()
  )
    throw new InvalidArgumentError(`It must be 1 to ${most} characters on one line.`);
  return trimmed;
}

/** Joomla's name of an extension; it goes into update XML and file names of the site. */
export function elementName(text: string): string {
  const trimmed = text.trim();
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(trimmed))
    throw new InvalidArgumentError(
      'It must be a name such as pkg_example: at most 100 letters, digits and . _ -',
    );
  return trimmed;
}

function usage<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof OperatorError ? new InvalidArgumentError(error.message) : error;
  }
}

/** For commands whose options are all optional and which are pointless without one. */
export function requireChange(command: Command, ...values: unknown[]): void {
  if (values.every((value) => value === undefined))
    usageError(command, 'Nothing to change; give at least one option.');
}

/**
 * Options that do not go together, or are all missing: what no reader of a single one can see.
 *
 * @param field the option that is refused, if it is a single one
 */
export function usageError(command: Command, text: string, field?: string): never {
  try {
    return command.error(`error: ${text}`, { exitCode: 2, code: 'licensing.usage' });
  } catch (error) {
    throw Object.assign(error as CommanderError, { field });
  }
}
