import type { LanguageCode } from './texts/texts';

/** How days, times and numbers are written. */
export interface Format {
  /** `12 Nov 2026`, of the UTC day: the end of a licence, as the command prints it */
  day: (date: Date) => string;
  /** `12 Nov 2026` of the site's time zone */
  localDay: (date: Date) => string;
  /** `today 08:12`, `22 Nov 19:03` or `22 Nov 2025`, in the site's time zone */
  moment: (date: Date) => string;
  /** the whole time, for `title` and `datetime` */
  exact: (date: Date) => string;
  /** `Dec` */
  month: (date: Date) => string;
  number: (value: number) => string;
  /** `12.4 MB` */
  bytes: (value: number) => string;
  zone: string;
}

const LOCALES: Record<LanguageCode, string> = { en: 'en-GB', de: 'de-DE' };
const TODAY: Record<LanguageCode, [today: string, yesterday: string]> = {
  en: ['today', 'yesterday'],
  de: ['heute', 'gestern'],
};
const DAY_MS = 24 * 60 * 60 * 1000;

/** @param zone a name of the time-zone database, such as `Europe/Berlin` */
export function createFormat(language: LanguageCode, zone: string, now: Date): Format {
  const locale = LOCALES[language];
  // German dates are 12.11.2026, English ones 12 Nov 2026; never 12/11.
  const month = language === 'de' ? '2-digit' : 'short';
  const full = { day: language === 'de' ? '2-digit' : 'numeric', month, year: 'numeric' } as const;
  const dated = (options: Intl.DateTimeFormatOptions, timeZone = zone) => {
    const one = new Intl.DateTimeFormat(locale, { timeZone, ...options });
    return (date: Date) => one.format(date).replace('Sept', 'Sep');
  };
  const day = dated(full, 'UTC');
  const localDay = dated(full);
  const dayAndMonth = dated({ day: full.day, month });
  const year = dated({ year: 'numeric' });
  const time = dated({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const monthName = dated({ month: 'short' }, 'UTC');
  const number = new Intl.NumberFormat(locale);
  const [today, yesterday] = TODAY[language];
  return {
    day,
    localDay,
    moment(date) {
      const at = localDay(date);
      if (at === localDay(now)) return `${today} ${time(date)}`;
      if (at === localDay(new Date(now.getTime() - DAY_MS))) return `${yesterday} ${time(date)}`;
      return year(date) === year(now) ? `${dayAndMonth(date)} ${time(date)}` : at;
    },
    exact: (date) => `${localDay(date)} ${time(date)}`,
    month: monthName,
    number: (value) => number.format(value),
    bytes: (value) => formatBytes(value, locale),
    zone,
  };
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];

function formatBytes(value: number, locale: string): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), UNITS.length - 1);
  return new Intl.NumberFormat(locale, {
    style: 'unit',
    unit: UNITS[step] ?? 'byte',
    maximumFractionDigits: step > 1 ? 1 : 0,
  }).format(value / 1000 ** step);
}
