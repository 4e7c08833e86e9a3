import { capitalized } from '../../../texts/case';
import { describeStored } from '../../../texts/operators/failures';
import { canSendAgain } from '../../../mail/failed-mails';
import type { MailReport } from '../../../mail/queue';
import { formState } from '../form-state';
import { Form, Submit } from '../kit/fields';
import { Panel } from '../kit/panel';
import { useView } from '../view';

/** Failed mails of an order, a licence or a customer, which are not retried. @param back the page that shows them */
export function FailedMails({ mails, back }: { mails: MailReport[] | undefined; back: string }) {
  const { t } = useView();
  const texts = t.system.mails;
  if (mails === undefined || mails.length === 0) return null;
  return (
    <Panel id="failed-mails" title={texts.failed}>
      <ul class="todo">
        {mails.map((one) => (
          <li>
            <span>
              <strong>
                {texts.failedOne(t.license.facts.mailTypes[one.mail.type] ?? '', one.recipient)}
              </strong>{' '}
              {one.error === null ? '' : `${capitalized(describeStored(t.failures.mail, one.error))}.`}
            </span>
            <FailedMailActs report={one} back={back} />
          </li>
        ))}
      </ul>
    </Panel>
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
    <span class="acts go">
      {canSendAgain(mail.type) ? act('again', texts.again) : null}
      {act('dismiss', texts.dismiss)}
    </span>
  );
}
