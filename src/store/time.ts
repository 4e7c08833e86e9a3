/**
 * Times in the database are UTC text, `YYYY-MM-DD HH:MM:SS`: a DATETIME in MySQL, TEXT in SQLite, the same to the
 * byte in both, and in the order of time. Seconds are cut here because DATETIME(0) would round them.
 */
export function toSqlTime(date: Date): string {
  const second = Math.floor(date.getTime() / 1000);
  if (second !== lastSecond) {
    lastText = date.toISOString().slice(0, 19).replace('T', ' ');
    lastSecond = second;
  }
  return lastText;
}

/** The times of a second's requests are written thousands of times, and writing one is the dearest thing about them. */
let lastSecond = NaN;
let lastText = '';

export function fromSqlTime(text: string): Date {
  const day = Date.UTC(100 * two(text, 0) + two(text, 2), two(text, 5) - 1, two(text, 8));
  return new Date(day + 1000 * (3600 * two(text, 11) + 60 * two(text, 14) + two(text, 17)));
}

/** The number of two digits, as Date's own parser would read them in three times the time. */
function two(text: string, at: number): number {
  return 10 * (text.charCodeAt(at) - ZERO) + text.charCodeAt(at + 1) - ZERO;
}

const ZERO = '0'.charCodeAt(0);
