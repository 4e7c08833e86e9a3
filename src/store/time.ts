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
  return new Date(`${text.replace(' ', 'T')}Z`);
}
