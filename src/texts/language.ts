import { minorDigits } from '../base/currency';
import { DAY_MS } from '../base/days';

/** A language's spelling of days, times and numbers, independent of the machine's locale. */
export interface Language {
  /** its own name, such as `Deutsch` */
  name: string;
  /** `12 Nov 2026`. Without a zone in UTC, because a licence ends at the end of its UTC day. */
  day: (date: Date, zone?: string) => string;
  /** `12 November 2026`, in the form for letters. Without a zone in UTC. */
  longDay: (date: Date, zone?: string) => string;
  /** `Monday, 23 November 2026` */
  fullDay: (date: Date, zone: string) => string;
  /** `Dec`, of the UTC day */
  month: (date: Date) => string;
  /** `December 2031`, in UTC */
  longMonth: (date: Date) => string;
  /** `08:12` */
  time: (date: Date, zone: string) => string;
  /** `today, 08:12`, `yesterday, 17:43`, `Wed 09:31` in this week, `12 Nov 19:03`, or `22 Nov 2025 19:03` in another year */
  moment: (date: Date, zone: string, now: Date) => string;
  /** `yesterday`, `in 12 days` or `5 months ago`, by whole days */
  distance: (date: Date, now: Date) => string;
  /** `1,842` */
  number: (value: number) => string;
  /** `1.8K`, for little space */
  compact: (value: number) => string;
  /** an amount in minor units, `€49.00`. `CA$` is not `$`: the language's sign means one currency only. */
  money: (amount: number, currency: string) => string;
  /** a sum of amounts: like `money`, but without decimals if they are zeros, `€4,218` */
  sum: (amount: number, currency: string) => string;
  /** a plan's duration: `1y` as `1 year` */
  duration: (duration: string) => string;
  /** `12.4 MB` */
  bytes: (value: number) => string;
}

interface Spelling {
  name: string;
  locale: string;
  shortDay: Pick<Intl.DateTimeFormatOptions, 'day' | 'month'>;
  day: (parts: Parts) => string;
  longDay: (parts: Parts) => string;
  /** a day of this year */
  dayOfYear: (parts: Parts) => string;
  /** `Wed`, from the short name of a day */
  weekday: (name: string) => string;
  today: string;
  yesterday: string;
  /** the text between the name of a day and its time */
  beforeTime: string;
  units: Record<'y' | 'm' | 'd', [one: string, several: string]>;
}

/** A distance of fewer days is written in days, a longer one in months. */
const DAYS_IN_WORDS = 60;
const DAYS_OF_MONTH = 365.2425 / 12;

type Parts = Record<'year' | 'month' | 'day' | 'hour' | 'minute', string>;

