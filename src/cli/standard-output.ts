import { escapeUnseen } from './printable';

/** The only writer to standard output, which holds nothing but a command's result. */

/** By the stream, because several commands may run in one process, as tests do. */
const written = new WeakSet<NodeJS.WriteStream>();

/** @returns false when the reader is slow: wait for 'drain' */
export function writeStandardOutput(text: string): boolean {
  written.add(process.stdout);
  return process.stdout.write(text);
}

/** Whether part of a result has been written. A second JSON value would make the output unreadable. */
export function hasStandardOutput(): boolean {
  return written.has(process.stdout);
}

/** A value as one line of JSON. */
export function jsonLine(value: unknown): string {
  return `${escapeUnseen(JSON.stringify(value))}\n`;
}
