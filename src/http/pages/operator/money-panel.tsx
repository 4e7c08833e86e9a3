import { minorDigits } from '../../../base/currency';
import type { MoneyFigures } from '../../../figures/money';
import { lastMonths } from '../../../figures/renewals';
import { BarChart } from '../kit/chart';
import { Panel } from '../kit/panel';
import { useView } from '../view';

/**
 * Shows payments and refunds of twelve months, with the day from which they are complete: the payments of the most
 * frequent currency as a chart, and each currency by itself in the numbers. Empty before the first amount.
 */
export function MoneyPanel({ money }: { money: MoneyFigures | undefined }) {
  const { t, format, now } = useView();
  const texts = t.renewals.money;
  if (!money?.since || money.sums.length === 0) return null;
  const { sums } = money;
  const monthsOf = (currency: string) => sums.filter((one) => one.currency === currency).length;
  // The currency of the most months is named first.
  const currencies = [...new Set(sums.map(({ currency }) => currency))].sort(
    (a, b) => monthsOf(b) - monthsOf(a),
  );
  const [main = ''] = currencies;
  const months = lastMonths(now).map((month) => ({ month, name: format.month(new Date(`${month}-01`)) }));
  const sumOf = (currency: string, which: 'paid' | 'refunded', of?: string) =>
    sums
      .filter((one) => one.currency === currency && (of === undefined || one.month === of))
      .reduce((sum, one) => sum + one[which], 0);
  const written = (which: 'paid' | 'refunded', of?: string) =>
    currencies
      .map((currency) => ({ currency, sum: sumOf(currency, which, of) }))
      .filter(({ sum }) => sum !== 0)
      .map(({ currency, sum }) => format.sum(sum, currency));
  const cell = (which: 'paid' | 'refunded', of: string) => {
    const [first = t.common.none, ...others] = written(which, of);
    return (
      <>
        <span class="nowrap">{first}</span>
        {others.length === 0 ? null : <span class="sub">{texts.also(others.join(', '))}</span>}
      </>
    );
  };
  const says = texts.says(written('paid').join(', '), written('refunded').join(', '));
  const unit = 10 ** minorDigits(main);
  return (
    <Panel
      id="money"
      title={texts.title}
      aside={texts.since(format.localDay(money.since))}
      footer={texts.note}
      inside
    >
      <BarChart
        id="money"
        bars={months.map(({ month, name }) => ({
          label: `${name} ${month.slice(0, 4)}`,
          values: [sumOf(main, 'paid', month) / unit],
        }))}
        axis={months.map(({ name }) => name)}
        series={[{ title: texts.paid, colour: 'b' }]}
        write={(amount) => format.sum(Math.round(amount * unit), main)}
        says={says}
        what={t.renewals.months.month}
        caption={texts.caption}
        empty={says}
        numbers={{
          titles: [texts.paid, texts.refunded],
          rows: months.map(({ month, name }) => ({
            label: `${name} ${month.slice(0, 4)}`,
            values: [cell('paid', month), cell('refunded', month)],
          })),
        }}
      />
    </Panel>
  );
}
