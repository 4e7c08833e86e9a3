import { LATEST_TIME } from '../store/engine/time';
import { OperatorError } from './operator-error';

/** The form of a licence's duration: `1y`, `6m`, `30d`. */
export const DURATION = /^([1-9][0-9]{0,4})([ymd])$/;

/** @throws OperatorError unless the text is a duration */
export function requireDuration(text: string, field = 'duration'): string {
  if (!DURATION.test(text))
    throw new OperatorError(`"${text}" is not a duration. Write 1y, 6m or 30d (years, months, days).`, {
      code: 'INVALID_REQUEST',
      field,
    });
  return text;
}

/**
 * Adds a duration in the UTC calendar: 31 January plus one month is 28 or 29 February.
 * @param field the request's field with the duration; undefined: a stored duration, limited to the year 9999
 * @throws OperatorError beyond the year 9999, if a field set it, and for an invalid time
 */
export function addDuration(from: Date, duration: string, field?: string): Date {
  const later = shift(from, duration, 1);
  if (later <= LATEST_TIME) return later;
  if (field === undefined && later > LATEST_TIME) return LATEST_TIME;
  throw new OperatorError(
    `${duration} from then is beyond the year 9999.`,
    field === undefined ? {} : { code: 'INVALID_REQUEST', field },
  );
}

/** Subtracts a duration like `addDuration`; not before the year 1000, the earliest that databases store. */
export function subtractDuration(from: Date, duration: string): Date {
  const earlier = shift(from, duration, -1);
  return earlier.getUTCFullYear() >= 1000 ? earlier : new Date(Date.UTC(1000, 0, 1));
}

function shift(from: Date, duration: string, sign: 1 | -1): Date {
  const [, amount, unit] = DURATION.exec(requireDuration(duration)) as unknown as [string, string, string];
  const shifted = new Date(from);
  if (unit === 'd') shifted.setUTCDate(shifted.getUTCDate() + sign * Number(amount));
  else {
    const months = sign * Number(amount) * (unit === 'y' ? 12 : 1);
    shifted.setUTCMonth(shifted.getUTCMonth() + months);
    // The month was too short and the day overflowed into the next one: return to the month's last day.
    if (shifted.getUTCDate() !== from.getUTCDate()) shifted.setUTCDate(0);
  }
  return shifted;
}

/** The least support period by law, in months. A support period ends with the last day of a month in UTC. */
const MONTHS_OF_LAW = 60;

/** Returns the months from a time's month to the last month with security updates; negative: it is over. */
function monthsUntil(supportUntil: string, from: Date): number {
  return monthOf(supportUntil) - (from.getUTCFullYear() * 12 + from.getUTCMonth());
}

function monthOf(text: string): number {
  const [year = 0, month = 0] = text.split('-').map(Number);
  return year * 12 + month - 1;
}

/** Returns the state of a period that an operator has to know; undefined: more than a year remains. */
export function supportWarning(supportUntil: string, now: Date): 'over' | 'soon' | 'year' | undefined {
  const months = monthsUntil(supportUntil, now);
  if (months < 0) return 'over';
  return months < 3 ? 'soon' : months < 12 ? 'year' : undefined;
}

/** Reports whether a period is shorter than five years (Regulation (EU) 2024/2847, Article 13(8)). */
export function isSupportShort(supportUntil: string, firstPublished: Date): boolean {
  return monthsUntil(supportUntil, firstPublished) < MONTHS_OF_LAW;
}

/** Returns the name of a month with its year, such as December 2031. */
export function supportMonth(
  supportUntil: string,
  { longMonth }: { longMonth: (date: Date) => string },
): string {
  return longMonth(new Date(`${supportUntil}-15T00:00:00Z`));
}
