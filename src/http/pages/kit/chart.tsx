import type { Child } from 'hono/jsx';
import type { Format } from '../format';
import { useView } from '../view';

/** Charts without script: SVG from the server, and the same numbers in a table. */

/** The colours: `b` the main one, `s` a soft one, `h` a second hue, `r` for what went wrong. */
export type BarColour = 'b' | 's' | 'h' | 'r';

export interface Bar {
  /** in full, such as `19 Nov 2026` */
  label: string;
  /** from the base upwards, one for each series */
  values: number[];
  /** instead of the series' colours */
  colour?: BarColour;
}

export interface Series {
  title: string;
  colour: BarColour;
}

/** The highest number of labels that fit side by side. */
const MAX_LABELS = 13;
/** The part of its column that a bar fills. */
const FILLED = 0.56;

/** The height that is reserved for the number above a bar. */
const NUMBER_HEIGHT = 16;
/** The longest number, in characters, that a phone shows above each bar. Longer ones are above every other bar. */
const SHORT = 3;

/**
 * A bar chart over time. It begins at zero and stacks several series. Up to 13 bars have their numbers above them. If
 * there are more, a line above the chart names the highest one. If every value is 0, `empty` is shown instead.
 * @param says one or two sentences below the chart, which are also its accessible name
 * @param axis the labels below up to 13 bars; with more bars, only the first and last label. By default those of the
 * bars
 */
export function BarChart({
  id,
  bars,
  series,
  says,
  what,
  caption,
  empty,
  axis = [bars[0]?.label ?? '', bars.at(-1)?.label ?? ''],
  height = 150,
  numbers = { titles: series.map(({ title }) => title), rows: bars },
  hasTable = true,
  write,
}: {
  /** unique in the page */
  id: string;
  bars: Bar[];
  series: Series[];
  says: Child;
  /** the title of the table's first column, which names what a bar represents, such as `Day` */
  what: string;
  /** the table's caption */
  caption: string;
  empty: Child;
  axis?: string[];
  height?: number;
  /** the table's numbers, if it has more columns than the chart has series */
  numbers?: TableNumbers;
  /** false if a table next to the chart has the same numbers */
  hasTable?: boolean;
  /** writes a long value, such as an amount: only the highest and the last bar then have a number above them */
  write?: (value: number) => string;
}) {
  const { t, format } = useView();
  const highest = Math.max(0, ...bars.map(totalOf));
  const top = bars.find((bar) => totalOf(bar) === highest);
  const isEach = axis.length === bars.length && bars.length <= MAX_LABELS;
  const highestAt = top === undefined ? -1 : bars.indexOf(top);
  const hasNumber = (i: number) =>
    isEach && (write === undefined || i === highestAt || (i === bars.length - 1 && i > highestAt + 1));
  if (highest === 0) return <p class="muted">{empty}</p>;
  const isLong = write === undefined && bars.some((bar) => format.compact(totalOf(bar)).length > SHORT);
  return (
    <>
      {isEach ? null : <p class="tiny muted">{t.common.highest(format.number(highest), top?.label)}</p>}
      <svg
        class={isEach && isLong ? 'chart chart-long' : 'chart'}
        width="100%"
        height={height}
        role="img"
        aria-labelledby={`${id}-says`}
        focusable="false"
      >
        {bars.map((bar, i) => (
          <Stack
            bar={bar}
            i={i}
            series={series}
            highest={highest}
            height={height}
            count={bars.length}
            room={height - (isEach ? NUMBER_HEIGHT : 4)}
            number={hasNumber(i) ? (write ?? format.compact)(totalOf(bar)) : undefined}
            write={write ?? format.number}
          />
        ))}
        <line class="l" x1="0" x2="100%" y1={height - 0.5} y2={height - 0.5} />
      </svg>
      <div class={isEach ? 'axis axis-12' : 'axis'} aria-hidden="true">
        {(isEach ? axis : [axis[0], axis.at(-1)]).map((label) => (
          <span>{label}</span>
        ))}
      </div>
      {series.length > 1 ? <Legend series={series} /> : null}
      <p class="small muted" id={`${id}-says`}>
        {says}
      </p>
      {hasTable ? (
        <details class="raw">
          <summary>{t.common.sayWhat}</summary>
          <NumberTable {...numbers} what={what} caption={caption} />
        </details>
      ) : null}
    </>
  );
}

