import { OperatorError } from './operator-error';

/** How long a licence runs: `1y`, `6m`, `30d`. */
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

/** By the UTC calendar: 31 January plus one month is 28 or 29 February. */
export function addDuration(from: Date, duration: string): Date {
  const [, amount, unit] = DURATION.exec(requireDuration(duration)) as unknown as [string, string, string];
  const later = new Date(from);
  if (unit === 'd') later.setUTCDate(later.getUTCDate() + Number(amount));
  else {
    const months = Number(amount) * (unit === 'y' ? 12 : 1);
    later.setUTCMonth(later.getUTCMonth() + months);
    // The month was too short and the day overflowed into the next: go back to the month's last day.
    if (later.getUTCDate() !== from.getUTCDate()) later.setUTCDate(0);
  }
  if (!(later.getUTCFullYear() <= 9999))
    throw new OperatorError(`${duration} from then is beyond the year 9999.`);
  return later;
}
