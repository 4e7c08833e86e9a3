import { OperatorError, type RefusalFacts } from '../licensing/operator-error';
import {
  upgradeOldRecord,
  FORMAT,
  FORMAT_VERSION,
  RECORD_TYPES,
  RECORDS,
  recordFault,
  type RecordOf,
  type RecordType,
} from './records';

export interface Numbered<T extends RecordType> {
  line: number;
  value: RecordOf<T>;
}

export interface Batch<T extends RecordType> {
  type: T;
  records: Numbered<T>[];
}
export type AnyBatch = { [T in RecordType]: Batch<T> }[RecordType];

/** The maximum size of a batch: a statement stays well below the server's limit of 16 MB, which is often lowered to 4 MB. */
const MAX_BATCH = 200;
const MAX_BATCH_BYTES = 1_000_000;
/** The maximum length of a line. An event with two escaped objects of 16 MB fits; a file without line ends does not. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** The fields that group records without a key. Equal records are counted, so a group must stay in one batch. */
const GROUPS: Partial<Record<RecordType, string[]>> = { event: ['license_id', 'at'], access: ['at'] };

/** Yields a complete export in batches. @throws OperatorError with the line and the fault, but no value of the file */
export async function* readRecords(source: AsyncIterable<Buffer>): AsyncGenerator<AnyBatch> {
  const counts = Object.fromEntries(RECORD_TYPES.map((type) => [type, 0])) as Record<RecordType, number>;
  let version = FORMAT_VERSION;
  let state: 'header' | 'records' | 'footer' = 'header';
  let batch: { type: RecordType; records: Numbered<RecordType>[]; bytes: number } | undefined;
  let last = 0;
  for await (const { line, text } of readLines(source)) {
    last = line;
    const value = parseLine(line, text, state);
    if (state === 'footer') throw atLine(line, 'there is more text after the footer');
    if (state === 'header') {
      version = checkHeader(line, value);
      state = 'records';
      continue;
    }
    if (value.type === 'footer') {
      checkFooter(line, value, counts);
      state = 'footer';
      continue;
    }
    const type = readType(line, value, batch?.type);
    if (version < FORMAT_VERSION) upgradeOldRecord(type, value);
    const fault = recordFault(type, value);
    if (fault !== undefined) throw atLine(line, fault);
    const record = { line, value: value as unknown as RecordOf<RecordType> };
    const before = batch?.type === type ? batch.records.at(-1) : undefined;
    if (before) checkOrder(type, before, record);
    const full = batch && (batch.records.length >= MAX_BATCH || batch.bytes >= MAX_BATCH_BYTES);
    if (batch && (batch.type !== type || (full && !(before && sameGroup(type, before, record))))) {
      yield batch as unknown as AnyBatch;
      batch = undefined;
    }
    batch ??= { type, records: [], bytes: 0 };
    batch.records.push(record);
    batch.bytes += Buffer.byteLength(text);
    counts[type]++;
  }
  if (state === 'header') throw new OperatorError('The file is empty. Nothing was imported.');
  if (state === 'records')
    throw atLine(
      last,
      'the file ends here without its footer: it is not the whole file. Copy or export it again',
    );
  if (batch) yield batch as unknown as AnyBatch;
}

export function atLine(line: number, fault: string, facts?: RefusalFacts): OperatorError {
  return new OperatorError(`Line ${line}: ${fault}. Nothing was imported.`, { facts });
}

function parseLine(line: number, text: string, state: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message would repeat part of the text.
    value = undefined;
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw state === 'header'
    ? atLine(line, 'this is not a file that an export wrote', { reason: 'not-an-export' })
    : atLine(line, 'this is not one whole JSON object: the file is damaged or cut off here');
}

