import { refusal } from '../refusals';
import { addDuration } from '../../licensing/durations';
import { OperatorError } from '../../licensing/operator-error';
import { endOfDay, isStorable } from '../../licensing/timestamps';
import type { DateForm } from './source';

/** Dates of tables, whose form is guessed only where exactly one fits all rows. */

export const DATE_FORMS = ['unix', 'iso', 'dmy', 'mdy'] as const satisfies DateForm[];

/** The second of a day that a date without a time means. */
export type Edge = 'first' | 'last';

/** Eight digits are a day such as 20270131. */
const UNIX = /^\d{9,11}$/;
const TIME = String.raw`(?:,?[T ]+(\d{1,2}:\d\d(?::\d\d)?)(?:\.\d+)?(?:\s*([AP])\.?M\.?)?(?:\s*(Z|UTC|[+-]\d\d:?\d\d))?)?`;
const YEAR_FIRST = new RegExp(String.raw`^(\d{4})[-/.](\d\d?)[-/.](\d\d?)${TIME}$`, 'i');
const YEAR_LAST = new RegExp(String.raw`^(\d\d?)([-/.])(\d\d?)\2(\d{4}|\d\d)${TIME}$`, 'i');

/** @returns undefined when the text is no date in this form. Without a zone: UTC */
export function readDate(text: string, form: DateForm, edge: Edge): Date | undefined {
  if (form === 'unix') return UNIX.test(text) ? new Date(Number(text) * 1_000) : undefined;
  const parts = form === 'iso' ? yearFirst(text) : yearLast(text, form);
  if (parts === undefined) return undefined;
  const { year, month, day, time, half, zone } = parts;
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const date = new Date(midnight);
  // 31 February would be a day in March.
  if (date.getUTCDate() !== Number(day) || date.getUTCMonth() !== Number(month) - 1 || !isStorable(date))
    return undefined;
  if (time === undefined) return edge === 'first' ? date : endOfDay(date);
  const seconds = secondsOf(time, half);
  return seconds === undefined ? undefined : new Date(midnight + (seconds - secondsOfZone(zone)) * 1_000);
}

/** The end of a time that begins so; undefined: beyond the year 9999, or no duration. */
export function endAfter(start: Date, duration: string): Date | undefined {
  try {
    return addDuration(start, duration, 'duration');
  } catch (error) {
    if (error instanceof OperatorError) return undefined;
    throw error;
  }
}

/** The forms in which a text is a date. */
export function formsOf(text: string): DateForm[] {
  return DATE_FORMS.filter((form) => readDate(text, form, 'first') !== undefined);
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
  // Nobody writes the month first with dots.
  if (separator === undefined || (separator === '.' && form === 'mdy')) return undefined;
  const year = end.length === 2 ? `20${end}` : end;
  const [day, month] = form === 'dmy' ? [first, second] : [second, first];
  return { year, month, day, time, half, zone };
}

/** Since midnight; undefined when there is no such time. */
function secondsOf(time: string, half: string | undefined): number | undefined {
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  if (minute > 59 || second > 59 || hour > (half === undefined ? 23 : 12)) return undefined;
  if (half !== undefined && hour === 0) return undefined;
  const shown = half === undefined ? hour : (hour % 12) + (half.toUpperCase() === 'P' ? 12 : 0);
  return (shown * 60 + minute) * 60 + second;
}

/** East of UTC. */
function secondsOfZone(zone = 'Z'): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? [];
  return sign === undefined ? 0 : (sign === '-' ? -60 : 60) * (Number(hours) * 60 + Number(minutes));
}

/** What is known of a column's dates after all rows. */
export class DateColumn {
  #rows = 0;
  readonly #fitting = new Map<DateForm, number>();
  /** rows beside each other often have the same day */
  #last: [text: string, forms: DateForm[]] = ['', []];

  /** @param name as the file's heading has it */
  constructor(readonly name: string) {}

  note(text: string): void {
    this.#rows++;
    if (text !== this.#last[0]) this.#last = [text, formsOf(text)];
    for (const form of this.#last[1]) this.#fitting.set(form, (this.#fitting.get(form) ?? 0) + 1);
  }

  /**
   * The column's form. A form that alone fits all rows is taken even where another was asked for: a file may have unix
   * seconds in one column and written dates in the other.
   * @throws OperatorError that asks for it, with the forms that fit
   */
  form(asked: DateForm | undefined): DateForm {
    const fits = DATE_FORMS.filter((form) => this.#fitting.get(form) === this.#rows);
    const [only] = fits;
    if (this.#rows === 0) return asked ?? 'iso';
    if (fits.length === 1 && only !== undefined) return only;
    if (asked !== undefined) return asked;
    const counts = DATE_FORMS.flatMap((form) => {
      const count = this.#fitting.get(form);
      return count === undefined ? [] : [`${form} ${count}`];
    });
    throw refusal('which-dates', [this.name, String(this.#rows), ...counts], { field: 'dates' });
  }
}
