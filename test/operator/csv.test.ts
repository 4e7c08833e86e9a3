import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readCsv } from '../../src/transfer/csv';
import { OperatorError } from '../../src/licensing/operator-error';
import { runs } from '../support/extent';

/** The reader of tables from other systems returns exactly the cells of any table. */

interface Written {
  bytes: Buffer;
  /** The lengths of the chunks in which the bytes arrive. */
  chunks: number[];
}

async function read({ bytes, chunks }: Written): Promise<{ line: number; cells: string[] }[]> {
  const found = [];
  for await (const row of readCsv(inChunks(bytes, chunks))) found.push(row);
  return found;
}

async function* inChunks(bytes: Buffer, lengths: number[]): AsyncGenerator<Buffer> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const length = lengths[i % lengths.length] ?? bytes.length;
    await Promise.resolve();
    yield bytes.subarray(at, (at += length));
  }
}

/** The first chunk has at least 4 bytes, because no file arrives with only a part of its byte order mark. */
const chunks = fc
  .array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
  .map(([first, ...rest]) => [first! + 3, ...rest]);
const delimiter = fc.constantFrom(',', ';', '\t', '|');
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const cell = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 12 }) },
  {
    weight: 2,
    arbitrary: fc.string({
      unit: fc.constantFrom('"', ',', ';', '\t', '\n', ' ', 'a', 'é', '😀'),
      maxLength: 8,
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom('', 'Licence', '2027-01-31', '\ufeff', '=1+1') },
);

const table = fc
  .integer({ min: 1, max: 5 })
  .chain((width) => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { maxLength: 8 }));

/** Writes a cell as defined in RFC 4180. A carriage return in a cell is read as a line end. */
const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
const plain = (text: string) => text.replace(/\r\n?/g, '\n');

function encode(text: string, encoding: string): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  if (encoding === 'utf-8 with a mark') return Buffer.from(`\ufeff${text}`);
  return Buffer.from(`\ufeff${text}`, 'utf16le');
}

describe('a table', () => {
  it('returns the text of cells that are written for Excel, wherever the chunks end', async () => {
    const text = '="a",b,=1+1,"x,=""y""","=""z""",="1""2",=\n="d","p\n=""q"",",="r"\n';
    for (const length of [1_000, 1, 2, 3]) {
      const rows = await read({ bytes: Buffer.from(text), chunks: [length] });
      expect(rows.map(({ cells }) => cells)).toEqual([
        ['a', 'b', '=1+1', 'x,="y"', 'z', '1"2', '='],
        ['d', 'p\n="q",', 'r'],
      ]);
    }
  });

  it.each([
    'sep=;\nA;B,C\n1;2',
    '\ufeffSEP=;\r\nA;B,C\r\n1;2',
    '"sep=;"\nA;B,C\n1;2',
    'sep=\t\nA\tB,C\n1\t2',
  ])('may state its delimiter in a first line, which is not its heading: %j', async (text) => {
    const rows = await read({ bytes: Buffer.from(text), chunks: [1_000] });
    expect(rows).toEqual([
      { line: 2, cells: ['A', 'B,C'] },
      { line: 3, cells: ['1', '2'] },
    ]);
  });

  it.each([1_000, 1, 2, 3])('may be Windows-1252, with %i bytes at a time', async (length) => {
    const bytes = Buffer.from('Name;Pr\x80is;x\nM\xfcller;Stra\xdfe \x84a\x93;\xe4', 'latin1');
    const rows = await read({ bytes, chunks: [length] });
    expect(rows.map(({ cells }) => cells)).toEqual([
      ['Name', 'Pr€is', 'x'],
      ['Müller', 'Straße „a“', 'ä'],
    ]);
  });

  it.each([
    ['damaged UTF-8', Buffer.from('a,b\nü,\xfc\n', 'latin1'), Buffer.from('ü')],
    ['a packed file', Buffer.from('PK\x03\x04\x14\0\xb5,\n', 'latin1'), Buffer.alloc(0)],
  ])('is refused when it is %s', async (_kind, bytes, first) => {
    for (const chunks of [[1_000], [1]])
      await expect(read({ bytes: Buffer.concat([first, bytes]), chunks })).rejects.toThrow(
        /neither UTF-8 nor Windows-1252 \(at line [12]/,
      );
  });

  it('is read as it was written, whatever its cells, delimiter, line ends, encoding and chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        table,
        delimiter,
        lineEnd,
        fc.constantFrom('utf-8', 'utf-8 with a mark', 'utf-16'),
        chunks,
        fc.boolean(),
        async (rows, by, end, encoding, lengths, endsWithLine) => {
          const lines = [`sep=${by}`, ...rows.map((row) => row.map(quoted).join(by))];
          const bytes = encode(lines.join(end) + (endsWithLine ? end : ''), encoding);
          const found = await read({ bytes, chunks: lengths });
          expect(found.map(({ cells }) => cells)).toEqual(rows.map((row) => row.map(plain)));
        },
      ),
      { numRuns: runs(500, 2_000) },
    );
  });

  it('has for each row the line number that an editor shows', async () => {
    await fc.assert(
      fc.asyncProperty(table, lineEnd, chunks, async (rows, end, lengths) => {
        const lines = ['sep=,', ...rows.map((row) => row.map(quoted).join(','))];
        const found = await read({ bytes: Buffer.from(lines.join(end)), chunks: lengths });
        let line = 2;
        for (const [i, row] of rows.entries()) {
          expect(found[i]!.line).toBe(line);
          line += plain(row.join()).split('\n').length;
        }
      }),
      { numRuns: runs(500, 1_000) },
    );
  });

  it('made of any bytes ends in rows, or in a refusal that repeats none of them', async () => {
    const text = fc
      .array(fc.constantFrom('"', '""', ',', ';', '\n', '\r', '\r\n', 'SECRET', ' ', '\0', '\ufeff', 'é'), {
        maxLength: 30,
      })
      .map((parts) => Buffer.from(parts.join('')));
    const bytes = fc.oneof(
      text,
      fc.uint8Array({ maxLength: 60 }).map((all) => Buffer.from(all)),
      fc.tuple(fc.uint8Array({ maxLength: 20 }), text).map(([a, b]) => Buffer.concat([a, b])),
    );
    let [taken, refused] = [0, 0];
    await fc.assert(
      fc.asyncProperty(bytes, chunks, async (all, lengths) => {
        try {
          const found = await read({ bytes: all, chunks: lengths });
          taken++;
          for (const { line, cells } of found) {
            expect(line).toBeGreaterThan(0);
            expect(cells.every((one) => typeof one === 'string')).toBe(true);
          }
        } catch (error) {
          refused++;
          if (!(error instanceof OperatorError)) throw error;
          expect(error.message).toMatch(/[Ll]ine \d+/);
          expect(error.message).not.toContain('SECRET');
        }
      }),
      { numRuns: runs(1_000, 3_000) },
    );
    expect(taken).toBeGreaterThan(runs(100, 300));
    expect(refused).toBeGreaterThan(runs(100, 300));
  });
});