/** Checks the header. @returns the file's format version */
function checkHeader(line: number, { type, format, version }: Record<string, unknown>): number {
  if (type !== 'header' || format !== FORMAT)
    throw atLine(line, 'this is not the header of a file that an export wrote');
  if (typeof version !== 'number') throw atLine(line, '"version" must be a number');
  const said = `the file has format version ${version}, and this program reads ${OLDEST_VERSION} and ${FORMAT_VERSION}`;
  if (version > FORMAT_VERSION)
    throw atLine(line, `${said}. Install the version that wrote the file, or a later one`);
  if (version < OLDEST_VERSION)
    throw atLine(line, `${said}. Export again with a version that writes that format`);
  return version;
}

/** The oldest readable version; `upgradeOldRecord` adds the fields that it lacks. */
const OLDEST_VERSION = FORMAT_VERSION - 1;

/** The types that the footer of an earlier version's file does not count. */
const OPTIONAL: RecordType[] = ['setting', 'sbom'];

function checkFooter(
  line: number,
  { records }: Record<string, unknown>,
  counts: Record<RecordType, number>,
): void {
  const said = (typeof records === 'object' && records !== null ? records : {}) as Record<string, unknown>;
  for (const type of RECORD_TYPES)
    if ((said[type] ?? (OPTIONAL.includes(type) ? 0 : undefined)) !== counts[type])
      throw atLine(
        line,
        `the footer does not agree with the file, which has ${counts[type]} ${type} records: lines are missing or were added`,
      );
}

function readType(
  line: number,
  { type }: Record<string, unknown>,
  before: RecordType | undefined,
): RecordType {
  const at = (RECORD_TYPES as unknown[]).indexOf(type);
  if (at === -1) throw atLine(line, `"type" must be one of ${RECORD_TYPES.join(', ')}, footer`);
  if (before !== undefined && at < RECORD_TYPES.indexOf(before))
    throw atLine(line, `records of the type ${String(type)} come before those of the type ${before}`);
  return type as RecordType;
}

/** Checks the export's order, which puts duplicates next to each other. */
function checkOrder(type: RecordType, before: Numbered<RecordType>, record: Numbered<RecordType>): void {
  const { order } = RECORDS[type];
  for (const name of order) {
    const [a, b] = [field(before, name), field(record, name)];
    // Do not compare identifiers, because databases sort text differently. Duplicates are detected later.
    if (name === 'identifier' || a < b) return;
    if (a > b) break;
  }
  throw atLine(
    record.line,
    `records of the type ${type} must be sorted by ${order.join(', ')}, without duplicates`,
  );
}

function sameGroup(type: RecordType, a: Numbered<RecordType>, b: Numbered<RecordType>): boolean {
  return GROUPS[type]?.every((name) => field(a, name) === field(b, name)) ?? false;
}

function field(record: Numbered<RecordType>, name: string): string | number {
  return (record.value as unknown as Record<string, string | number>)[name] as string | number;
}

async function* readLines(source: AsyncIterable<Buffer>): AsyncGenerator<{ line: number; text: string }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest: Buffer[] = [];
  let restBytes = 0;
  let number = 0;
  const decode = (bytes: Buffer[]) => {
    number++;
    try {
      // The decoder removes a byte order mark.
      return decoder.decode(bytes.length === 1 ? bytes[0] : Buffer.concat(bytes));
    } catch {
      throw atLine(number, 'this is not UTF-8');
    }
  };
  for await (const chunk of source) {
    let from = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
      const text = decode([...rest, chunk.subarray(from, end)]);
      [rest, restBytes, from] = [[], 0, end + 1];
      if (text.trim() !== '') yield { line: number, text };
    }
    if (from < chunk.length) {
      rest.push(chunk.subarray(from));
      restBytes += chunk.length - from;
    }
    if (restBytes > MAX_LINE_BYTES)
      throw atLine(number + 1, `the line is longer than ${MAX_LINE_BYTES / 1024 / 1024} MB`);
  }
  if (rest.length > 0) {
    const text = decode(rest);
    if (text.trim() !== '') yield { line: number, text };
  }
}
