import { DAY_MS } from '../../base/days';
import { endAfter } from './dates';
import type { SourceLicense } from './source';

/** The limits and periods of a plan's licences at the source. A plan created for them gets the most common ones. */
export interface Usual {
  /** the number of licences with each limit, and with each period (null: it never ends) */
  limits: Map<number, number>;
  periods: Map<string | null, number>;
}

/** The period for a table with ends but no starts, because most extensions are sold by the year. */
const YEAR = '1y';

export function noUsual(): Usual {
  return { limits: new Map(), periods: new Map() };
}

/** Counts a licence's limit and period. */
export function noteUsual({ limits, periods }: Usual, { limit, startsAt, expiresAt }: SourceLicense): void {
  if (limit !== undefined) limits.set(limit, (limits.get(limit) ?? 0) + 1);
  if (expiresAt === undefined) return;
  const period = expiresAt === null ? null : startsAt === undefined ? YEAR : periodOf(startsAt, expiresAt);
  if (period !== undefined) periods.set(period, (periods.get(period) ?? 0) + 1);
}

/** Returns the value with the highest count, the first one of several; undefined if nothing was counted. */
export function commonest<T>(counts: Map<T, number>): T | undefined {
  const most = Math.max(...counts.values());
  return [...counts].find(([, count]) => count === most)?.[0];
}

/** Returns years or months within two days, the error of a day's end, a time zone and a leap day; otherwise days. */
function periodOf(start: Date, end: Date): string | undefined {
  const days = Math.round((end.getTime() - start.getTime()) / DAY_MS);
  if (days < 1) return undefined;
  const months = Math.round(days / 30.44);
  const whole = months === 0 ? undefined : endAfter(start, `${months}m`);
  if (whole === undefined || Math.abs(end.getTime() - whole.getTime()) > 2 * DAY_MS) return `${days}d`;
  return months % 12 === 0 ? `${months / 12}y` : `${months}m`;
}