export function createLanguage({ name, locale, units, ...spelling }: Spelling): Language {
  const formats = new Map<string, Intl.DateTimeFormat>();
  let distances: Intl.RelativeTimeFormat | undefined;
  let numbers: Intl.NumberFormat | undefined;
  let compactNumbers: Intl.NumberFormat | undefined;
  const moneyFormats = new Map<string, Intl.NumberFormat>();
  return {
    name,
    day,
    longDay,
    fullDay,
    month,
    longMonth,
    time,
    moment,
    distance,
    number,
    compact,
    money,
    sum,
    duration,
    bytes,
  };

  /** Returns a cached format: creating one takes some 50 times as long as using it. @throws RangeError for an unknown zone */
  function formatOf(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
    const key = JSON.stringify(options);
    const format = formats.get(key) ?? new Intl.DateTimeFormat(locale, options);
    formats.set(key, format);
    return format;
  }

  function partsOf(date: Date, timeZone: string, how: Intl.DateTimeFormatOptions = spelling.shortDay): Parts {
    const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
    const parts = formatOf({ year: 'numeric', ...how, ...clock, timeZone }).formatToParts(date);
    return Object.fromEntries(parts.map(({ type, value }) => [type, value])) as unknown as Parts;
  }

  function day(date: Date, zone = 'UTC'): string {
    return spelling.day(partsOf(date, zone));
  }

  function longDay(date: Date, zone = 'UTC'): string {
    return spelling.longDay(partsOf(date, zone, { month: 'long', day: 'numeric' }));
  }

  function fullDay(date: Date, zone: string): string {
    return `${formatOf({ weekday: 'long', timeZone: zone }).format(date)}, ${longDay(date, zone)}`;
  }

  function month(date: Date): string {
    return formatOf({ month: 'short', timeZone: 'UTC' }).format(date);
  }

  function longMonth(date: Date): string {
    return formatOf({ month: 'long', year: 'numeric', timeZone: 'UTC' }).format(date);
  }

  function time(date: Date, zone: string): string {
    const { hour, minute } = partsOf(date, zone);
    return `${hour}:${minute}`;
  }

  function moment(date: Date, zone: string, now: Date): string {
    const [then, present] = [dayNumber(date, zone), dayNumber(now, zone)];
    if (then === present) return `${spelling.today}${spelling.beforeTime}${time(date, zone)}`;
    if (then === present - 1) return `${spelling.yesterday}${spelling.beforeTime}${time(date, zone)}`;
    // A calendar week has each weekday once, so that past and future days differ.
    if (weekOf(then) === weekOf(present)) {
      const name = formatOf({ weekday: 'short', timeZone: zone }).format(date);
      return `${spelling.weekday(name)} ${time(date, zone)}`;
    }
    const parts = partsOf(date, zone);
    const isThisYear = parts.year === partsOf(now, zone).year;
    return `${isThisYear ? spelling.dayOfYear(parts) : spelling.day(parts)} ${time(date, zone)}`;
  }

  function distance(date: Date, now: Date): string {
    distances ??= new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
    const days = Math.trunc((date.getTime() - now.getTime()) / DAY_MS);
    if (Math.abs(days) < DAYS_IN_WORDS) return distances.format(days, 'day');
    return distances.format(Math.round(days / DAYS_OF_MONTH), 'month');
  }

  /** Returns the number of a zone's day, from 1 January 1970 on. */
  function dayNumber(date: Date, zone: string): number {
    const { year, month: of, day: on } = partsOf(date, zone, { month: 'numeric', day: 'numeric' });
    return Date.UTC(Number(year), Number(of) - 1, Number(on)) / DAY_MS;
  }

  function number(value: number): string {
    // Created at the first use, because the first one in a process takes 15 ms.
    numbers ??= new Intl.NumberFormat(locale);
    return numbers.format(value);
  }

  function compact(value: number): string {
    compactNumbers ??= new Intl.NumberFormat(locale, {
      notation: 'compact',
      minimumFractionDigits: 0,
      maximumFractionDigits: 1,
    } as const);
    return compactNumbers.format(value);
  }

  function money(amount: number, currency: string): string {
    return moneyWith(minorDigits(currency), amount, currency);
  }

  function sum(amount: number, currency: string): string {
    const digits = minorDigits(currency);
    return moneyWith(amount % 10 ** digits === 0 ? 0 : digits, amount, currency);
  }

  function moneyWith(digits: number, amount: number, currency: string): string {
    const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    const key = `${currency} ${digits}`;
    const format =
      moneyFormats.get(key) ?? new Intl.NumberFormat(locale, { style: 'currency', currency, ...decimals });
    moneyFormats.set(key, format);
    return format.format(amount / 10 ** minorDigits(currency));
  }

  function duration(text: string): string {
    const count = Number.parseInt(text, 10);
    const [one, several] = units[text.slice(-1) as 'y' | 'm' | 'd'];
    return `${number(count)} ${count === 1 ? one : several}`;
  }

  function bytes(value: number): string {
    const step = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), BYTES.length - 1);
    return new Intl.NumberFormat(locale, {
      style: 'unit',
      unit: BYTES[step] ?? 'byte',
      // The short form has no plural in English: 885 byte.
      unitDisplay: step === 0 ? 'long' : 'short',
      maximumFractionDigits: step > 1 ? 1 : 0,
    }).format(value / 1000 ** step);
  }
}

/** Returns the number of a day's week. Weeks begin on Monday, and 1 January 1970 was a Thursday. */
function weekOf(day: number): number {
  return Math.floor((day + 3) / 7);
}

const BYTES = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
