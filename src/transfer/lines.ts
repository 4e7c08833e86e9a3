/** Lines of a file that is read in, as its operator is told of them. */

export interface Remark {
  line: number;
  message: string;
}

const MAX_KEPT = 50;

/** Adds to what is told one by one, as long as that stays short; the rest is only counted. */
export function keepFirst<T>(kept: T[], one: T): void {
  if (kept.length < MAX_KEPT) kept.push(one);
}

/**
 * Remarks in words, a line each.
 *
 * @param total how many there are, with those that were not kept
 */
export function describeRemarks(remarks: Remark[], total: number): string {
  const more = total - remarks.length;
  return [
    ...[...remarks].sort((a, b) => a.line - b.line).map(({ line, message }) => `  line ${line}: ${message}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
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
