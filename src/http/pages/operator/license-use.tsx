import { inBothForms } from '../../../licensing/core/identifiers';
import type { LicenseMonthCounts } from '../../../figures/kept-figures';
import type { LastSeen } from '../../../support/last-seen';
import { BarChart } from '../kit/chart';
import { Panel } from '../kit/panel';
import { useView, type View } from '../view';

/** The panel about the use of a licence: its last twelve months, and the site that used it last. */
export function UsePanel({
  months,
  seen,
}: {
  /** undefined if they were not loaded within the timeout */
  months: LicenseMonthCounts[] | undefined;
  /** undefined if no site has used it */
  seen: LastSeen | undefined;
}) {
  const view = useView();
  const { t, format } = view;
  const texts = t.license.use;
  const bars = (months ?? []).map(({ month, downloads, refused }) => {
    const first = new Date(`${month}-01T00:00:00Z`);
    const short = format.month(first);
    return { label: `${short} ${month.slice(0, 4)}`, short, values: [downloads, refused] };
  });
  const sum = (of: 'downloads' | 'refused') => (months ?? []).reduce((all, one) => all + one[of], 0);
  return (
    <Panel id="use" title={texts.title} inside>
      <p>{seen === undefined ? texts.never : seenSentence(view, seen)}</p>
      <BarChart
        id="use"
        bars={bars}
        axis={bars.map(({ short }) => short)}
        series={[
          { title: texts.downloads, colour: 'b' },
          { title: texts.refused, colour: 'r' },
        ]}
        says={texts.says(format.number(sum('downloads')), format.number(sum('refused')))}
        what={texts.month}
        caption={texts.caption}
        empty={months === undefined ? t.overview.late : texts.empty}
        height={92}
      />
    </Panel>
  );
}

function seenSentence({ t, format }: View, { at, site, ip, installed, asked }: LastSeen): string {
  const texts = t.license.use;
  const when = format.moment(at);
  const where =
    site === null
      ? ip === null
        ? texts.seen(when)
        : texts.from(when, ip)
      : texts.on(when, inBothForms(site, 'domain'));
  if (installed !== null) return texts.withVersion(where, installed);
  return asked === null ? `${where}.` : texts.asking(where, asked);
}
