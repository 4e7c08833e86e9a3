import type { Child } from 'hono/jsx';
import { isCustomerDigest } from '../../../licensing/customer-email';
import type { License } from '../../../licensing/licenses';
import { answerOperations } from '../../../operations/answers';
import type { ErrorResponse } from '../../../operations/kit/failures';
import { resolveCustomer } from '../../../privacy/customer-list';
import type { Reply } from '../../../support/reply';
import { asCustomerLanguage, type CustomerLanguage } from '../../../texts/customers/languages';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import { formState, type FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { ButtonLink, Form, FormErrors, Submit, TextArea, TextField } from '../kit/fields';
import { LineIcon } from '../kit/icons';
import { NoteLine } from '../kit/note';
import { OperatorPage } from '../kit/operator-page';
import { PageHeader, PanelBody, Panel } from '../kit/panel';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { AnswerLanguage } from './answer-language';
import { licenseSubtitle, licenseBreadcrumbs, licenseOf, pathOf } from './license-call';

/** A reply to a customer, with a preview before it is sent. */

export const answerRoutes: Route<OperatorCall>[] = [
  formRoute('/licenses/:id/answer', { find: licenseOf, show: showForm, work, explain }),
  formRoute('/answer', {
    find: (): License | undefined => undefined,
    show: showForm,
    work,
    explain,
  }),
];

const pathFor = (license: License | undefined) =>
  license === undefined ? '/answer' : pathOf(license, '/answer');

interface MailDraft {
  to: string;
  subject: string;
  body: string;
  language: string;
}

async function showForm(
  call: OperatorCall,
  form: FormState,
  license: License | undefined,
): Promise<PageResponse> {
  const { t } = call.view;
  const { answer: texts } = t;
  const written = await readDraft(call, form, license);
  const title = texts.title;
  const off = mailOffReason(call);
  return {
    page: (
      <OperatorPage
        title={title}
        nav={license === undefined ? undefined : 'licenses'}
        crumbs={license === undefined ? [] : licenseBreadcrumbs(license, t)}
      >
        <PageHeader title={title} sub={license === undefined ? undefined : licenseSubtitle(license, t)} />
        <div class="cols cols-2">
          <Panel id="answer" title={texts.write}>
            <PanelBody>
              {off === undefined ? null : <NoteLine>{off}</NoteLine>}
              <Form path={pathFor(license)} form={form}>
                <FormErrors form={form} />
                {license === undefined ? null : (
                  <p class="small">
                    <AnswerLanguage
                      chosen={asCustomerLanguage(written.language) ?? call.view.language}
                      hrefOf={(language) => call.view.to(pathFor(license), { language })}
                    />
                  </p>
                )}
                <input type="hidden" name="language" value={written.language} />
                <TextField name="to" type="email" label={texts.to} value={written.to} required />
                <TextField name="subject" label={texts.subject} value={written.subject} required />
                <TextArea name="body" label={texts.body} value={written.body} rows={16} required />
                <p class="acts">
                  {off === undefined ? (
                    <Submit busy={texts.busy} name="do" value="send" label={texts.send} />
                  ) : null}
                  <Submit kind="quiet" name="do" value="check" label={texts.check} />
                  <ButtonLink
                    path={license === undefined ? '/find' : pathOf(license)}
                    label={t.common.back}
                  />
                </p>
              </Form>
            </PanelBody>
          </Panel>
          <Preview mail={written} from={senderOf(call)} />
        </div>
      </OperatorPage>
    ),
  };
}

/** The preview of the mail. */
function Preview({ mail, from }: { mail: MailDraft; from: string | undefined }) {
  const { answer: texts } = useView().t;
  return (
    <Panel id="preview" title={texts.preview}>
      <PanelBody>
        <p>
          {from === undefined ? null : (
            <>
              <span class="muted">{texts.from}:</span> {from}
              <br />
            </>
          )}
          <span class="muted">{texts.to}:</span> {mail.to}
          <br />
          <span class="muted">{texts.subject}:</span> <strong>{mail.subject}</strong>
        </p>
        <pre>
          <code>{mail.body}</code>
        </pre>
      </PanelBody>
    </Panel>
  );
}

function senderOf({ settings: { config } }: OperatorCall): string | undefined {
  return config.mail?.from.address;
}

/** Returns the typed mail. Fills each missing field from the suggested reply of the licence. */
async function readDraft(
  call: OperatorCall,
  { value }: FormState,
  license: License | undefined,
): Promise<MailDraft> {
  const typed = {
    to: value('to'),
    subject: value('subject'),
    body: value('body'),
    language: value('language'),
  };
  const isWhole = typed.subject !== undefined && typed.body !== undefined;
  const asked = asCustomerLanguage(call.query.get('language') ?? '');
  const ready =
    license === undefined || isWhole
      ? undefined
      : await submitOperation(call, new URLSearchParams(), answerOperations.getLicenseAnswer, {
          path: { id: license.id },
          query: new URLSearchParams(asked === undefined ? {} : { language: asked }),
        });
  return {
    to: typed.to ?? ready?.to ?? license?.customer ?? (await askedCustomer(call)) ?? '',
    subject: typed.subject ?? ready?.subject ?? '',
    body: typed.body ?? ready?.body ?? '',
    language: typed.language ?? ready?.language ?? call.view.language,
  };
}

/** The address of the customer whose page led here; addresses do not belong into links. */
async function askedCustomer({ db, query }: OperatorCall): Promise<string | undefined> {
  const id = query.get('customer') ?? '';
  return isCustomerDigest(id) ? resolveCustomer(db, id) : undefined;
}

async function work(
  call: OperatorCall,
  sent: URLSearchParams,
  license: License | undefined,
): Promise<PageResponse> {
  if (sent.get('do') !== 'send') return showForm(call, formState(sent), license);
  const to = sent.get('to')?.trim() ?? '';
  await submitOperation(call, sent, answerOperations.sendAnswer, {
    body: {
      ...(license === undefined ? {} : { license_id: license.id }),
      to,
      language: asCustomerLanguage(sent.get('language') ?? '') ?? call.view.language,
      subject: sent.get('subject') ?? '',
      body: sent.get('body') ?? '',
    },
  });
  return redirectWithFlash(license === undefined ? '/mails' : pathOf(license), 'answerSent', to);
}

function explain(
  { view: { t } }: OperatorCall,
  { facts, status, error: { field } }: ErrorResponse,
): string | undefined {
  if (facts?.reason === 'no-key-secret') return t.answer.noKeySecret;
  if (status === 400 && (field === 'subject' || field === 'body')) return t.answer.empty;
  return status === 400 ? t.common.errors.byField.email : undefined;
}

/** Returns the reason why no mail can be sent; undefined if it can. */
export function mailOffReason({ settings: { config }, view }: OperatorCall): string | undefined {
  const { mail: texts } = view.t.settings;
  const { mail, mailOff, publicUrl } = config;
  if (mail === undefined) {
    const why = mailOff === undefined ? '' : view.t.doctor.mailOff[mailOff];
    return `${texts.off} ${why}`.trim();
  }
  return publicUrl === undefined ? texts.offNoAddress : undefined;
}

/** A suggested reply, to copy, to change, or to take to the page that sends it. */
export function SuggestedReply({
  id,
  label,
  license,
  reply,
  language,
  to,
  off,
  rows,
  children,
}: {
  /** the field's id, unique in the page */
  id: string;
  label: string;
  license: License | undefined;
  reply: Reply;
  language: CustomerLanguage;
  to: string | null;
  /** the reason why no mail can be sent; undefined if it can */
  off: string | undefined;
  rows: number;
  /** further buttons */
  children?: Child;
}) {
  const { t, mayWrite } = useView();
  const { answer: texts } = t;
  // Offer only the copy button to an operator who may not change data.
  if (!mayWrite)
    return (
      <CopyText id={id} label={label} text={reply.body} rows={rows}>
        {children}
      </CopyText>
    );
  return (
    <>
      <Form path={pathFor(license)} form={formState()}>
        <input type="hidden" name="subject" value={reply.subject} />
        <input type="hidden" name="language" value={language} />
        <input type="hidden" name="to" value={to ?? ''} />
        <CopyText id={id} label={label} name="body" text={reply.body} rows={rows}>
          {off === undefined ? (
            <button class="btn" type="submit" name="do" value="check">
              <LineIcon name="send" />
              {texts.open}
            </button>
          ) : null}
          {children}
        </CopyText>
      </Form>
      {off !== undefined ? <p class="small muted">{texts.off(off)}</p> : null}
    </>
  );
}
