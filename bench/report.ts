import { median, type Sample } from './measure';

/** A measured value of both sides, and the limits of its ratio. */
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
  values: [string, string];
  /** each side's CPU time, ms for 1,000 requests */
  cpu: [number | undefined, number | undefined];
  ratios: number[];
  /** the number of failed requests */
  failed: number;
  /** the share of the machine's CPU time that other processes used meanwhile (0 to 1) */
  disturbed: number;
  /** each pair's ratio by the services' CPU time only; undefined where it proves nothing */
  cpuRatios?: number[] | undefined;
  notes: string[];
}

/** A row's verdict, "by CPU" where the CPU time overrules the rate. */
export type Verdict =
  | 'goal'
  | 'reached'
  | 'reached by CPU'
  | 'MISSED'
  | 'MISSED by CPU'
  | 'FAILED'
  | 'measured';

/** Returns the verdict. On a noisy machine CPU time is more reliable: it decides where it disagrees with the rate. */
export function verdict(result: Result): Verdict {
  const { least, most, goal, failed } = result;
  if (failed > 0) return 'FAILED';
  const ratio = median(result.ratios);
  const isReached = isWithin(ratio, least, most);
  const cpu = byCpu(result);
  if (cpu !== undefined && isWithin(cpu, least, most) !== isReached)
    return isReached ? 'MISSED by CPU' : 'reached by CPU';
  if (!isReached) return 'MISSED';
  if (goal !== undefined && (most === undefined ? ratio >= goal : ratio <= goal)) return 'goal';
  return least === undefined && most === undefined ? 'measured' : 'reached';
}

export function isMissed(result: Result): boolean {
  return ['MISSED', 'MISSED by CPU', 'FAILED'].includes(verdict(result));
}

function isWithin(ratio: number, least = -Infinity, most = Infinity): boolean {
  return ratio >= least && ratio <= most;
}

/** Returns a Markdown table of the results, with notes below. */
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

function byCpu({ cpuRatios }: Result): number | undefined {
  return cpuRatios && median(cpuRatios);
}

function failureNotes({ failed }: Result): string[] {
  return failed > 0 ? [`${failed} requests failed, so the ratio means nothing`] : [];
}

function table([header = [], ...lines]: string[][]): string[] {
  const widths = header.map((_, i) => Math.max(...[header, ...lines].map((line) => line[i]?.length ?? 0)));
  const row = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [row(header), row(widths.map((width) => '-'.repeat(width))), ...lines.map(row)];
}
