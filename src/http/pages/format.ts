import {
  formatDay,
  formatDuration,
  formatFullDay,
  formatLongDay,
  formatMoment,
  formatMonth,
  formatNumber,
  formatTime,
  type LanguageCode,
} from '../../texts/dates';

/** How one request's pages write days, times and numbers. */
export interface Format {
  /** `12 Nov 2026`, of the UTC day: the end of a licence, as the command prints it */
  day: (date: Date) => string;
  /** `12 Nov 2026` in the site's time zone */
  localDay: (date: Date) => string;
  /** `12 November 2026` in the site's time zone */
  longDay: (date: Date) => string;
  /** `Monday, 23 November 2026` in the site's time zone */
  fullDay: (date: Date) => string;
  /** `Dec`, of the UTC day */
  month: (date: Date) => string;
  /** `today 08:12`, `22 Nov 19:03` in the site's time zone */
  moment: (date: Date) => string;
  /** `12 Nov 2026 08:12` in the site's time zone */
  exact: (date: Date) => string;
  /** a duration such as `1y` in words */
  duration: (duration: string) => string;
  /** `1,842` */
  number: (value: number) => string;
  /** `12.4 MB` */
  bytes: (value: number) => string;
  /** bytes as LICENSING_UPLOAD_LIMIT counts them, in megabytes of 1,048,576: `256 MB` */
  limit: (value: number) => string;
  /** of the site, such as `Europe/Berlin` */
  zone: string;
}

export function createFormat(language: LanguageCode, zone: string, now: Date): Format {
  return {
    day: (date) => formatDay(date, language),
    localDay: (date) => formatDay(date, language, zone),
    longDay: (date) => formatLongDay(date, language, zone),
    fullDay: (date) => formatFullDay(date, language, zone),
    month: (date) => formatMonth(date, language),
    moment: (date) => formatMoment(date, language, zone, now),
    exact: (date) => `${formatDay(date, language, zone)} ${formatTime(date, language, zone)}`,
    duration: (duration) => formatDuration(duration, language),
    number: (value) => formatNumber(value, language),
    bytes: (value) => formatBytes(value, language),
    limit: (value) => formatBytes((value / 1_048_576) * 1_000_000, language),
    zone,
  };
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];

function formatBytes(value: number, language: LanguageCode): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), UNITS.length - 1);
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: UNITS[step] ?? 'byte',
    // In short, English has no plural: 885 byte.
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: step > 1 ? 1 : 0,
  }).format(value / 1000 ** step);
}
