/** Draws lines over time as a standalone SVG, light or dark. */

export interface Series {
  name: string;
  color: string;
  /** a value for each time */
  values: number[];
}

export interface Chart {
  /** in minutes */
  times: number[];
  /** periods to highlight, in minutes */
  marks: { from: number; to: number; label: string }[];
  panels: { title: string; series: Series[] }[];
}

const WIDTH = 900;
const LEFT = 60;
const RIGHT = 20;
const PANEL = 150;
const TITLE = 40;
const GRID_LINES = 4;

export function lineChart({ times, marks, panels }: Chart): string {
  const end = Math.max(1, Math.ceil(times.at(-1) ?? 1));
  const height = panels.length * (PANEL + TITLE) + 40;
  const x = (minute: number) => LEFT + (minute / end) * (WIDTH - LEFT - RIGHT);
  const parts = panels.map(({ title, series }, i) => {
    const top = i * (PANEL + TITLE) + TITLE;
    const most = niceAbove(Math.max(1, ...series.flatMap(({ values }) => values)));
    const y = (value: number) => top + PANEL - (value / most) * PANEL;
    const grid = Array.from({ length: GRID_LINES + 1 }, (_, line) => {
      const value = (most / GRID_LINES) * line;
      return (
        `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(y(value))}" y2="${at(y(value))}" stroke="#ccc"/>` +
        text(LEFT - 6, y(value) + 4, value.toLocaleString('en'), 'end')
      );
    });
    const shades = marks.map(
      ({ from, to, label }) =>
        `<rect x="${at(x(from))}" y="${top}" width="${at(Math.max(1, x(to) - x(from)))}" height="${PANEL}" fill="#888" opacity="0.2"/>` +
        (i === 0 ? text((x(from) + x(to)) / 2, top - 4, label, 'middle') : ''),
    );
    const lines = series.map(
      ({ color, values }) =>
        `<polyline fill="none" stroke="${color}" stroke-width="1.5" points="${values
          .map((value, n) => `${at(x(times[n] ?? 0))},${at(y(value))}`)
          .join(' ')}"/>`,
    );
    const legend = series.map(({ name, color }, n) =>
      text(LEFT + 240 + n * 200, top - 20, name, 'start', color),
    );
    return [text(LEFT, top - 20, title, 'start'), ...legend, ...shades, ...grid, ...lines].join('\n');
  });
  const step = Math.max(1, Math.ceil(end / 20));
  const axis: string[] = [];
  for (let minute = 0; minute <= end; minute += step)
    axis.push(text(x(minute), height - 20, String(minute), 'middle'));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
${parts.join('\n')}
${axis.join('\n')}
${text(WIDTH / 2, height - 4, 'minutes; grey: a fault, by its number', 'middle')}
</svg>
`;
}

function text(x: number, y: number, words: string, anchor: string, color = '#333'): string {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" fill="${color}">${words}</text>`;
}

function at(value: number): string {
  return value.toFixed(1);
}

/** Returns the next of 1, 2, 4, 5 and 10 times a power of ten: each divides into quarters with few digits. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
