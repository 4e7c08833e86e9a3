import { describe, expect, it } from '@jest/globals';
import { csvFile, csvOf } from '../../src/http/pages/csv';
import { csvLine } from '../../src/operations/kit/csv';
import { german } from '../../src/texts/operators/de/texts';
import { english } from '../../src/texts/operators/en/texts';
import { readCsv } from '../../src/transfer/csv';

/** Tests that texts typed by customers cannot become formulas when a spreadsheet opens a table. */

const RUN = '=cmd|calc';

const TEXTS = [
  RUN,
  '+1',
  '-1',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  ` ${RUN}`,
  `"${RUN}"`,
  `Shop;${RUN}`,
  `Shop; ${RUN}`,
  `Shop;"${RUN}"`,
  `Shop;""${RUN}`,
  `Shop;\u200b${RUN}`,
  `Shop;;${RUN}`,
  `Shop\t${RUN}`,
  `Shop\n${RUN}`,
  `Shop\r\n${RUN}`,
  `Shop\u2028${RUN}`,
  `Shop;＝cmd`,
  `Shop;${RUN};+2;a;-3`,
];

/** Splits a line as Excel does if the separator is a semicolon: a quotation mark counts only at a cell's beginning. */
function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = [];
  for (let at = 0; at <= line.length;) {
    let cell = '';
    if (line[at] === '"') {
      for (at++; at < line.length; at++)
        if (line[at] !== '"') cell += line.charAt(at);
        else if (line[at + 1] === '"') cell += line.charAt(at++);
        else break;
      at++;
    }
    const end = [line.indexOf(separator, at), line.indexOf('\r\n', at), line.length].filter(
      (one) => one >= at,
    );
    cells.push(cell + line.slice(at, Math.min(...end)));
    at = Math.min(...end) + 1;
  }
  return cells;
}

describe('a line of a table', () => {
  it.each(TEXTS)('has no formula in %j, whatever separates the cells', (text) => {
    for (const written of [',', ';'])
      for (const separator of [',', ';', '\t'])
        expect(
          cellsOf(csvLine([1, 'a', text, text, null], written), separator)
            .flatMap((cell) => cell.split(/[\r\n\u2028]/))
            .filter((cell) => /^[\s"\u200b]*[=+\-@＝]/.test(cell)),
        ).toEqual([]);
  });

  it('quotes every text, and nothing else', () => {
    expect(csvLine(['a', 1, -2, true, null, undefined, '', 'b "c"'], ',')).toBe(
      '"a",1,-2,true,,,"","b ""c"""\r\n',
    );
  });

  it('is read back unchanged if no text in it is a formula', async () => {
    const cells = [
      'a;b',
      'x,y',
      'says "no"',
      'two\nlines',
      ' blanks ',
      'Mustermann & Söhne',
      'a-b=c',
      "O'Neill",
    ];
    for (const separator of [',', ';']) {
      const rows = [];
      const source = async function* () {
        yield await Promise.resolve(Buffer.from(`\uFEFFsep=${separator}\n${csvLine(cells, separator)}`));
      };
      for await (const { cells: read } of readCsv(source())) rows.push(read);
      expect(rows).toEqual([cells]);
    }
  });

  it('has the separator and the headings of the page’s language, and a byte order mark', async () => {
    const fileOf = async (texts: Pick<typeof english, 'csv'>) => {
      const rows = csvOf([{ id: 7, key_hint: 'ABCD', customer: 'a;b,c' }], (fields) => fields);
      let file = '';
      for await (const line of csvFile(rows, texts.csv)) file += line;
      return file;
    };
    expect(await fileOf(english)).toBe('\uFEFF"ID","Key ends in","Customer"\r\n7,"ABCD","a;b,c"\r\n');
    expect(await fileOf(german)).toBe('\uFEFF"ID";"Ende des Schlüssels";"Kunde"\r\n7;"ABCD";"a;b,c"\r\n');
  });
});
