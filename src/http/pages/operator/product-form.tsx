import { listProducts, readProduct, type CatalogueProduct } from '../../../licensing/catalogue';
import type { Failure } from '../../../operations/failures';
import { readId } from '../../../operations/reading';
import { act, attempt, unlessGone, type BodyOf, type Fields } from '../act';
import { formState, type FormState } from '../form-state';
import { Checkbox, Choices, Form, FormErrors, Submit, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { productOperations } from '../../../operations/products';

/** Adding, changing and deleting a product. */

export const productFormRoutes: Route<OperatorCall>[] = [
  {
    path: '/products/new',
    scope: 'write',
    get: (call) => showNew(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => add(call, sent),
        (form) => showNew(call, form),
        (refused) => explain(call, refused),
      ),
  },
  {
    path: '/products/:id/edit',
    scope: 'write',
    get: (call) => showEdit(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => edit(call, sent),
        (form) => showEdit(call, form),
        (refused) => explain(call, refused),
      ),
  },
  {
    path: '/products/:id/delete',
    scope: 'write',
    get: (call) => showRemove(call, formState()),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => remove(call, sent),
        (form) => showRemove(call, form),
        (refused) => explain(call, refused),
      ),
  },
];

function bodyOf(sent: URLSearchParams): Fields<BodyOf<typeof productOperations.addProduct>> {
  const text = (name: string) => sent.get(name)?.trim() || null;
  const ticked = [...sent.keys()].flatMap((name) => /^include_(\d+)$/.exec(name)?.[1] ?? []).map(Number);
  const includes: Record<string, number[] | 'all'> = { own: ticked, all: 'all' };
  return {
    name: sent.get('name') ?? '',
    element: text('element'),
    renew_url: text('renew_url'),
    support_url: text('support_url'),
    includes: includes[sent.get('covers') ?? ''],
    reminders: sent.get('reminders') === '1',
  };
}

async function add(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const { id, name } = await act(call, sent, productOperations.addProduct, { body: bodyOf(sent) });
  return done(`/products/${id}`, 'productAdded', name);
}

async function edit(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const id = readId(call);
  await act(call, sent, productOperations.updateProduct, { path: { id }, body: bodyOf(sent) });
  return done(`/products/${id}`, 'saved');
}

function remove(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  return unlessGone('/products', async () => {
    const id = readId(call);
    const { product } = await readProduct(call.db, id);
    await act(call, sent, productOperations.removeProduct, { path: { id } });
    return done('/products', 'productRemoved', product.name);
  });
}

function explain({ view: { t } }: OperatorCall, { facts, error }: Failure): string | undefined {
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
  return error.field === 'renew_url' || error.field === 'support_url' ? texts.url : undefined;
}

async function showNew({ db }: OperatorCall, form: FormState): Promise<Answer> {
  const others = await listProducts(db);
  return { page: <ProductForm {...{ form, others, product: undefined, isIncluded: false }} /> };
}

async function showEdit(call: OperatorCall, form: FormState): Promise<Answer> {
  const { product, bundles } = await readProduct(call.db, readId(call));
  const others = (await listProducts(call.db)).filter(({ id }) => id !== product.id);
  const isIncluded = bundles.some(({ includes }) => includes !== 'all');
  return { page: <ProductForm {...{ form, others, product, isIncluded }} /> };
}

function ProductForm({
  form,
  others,
  product,
  isIncluded,
}: {
  form: FormState;
  others: CatalogueProduct[];
  /** undefined: a new one */
  product: CatalogueProduct | undefined;
  /** another product lists it, so it includes none */
  isIncluded: boolean;
}) {
  const { t } = useView();
  const { form: texts, newTitle, editTitle, title: list } = t.products;
  const title = product === undefined ? newTitle : editTitle(product.name);
  const path = product === undefined ? '/products/new' : `/products/${product.id}/edit`;
  const crumbs: [string, string][] = [[list, '/products']];
  if (product !== undefined) crumbs.push([product.name, `/products/${product.id}`]);
  return (
    <OperatorPage title={title} nav="products" crumbs={crumbs}>
      <Head title={title} />
      <Panel id="product" kind="narrow">
        <Inside>
          <FormErrors form={form} />
          <Form path={path} form={form}>
            <TextField
              form={form}
              name="name"
              label={texts.name}
              hint={texts.nameHint}
              value={product?.name ?? ''}
              required
            />
            <TextField
              form={form}
              name="element"
              label={texts.element}
              hint={texts.elementHint}
              value={product?.element ?? ''}
            />
            <TextField
              form={form}
              name="renew_url"
              type="url"
              label={texts.renewUrl}
              hint={texts.renewUrlHint}
              value={product?.renewUrl ?? ''}
            />
            <TextField
              form={form}
              name="support_url"
              type="url"
              label={texts.supportUrl}
              value={product?.supportUrl ?? ''}
            />
            <Checkbox
              form={form}
              name="reminders"
              label={texts.reminders}
              hint={texts.remindersHint}
              checked={product?.reminders ?? false}
            />
            {isIncluded || others.length === 0 ? null : <Includes {...{ form, others, product }} />}
            <Submit>{product === undefined ? texts.submit : t.common.save}</Submit>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

function Includes({
  form,
  others,
  product,
}: {
  form: FormState;
  others: CatalogueProduct[];
  product: CatalogueProduct | undefined;
}) {
  const { form: texts } = useView().t.products;
  const { includes = [] } = product ?? {};
  const listed = includes === 'all' ? [] : includes;
  const single = others.filter((one) => one.includes !== 'all' && one.includes.length === 0);
  const options = [
    { value: 'own', label: single.length === 0 ? texts.own : texts.some },
    { value: 'all', label: texts.all },
  ];
  return (
    <>
      <Choices
        form={form}
        name="covers"
        label={texts.covers}
        options={options}
        value={includes === 'all' ? 'all' : 'own'}
      />
      {single.length === 0 ? null : (
        <fieldset class="fld">
          <legend>{texts.others}</legend>
          {single.map(({ id, name }) => (
            <Checkbox form={form} name={`include_${id}`} label={name} checked={listed.includes(id)} />
          ))}
        </fieldset>
      )}
    </>
  );
}

async function showRemove(call: OperatorCall, form: FormState): Promise<Answer> {
  const { product } = await readProduct(call.db, readId(call));
  return { page: <RemovePage {...{ product, form }} /> };
}

function RemovePage({ product: { id, name }, form }: { product: CatalogueProduct; form: FormState }) {
  const { removePage: texts, title: list } = useView().t.products;
  return (
    <FormPage
      danger
      title={texts.title(name)}
      nav="products"
      crumbs={[
        [list, '/products'],
        [name, `/products/${id}`],
      ]}
      path={`/products/${id}/delete`}
      form={form}
      points={[texts.only, texts.gone]}
      submit={texts.submit}
      back={[texts.back, `/products/${id}`]}
    />
  );
}
