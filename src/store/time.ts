/**
 * Times in the database are UTC text, `YYYY-MM-DD HH:MM:SS`: a DATETIME in MySQL, TEXT in SQLite, the same to the
 * byte in both, and in the order of time. Seconds are cut here because DATETIME(0) would round them.
 */
export function toSqlTime(date: Date): string {
  return date.toISOString().slice(0, 19).replace('T', ' ');
}

export function fromSqlTime(text: string): Date {
  return new Date(`${text.replace(' ', 'T')}Z`);
}
