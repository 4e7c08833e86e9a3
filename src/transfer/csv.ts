import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { CellDecoder, NotTextError } from './cell-decoder';
import { createPause } from './pause';
import { importError, type ImportErrorCode } from './refusals';

/** The table in a request: the file itself, or the second table of a move. */
export type CsvPart = 'file' | 'users';

export interface CsvRow {
  line: number;
  cells: string[];
}

/** The maximum number of characters in a row. A longer row means a wrong delimiter or an unclosed quotation mark. */
const MAX_ROW = 1_000_000;
const MAX_CELLS = 1_000;
const MAX_LINES = 2_000_000;
/** The number of bytes that the parser reads at a time: 16 KB of empty cells take 8 ms. */
const SLICE = 16 * 1024;
const DELIMITERS = [',', ';', '\t'] as const;
/** The number of characters in which the first line must end. */
const MAX_HEADING = 64 * 1024;

/** A first line such as `sep=;`, which is for Excel and precedes the heading. It may be quoted as a cell. */
const SEPARATOR_LINE = /^\s*("?)sep=([^\w\s"]|\t)\1[ ,;\t]*(?:\n|$)/i;

/**
 * Reads comma-separated values (RFC 4180), heading included: UTF-8, UTF-16 with a byte order mark, or Windows-1252,
 * with any line ends. Detects the delimiter: that of a first line `sep=;`, otherwise the most frequent of comma,
 * semicolon and tab in the heading. Skips blank lines, and reads Excel's `="TEXT"` as its text.
 * @param part the table in the request, which a refusal names
 * @throws OperatorError with the line of a fault, but never with a cell's text
 */
export async function* readCsv(
  source: AsyncIterable<Buffer>,
  part: CsvPart = 'file',
): AsyncGenerator<CsvRow> {
  const text = decode(source, part);
  let head = '';
  while (!head.trimStart().includes('\n') && head.length < MAX_HEADING) {
    const { done, value } = await text.next();
    if (done) break;
    head += value;
  }
  const separator = SEPARATOR_LINE.exec(head);
  if (separator !== null) head = head.slice(separator[0].length);
  const skipped = (separator?.[0].split('\n').length ?? 1) - 1;
  const by = separator?.[2] ?? detectDelimiter(head);
  let lastLine = skipped;
  const parser = parse({
    delimiter: by,
    record_delimiter: '\n',
    relax_column_count: true,
    skip_empty_lines: true,
    info: true,
    on_record: (record: string[], { lines }) => {
      lastLine = lines + skipped;
      return record;
    },
  });
  // If one of both streams fails, the other one closes. The error is thrown where the rows are read.
  pipeline(
    Readable.from(unwrapped(concat(head, text), by, { skipped, part }), { highWaterMark: 1 }),
    parser,
    () => undefined,
  );
  const pause = createPause();
  try {
    for await (const { record, info } of parser as AsyncIterable<{
      record: string[];
      info: { lines: number };
    }>) {
      await pause();
      const inside = record.reduce((count, cell) => count + linesInside(cell), 0);
      const line = info.lines + skipped - inside;
      if (record.length > MAX_CELLS)
        throw importError('many-cells', [String(line), String(MAX_CELLS)], { field: part });
      yield { line, cells: record.map(textOfCell) };
    }
  } catch (error) {
    throw error instanceof CsvError ? asRefusal(error, lastLine, skipped, part) : error;
  }
}

/** Returns the text of a whole table with `\n` line ends; undefined if it is not text. */
export function textOfCsv(bytes: Buffer): string | undefined {
  const decoder = new CellDecoder();
  try {
    return (decoder.decode(bytes) + decoder.end()).replace(/\r\n?/g, '\n');
  } catch (error) {
    if (error instanceof NotTextError) return undefined;
    throw error;
  }
}

function linesInside(cell: string): number {
  return cell.includes('\n') ? cell.split('\n').length - 1 : 0;
}

/** Unwraps a cell that Excel must not read as a number: `="0123"`, in quotation marks like other cells. */
function textOfCell(cell: string): string {
  // Test for this first, because even a table with many columns has few such cells.
  if (!cell.includes('="')) return cell;
  const wrapped = /^\s*="([^]*)"\s*$/.exec(cell)?.[1];
  return wrapped === undefined ? cell : wrapped.replaceAll('""', '"');
}

