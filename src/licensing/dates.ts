/** How pages and mails write days, times and numbers in each language, whatever the machine's own locale is. */

export type LanguageCode = 'en' | 'de';

const LOCALES: Record<LanguageCode, string> = { en: 'en-US', de: 'de-DE' };

export function isLanguageCode(code: string | null): code is LanguageCode {
  return code !== null && Object.hasOwn(LOCALES, code);
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Making a format takes some 50 times as long as using it. @throws RangeError for a zone that does not exist */
function formatOf(language: LanguageCode, zone: string, month: 'short' | 'long'): Intl.DateTimeFormat {
  const name = `${language} ${month} ${zone}`;
  const format =
    formats.get(name) ??
    new Intl.DateTimeFormat(LOCALES[language], {
      ...{ year: 'numeric', month: language === 'de' && month === 'short' ? '2-digit' : month },
      ...{ day: language === 'de' && month === 'short' ? '2-digit' : 'numeric' },
      ...{ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: zone },
    });
  formats.set(name, format);
  return format;
}

type Parts = Record<'year' | 'month' | 'day' | 'hour' | 'minute', string>;

function partsOf(date: Date, language: LanguageCode, zone: string, month: 'short' | 'long' = 'short'): Parts {
  const parts = formatOf(language, zone, month).formatToParts(date);
  return Object.fromEntries(parts.map(({ type, value }) => [type, value])) as unknown as Parts;
}

/** `12 Nov 2026`, `12.11.2026`. Without a zone in UTC: a licence ends at the end of its UTC day. */
export function formatDay(date: Date, language: LanguageCode, zone = 'UTC'): string {
  const { day, month, year } = partsOf(date, language, zone);
  return language === 'de' ? `${day}.${month}.${year}` : `${day} ${month} ${year}`;
}

/** `12 November 2026`, `12. November 2026`: as letters have it. Without a zone in UTC. */
export function formatLongDay(date: Date, language: LanguageCode, zone = 'UTC'): string {
  const { day, month, year } = partsOf(date, language, zone, 'long');
  return language === 'de' ? `${day}. ${month} ${year}` : `${day} ${month} ${year}`;
}

/** `Monday, 23 November 2026`, `Montag, 23. November 2026` */
export function formatFullDay(date: Date, language: LanguageCode, zone: string): string {
  const weekday = new Intl.DateTimeFormat(LOCALES[language], { weekday: 'long', timeZone: zone });
  return `${weekday.format(date)}, ${formatLongDay(date, language, zone)}`;
}

/** `Dec`, `Dez` of a UTC day */
export function formatMonth(date: Date, language: LanguageCode): string {
  return MONTHS[language].format(date);
}

const MONTHS: Record<LanguageCode, Intl.DateTimeFormat> = {
  en: new Intl.DateTimeFormat(LOCALES.en, { month: 'short', timeZone: 'UTC' }),
  de: new Intl.DateTimeFormat(LOCALES.de, { month: 'short', timeZone: 'UTC' }),
};

/** `08:12` */
export function formatTime(date: Date, language: LanguageCode, zone: string): string {
  const { hour, minute } = partsOf(date, language, zone);
  return `${hour}:${minute}`;
}

/** `today 08:12`, `22 Nov 19:03`, and in another year `22 Nov 2025 19:03`; `heute 08:12`, `22.11. 19:03`. */
export function formatMoment(date: Date, language: LanguageCode, zone: string, now: Date): string {
  const time = formatTime(date, language, zone);
  if (isSameDay(date, now, zone)) return `${language === 'de' ? 'heute' : 'today'} ${time}`;
  const { day, month, year } = partsOf(date, language, zone);
  const isThisYear = year === partsOf(now, language, zone).year;
  if (language === 'de') return `${day}.${month}.${isThisYear ? '' : year} ${time}`;
  return `${day} ${month} ${isThisYear ? '' : `${year} `}${time}`;
}

/** Whether two moments are on the same day of a zone. */
export function isSameDay(a: Date, b: Date, zone: string): boolean {
  return formatDay(a, 'en', zone) === formatDay(b, 'en', zone);
}

const numbers: Record<LanguageCode, Intl.NumberFormat> = {
  en: new Intl.NumberFormat(LOCALES.en),
  de: new Intl.NumberFormat(LOCALES.de),
};

/** `1,842`, `1.842` */
export function formatNumber(number: number, language: LanguageCode): string {
  return numbers[language].format(number);
}

/** A plan's duration: `1y` as `1 year`, `1 Jahr`. */
export function formatDuration(duration: string, language: LanguageCode): string {
  const count = Number.parseInt(duration, 10);
  const [one, several] = UNITS[language][duration.slice(-1) as 'y' | 'm' | 'd'];
  return `${formatNumber(count, language)} ${count === 1 ? one : several}`;
}

const UNITS: Record<LanguageCode, Record<'y' | 'm' | 'd', [one: string, several: string]>> = {
  en: { y: ['year', 'years'], m: ['month', 'months'], d: ['day', 'days'] },
  de: { y: ['Jahr', 'Jahre'], m: ['Monat', 'Monate'], d: ['Tag', 'Tage'] },
};
