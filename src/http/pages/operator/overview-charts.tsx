import type { DayStatistics, Statistics } from '../../../figures/statistics';
import type { Arrivals, Installed, RenewalRate, TrendMonth } from '../../../overview/overview';
import { BarChart, HorizontalBars, type HorizontalBar } from '../kit/chart';
import { Panel } from '../kit/panel';
import { useView, type View } from '../view';

/** The charts of the overview (dashboard). */

/** The number of releases that the sentence below a chart names. */
const MAX_NAMED = 3;
/** The most products, or versions of one product. The page of the product's sites has the others. */
const MAX_INSTALLED = 8;

/** Formats a month such as `2026-11` as `Nov 2026`. */
function fullMonth({ format }: View, month: string): string {
  return `${format.month(firstOf(month))} ${month.slice(0, 4)}`;
}

function firstOf(month: string): Date {
  return new Date(`${month}-01T00:00:00Z`);
}

/** The sales and renewals of a year. */
export function TrendPanel({
  months,
  rate,
  productId,
}: {
  months: TrendMonth[] | undefined;
  rate: RenewalRate | undefined;
  productId: number | undefined;
}) {
  const view = useView();
  const { t, to, format } = view;
  const texts = t.overview.trend;
  const product = { product_id: productId };
  const sum = (of: 'sold' | 'renewed') => (months ?? []).reduce((all, one) => all + one[of], 0);
  return (
    <Panel
      id="trend"
      title={texts.title}
      aside={
        <>
          <a href={to('/renewals', product)}>{texts.renewals}</a> ·{' '}
          <a href={to('/not-renewed', { ...product, month: months?.at(-2)?.month })}>{texts.notRenewed}</a>
        </>
      }
      inside
    >
      <BarChart
        id="trend"
        bars={(months ?? []).map(({ month, sold, renewed }) => ({
          label: fullMonth(view, month),
          values: [sold, renewed],
        }))}
        axis={(months ?? []).map(({ month }) => format.month(firstOf(month)))}
        series={[
          { title: texts.sold, colour: 'b' },
          { title: texts.renewed, colour: 'h' },
        ]}
        says={
          <>
            {texts.says(format.number(sum('sold')), format.number(sum('renewed')))}
            {rate === undefined || rate.ended === 0 ? null : <> {rateSentence(view, rate)}</>}
          </>
        }
        what={texts.month}
        caption={texts.caption}
        empty={months === undefined ? t.overview.late : texts.empty}
      />
    </Panel>
  );
}

/** The fewest licences for which a share is shown; a share of fewer is not significant. */
const MIN_FOR_SHARE = 20;

function rateSentence({ t, format }: View, { ended, renewed }: RenewalRate): string {
  const share = ended < MIN_FOR_SHARE ? undefined : format.number(Math.round((100 * renewed) / ended));
  return t.overview.trend.rate(format.number(renewed), format.number(ended), share);
}

export function EndingPanel({ months }: { months: Statistics['expiring'] }) {
  const view = useView();
  const { t, to, format } = view;
  const texts = t.overview.ending;
  const full = (one: { month: string } | undefined) => (one === undefined ? '' : fullMonth(view, one.month));
  return (
    <Panel
      id="ending"
      title={texts.title}
      aside={<a href={to('/licenses', { expiring: '90d' })}>{texts.all}</a>}
      inside
    >
      <BarChart
        id="ending"
        bars={months.map((one) => ({
          label: full(one),
          values: [one.count],
        }))}
        axis={months.map(({ month }) => format.month(firstOf(month)))}
        series={[{ title: texts.licenses, colour: 'b' }]}
        says={texts.says(full(months[0]), full(months.at(-1)), format.number(months[0]?.count ?? 0))}
        what={texts.month}
        caption={texts.caption}
        empty={texts.empty}
      />
    </Panel>
  );
}

/**
 * The versions on customers' sites: for several products the number of up-to-date sites, for one product each version.
 */
export function InstalledPanel({
  installed,
  products,
}: {
  installed: Installed[] | undefined;
  /** the number of products that are counted */
  products: number;
}) {
  const view = useView();
  const { t } = view;
  const texts = t.overview.installed;
  const [first] = installed ?? [];
  const isOne = first !== undefined && products === 1;
  const rows = isOne ? versionRows(view, first) : productRows(view, installed ?? []);
  return (
    <Panel
      id="installed"
      title={texts.title}
      aside={isOne ? upToDate(view, first) : undefined}
      footer={rows.length === 0 ? undefined : <span class="muted">{texts.note}</span>}
    >
      <HorizontalBars
        caption={isOne ? texts.captionOne(first.product) : texts.caption}
        columns={[isOne ? texts.version : texts.product, texts.share, texts.sites]}
        rows={rows.slice(0, MAX_INSTALLED)}
        empty={installed === undefined ? t.overview.late : texts.empty}
      />
    </Panel>
  );
}

function productRows(view: View, installed: Installed[]): HorizontalBar[] {
  return installed.map((one) => ({
    label: <a href={view.to(`/products/${one.productId}/sites`)}>{one.product}</a>,
    value: one.upToDate,
    of: one.sites,
    says: upToDate(view, one),
  }));
}

function versionRows({ to }: View, { productId, versions }: Installed): HorizontalBar[] {
  return versions.map(({ version, sites }) => ({
    label: <a href={to(`/products/${productId}/sites`, { version })}>{version}</a>,
    value: sites,
  }));
}

function upToDate({ t, format }: View, { newest, sites, upToDate: current }: Installed): string {
  const texts = t.overview.installed;
  const all = format.number(sites);
  return newest === null ? texts.unpublished(all) : texts.upToDate(format.number(current), all, newest);
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
    <Panel id="arrived" title={texts.title} aside={texts.about(length)}>
      <HorizontalBars
        caption={texts.caption(length)}
        columns={[texts.version, texts.share, texts.downloads]}
        rows={rows}
        empty={arrivals === undefined ? t.overview.late : texts.none(length)}
      />
    </Panel>
  );
}

export function UsedPanel({
  days,
  released,
}: {
  days: DayStatistics[];
  /** the releases of these days, oldest first */
  released: { what: string; at: Date }[];
}) {
  const { t, format } = useView();
  const texts = t.overview.used;
  const count = days.reduce((sum, { activated }) => sum + activated, 0);
  const named = released.slice(-MAX_NAMED).map(({ what, at }) => texts.released(what, format.localDay(at)));
  return (
    <Panel id="used" title={texts.title} inside>
      <BarChart
        id="used"
        bars={days.map(({ day, activated }) => ({ label: format.day(new Date(day)), values: [activated] }))}
        series={[{ title: texts.activations, colour: 'b' }]}
        says={[texts.says(format.number(days.length), format.number(count)), ...named].join(' ')}
        what={texts.day}
        caption={texts.caption}
        empty={texts.empty(format.number(days.length))}
        height={104}
      />
    </Panel>
  );
}
