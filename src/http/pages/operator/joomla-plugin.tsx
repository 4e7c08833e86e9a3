import { requireProduct } from '../../../licensing/find-or-throw';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import type { PageResponse, OperatorCall, Route } from '../page';
import { joomlaDoorOperations } from '../../../operations/joomla-door';
import { joomlaPluginOperations } from '../../../operations/joomla-plugin';

/** The downloads for Joomla: the package for customers' sites, and the sign-in component for the seller's own site. */

export const joomlaPluginRoutes: Route<OperatorCall>[] = [
  formRoute('/products/:id/joomla-plugin', {
    scope: 'read',
    show: showForm,
    work: give,
    explain: ({ view }, { error }) => view.t.products.plugin.refused[error.field ?? ''],
  }),
  { path: '/joomla-door.zip', get: giveDoor },
];

async function giveDoor(call: OperatorCall): Promise<PageResponse> {
  const { file_name, zip } = await submitOperation(
    call,
    new URLSearchParams(),
    joomlaDoorOperations.getJoomlaDoor,
  );
  return { file: file_name, type: 'application/zip', content: Buffer.from(zip, 'base64') };
}

async function give(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const query = new URLSearchParams({ vendor: sent.get('vendor') ?? '' });
  const wanted = { path: { id: readId(call) }, query };
  const { file_name, zip } = await submitOperation(
    call,
    sent,
    joomlaPluginOperations.getProductJoomlaPlugin,
    wanted,
  );
  return {
    file: file_name,
    type: 'application/zip',
    content: Buffer.from(zip, 'base64'),
  };
}

async function showForm(call: OperatorCall, form: FormState): Promise<PageResponse> {
  const { id, name } = await requireProduct(call.db, readId(call));
  const { plugin: texts, title: list } = call.view.t.products;
  return {
    page: (
      <FormPage
        title={texts.title(name)}
        nav="products"
        crumbs={[
          [list, '/products'],
          [name, `/products/${id}`],
        ]}
        sub={texts.about}
        path={`/products/${id}/joomla-plugin`}
        form={form}
        submit={texts.get}
      >
        <TextField name="vendor" label={texts.vendor} hint={texts.vendorHint} required />
        <p class="small muted">{texts.next}</p>
      </FormPage>
    ),
  };
}
