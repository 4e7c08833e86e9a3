import type { MoneyFigures } from '../../../figures/money';
import { NumberTable } from '../kit/chart';
import { Panel } from '../kit/panel';
import { useView } from '../view';

/**
 * Shows payments and refunds by month, each currency by itself, with the day from which they are complete. Empty before
 * the first amount.
 */
export function MoneyPanel({ money }: { money: MoneyFigures | undefined }) {
  const { t, format } = useView();
  const texts = t.renewals.money;
  if (!money?.since || money.sums.length === 0) return null;
  const { sums } = money;
  const monthsOf = (currency: string) => sums.filter((one) => one.currency === currency).length;
  // The currency of the most months is named first in each month.
  const ordered = sums.toSorted((a, b) => monthsOf(b.currency) - monthsOf(a.currency));
  const cell = (of: string, which: 'paid' | 'refunded') => {
    const some = ordered.filter((one) => one.month === of && one[which] !== 0);
    const [first = t.common.none, ...others] = some.map((one) => format.sum(one[which], one.currency));
    return (
      <>
        <span class="nowrap">{first}</span>
        {others.length === 0 ? null : <span class="sub">{texts.also(others.join(', '))}</span>}
      </>
    );
  };
  return (
    <Panel
      id="money"
      title={texts.title}
      aside={texts.since(format.localDay(money.since))}
      footer={texts.note}
    >
      <NumberTable
        titles={[texts.paid, texts.refunded]}
        rows={[...new Set(sums.map(({ month }) => month))].map((month) => ({
          label: `${format.month(new Date(`${month}-01`))} ${month.slice(0, 4)}`,
          values: [cell(month, 'paid'), cell(month, 'refunded')],
        }))}
        what={t.renewals.months.month}
        caption={texts.caption}
      />
    </Panel>
  );
}
