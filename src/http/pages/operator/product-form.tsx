import {
  listCatalogue,
  readProduct,
  SECURITY_BRANCHES,
  type CatalogueProduct,
} from '../../../licensing/catalogue';
import type { ErrorResponse } from '../../../operations/kit/failures';
import { productOperations } from '../../../operations/products';
import { readId } from '../../../operations/kit/request-params';
import { nonEmptyFields, submitOperation, type BodyOf, type FormInput } from '../submit';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { Checkbox, RadioGroup, Select, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { productBreadcrumbs } from './catalogue';

/** Adds, changes and deletes a product. */

const productOf = (call: OperatorCall) => readProduct(call.db, readId(call));

export const productFormRoutes: Route<OperatorCall>[] = [
  formRoute('/products/new', {
    async show(call, form) {
      return showForm(call, form, { others: await listCatalogue(call.db) });
    },
    async work(call, sent) {
      const { id, name } = await submitOperation(call, sent, productOperations.addProduct, {
        body: bodyOf(sent),
      });
      return redirectWithFlash(`/products/${id}`, 'productAdded', name);
    },
    explain,
  }),
  formRoute('/products/:id/edit', {
    find: productOf,
    async show(call, form, { product, bundles }) {
      const others = (await listCatalogue(call.db)).filter(({ id }) => id !== product.id);
      // A product that a bundle lists cannot be a bundle itself.
      const isIncluded = bundles.some(({ includes }) => includes !== 'all');
      return showForm(call, form, { product, others: isIncluded ? [] : others });
    },
    async work(call, sent, { product: { id } }) {
      await submitOperation(call, sent, productOperations.updateProduct, {
        path: { id },
        body: bodyOf(sent),
      });
      return redirectWithFlash(`/products/${id}`, 'saved');
    },
    explain,
  }),
  formRoute('/products/:id/delete', {
    find: productOf,
    show: ({ view }, form, { product }) => {
      const { id, name } = product;
      const texts = view.t.products.removePage;
      return {
        page: (
          <FormPage
            danger
            title={texts.title(name)}
            nav="products"
            crumbs={productBreadcrumbs(view, product)}
            path={`/products/${id}/delete`}
            form={form}
            points={[texts.only, texts.gone]}
            submit={texts.submit}
            back={[texts.back, `/products/${id}`]}
          />
        ),
      };
    },
    async work(call, sent, { product: { id, name } }) {
      await submitOperation(call, sent, productOperations.removeProduct, { path: { id } });
      return redirectWithFlash('/products', 'productRemoved', name);
    },
    explain,
    whenDeleted: '/products',
  }),
];

function bodyOf(sent: URLSearchParams): FormInput<BodyOf<typeof productOperations.addProduct>> {
  const text = (name: string) => sent.get(name)?.trim() || null;
  const ticked = [...sent.keys()].flatMap((name) => /^include_(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  const includes: Record<string, number[] | 'all'> = { own: ticked, all: 'all' };
  return {
    name: sent.get('name') ?? '',
    element: text('element'),
    renew_url: text('renew_url'),
    support_url: text('support_url'),
    support_until: text('support_until'),
    ...nonEmptyFields(sent, 'security_branch'),
    includes: includes[sent.get('covers') ?? ''],
    reminders: sent.get('reminders') === '1',
  };
}

function explain({ view: { t } }: OperatorCall, { facts, error }: ErrorResponse): string | undefined {
  const texts = t.products.refused;
  switch (facts?.reason) {
    case 'product-in-use':
      return texts.inUse;
    case 'includes-others':
      return texts.includes;
    case 'is-included':
      return texts.isIncluded;
  }
  if (error.field === 'element') return texts.element;
  if (error.field === 'support_until') return texts.month;
  return error.field?.endsWith('_url') ? texts.url : undefined;
}

/** Shows the form. @param others the products that it can include (bundle) @param product undefined for a new one */
function showForm(
  { view }: OperatorCall,
  form: FormState,
  { product, others }: { product?: CatalogueProduct; others: CatalogueProduct[] },
): PageResponse {
  const { t } = view;
  const { form: texts, newTitle, editTitle } = t.products;
  return {
    page: (
      <FormPage
        title={product === undefined ? newTitle : editTitle(product.name)}
        nav="products"
        crumbs={productBreadcrumbs(view, product)}
        path={product === undefined ? '/products/new' : `/products/${product.id}/edit`}
        form={form}
        submit={product === undefined ? texts.submit : t.common.save}
      >
        <TextField
          name="name"
          label={texts.name}
          hint={texts.nameHint}
          value={product?.name ?? ''}
          required
        />
        <TextField
          name="element"
          label={texts.element}
          hint={texts.elementHint}
          value={product?.element ?? ''}
        />
        <TextField
          name="renew_url"
          type="url"
          label={texts.renewUrl}
          hint={texts.renewUrlHint}
          value={product?.renewUrl ?? ''}
        />
        <TextField name="support_url" type="url" label={texts.supportUrl} value={product?.supportUrl ?? ''} />
        <TextField
          name="support_until"
          label={texts.supportUntil}
          hint={texts.supportUntilHint}
          value={product?.supportUntil ?? ''}
        />
        <Select
          name="security_branch"
          label={texts.securityBranch}
          hint={texts.securityBranchHint}
          value={product?.securityBranch ?? 'minor'}
          options={SECURITY_BRANCHES.map((value) => ({ value, label: texts.branches[value] }))}
        />
        <Checkbox
          name="reminders"
          label={texts.reminders}
          hint={texts.remindersHint}
          checked={product?.reminders ?? false}
        />
        {others.length === 0 ? null : <Includes others={others} includes={product?.includes} />}
      </FormPage>
    ),
  };
}

function Includes({
  others,
  includes = [],
}: {
  others: CatalogueProduct[];
  includes: CatalogueProduct['includes'] | undefined;
}) {
  const { form: texts } = useView().t.products;
  const listed = includes === 'all' ? [] : includes;
  const single = others.filter((one) => one.includes !== 'all' && one.includes.length === 0);
  return (
    <>
      <RadioGroup
        name="covers"
        label={texts.covers}
        options={[
          { value: 'own', label: single.length === 0 ? texts.own : texts.some },
          { value: 'all', label: texts.all },
        ]}
        value={includes === 'all' ? 'all' : 'own'}
      />
      {single.length === 0 ? null : (
        <fieldset class="fld">
          <legend>{texts.others}</legend>
          {single.map(({ id, name }) => (
            <Checkbox name={`include_${id}`} label={name} checked={listed.includes(id)} />
          ))}
        </fieldset>
      )}
    </>
  );
}
