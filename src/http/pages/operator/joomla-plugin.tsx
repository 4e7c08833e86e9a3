import { requireProduct } from '../../../licensing/find-or-refuse';
import { readId } from '../../../operations/reading';
import { act, attempt } from '../act';
import { formState, type FormState } from '../form-state';
import { Form, FormErrors, Submit, TextField } from '../kit/fields';
import { TitledPage } from '../kit/operator-page';
import { Panel } from '../kit/panel';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { joomlaPluginOperations } from '../../../operations/joomla-plugin';

/** The Joomla package for customers' sites, as a file. */

export const joomlaPluginRoutes: Route<OperatorCall>[] = [
  {
    path: '/products/:id/joomla-plugin',
    scope: 'read',
    get: (call) => showForm(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => give(call, sent),
        (form) => showForm(call, form),
        ({ error }) => call.view.t.products.plugin.refused[error.field ?? ''],
      ),
  },
];

async function give(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const query = new URLSearchParams({ vendor: sent.get('vendor') ?? '' });
  const wanted = { path: { id: readId(call) }, query };
  const { file_name, zip } = await act(call, sent, joomlaPluginOperations.getProductJoomlaPlugin, wanted);
  return {
    file: file_name,
    type: 'application/zip',
    content: Buffer.from(zip, 'base64'),
  };
}

async function showForm(call: OperatorCall, form: FormState): Promise<Answer> {
  const { id, name } = await requireProduct(call.db, readId(call));
  return { page: <PluginPage {...{ form, id, name }} /> };
}

function PluginPage({ form, id, name }: { form: FormState; id: number; name: string }) {
  const { t } = useView();
  const { plugin: texts, title: list } = t.products;
  const title = texts.title(name);
  return (
    <TitledPage
      title={title}
      nav="products"
      crumbs={[
        [list, '/products'],
        [name, `/products/${id}`],
      ]}
      sub={texts.about}
    >
      <Panel id="plugin" kind="narrow" inside>
        <FormErrors form={form} />
        <Form path={`/products/${id}/joomla-plugin`} form={form}>
          <TextField form={form} name="vendor" label={texts.vendor} hint={texts.vendorHint} required />
          <Submit>{texts.get}</Submit>
        </Form>
        <p class="small muted">{texts.next}</p>
      </Panel>
    </TitledPage>
  );
}
