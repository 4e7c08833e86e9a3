import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { InvalidArgumentError, type Command, type CommanderError } from 'commander';
import { requireEmail } from '../licensing/customer-email';
import { requireDuration } from '../licensing/durations';
import { explainReadFault } from '../packages/file-faults';
import { containsKey } from '../licensing/keys';
import { OperatorError } from '../licensing/operator-error';
import { parseMoment } from '../licensing/timestamps';
import { MAX_IDENTIFIER_LENGTH, MAX_LABEL_LENGTH, MAX_UINT32 } from '../store/columns';

/** Readers of options and arguments. A refusal is a usage error (exit 2) that names the option. */

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

/** For the size of one run; more needs further runs. */
export function upTo(most: number): (text: string) => number {
  return (text) => integerIn(1, most, text);
}

/** The end of a period; a date without a time includes that whole day. */
export function endDate(text: string): Date {
  return usage(() => parseMoment(text, 'last', 'refused'));
}

/** The start of a period; a date without a time means its first second. */
export function startDate(text: string): Date {
  return usage(() => parseMoment(text, 'first', 'refused'));
}

export function duration(text: string): string {
  return usage(() => requireDuration(text));
}

/** "lifetime" stays a word here: commander turns a null from a reader into an empty text. */
export function durationOrLifetime(text: string): string {
  return text === LIFETIME ? text : duration(text);
}

/** As a plan stores it; null: lifetime. */
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

/** Refuses an empty text (such as an unset shell variable): resolve() would make it the current folder. */
export function fileName(text: string): string {
  return named(text, 'file');
}

/** Refuses an empty text, like fileName(). */
export function folderName(text: string): string {
  return named(text, 'folder');
}

/** Node's root certificates and the authorities in a PEM file. */
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

/** A one-line name that fits its column. Licence keys are refused because labels are stored and shown unredacted. */
export function label(text: string): string {
  const line = lineUpTo(MAX_LABEL_LENGTH, text);
  if (containsKey(line)) throw new InvalidArgumentError('It must not hold a licence key.');
  return line;
}

/** A customer's address without the display name. */
export function emailAddress(text: string): string {
  return label(usage(() => requireEmail(text)));
}

/** Names a site, device, seat or instance. The plan's type decides later whether it is valid. */
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

/** Joomla's name of an extension, used in update XML and in file names on the site. */
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

/** For commands that do nothing without at least one of their optional options. */
export function requireChange(command: Command, ...values: unknown[]): void {
  if (values.every((value) => value === undefined))
    usageError(command, 'Nothing to change; give at least one option.');
}

/**
 * Reports combinations of options that the reader of a single option cannot check.
 *
 * @param field the option that is refused, if it is only one
 */
export function usageError(command: Command, text: string, field?: string): never {
  try {
    return command.error(`error: ${text}`, { exitCode: 2, code: 'licensing.usage' });
  } catch (error) {
    throw Object.assign(error as CommanderError, { field });
  }
}
