import { endOfDay } from '../../base/days';
import { importError } from '../refusals';
import { addDuration } from '../../licensing/durations';
import { OperatorError } from '../../licensing/operator-error';
import { isStorable } from '../../licensing/timestamps';
import type { DateForm } from './source';

/** Dates in tables. A column's form is guessed only if one form fits nearly all rows, and the other does not. */

/** The first or last second of a day, for a date without a time. */
export type Edge = 'first' | 'last';

/** Unix seconds; eight digits are a day such as 20270131. */
const UNIX = /^\d{9,11}$/;
const TIME = String.raw`(?:,?[T ]+(\d{1,2}:\d\d(?::\d\d)?)(?:\.\d+)?(?:\s*([AP])\.?M\.?)?(?:\s*(Z|UTC|[+-]\d\d:?\d\d))?)?`;
const YEAR_FIRST = new RegExp(String.raw`^(\d{4})[-/.](\d\d?)[-/.](\d\d?)${TIME}$`, 'i');
const YEAR_LAST = new RegExp(String.raw`^(\d\d?)([-/.])(\d\d?)\2(\d{4}|\d\d)${TIME}$`, 'i');

/** Parses a date, in UTC if it has no zone. @returns undefined if the text is not a date in this form */
export function readDate(text: string, form: DateForm, edge: Edge): Date | undefined {
  if (form === 'unix') return UNIX.test(text) ? new Date(Number(text) * 1_000) : undefined;
  const parts = form === 'iso' ? yearFirst(text) : yearLast(text, form);
  if (parts === undefined) return undefined;
  const { year, month, day, time, half, zone } = parts;
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const date = new Date(midnight);
  // Without this check, 31 February would be a day in March.
  if (date.getUTCDate() !== Number(day) || date.getUTCMonth() !== Number(month) - 1 || !isStorable(date))
    return undefined;
  if (time === undefined) return edge === 'first' ? date : endOfDay(date);
  const seconds = secondsOf(time, half);
  return seconds === undefined ? undefined : new Date(midnight + (seconds - secondsOfZone(zone)) * 1_000);
}

/** Returns the end of a duration from this start; undefined beyond the year 9999, or for an invalid duration. */
export function endAfter(start: Date, duration: string): Date | undefined {
  try {
    return addDuration(start, duration, 'duration');
  } catch (error) {
    if (error instanceof OperatorError) return undefined;
    throw error;
  }
}

interface Parts {
  year: string;
  month: string;
  day: string;
  time: string | undefined;
  half: string | undefined;
  zone: string | undefined;
}

function yearFirst(text: string): Parts | undefined {
  const [, year, month, day, time, half, zone] = YEAR_FIRST.exec(text) ?? [];
  return year === undefined ? undefined : { year, month: month ?? '', day: day ?? '', time, half, zone };
}

function yearLast(text: string, form: 'dmy' | 'mdy'): Parts | undefined {
  const [, first = '', separator, second = '', end = '', time, half, zone] = YEAR_LAST.exec(text) ?? [];
  // No country writes the month first with dots.
  if (separator === undefined || (separator === '.' && form === 'mdy')) return undefined;
  const year = end.length === 2 ? `20${end}` : end;
  const [day, month] = form === 'dmy' ? [first, second] : [second, first];
  return { year, month, day, time, half, zone };
}

/** Returns the seconds since midnight; undefined for an impossible time. */
function secondsOf(time: string, half: string | undefined): number | undefined {
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  if (minute > 59 || second > 59 || hour > (half === undefined ? 23 : 12)) return undefined;
  if (half !== undefined && hour === 0) return undefined;
  const shown = half === undefined ? hour : (hour % 12) + (half.toUpperCase() === 'P' ? 12 : 0);
  return (shown * 60 + minute) * 60 + second;
}

/** Returns the offset east of UTC. */
function secondsOfZone(zone = 'Z'): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  return sign === undefined ? 0 : (sign === '-' ? -60 : 60) * (Number(hours) * 60 + Number(minutes));
}

/** The number of rows in a hundred that may contradict the form of the others. */
const MAX_UNCLEAR = 5;

/** The dates of a column, collected from all rows. Only dates that end with the year are ambiguous. */
export class DateColumn {
  #rows = 0;
  readonly #fitting = { dmy: { count: 0, example: '' }, mdy: { count: 0, example: '' } };

  /** @param name the column's name in the file's heading */
  constructor(readonly name: string) {}

  note(text: string): void {
    const fits = (['dmy', 'mdy'] as const).filter((form) => readDate(text, form, 'first') !== undefined);
    if (fits.length > 0) this.#rows++;
    for (const form of fits) {
      const fitting = this.#fitting[form];
      fitting.count++;
      // The best example is a date that both forms can read.
      if (fitting.example === '' || (fits.length === 2 && fitting.count < 1_000)) fitting.example = text;
    }
  }

  /**
   * Returns the column's form. If only one form fits all rows, or nearly all, it wins over the form that was asked for.
   * @throws OperatorError that asks for the form, with an example
   */
  form(asked: DateForm | undefined): DateForm {
    const { dmy, mdy } = this.#fitting;
    if (this.#rows === 0) return asked ?? 'iso';
    for (const least of [this.#rows, (this.#rows * (100 - MAX_UNCLEAR)) / 100])
      if (dmy.count >= least !== mdy.count >= least) return dmy.count >= least ? 'dmy' : 'mdy';
    if (asked !== undefined) return asked;
    const facts = (
      [
        ['dmy', dmy],
        ['mdy', mdy],
      ] as const
    ).flatMap(([form, { example }]) => [
      example,
      readDate(example, form, 'first')?.toISOString().slice(0, 10) ?? '',
    ]);
    throw importError('which-dates', [this.name, ...facts], { field: 'dates' });
  }
}
