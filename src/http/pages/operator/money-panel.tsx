import type { MoneyFigures } from '../../../figures/money';
import { NumberTable } from '../kit/chart';
import { Panel } from '../kit/panel';
import { useView } from '../view';

/**
 * Shows payments and refunds by month and currency, with the day from which they are complete. Empty before the first
 * amount.
 */
export function MoneyPanel({ money }: { money: MoneyFigures | undefined }) {
  const { t, format } = useView();
  const texts = t.renewals.money;
  if (!money?.since || money.sums.length === 0) return null;
  return (
    <Panel
      id="money"
      title={texts.title}
      aside={texts.since(format.localDay(money.since))}
      footer={texts.note}
    >
      <NumberTable
        titles={[texts.paid, texts.refunded]}
        rows={money.sums.map(({ month, currency, paid, refunded }) => ({
          label: `${format.month(new Date(`${month}-01`))} ${month.slice(0, 4)}`,
          values: [paid, refunded].map((amount) => (
            <span class="nowrap">{amount === 0 ? t.common.none : format.money(amount, currency)}</span>
          )),
        }))}
        what={t.renewals.months.month}
        caption={texts.caption}
      />
    </Panel>
  );
}
