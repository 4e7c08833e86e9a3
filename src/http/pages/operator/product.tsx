import { readProduct, type Plan, type Product, type ProductDetails } from '../../../licensing/catalogue';
import { countLicensesByPlan } from '../../../figures/statistics';
import { supportMonth } from '../../../licensing/durations';
import { readId } from '../../../operations/kit/request-params';
import { ButtonLink } from '../kit/fields';
import { MoreMenu } from '../kit/more-menu';
import { TitledPage } from '../kit/operator-page';
import { DescriptionList, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { loadOptional } from '../load-optional';
import { productBreadcrumbs, planDuration, slotLimit } from './catalogue';
import { SecurityPanel, loadSecurityAdoption } from './security-panel';
import { ManifestPanel, OfferPanel, readOffer } from './update-xml';

/** The page of one product: the offered versions, its plans, and the lines for its extension's manifest. */

export const productRoutes: Route<OperatorCall>[] = [{ path: '/products/:id', get: showProduct }];

async function showProduct(call: OperatorCall): Promise<PageResponse> {
  const { view } = call;
  const details = await readProduct(call.db, readId(call));
  const { product, plans } = details;
  const { id, name } = product;
  const offer = await readOffer(call, product);
  const security = await loadSecurityAdoption(call, id);
  const licenses = await loadOptional(call, (on) => countLicensesByPlan(on, id));
  const texts = view.t.products;
  const actions = (
    <>
      <ButtonLink path="/releases" query={{ product_id: id }} label={texts.releases} />
      <ButtonLink path={`/products/${id}/sites`} label={view.t.told.button} />
      {view.mayWrite ? <ButtonLink path={`/products/${id}/edit`} label={texts.edit} /> : null}
      {view.mayWrite || product.element !== null ? (
        <MoreMenu ofPage label={`${view.t.common.actions}: ${name}`}>
          {product.element === null ? null : (
            <a href={view.to(`/products/${id}/joomla-plugin`)}>{texts.plugin.button}</a>
          )}
          {view.mayWrite ? (
            <div class="cut">
              <a href={view.to(`/products/${id}/delete`)}>{texts.remove}</a>
            </div>
          ) : null}
        </MoreMenu>
      ) : null}
    </>
  );
  return {
    page: (
      <TitledPage title={name} nav="products" crumbs={productBreadcrumbs(view)} actions={actions}>
        <OfferPanel offer={offer} />
        <SecurityPanel standing={security} />
        <div class="cols cols-side">
          <Plans productId={id} plans={plans} licenses={licenses} />
          <aside>
            <ProductFacts {...details} />
          </aside>
          <ManifestPanel offer={offer} />
        </div>
      </TitledPage>
    ),
  };
}

function ProductFacts({ product, included, bundles }: ProductDetails) {
  const { t, to, format, mayWrite } = useView();
  const { facts, xml } = t.products;
  const covers = product.includes === 'all' ? facts.coversAll : <Names products={included} />;
  const address = (url: string | null) => (url === null ? t.common.none : <a href={url}>{url}</a>);
  return (
    <Panel id="facts" title={facts.title} inside>
      <DescriptionList
        facts={[
          [facts.id, String(product.id)],
          [facts.element, product.element ?? t.common.none],
          product.includes === 'all' || included.length > 0 ? [facts.covers, covers] : undefined,
          bundles.length > 0 ? [facts.includedIn, <Names products={bundles} />] : undefined,
          [facts.renewUrl, address(product.renewUrl)],
          [facts.reminders, product.reminders ? t.common.yes : t.common.no],
          [facts.supportUrl, address(product.supportUrl)],
          [
            facts.supportUntil,
            product.supportUntil === null ? (
              t.common.none
            ) : (
              <>
                {product.supportUntil}
                <p class="small muted">{facts.forShop}</p>
                <code>{facts.shopText(product.name, supportMonth(product.supportUntil, format))}</code>
              </>
            ),
          ],
          mayWrite
            ? [facts.xml, <a href={to(`/products/${product.id}/update-xml`)}>{xml.options}</a>]
            : undefined,
        ]}
      />
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
  /** the number of licences by plan; undefined if it is unknown */
  licenses: Map<number, number> | undefined;
}) {
  const view = useView();
  const { t, to, format, mayWrite } = view;
  const { common } = t;
  const texts = t.products.plans;
  const { columns } = texts;
  const add = (isFirst: boolean) =>
    mayWrite ? (
      <ButtonLink
        kind={isFirst ? 'primary' : 'quiet'}
        small={!isFirst}
        path="/plans/new"
        query={{ product_id: productId }}
        label={texts.add}
      />
    ) : null;
  return (
    <Panel id="plans" title={texts.title} footer={mayWrite && plans.length > 0 ? add(false) : undefined}>
      <Table
        caption={texts.caption}
        rows={plans}
        empty={
          <>
            <p>{texts.none}</p>
            {add(true)}
          </>
        }
        columns={[
          {
            title: columns.name,
            kind: 'name',
            cell: ({ id, name }) => (mayWrite ? <a href={to(`/plans/${id}`)}>{name}</a> : name),
          },
          { title: columns.counts, cell: (plan) => common.sites(plan.activationType) },
          { title: columns.slots, kind: 'number', cell: (plan) => slotLimit(view, plan.activationLimit) },
          { title: columns.runs, cell: ({ duration }) => planDuration(view, duration) },
          { title: columns.staging, cell: ({ freeStaging }) => (freeStaging ? common.yes : common.no) },
          {
            title: columns.licenses,
            kind: 'number',
            cell: ({ id }) => (
              <a href={to('/licenses', { plan_id: id })}>
                {licenses === undefined ? common.none : format.number(licenses.get(id) ?? 0)}
              </a>
            ),
          },
          { title: columns.id, kind: 'number', cell: ({ id }) => String(id) },
        ]}
      />
    </Panel>
  );
}
