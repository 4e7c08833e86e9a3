import { capitalized } from '../../../texts/case';
import { describeStored, type NoMailReason } from '../../../texts/operators/failures';
import type { OrderMail } from '../../../orders/key-mails';
import { formState } from '../form-state';
import { Form, Submit } from '../kit/fields';
import { NoteLine } from '../kit/note';
import { useView } from '../view';

/**
 * The note that a paid order has no e-mail address, with a link to enter one.
 * @param isNeeded true if it has active licences
 */
export function AddressNeeded({
  id,
  mail: { reason },
  isNeeded,
}: {
  id: number;
  mail: OrderMail;
  isNeeded: boolean;
}) {
  const { t, to, mayWrite } = useView();
  if (reason !== 'no_address' || !isNeeded) return null;
  return (
    <NoteLine>
      {t.orders.one.noAddress}{' '}
      {mayWrite ? <a href={to(`/orders/${id}/customer`)}>{t.orders.customerPage.title}</a> : null}
    </NoteLine>
  );
}

/**
 * The state of the mail with an order's keys: its time and address, or the reason why it was not sent. A button sends
 * it.
 * @param back the page to which the button returns, if it is a licence's page
 */
export function MailFact({
  id,
  mail: { state, to, at, reason },
  back,
}: {
  id: number;
  mail: OrderMail;
  back?: string;
}) {
  const { t, format, mayWrite } = useView();
  const texts = t.orders.one;
  const isSendable = reason !== 'nothing_issued' && reason !== 'no_address' && reason !== 'mail_off';
  return (
    <>
      {state === 'none'
        ? texts.notMailed(t.failures.keysNotMailed[reason as NoMailReason])
        : texts.mailed[state](to ?? '', at === null ? '' : format.moment(at))}
      {state === 'none' || reason === null ? null : (
        <>
          {' '}
          <br />
          <span class="sub">{`${capitalized(describeStored(t.failures.mail, reason))}.`}</span>
        </>
      )}
      {mayWrite && isSendable && state !== 'queued' ? (
        <Form path={`/orders/${id}/mails`} form={formState()}>
          {back === undefined ? null : <input type="hidden" name="back" value={back} />}
          <Submit kind="quiet" small busy={texts.sendBusy} label={texts.sendKeys} />
        </Form>
      ) : null}
    </>
  );
}