/**
 * Removes the equals sign of cells written as `="0123"` without further quotation marks, which the parser would refuse.
 * @throws OperatorError for a row or a file that would occupy the parser for too long
 */
async function* unwrapped(
  text: AsyncIterable<string>,
  delimiter: string,
  { skipped, part }: { skipped: number; part: CsvPart },
): AsyncGenerator<string, void> {
  let lines = skipped;
  // The line of the current row, and the number of its characters in earlier chunks.
  let [line, length] = [skipped + 1, 0];
  let isQuoted = false;
  let before = '\n';
  let held = '';
  for await (const chunk of text) {
    const whole = held + chunk;
    // The next chunk may begin with its quotation mark.
    held = whole.endsWith('=') ? '=' : '';
    const end = whole.length - held.length;
    let out = '';
    let from = 0;
    let start = -length;
    for (const { 0: found, index } of whole.slice(0, end).matchAll(/=?"|\n/g)) {
      if (found === '\n') {
        lines++;
        if (!isQuoted) [line, start] = [lines + 1, index + 1];
        continue;
      }
      const previous = index === 0 ? before : whole[index - 1];
      if (found === '="' && !isQuoted && (previous === delimiter || previous === '\n')) {
        out += whole.slice(from, index);
        from = index + 1;
      }
      isQuoted = !isQuoted;
    }
    out += whole.slice(from, end);
    length = end - start;
    if (length > MAX_ROW) throw importError('long-row', [String(line)], { field: part });
    if (lines > MAX_LINES) throw importError('many-lines', [String(MAX_LINES)], { field: part });
    if (end > 0) before = whole[end - 1] as string;
    if (out !== '') yield out;
  }
  if (held !== '') yield held;
}

async function* concat(head: string, rest: AsyncGenerator<string, void>): AsyncGenerator<string> {
  if (head !== '') yield head;
  yield* rest;
}

/** Decodes a file and normalises its line ends, so that line numbers match an editor's. */
async function* decode(source: AsyncIterable<Buffer>, part: CsvPart): AsyncGenerator<string, void> {
  const decoder = new CellDecoder();
  let line = 1;
  let heldBack = '';
  const pause = createPause();
  const normalize = (text: string, last: boolean) => {
    const whole = heldBack + text;
    // The LF of a CRLF may be in the next chunk.
    heldBack = !last && whole.endsWith('\r') ? '\r' : '';
    const lines = whole.slice(0, whole.length - heldBack.length).replace(/\r\n?/g, '\n');
    line += lines.split('\n').length - 1;
    return lines;
  };
  try {
    for await (const chunk of source)
      for (let at = 0; at < chunk.length; at += SLICE) {
        await pause();
        const text = normalize(decoder.decode(chunk.subarray(at, at + SLICE)), false);
        if (text !== '') yield text;
      }
    const text = normalize(decoder.end(), true);
    if (text !== '') yield text;
  } catch (error) {
    if (!(error instanceof NotTextError)) throw error;
    throw importError('not-text', [String(line)], { field: part });
  }
}

function detectDelimiter(head: string): string {
  const heading = (head.trimStart().split('\n')[0] ?? '').replace(/"[^"]*"/g, '');
  const count = (delimiter: string) => heading.split(delimiter).length;
  return DELIMITERS.reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** Replaces the parser's message, which repeats the file's text. `lastLine` is the end of the last complete row. */
function asRefusal(error: CsvError, lastLine: number, skipped: number, part: CsvPart): Error {
  // The parser notices an unclosed quotation mark only at the file's end, so report the line after the last complete row.
  const foundLate = error.code === 'CSV_QUOTE_NOT_CLOSED';
  const line = foundLate ? lastLine + 1 : ((error as { lines?: number }).lines ?? 1) + skipped;
  return importError(FAULTS[error.code] ?? 'no-row', [String(line)], { field: part });
}

const FAULTS: Record<string, ImportErrorCode | undefined> = {
  CSV_QUOTE_NOT_CLOSED: 'open-quote',
  CSV_INVALID_CLOSING_QUOTE: 'text-after-quote',
  INVALID_OPENING_QUOTE: 'quote-inside',
};
