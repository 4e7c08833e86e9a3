/** The latest time that MySQL's DATETIME holds. No licence can end later. */
export const LATEST_TIME = new Date('9999-12-31T23:59:59Z');
const EARLIEST_TIME = new Date('1000-01-01T00:00:00Z');

/** Returns the time, or the nearest time that the databases can hold. */
export function nearestStorable(date: Date): Date {
  return date > LATEST_TIME ? LATEST_TIME : date < EARLIEST_TIME ? EARLIEST_TIME : date;
}

/**
 * Formats a time for SQL in UTC, `YYYY-MM-DD HH:MM:SS`, so that texts sort by time. The fraction is cut, because
 * DATETIME(0) would round it. All times in statements come from here, so they are within the years that databases hold.
 */
export function toSqlTime(date: Date): string {
  const second = Math.floor(date.getTime() / 1000);
  if (second !== lastSecond) {
    lastText = nearestStorable(date).toISOString().slice(0, 19).replace('T', ' ');
    lastSecond = second;
  }
  return lastText;
}

/** A cache of the latest result: thousands of requests share a second, and formatting its time was their largest cost. */
let lastSecond = NaN;
let lastText = '';

export function fromSqlTime(text: string): Date {
  const day = Date.UTC(100 * two(text, 0) + two(text, 2), two(text, 5) - 1, two(text, 8));
  return new Date(day + 1000 * (3600 * two(text, 11) + 60 * two(text, 14) + two(text, 17)));
}

/** Parses two digits. Date's own parser takes three times as long. */
function two(text: string, at: number): number {
  return 10 * (text.charCodeAt(at) - ZERO) + text.charCodeAt(at + 1) - ZERO;
}

const ZERO = '0'.charCodeAt(0);
