import { median, type Sample } from './measure';

/** What is read off a round of both sides, and what its ratio should be. */
export interface Reading extends Limits {
  what: string;
  value: (sample: Sample) => number;
  unit: string;
}

interface Limits {
  /** the ratio's lower limit */
  least?: number;
  /** the ratio's upper limit */
  most?: number;
  goal?: number;
}

export interface Result extends Limits {
  what: string;
  /** each side's median */
  values: [string, string];
  /** each side's CPU time, ms for 1,000 requests */
  cpu: [number | undefined, number | undefined];
  /** one for each pair */
  ratios: number[];
  /** requests that failed */
  failed: number;
  /** the share of the machine's CPU time that others took meanwhile (0 to 1) */
  disturbed: number;
  /** whether the ratio of CPU times says what the ratio should be */
  comparable?: boolean;
  notes: string[];
}

export type Verdict = 'goal' | 'reached' | 'MISSED' | 'FAILED' | 'measured';

export function verdict({ ratios, least, most, goal, failed }: Result): Verdict {
  const ratio = median(ratios);
  if (failed > 0) return 'FAILED';
  if ((least !== undefined && ratio < least) || (most !== undefined && ratio > most)) return 'MISSED';
  if (goal !== undefined && (most === undefined ? ratio >= goal : ratio <= goal)) return 'goal';
  return least === undefined && most === undefined ? 'measured' : 'reached';
}

/** The results as a Markdown table, with its notes below. */
export function report(results: Result[]): string {
  const header = [
    [
      'What (A / B)',
      'A',
      'B',
      'ratio',
      'min - max',
      'CPU A',
      'CPU B',
      'by CPU',
      'others',
      'asked',
      'goal',
      'verdict',
    ],
  ];
  const lines = results.map((result) => [
    result.what,
    ...result.values,
    `**${median(result.ratios).toFixed(2)}**`,
    `${Math.min(...result.ratios).toFixed(2)} - ${Math.max(...result.ratios).toFixed(2)}`,
    ...result.cpu.map((ms) => (ms === undefined ? '' : ms.toFixed(0))),
    byCpu(result)?.toFixed(2) ?? '',
    `${Math.round(result.disturbed * 100)} %`,
    result.least === undefined
      ? result.most === undefined
        ? ''
        : `<= ${result.most}`
      : `>= ${result.least}`,
    result.goal === undefined ? '' : String(result.goal),
    verdict(result),
  ]);
  const notes = results.flatMap((result) =>
    [...failureNotes(result), ...result.notes].map((note) => `- ${result.what}: ${note}`),
  );
  return [...table([...header, ...lines]), ...(notes.length > 0 ? ['', ...notes] : [])].join('\n');
}

/** What the ratio of rates would be if the service's CPU time were all that counted. */
function byCpu({ cpu: [a, b], comparable }: Result): number | undefined {
  return comparable && a !== undefined && b !== undefined ? b / a : undefined;
}

function failureNotes(result: Result): string[] {
  const notes: string[] = [];
  if (result.failed > 0) notes.push(`${result.failed} requests failed, so the ratio means nothing`);
  const cpu = byCpu(result);
  const { least } = result;
  if (cpu !== undefined && least !== undefined && cpu >= least !== median(result.ratios) >= least)
    notes.push(
      `rate and CPU time disagree: by CPU time it would be ${cpu.toFixed(2)}; believe that where the machine is noisy`,
    );
  return notes;
}

function table([header = [], ...lines]: string[][]): string[] {
  const widths = header.map((_, i) => Math.max(...[header, ...lines].map((line) => line[i]?.length ?? 0)));
  const row = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [row(header), row(widths.map((width) => '-'.repeat(width))), ...lines.map(row)];
}
