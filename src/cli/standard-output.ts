import { escapeUnseen } from './printable';

/** The one way to standard output, which holds a command's result and nothing else. */

let written = false;

/** @returns false when the reader is slow, and 'drain' is to be waited for */
export function writeStandardOutput(text: string): boolean {
  written = true;
  return process.stdout.write(text);
}

/** Whether a result, or a part of one, is written already: another JSON value after it could not be read. */
export function hasStandardOutput(): boolean {
  return written;
}

/** A value as one line of JSON. */
export function jsonLine(value: unknown): string {
  return `${escapeUnseen(JSON.stringify(value))}\n`;
}
