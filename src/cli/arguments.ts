import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { InvalidArgumentError, type Command, type CommanderError } from 'commander';
import { requireCustomer } from '../licensing/customer-email';
import { requireDuration } from '../licensing/durations';
import {
  requireElement,
  requireHttpsUrl,
  requireIdentifierText,
  requireLabel,
  requireMonth,
  requireWholeNumber,
} from '../licensing/fields';
import { explainReadFault } from '../packages/file-faults';
import { requireMetadataChange, type MetadataChanges } from '../licensing/metadata';
import { OperatorError } from '../licensing/operator-error';
import { parseMoment } from '../licensing/timestamps';

/** Reads options and arguments by the domain's rules. A refusal is a usage error (exit 2) that names the option. */

export function positiveInteger(text: string): number {
  return wholeNumber(text, { least: 1 });
}

export function nonNegativeInteger(text: string): number {
  return wholeNumber(text, {});
}

/** Returns a reader for the size of one run. A larger number needs further runs. */
export function upTo(most: number): (text: string) => number {
  return (text) => wholeNumber(text, { least: 1, most });
}

export function wholeNumber(text: string, range: { least?: number; most?: number | undefined }): number {
  return asUsageError(() => requireWholeNumber(/^\d+$/.test(text) ? Number(text) : NaN, range));
}

/** Reads the end of a period. A date without a time includes the whole day. */
export function endDate(text: string): Date {
  return asUsageError(() => parseMoment(text, 'last', 'refused'));
}

/** Checks the end of a period, and returns the text for an operation, which reads it. */
export function endText(text: string): string {
  endDate(text);
  return text;
}

/** Reads the start of a period. A date without a time means its first second. */
export function startDate(text: string): Date {
  return asUsageError(() => parseMoment(text, 'first', 'refused'));
}

export function duration(text: string): string {
  return asUsageError(() => requireDuration(text));
}

/** The value of an option that means null: commander would turn null into an empty text. */
export const EXPLICIT_NULL: unique symbol = Symbol('nothing');

/** Reads a plan's duration, or `lifetime` for none. */
export function durationOrLifetime(text: string): string | typeof EXPLICIT_NULL {
  return text === 'lifetime' ? EXPLICIT_NULL : duration(text);
}

export function noneOr<T>(read: (text: string) => T): (text: string) => T | typeof EXPLICIT_NULL {
  return (text) => (text === 'none' ? EXPLICIT_NULL : read(text));
}

export function oneOf<T extends string>(values: readonly T[]): (text: string) => T {
  return (text) => {
    if (!(values as readonly string[]).includes(text))
      throw new InvalidArgumentError(`It must be one of ${values.join(', ')}.`);
    return text as T;
  };
}

/** Reads a file name. It refuses an empty one, such as an unset shell variable: to resolve(), it is this folder. */
export function fileName(text: string): string {
  return named(text, 'file');
}

/** Reads a folder name. It refuses an empty one, like fileName(). */
export function folderName(text: string): string {
  return named(text, 'folder');
}

/** Returns Node's root certificates and those of the authorities in a PEM file. */
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
    throw new InvalidArgumentError('It must contain CA certificates in PEM form.');
  }
  return [...rootCertificates, pem];
}

function named(text: string, what: string): string {
  if (text === '') throw new InvalidArgumentError(`It must name a ${what}.`);
  return text;
}

export const label = (text: string): string => asUsageError(() => requireLabel(text));
export const emailAddress = (text: string): string => asUsageError(() => requireCustomer(text));
export const identifierText = (text: string): string => asUsageError(() => requireIdentifierText(text));
export const elementName = (text: string): string => asUsageError(() => requireElement(text));

export const webAddress = (text: string): string => asUsageError(() => requireHttpsUrl(text));

export const month = (text: string): string => asUsageError(() => requireMonth(text));

/** Reads a list such as `42,43`. */
export function productIds(text: string): number[] {
  return text.split(',').map((id) => positiveInteger(id.trim()));
}

/** Runs a reader of the domain, and converts its refusal to a usage error. */
export function asUsageError<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof OperatorError ? new InvalidArgumentError(error.message) : error;
  }
}

/** Adds `name=text` to the earlier changes; `name=` removes a name. */
export function metadataChange(text: string, before: MetadataChanges = {}): MetadataChanges {
  const [, name = '', value] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (value === undefined) throw new InvalidArgumentError('It must be NAME=TEXT, or NAME= to remove it.');
  const [checked, change] = asUsageError(() => requireMetadataChange(name, value));
  return { ...before, [checked]: change };
}

/** Refuses a command that has no effect, because it has none of its optional options. */
export function requireChange(command: Command, ...values: unknown[]): void {
  if (values.every((value) => value === undefined))
    usageError(command, 'Nothing to change; give at least one option.');
}

/** Refuses a wrong combination of options. @param field the refused option, if it is only one */
export function usageError(command: Command, text: string, field?: string): never {
  try {
    return command.error(`error: ${text}`, { exitCode: 2, code: 'licensing.usage' });
  } catch (error) {
    throw Object.assign(error as CommanderError, { field });
  }
}
