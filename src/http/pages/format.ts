import type { Language } from '../../texts/language';

/** The formats of days, times and numbers on one request's pages. */
export interface Format {
  /** `12 Nov 2026`, by the UTC day: the end of a licence, as the command prints it */
  day: (date: Date) => string;
  /** `12 Nov 2026` in the site's time zone */
  localDay: (date: Date) => string;
  /** `12 November 2026` in the site's time zone */
  longDay: (date: Date) => string;
  /** `Monday, 23 November 2026` in the site's time zone */
  fullDay: (date: Date) => string;
  /** `Dec`, of the UTC day */
  month: (date: Date) => string;
  /** `December 2031` */
  longMonth: (date: Date) => string;
  /** `today, 08:12`, `yesterday, 17:43`, `Wed 09:31`, `12 Nov 19:03` in the site's time zone */
  moment: (date: Date) => string;
  /** `12 Nov 2026 08:12` in the site's time zone */
  exact: (date: Date) => string;
  /** `in 12 days`, from now */
  distance: (date: Date) => string;
  /** a duration such as `1y` as text */
  duration: (duration: string) => string;
  /** `1,842` */
  number: (value: number) => string;
  /** `1.8K`, for narrow places */
  compact: (value: number) => string;
  /** an amount in minor units: `€49.00` */
  money: (amount: number, currency: string) => string;
  /** a sum in minor units: `€4,218` */
  sum: (amount: number, currency: string) => string;
  /** `12.4 MB` */
  bytes: (value: number) => string;
  /** bytes as LICENSING_UPLOAD_LIMIT counts them, in megabytes of 1,048,576: `256 MB` */
  limit: (value: number) => string;
  /** the site's time zone, such as `Europe/Berlin` */
  zone: string;
}

export function createFormat(language: Language, zone: string, now: Date): Format {
  const { day, longDay, fullDay, time, moment, distance, bytes } = language;
  return {
    ...language,
    zone,
    localDay: (date) => day(date, zone),
    longDay: (date) => longDay(date, zone),
    fullDay: (date) => fullDay(date, zone),
    moment: (date) => moment(date, zone, now),
    distance: (date) => distance(date, now),
    exact: (date) => `${day(date, zone)} ${time(date, zone)}`,
    limit: (value) => bytes((value / 1_048_576) * 1_000_000),
  };
}
