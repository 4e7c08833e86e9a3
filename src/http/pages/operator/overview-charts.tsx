import type { DayStatistics, Statistics } from '../../../licensing/statistics';
import type { Arrivals } from '../../../support/overview';
import { BarChart, HorizontalBars } from '../kit/chart';
import { Inside, Panel } from '../kit/panel';
import { useView } from '../view';

/** The charts of the overview. */

/** Releases that the sentence below a chart names. */
const MOST_NAMED = 3;

export function EndingPanel({ months }: { months: Statistics['expiring'] }) {
  const { t, format } = useView();
  const texts = t.overview.ending;
  const monthOf = (month: string) => new Date(`${month}-01T00:00:00Z`);
  const full = (month: string) => `${format.month(monthOf(month))} ${month.slice(0, 4)}`;
  const ends = [months[0], months.at(-1)].map((one) => (one === undefined ? '' : full(one.month)));
  return (
    <Panel id="ending" title={texts.title} inside>
      <BarChart
        id="ending"
        bars={months.map(({ month, count }, i) => ({
          label: full(month),
          values: [count],
          colour: i === 0 ? 'b' : 's',
        }))}
        axis={months.map(({ month }) => format.month(monthOf(month)))}
        series={[{ title: texts.licenses, colour: 's' }]}
        says={texts.says(ends[0] ?? '', ends[1] ?? '', format.number(months[0]?.count ?? 0))}
        what={texts.month}
        caption={texts.caption}
      />
    </Panel>
  );
}

export function ArrivedPanel({ arrivals, days }: { arrivals: Arrivals | undefined; days: number }) {
  const { t, format } = useView();
  const texts = t.overview.arrived;
  const length = format.number(days);
  const rows = (arrivals?.versions ?? []).map(({ product, version, downloads }) => ({
    label: `${product} ${version}`,
    value: downloads,
  }));
  const others = arrivals?.others ?? 0;
  if (others > 0) rows.push({ label: texts.others, value: others });
  return (
    <Panel id="arrived" title={texts.title} aside={texts.about(length)} footer={texts.note}>
      {rows.length === 0 ? (
        <Inside>
          <p class="mb-0">{arrivals === undefined ? t.overview.late : texts.none(length)}</p>
        </Inside>
      ) : (
        <HorizontalBars
          caption={texts.caption(length)}
          columns={[texts.version, texts.share, texts.downloads]}
          rows={rows}
        />
      )}
    </Panel>
  );
}

export function UsedPanel({
  days,
  released,
}: {
  days: DayStatistics[];
  /** in these days, the oldest first */
  released: { what: string; at: Date }[];
}) {
  const { t, format } = useView();
  const texts = t.overview.used;
  const count = days.reduce((sum, { activated }) => sum + activated, 0);
  const named = released.slice(-MOST_NAMED).map(({ what, at }) => texts.released(what, format.localDay(at)));
  return (
    <Panel id="used" title={texts.title} inside>
      <BarChart
        id="used"
        bars={days.map(({ day, activated }) => ({ label: format.day(new Date(day)), values: [activated] }))}
        series={[{ title: texts.activations, colour: 'b' }]}
        says={[texts.says(format.number(days.length), format.number(count)), ...named].join(' ')}
        what={texts.day}
        caption={texts.caption}
        height={104}
      />
    </Panel>
  );
}
