export interface GroupedWarning {
  /** the first line that the remark concerns */
  line: number;
  message: string;
  /** the number of lines that it concerns */
  count: number;
  /** the first of those lines */
  lines: number[];
}

const MAX_KEPT = 50;
const MAX_LINES = 10;

/** Adds an item unless the list is full. */
export function keepFirst<T>(kept: T[], one: T): void {
  if (kept.length < MAX_KEPT) kept.push(one);
}

/** Adds a line to the remark with the same message, or adds a remark unless the list is full. */
export function keepRemark(kept: GroupedWarning[], line: number, message: string): void {
  const same = kept.find((one) => one.message === message);
  if (same === undefined) keepFirst(kept, { line, message, count: 1, lines: [line] });
  else {
    same.count++;
    if (same.lines.length < MAX_LINES) same.lines.push(line);
  }
}

/** Returns remarks as text, one per line. `total` is the number of lines concerned, including remarks that were not kept. */
export function describeRemarks(remarks: GroupedWarning[], total: number): string {
  const more = total - remarks.reduce((sum, { count }) => sum + count, 0);
  return [
    ...[...remarks].sort((a, b) => a.line - b.line).map((one) => `  ${linesOf(one)}: ${one.message}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ].join('\n');
}

function linesOf({ lines, count }: GroupedWarning): string {
  const more = count - lines.length;
  return `line${count === 1 ? '' : 's'} ${lines.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Records the line of a value that must be unique. @returns the earlier line with the same value, if any */
export function noteLine(lines: Map<string, number>, value: string, line: number): number | undefined {
  const before = lines.get(value);
  if (before === undefined) lines.set(value, line);
  return before;
}
