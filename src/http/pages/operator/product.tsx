import { readProduct, type Plan, type Product, type ProductDetails } from '../../../licensing/catalogue';
import { countLicensesByPlan } from '../../../licensing/statistics';
import { readId } from '../../../operations/reading';
import { OperatorPage } from '../kit/operator-page';
import { Facts, Head, Inside, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { within } from '../within';
import { ManifestPanel, OfferPanel, readOffer, type Offer } from './update-xml';

/** One product: what sites get, its plans, and what its extension's manifest needs. */

export const productRoutes: Route<OperatorCall>[] = [{ path: '/products/:id', get: showProduct }];

async function showProduct(call: OperatorCall): Promise<Answer> {
  const details = await readProduct(call.db, readId(call));
  const { product } = details;
  const offer = await readOffer(call, product);
  const licenses = await within(call.db, (on) => countLicensesByPlan(on, product.id));
  return { page: <ProductPage {...{ details, offer, licenses }} /> };
}

function ProductPage({
  details,
  offer,
  licenses,
}: {
  details: ProductDetails;
  offer: Offer;
  licenses: Map<number, number> | undefined;
}) {
  const { t, to, operator } = useView();
  const texts = t.products;
  const { product, plans } = details;
  const { id, name } = product;
  return (
    <OperatorPage title={name} nav="products" crumbs={[[texts.title, '/products']]}>
      <Head
        title={name}
        actions={
          <>
            <a class="btn btn-quiet" href={to('/releases', { product_id: id })}>
              {texts.releases}
            </a>
            {product.element === null ? null : (
              <a class="btn btn-quiet" href={to(`/products/${id}/joomla-plugin`)}>
                {texts.plugin.button}
              </a>
            )}
            {operator?.scope === 'write' ? (
              <>
                <a class="btn btn-quiet" href={to(`/products/${id}/edit`)}>
                  {texts.edit}
                </a>
                <a class="btn btn-quiet" href={to(`/products/${id}/delete`)}>
                  {texts.remove}
                </a>
              </>
            ) : null}
          </>
        }
      />
      <OfferPanel offer={offer} />
      <div class="cols cols-side">
        <Plans {...{ productId: id, plans, licenses }} />
        <aside>
          <ProductFacts details={details} />
        </aside>
        <ManifestPanel offer={offer} />
      </div>
    </OperatorPage>
  );
}

function ProductFacts({ details: { product, included, bundles } }: { details: ProductDetails }) {
  const { t, to, operator } = useView();
  const { facts, xml } = t.products;
  const covers = product.includes === 'all' ? facts.coversAll : <Names products={included} />;
  const address = (url: string | null) => (url === null ? t.common.none : <a href={url}>{url}</a>);
  return (
    <Panel id="facts" title={facts.title}>
      <Inside>
        <Facts
          facts={[
            [facts.id, String(product.id)],
            [facts.element, product.element ?? t.common.none],
            product.includes === 'all' || included.length > 0 ? [facts.covers, covers] : undefined,
            bundles.length > 0 ? [facts.includedIn, <Names products={bundles} />] : undefined,
            [facts.renewUrl, address(product.renewUrl)],
            [facts.reminders, product.reminders ? t.common.yes : t.common.no],
            [facts.supportUrl, address(product.supportUrl)],
            operator?.scope === 'write'
              ? [facts.xml, <a href={to(`/products/${product.id}/update-xml`)}>{xml.options}</a>]
              : undefined,
          ]}
        />
      </Inside>
    </Panel>
  );
}

function Names({ products }: { products: Product[] }) {
  const { to } = useView();
  return (
    <>
      {products.map(({ id, name }, i) => (
        <>
          {i === 0 ? '' : ', '}
          <a href={to(`/products/${id}`)}>{name}</a>
        </>
      ))}
    </>
  );
}

function Plans({
  productId,
  plans,
  licenses,
}: {
  productId: number;
  plans: Plan[];
  licenses: Map<number, number> | undefined;
}) {
  const { t, to, format, operator } = useView();
  const texts = t.products.plans;
  const { common } = t;
  const mayWrite = operator?.scope === 'write';
  const add = (kind: 'primary' | 'quiet') =>
    mayWrite ? (
      <a
        class={`btn btn-${kind}${kind === 'quiet' ? ' btn-sm' : ''}`}
        href={to('/plans/new', { product_id: productId })}
      >
        {texts.add}
      </a>
    ) : null;
  return (
    <Panel id="plans" title={texts.title} footer={mayWrite && plans.length > 0 ? add('quiet') : undefined}>
      <Table
        caption={texts.caption}
        rows={plans}
        empty={
          <>
            <p>{texts.none}</p>
            {add('primary')}
          </>
        }
        columns={[
          {
            title: texts.columns.name,
            kind: 'name',
            cell: ({ id, name }) => (mayWrite ? <a href={to(`/plans/${id}`)}>{name}</a> : name),
          },
          { title: texts.columns.counts, cell: (plan) => common.sites[plan.activationType] ?? '' },
          {
            title: texts.columns.slots,
            kind: 'number',
            cell: ({ activationLimit: limit }) => (limit === 0 ? common.unlimited : format.number(limit)),
          },
          {
            title: texts.columns.runs,
            cell: ({ duration }) => (duration === null ? common.lifetime : format.duration(duration)),
          },
          {
            title: texts.columns.staging,
            cell: ({ freeStaging }) => (freeStaging ? common.yes : common.no),
          },
          {
            title: texts.columns.licenses,
            kind: 'number',
            cell: ({ id }) => (
              <a href={to('/licenses', { plan_id: id })}>
                {licenses === undefined ? common.none : format.number(licenses.get(id) ?? 0)}
              </a>
            ),
          },
          { title: texts.columns.id, kind: 'number', cell: ({ id }) => String(id) },
        ]}
      />
    </Panel>
  );
}
