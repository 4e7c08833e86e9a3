import type { OperatorLanguage } from '../../../texts/operators/languages';
import type { Statistics } from '../../../figures/statistics';
import { refusalReason } from '../../../overview/action-items';
import { BarChart, type BarColour } from '../kit/chart';
import { Panel } from '../kit/panel';
import { useView } from '../view';

/** The chart of refused requests by day and reason. */

/** The number of reasons with their own colour. The others share the last colour. */
const SHOWN = 2;
const COLOURS: BarColour[] = ['r', 'b', 's'];

export interface RefusalDays {
  /** the reasons with the most requests; null for all others together */
  reasons: (string | null)[];
  days: { day: Date; requests: number[] }[];
}

/** Counts refused requests by day and reason, from the aggregates, which are at most one minute old. */
export function refusalsADay({ days }: Statistics, language: OperatorLanguage): RefusalDays {
  const sums = new Map<string, number>();
  for (const { refused } of days)
    for (const [code, { requests }] of Object.entries(refused))
      sums.set(code, (sums.get(code) ?? 0) + requests);
  const codes = [...sums.keys()].sort((a, b) => (sums.get(b) ?? 0) - (sums.get(a) ?? 0));
  // Show a third reason itself, because "others" would contain only that one.
  const [own, others] = codes.length > SHOWN + 1 ? [codes.slice(0, SHOWN), codes.slice(SHOWN)] : [codes, []];
  const groups = [...own.map((code) => [code]), ...(others.length > 0 ? [others] : [])];
  return {
    reasons: [...own.map((code) => refusalReason(code, language)), ...(others.length > 0 ? [null] : [])],
    days: days.map(({ day, refused }) => ({
      day: new Date(`${day}T00:00:00Z`),
      requests: groups.map((group) => group.reduce((sum, code) => sum + (refused[code]?.requests ?? 0), 0)),
    })),
  };
}

export function RefusalChart({ days: { reasons, days } }: { days: RefusalDays }) {
  const { t, format } = useView();
  const texts = t.requests.chart;
  const total = days.flatMap(({ requests }) => requests).reduce((sum, one) => sum + one, 0);
  const count = format.number(days.length);
  return (
    <Panel id="refusals" title={texts.title} inside>
      <BarChart
        id="refusals"
        bars={days.map(({ day, requests }) => ({ label: format.day(day), values: requests }))}
        series={reasons.map((reason, i) => ({
          title: reason ?? texts.others,
          colour: COLOURS[i] ?? 's',
        }))}
        says={texts.says(format.number(total), count)}
        what={texts.day}
        caption={texts.caption}
        empty={texts.none(count)}
        height={110}
      />
    </Panel>
  );
}
