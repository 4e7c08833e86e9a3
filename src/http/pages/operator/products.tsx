import { findOfferedVersion } from '../../../joomla/update-xml/plan-updates';
import { plansOf } from '../../../licensing/catalogue';
import { countLicensesByProduct, listProductPage, PRODUCT_SORTS } from '../../../licensing/lists';
import { asSort } from '../../../licensing/sorting';
import { productJson } from '../../../licensing/schemas/catalogue';
import { csvRows } from '../csv';
import { ButtonLink } from '../kit/fields';
import { Filters, orderField } from '../kit/filters';
import { ListPage } from '../kit/list-page';
import type { PageResponse, OperatorCall, Route } from '../page';
import { loadOptional } from '../load-optional';

/** The list of products. */

const LIMIT = 50;
const CSV_PAGE = 500;

export const productListRoutes: Route<OperatorCall>[] = [
  { path: '/products', get: showProducts },
  { path: '/products.csv', get: downloadProducts, hasDeadline: false },
];

interface Counts {
  plans: Map<number, number>;
  licenses: Map<number, number>;
  /** the version that the update XML offers to Joomla */
  offered: Map<number, string | undefined>;
}

async function countsOf(db: OperatorCall['db'], products: { id: number }[]): Promise<Counts> {
  const plans = new Map<number, number>();
  for (const { productId } of await plansOf(db, undefined))
    plans.set(productId, (plans.get(productId) ?? 0) + 1);
  const offered = new Map<number, string | undefined>();
  for (const { id } of products) offered.set(id, await findOfferedVersion(db, id));
  return { plans, licenses: await countLicensesByProduct(db), offered };
}

async function showProducts({ db, query, settings, view }: OperatorCall): Promise<PageResponse> {
  const { t, to, format, mayWrite } = view;
  const texts = t.products;
  const { columns } = texts;
  const after = query.get('after') ?? undefined;
  const sort = asSort(PRODUCT_SORTS, query.get('sort'));
  const by = sort ?? 'id';
  const { items, next } = await listProductPage(db, { limit: LIMIT, after }, sort);
  const counts = await loadOptional({ db, settings }, (on) => countsOf(on, items));
  const counted = (of: Map<number, number> | undefined, id: number) =>
    of === undefined ? t.common.none : format.number(of.get(id) ?? 0);
  const add = mayWrite ? <ButtonLink kind="primary" path="/products/new" label={texts.add} /> : null;
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="products"
        actions={
          <>
            {items.length > 0 ? add : null}
            <ButtonLink path="/products.csv" query={{ sort }} label={t.common.csv} />
          </>
        }
        filter={
          items.length < 2 ? undefined : (
            <Filters
              path="/products"
              label={t.common.order}
              fields={[orderField(t, texts.orders, 'id', sort)]}
            />
          )
        }
        caption={`${texts.orders[by]}. ${t.common.shown(format.number(items.length))}`}
        sorting={{ path: '/products', query: {}, by }}
        rows={items}
        empty={
          <>
            <p>{texts.none}</p>
            {add}
          </>
        }
        columns={[
          {
            title: columns.name,
            kind: 'name',
            sort: 'name',
            cell: ({ id, name }) => <a href={to(`/products/${id}`)}>{name}</a>,
          },
          { title: columns.element, kind: 'long', cell: ({ element }) => element ?? t.common.none },
          { title: columns.plans, kind: 'number', cell: ({ id }) => counted(counts?.plans, id) },
          { title: columns.offered, cell: ({ id }) => counts?.offered.get(id) ?? t.common.none },
          {
            title: columns.licenses,
            kind: 'number',
            sort: 'licenses',
            cell: ({ id }) => (
              <a href={to('/licenses', { product_id: id })}>{counted(counts?.licenses, id)}</a>
            ),
          },
          { title: columns.id, kind: 'number', sort: 'id', cell: ({ id }) => String(id) },
        ]}
        paging={{ path: '/products', query: { sort, after }, next, limit: LIMIT }}
      />
    ),
  };
}

function downloadProducts({ db, query, view }: OperatorCall): PageResponse {
  const sort = asSort(PRODUCT_SORTS, query.get('sort'));
  const rows = csvRows(
    (after) => listProductPage(db, { limit: CSV_PAGE, after }, sort),
    (product) => {
      const { includes, ...fields } = productJson(product);
      return { ...fields, includes: String(includes) };
    },
  );
  return { csv: view.t.products.csvName, rows };
}