function totalOf({ values }: Bar): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function Stack({
  bar,
  i,
  series,
  highest,
  height,
  count,
  room,
  number,
  write,
}: {
  bar: Bar;
  i: number;
  series: Series[];
  highest: number;
  height: number;
  count: number;
  /** the height of the highest bar */
  room: number;
  /** the number above the bar */
  number: string | undefined;
  write: (value: number) => string;
}) {
  const total = totalOf(bar);
  const share = 100 / count;
  let base = height;
  if (total === 0) return <g />;
  return (
    <g>
      <title>{`${bar.label}: ${write(total)}`}</title>
      {bar.values.map((value, n) => {
        if (value === 0) return null;
        // Draw at least one pixel, so that a small value is visible.
        const tall = Math.max(1, (value / highest) * room);
        base -= tall;
        return (
          <rect
            class={bar.colour ?? series[n]?.colour ?? 'b'}
            x={`${round(share * (i + (1 - FILLED) / 2))}%`}
            width={`${round(share * FILLED)}%`}
            y={round(base)}
            height={round(tall)}
          />
        );
      })}
      {number === undefined ? null : (
        <text class="n" x={`${round(share * (i + 0.5))}%`} y={round(base - 4)} text-anchor="middle">
          {number}
        </text>
      )}
    </g>
  );
}

function round(value: number): string {
  return String(Number(value.toFixed(2)));
}

function Legend({ series }: { series: Series[] }) {
  return (
    <p class="key">
      {series.map(({ title, colour }) => (
        <span>
          <svg class="chart" viewBox="0 0 8 8" aria-hidden="true" focusable="false">
            <circle class={colour} cx="4" cy="4" r="4" />
          </svg>
          {title}
        </span>
      ))}
    </p>
  );
}

interface TableNumbers {
  titles: string[];
  rows: { label: string; values: Child[] }[];
}

