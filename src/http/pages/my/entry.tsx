import { CustomerPage } from '../kit/customer-page';
import { Form, FormErrors, Submit, TextField } from '../kit/fields';
import { NoteLine } from '../kit/note';
import { PanelBody, Panel } from '../kit/panel';
import { formState, type FormState } from '../form-state';
import { useView } from '../view';

/** The pages of the customers' sign-in: by a key, or by a mailed one-time link. */

/** The first page. @param hasMail true if a link can be requested @param ended true if the session has ended */
export function KeyEntryPage({
  form,
  hasMail,
  ended,
}: {
  form: FormState;
  hasMail: boolean;
  ended: boolean;
}) {
  const { t, to } = useView();
  const { key, link, title } = t.my;
  return (
    <CustomerPage title={title} stack>
      {ended ? <NoteLine role="status">{key.ended}</NoteLine> : null}
      <Panel id="key" title={key.title} inside>
        <KeyForm form={form} />
      </Panel>
      {hasMail ? (
        <Panel id="link" title={link.title} inside>
          <form method="post" action={to('/my/link')}>
            <TextField
              name="email"
              type="email"
              label={link.email}
              hint={link.hint}
              autocomplete="email"
              required
            />
            <Submit kind="quiet" busy={link.busy} label={link.send} />
          </form>
        </Panel>
      ) : null}
    </CustomerPage>
  );
}

/** The form for a key. A script fills in the key from the address's fragment, and submits the form. */
export function KeyForm({ form }: { form: FormState }) {
  const { t, to } = useView();
  const { key } = t.my;
  return (
    <form method="post" action={to('/my')} data-key-form="key">
      <FormErrors form={form} />
      <TextField form={form} name="key" label={key.label} hint={key.hint} required />
      <Submit busy={key.busy} label={key.show} />
    </form>
  );
}

/** The form for another key, on the pages of a session. */
export function OtherKeyForm() {
  const { key } = useView().t.my;
  return (
    <details class="panel fold">
      <summary>{key.other}</summary>
      <PanelBody>
        <KeyForm form={formState()} />
      </PanelBody>
    </details>
  );
}

/** The page of a one-time link. It changes nothing, because mail scanners open it too; its button uses the link. */
export function CustomerLinkPage({ code }: { code: string }) {
  const { link } = useView().t.my;
  return (
    <CustomerPage title={link.openTitle}>
      <p>{link.openHint}</p>
      <Form path={`/my/enter/${code}`} form={formState()}>
        <Submit busy={link.opening} label={link.open} />
      </Form>
    </CustomerPage>
  );
}

/** The page for an invalid code, without showing whether it was used, has expired or never existed. */
export function InvalidLinkPage() {
  const { t, to } = useView();
  const { link } = t.my;
  return (
    <CustomerPage title={link.usedTitle}>
      <p>{link.used}</p>
      <p>
        <a href={to('/my')}>{link.again}</a>
      </p>
    </CustomerPage>
  );
}
