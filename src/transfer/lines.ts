/** Lines of a file that is read in, as its operator is told of them. */

export interface Remark {
  /** the first that it is about */
  line: number;
  message: string;
  /** how many lines it is about */
  count: number;
  /** the first of them */
  lines: number[];
}

const MAX_KEPT = 50;
const MAX_LINES = 10;

/** Adds to what is told one by one, as long as that stays short; the rest is only counted. */
export function keepFirst<T>(kept: T[], one: T): void {
  if (kept.length < MAX_KEPT) kept.push(one);
}

/** Adds a line to the remark that says the same, or a remark, as long as there are few. */
export function keepRemark(kept: Remark[], line: number, message: string): void {
  const same = kept.find((one) => one.message === message);
  if (same === undefined) keepFirst(kept, { line, message, count: 1, lines: [line] });
  else {
    same.count++;
    if (same.lines.length < MAX_LINES) same.lines.push(line);
  }
}

/**
 * Remarks in words, a line each.
 *
 * @param total how many lines they are about, with those of remarks that were not kept
 */
export function describeRemarks(remarks: Remark[], total: number): string {
  const more = total - remarks.reduce((sum, { count }) => sum + count, 0);
  return [
    ...[...remarks].sort((a, b) => a.line - b.line).map((one) => `  ${linesOf(one)}: ${one.message}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}

function linesOf({ lines, count }: Remark): string {
  const more = count - lines.length;
  return `line${count === 1 ? '' : 's'} ${lines.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * Notes where a value stands that may be there once.
 *
 * @returns the line that has it already
 */
export function noteLine(lines: Map<string, number>, value: string, line: number): number | undefined {
  const before = lines.get(value);
  if (before === undefined) lines.set(value, line);
  return before;
}