/** A table of numbers, which keeps its rows and columns on a phone. @param what the title of the first column */
export function NumberTable({
  titles,
  rows,
  what,
  caption,
}: {
  titles: string[];
  /** a number, or one with a link */
  rows: { label: Child; values: Child[] }[];
  what: string;
  caption: string;
}) {
  const { format } = useView();
  return (
    <table class="t">
      <caption class="visually-hidden">{caption}</caption>
      <thead>
        <tr>
          <th scope="col">{what}</th>
          {titles.map((title) => (
            <th scope="col" class="num">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ label, values }) => (
          <tr>
            <th scope="row">{label}</th>
            {values.map((value) => (
              <td class="num">{typeof value === 'number' ? format.number(value) : value}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The width of a month's name, and that of a day, in percent of the calendar's width. */
const NAMES_WIDTH = 24;
const DAY_WIDTH = (100 - NAMES_WIDTH) / 31;
const ROW_HEIGHT = 18;
const DAY_HEIGHT = 14;
/** The number of shades for days with a value above 0. */
const SHADES = 4;

/**
 * A calendar (heat map) with a row for each month. The shade of a day shows its value.
 * @param days the days with a value, in order; days without one may be missing
 * @param says one or two sentences below the calendar, which are also its accessible name
 */
export function DayCalendar({
  id,
  months,
  days,
  says,
  what,
  series,
  caption,
}: {
  /** unique in the page */
  id: string;
  /** such as `2026-11`, in order */
  months: string[];
  days: { day: string; value: number }[];
  says: Child;
  /** the title of the table's first column */
  what: string;
  series: string;
  /** the table's caption */
  caption: string;
}) {
  const { t, format } = useView();
  const highest = Math.max(0, ...days.map(({ value }) => value));
  const top = days.find(({ value }) => value === highest);
  const values = new Map(days.map(({ day, value }) => [day, value]));
  const nameOf = (day: string) => format.day(new Date(day));
  return (
    <>
      <p class="tiny muted">
        {highest === 0
          ? t.common.highest('0')
          : t.common.highest(format.number(highest), top && nameOf(top.day))}
      </p>
      <svg
        class="chart days"
        width="100%"
        height={months.length * ROW_HEIGHT}
        role="img"
        aria-labelledby={`${id}-says`}
        focusable="false"
      >
        {months.map((month, row) => (
          <>
            <text x="0" y={row * ROW_HEIGHT + DAY_HEIGHT - 3}>
              {monthWithin(format, month, months[row - 1])}
            </text>
            {daysOf(month).map((day, i) => (
              <Day day={day} i={i} row={row} highest={highest} value={values.get(day) ?? 0} />
            ))}
          </>
        ))}
      </svg>
      <p class="small muted" id={`${id}-says`}>
        {says}
      </p>
      <details class="raw">
        <summary>{t.common.sayWhat}</summary>
        <NumberTable
          titles={[series]}
          rows={days.map(({ day, value }) => ({ label: nameOf(day), values: [value] }))}
          what={what}
          caption={caption}
        />
      </details>
    </>
  );
}

/** Returns the name of a month, with its year if the row above is in another year. */
function monthWithin(format: Format, month: string, above: string | undefined): string {
  const name = format.month(new Date(`${month}-01`));
  return month.slice(0, 4) === above?.slice(0, 4) ? name : `${name} ${month.slice(0, 4)}`;
}

function daysOf(month: string): string[] {
  const [year, number] = month.split('-').map(Number) as [number, number];
  const count = new Date(Date.UTC(year, number, 0)).getUTCDate();
  return Array.from({ length: count }, (_, i) => `${month}-${String(i + 1).padStart(2, '0')}`);
}

function Day({
  day,
  i,
  row,
  value,
  highest,
}: {
  day: string;
  i: number;
  row: number;
  value: number;
  highest: number;
}) {
  const { format } = useView();
  return (
    <rect
      class={`d${value === 0 ? 0 : Math.ceil((value / highest) * SHADES)}`}
      x={`${round(NAMES_WIDTH + DAY_WIDTH * i)}%`}
      width={`${round(DAY_WIDTH * 0.84)}%`}
      y={row * ROW_HEIGHT}
      height={DAY_HEIGHT}
    >
      {value === 0 ? null : <title>{`${format.day(new Date(day))}: ${format.number(value)}`}</title>}
    </rect>
  );
}

export interface HorizontalBar {
  label: Child;
  value: number;
  /** the total that the bar shows a part of; undefined if the bars compare the values with each other */
  of?: number;
  /** instead of the number */
  says?: Child;
}

/**
 * A table with a bar in each row. On a phone, CSS moves the bar below the other two cells. This removes the table
 * semantics for screen readers, so ARIA roles restore them.
 * @param columns the column titles: of the label, of the bar, and of the number
 * @param empty the text that is shown if there is no row
 */
export function HorizontalBars({
  caption,
  columns,
  rows,
  empty,
}: {
  caption: string;
  columns: readonly [what: string, bar: string, number: string];
  rows: HorizontalBar[];
  empty: Child;
}) {
  const { format } = useView();
  const highest = Math.max(1, ...rows.map(({ value }) => value));
  const [what, bar, number] = columns;
  if (rows.length === 0)
    return (
      <div class="in">
        <p class="muted">{empty}</p>
      </div>
    );
  return (
    <table class="t hbar" role="table">
      <caption class="visually-hidden">{caption}</caption>
      <thead class="visually-hidden" role="rowgroup">
        <tr role="row">
          <th scope="col" role="columnheader">
            {what}
          </th>
          <th scope="col" role="columnheader">
            {bar}
          </th>
          <th scope="col" role="columnheader">
            {number}
          </th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map(({ label, value, of, says }) => (
          <tr role="row">
            <th scope="row" role="rowheader">
              {label}
            </th>
            <td role="cell">
              <svg width="100%" height="8" aria-hidden="true" focusable="false">
                {of === undefined ? null : <rect class="rest" width="100%" height="8" rx="4" />}
                {value === 0 ? null : (
                  <rect
                    class="b"
                    width={`${round(Math.max(1, (value / (of ?? highest)) * 100))}%`}
                    height="8"
                    rx="4"
                  />
                )}
              </svg>
            </td>
            <td role="cell" class="num">
              {says ?? format.number(value)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
