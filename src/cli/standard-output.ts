import { escapeInvisible } from './printable';

/** Writes standard output, which contains only a command's result. No other file writes to it. */

/** The streams with output. They are kept by stream, because tests run several commands in one process. */
const written = new WeakSet<NodeJS.WriteStream>();

/** Writes a text. @returns false if the reader is slow: wait for 'drain' */
export function writeStandardOutput(text: string): boolean {
  written.add(process.stdout);
  return process.stdout.write(text);
}

/** Reports whether a part of the result was written. A second JSON value would make the output unreadable. */
export function hasStandardOutput(): boolean {
  return written.has(process.stdout);
}

/** Formats a value as one line of JSON. */
export function jsonLine(value: unknown): string {
  return `${escapeInvisible(JSON.stringify(value))}\n`;
}
