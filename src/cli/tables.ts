import { formatTimestampOrNull } from '../base/days';
import { wantsColor } from '../settings/config';
import { liveStatus, paidUntil } from '../licensing/core/states';
import type { License } from '../licensing/licenses';
import type { activationJson } from '../licensing/views';
import { printable } from './printable';
import { inBothForms } from '../licensing/core/identifiers';

/** Formats a table of licences. */
export function licenseTable(licenses: License[], now: Date): string {
  // Leave out a column with the same value in every row, because it would only narrow the others.
  const severalProducts = new Set(licenses.map(({ product }) => product.id)).size > 1;
  return formatTable(
    ['ID', 'KEY', 'STATUS', ...(severalProducts ? ['PRODUCT'] : []), 'PLAN', 'SLOTS', 'EXPIRES', 'CUSTOMER'],
    licenses.map((one) => [
      one.id,
      one.keyHint,
      liveStatus(one, now),
      ...(severalProducts ? [one.product.name] : []),
      one.plan.name,
      `${one.activationsUsed}/${one.activationLimit || '∞'}`,
      formatTimestampOrNull(paidUntil(one))?.slice(0, 10) ?? 'never',
      one.customer,
    ]),
    'No licences.',
  );
}

/** Formats a table of a licence's activations. */
export function activationTable(
  activations: ReturnType<typeof activationJson>[],
  { mainKeyId, plan }: Pick<License, 'mainKeyId' | 'plan'>,
): string {
  const withFree = activations.some(({ free }) => free);
  const withKeys = activations.some(({ key_id: key }) => key !== mainKeyId);
  const withHolds = activations.some(({ held_until: until }) => until !== null);
  return formatTable(
    [
      ...['IDENTIFIER', 'NAME', 'IP', 'ACTIVATED'],
      ...(withFree ? ['SLOT'] : []),
      ...(withKeys ? ['BY KEY'] : []),
      ...(withHolds ? ['HELD UNTIL'] : []),
    ],
    activations.map((one) => [
      ...[inBothForms(one.identifier, plan.activationType), one.name, one.ip, one.activated_at],
      ...(withFree ? [one.free ? 'free' : 'one'] : []),
      ...(withKeys ? [one.key_id === mainKeyId ? 'main' : one.key_id] : []),
      ...(withHolds ? [one.held_until] : []),
    ]),
    'No activations.',
  );
}

/** Formats a table that fits the terminal by wrapping wide cells. `nothing` replaces a table without rows. */
export function formatTable(
  headings: string[],
  rows: (string | number | null)[][],
  nothing?: string,
): string {
  if (rows.length === 0 && nothing !== undefined) return nothing;
  const cells = rows.map((row) => row.map((cell) => (cell === null ? '-' : printable(String(cell)))));
  const widths = fitWidths(
    headings.map((heading, i) =>
      cells.reduce((widest, row) => Math.max(widest, width(row[i] ?? '')), width(heading)),
    ),
    headings.map(width),
  );
  const line = (row: string[]) => {
    const columns = row.map((cell, i) => wrap(cell, widths[i] ?? 0));
    const height = Math.max(...columns.map(({ length }) => length));
    return Array.from({ length: height }, (_, n) =>
      columns
        .map((lines, i) => (lines[n] ?? '') + ' '.repeat((widths[i] ?? 0) - width(lines[n] ?? '')))
        .join(GAP)
        .trimEnd(),
    ).join('\n');
  };
  return [heading(line(headings)), ...cells.map(line)].join('\n');
}

const GAP = '  ';
/** The width for files, pipes and cron's mail, which have no terminal. */
const DEFAULT_WIDTH = 80;
const MIN_WIDTH = 8;

/** Shrinks the widest column, the last one of equal widths first, until all columns fit. */
function fitWidths(wanted: number[], least: number[]): number[] {
  const widths = [...wanted];
  const available = (process.stdout.isTTY && process.stdout.columns) || DEFAULT_WIDTH;
  let excess = widths.reduce((sum, one) => sum + one, GAP.length * (widths.length - 1)) - available;
  for (; excess > 0; excess--) {
    const shrinkable = widths.map((one, i) => (one > Math.max(MIN_WIDTH, least[i] ?? 0) ? one : 0));
    const widest = Math.max(...shrinkable);
    if (widest === 0) break;
    widths[shrinkable.lastIndexOf(widest)] = widest - 1;
  }
  return widths;
}

/** Breaks a text at spaces, otherwise after punctuation in a date, address or name, otherwise anywhere. */
function wrap(text: string, most: number): string[] {
  const lines: string[] = [];
  let rest = Array.from(text);
  while (rest.length > most) {
    const head = rest.slice(0, most + 1).join('');
    const [upToSpace] = /^.*\S(?=\s)/su.exec(head) ?? [];
    const [upToSign] = /^.*(?:[@/.,;_-]|(?<=\d)T(?=\d))(?=.)/su.exec(head) ?? [];
    const line = upToSpace ?? upToSign ?? rest.slice(0, most).join('');
    lines.push(line);
    rest = Array.from(rest.slice(width(line)).join('').trimStart());
  }
  return [...lines, rest.join('')];
}

/** Formats two aligned columns: field names and values. */
export function formatFields(fields: [string, string | number | null][]): string {
  const longest = Math.max(...fields.map(([name]) => name.length));
  return fields
    .map(
      ([name, value]) =>
        `${heading(name.padEnd(longest))}  ${value === null ? '-' : printable(String(value))}`,
    )
    .join('\n');
}

function heading(text: string): string {
  return wantsColor(process.stdout) ? `\u001b[1m${text}\u001b[22m` : text;
}

function width(text: string): number {
  return Array.from(text).length;
}
