import { capitalized } from '../../../texts/case';
import { describeStored } from '../../../texts/operators/failures';
import { canSendAgain } from '../../../mail/failed-mails';
import type { MailReport } from '../../../mail/queue';
import { formState } from '../form-state';
import { Form, Submit } from '../kit/fields';
import { NoteLine } from '../kit/note';
import { useView } from '../view';

/** Failed mails of an order, a licence or a customer, which are not retried. @param back the page that shows them */
export function FailedMails({ mails, back }: { mails: MailReport[] | undefined; back: string }) {
  const { t } = useView();
  const texts = t.system.mails;
  if (mails === undefined || mails.length === 0) return null;
  return (
    <>
      {mails.map((one) => (
        <NoteLine kind="bad" action={<FailedMailActs report={one} back={back} />}>
          <strong>{texts.failedOne(t.license.facts.mailTypes[one.mail.type] ?? '', one.recipient)}</strong>{' '}
          {one.error === null ? '' : `${capitalized(describeStored(t.failures.mail, one.error))}.`}
        </NoteLine>
      ))}
    </>
  );
}

/** The buttons for a failed mail. */
export function FailedMailActs({ report: { mail }, back }: { report: MailReport; back: string }) {
  const { t, mayWrite } = useView();
  const texts = t.system.mails;
  if (!mayWrite || mail.state !== 'failed') return null;
  const act = (name: 'again' | 'dismiss', label: string) => (
    <Form path={`/mails/${mail.id}/${name}`} form={formState()}>
      <input type="hidden" name="back" value={back} />
      <Submit kind="quiet" small label={label} />
    </Form>
  );
  return (
    <span class="acts">
      {canSendAgain(mail.type) ? act('again', texts.again) : null}
      {act('dismiss', texts.dismiss)}
    </span>
  );
}
