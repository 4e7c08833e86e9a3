import { notFound, type ErrorResponse } from '../../../operations/kit/failures';
import { MAIL_TEXTS, mailTextOperations } from '../../../operations/mail-texts';
import { CUSTOMERS, CUSTOMER_LANGUAGES } from '../../../texts/customers/languages';
import { submitOperation, redirectIfDeleted, type DataOf } from '../submit';
import { formRoute } from '../form-route';
import { formState, type FormState } from '../form-state';
import { ButtonLink, Form, FormErrors, Submit, TextArea } from '../kit/fields';
import { ListPage } from '../kit/list-page';
import { allowMailStyles, MailPreview } from '../kit/mail-frame';
import { OperatorPage } from '../kit/operator-page';
import { PageHeader, PanelBody, Panel } from '../kit/panel';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';

/** The mail templates: the list, and each with a preview. */

type MailText = DataOf<typeof mailTextOperations.getMailText>;
type Preview = DataOf<typeof mailTextOperations.previewMailText>;

export const mailTextRoutes: Route<OperatorCall>[] = [
  { path: '/settings/texts', get: showTexts },
  formRoute('/settings/texts/:mail/:language', {
    find: readText,
    show: (call: OperatorCall, form: FormState, text: MailText) => showText(call, form, text),
    work: save,
    explain,
  }),
  { path: '/settings/texts/:mail/:language/reset', post: reset },
];

async function showTexts(call: OperatorCall): Promise<PageResponse> {
  const { t, to } = call.view;
  const { texts, title } = t.settings;
  const all = await submitOperation(call, new URLSearchParams(), mailTextOperations.listMailTexts);
  const nameOf = (name: string) => t.license.facts.mailTypes[name] ?? name;
  const sourceOf = ({ source }: (typeof all)[number]) => texts.sources[source] ?? source;
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="settings"
        crumbs={[[title, '/settings']]}
        sub={texts.about}
        caption={texts.caption}
        rows={[...new Set(all.map(({ name }) => name))]}
        empty={null}
        columns={[
          { title: texts.columns.name, kind: 'name', cell: nameOf },
          ...CUSTOMER_LANGUAGES.map((language) => ({
            title: CUSTOMERS[language].language.name,
            cell: (name: string) =>
              all
                .filter((one) => one.name === name && one.language === language)
                .map((one) => (
                  <a
                    href={to(pathOf(one))}
                    aria-label={`${nameOf(name)}, ${CUSTOMERS[language].language.name}: ${sourceOf(one)}`}
                  >
                    {sourceOf(one)}
                  </a>
                )),
          })),
        ]}
      />
    ),
  };
}

function pathOf({ name, language }: Pick<MailText, 'name' | 'language'>): string {
  return `/settings/texts/${name}/${language}`;
}

function partsOf({ path }: OperatorCall): { name: string; language: string } {
  const { mail: name = '', language = '' } = path;
  if (!MAIL_TEXTS.some((one) => one.name === name && one.language === language)) throw notFound('mail text');
  return { name, language };
}

function readText(call: OperatorCall): Promise<MailText> {
  return submitOperation(call, new URLSearchParams(), mailTextOperations.getMailText, {
    path: partsOf(call),
  });
}

async function showText(
  call: OperatorCall,
  form: FormState,
  text: MailText,
  preview?: Preview,
): Promise<PageResponse> {
  const { t } = call.view;
  const shown = preview ?? (form.failure === undefined ? await previewOf(call, undefined) : undefined);
  if (shown !== undefined) allowMailStyles(call.ctx, shown.html);
  const title = `${t.license.facts.mailTypes[text.name] ?? text.name} (${CUSTOMERS[text.language as 'en'].language.name})`;
  return {
    page: (
      <OperatorPage
        title={title}
        nav="settings"
        crumbs={[
          [t.settings.title, '/settings'],
          [t.settings.texts.title, '/settings/texts'],
        ]}
      >
        <PageHeader title={title} />
        <div class="cols cols-2">
          <TextPanel form={form} text={text} />
          {shown === undefined ? null : <MailPreview mail={shown} title={t.settings.texts.previewTitle} />}
        </div>
      </OperatorPage>
    ),
  };
}

/** The approximate number of lines that the field shows without scrolling. */
const ROWS = 22;

function TextPanel({ form, text }: { form: FormState; text: MailText }) {
  const { t } = useView();
  const { texts } = t.settings;
  const isFile = text.source === 'file';
  return (
    <Panel id="text" title={texts.text} aside={texts.sources[text.source]}>
      <PanelBody>
        {isFile ? <p>{texts.isFile}</p> : null}
        <Form path={pathOf(text)} form={form}>
          <FormErrors form={form} />
          <TextArea
            name="text"
            label={texts.text}
            hint={texts.textHint(text.placeholders.join(', '))}
            value={text.text}
            rows={ROWS}
            required
          />
          <p class="acts">
            {isFile ? null : <Submit label={t.common.save} />}
            <Submit kind="quiet" name="do" value="preview" label={texts.preview} />
            <ButtonLink path="/settings/texts" label={t.common.back} />
          </p>
        </Form>
        {text.source === 'stored' ? (
          <div>
            <Form path={`${pathOf(text)}/reset`} form={formState()}>
              <Submit kind="quiet" small label={texts.reset} />
            </Form>
          </div>
        ) : null}
      </PanelBody>
    </Panel>
  );
}

function previewOf(call: OperatorCall, text: string | undefined): Promise<Preview> {
  return submitOperation(call, new URLSearchParams(), mailTextOperations.previewMailText, {
    path: partsOf(call),
    body: { text },
  });
}

async function save(call: OperatorCall, sent: URLSearchParams, text: MailText): Promise<PageResponse> {
  const written = sent.get('text') ?? '';
  if (sent.get('do') === 'preview')
    return showText(call, formState(sent), text, await previewOf(call, written));
  await submitOperation(call, sent, mailTextOperations.setMailText, {
    path: partsOf(call),
    body: { text: written },
  });
  return redirectWithFlash(pathOf(text), 'saved');
}

function explain({ view: { t } }: OperatorCall, { facts }: ErrorResponse): string | undefined {
  if (facts?.reason === 'mail-text') return t.settings.texts.fault(facts.fault);
  return facts?.reason === 'text-file' ? t.settings.texts.isFile : undefined;
}

function reset(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const parts = partsOf(call);
  const to = pathOf(parts);
  return redirectIfDeleted(to, async () => {
    await submitOperation(call, sent, mailTextOperations.resetMailText, { path: parts });
    return redirectWithFlash(to, 'textReset');
  });
}
