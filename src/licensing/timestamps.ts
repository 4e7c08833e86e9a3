import { wholeDay } from '../base/days';
import { LATEST_TIME } from '../store/engine/time';
import { OperatorError } from './operator-error';

/** Reports whether a day exists. JavaScript reads 31 February as 3 March. */
function isDay(text: string): boolean {
  const midnight = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().slice(0, 10) === text;
}

/** Reports whether the databases and the export can store a time: the years 1000 to 9999 in UTC, as MySQL's DATETIME. */
export function isStorable(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 1000 && year <= 9999;
}

/** Returns a sender's time as stored: a later one becomes the latest; undefined if it is too early or invalid. */
export function asStorable(time: Date): Date | undefined {
  return time > LATEST_TIME ? LATEST_TIME : isStorable(time) ? time : undefined;
}

const MOMENT = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:\.\d+)?\s*(Z|UTC|[+-]\d\d:?\d\d)?)?$/i;

/**
 * Parses `2027-01-31`, `2027-01-31T12:00:00Z` or `2027-01-31 12:00:00`.
 * @param edge which second of the UTC day a date without a time means
 * @param zoneless whether a time without a zone is read as UTC or refused
 * @throws OperatorError if the time does not exist, or databases cannot store it
 */
export function parseMoment(
  text: string,
  edge: 'first' | 'last',
  zoneless: 'utc' | 'refused',
  field?: string,
): Date {
  const refusal = (message: string) => new OperatorError(message, { code: 'INVALID_REQUEST', field });
  const [, day, time, seconds = ':00', zone] = MOMENT.exec(text) ?? [];
  if (day === undefined || (time !== undefined && zone === undefined && zoneless === 'refused'))
    throw refusal('It must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z (UTC).');
  if (!isDay(day)) throw refusal('There is no such day.');
  const date = time === undefined ? wholeDay(day)[edge] : new Date(`${day}T${time}${seconds}${offset(zone)}`);
  if (Number.isNaN(date.getTime())) throw refusal('There is no such time.');
  if (!isStorable(date)) throw refusal('It must be in the years 1000 to 9999 (UTC).');
  return date;
}

/** Writes `+0200` as `+02:00`, the form that JavaScript parses. */
function offset(zone = 'Z'): string {
  return /^(z|utc)$/i.test(zone) ? 'Z' : zone.replace(/^(...)(\d\d)$/, '$1:$2');
}
