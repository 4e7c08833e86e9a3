import { escapeUnseen } from './printable';

/** The only writer to standard output, which holds nothing but a command's result. */

let written = false;

/** @returns false when the reader is slow: wait for 'drain' */
export function writeStandardOutput(text: string): boolean {
  written = true;
  return process.stdout.write(text);
}

/** Whether part of a result has been written. A second JSON value would make the output unreadable. */
export function hasStandardOutput(): boolean {
  return written;
}

/** A value as one line of JSON. */
export function jsonLine(value: unknown): string {
  return `${escapeUnseen(JSON.stringify(value))}\n`;
}
