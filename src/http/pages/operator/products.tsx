import { listOfferedVersions } from '../../../joomla/update-xml/offered';
import { listProductPage } from '../../../licensing/lists';
import { plansOf, type CatalogueProduct } from '../../../licensing/catalogue';
import { countLicensesByProduct } from '../../../licensing/statistics';
import { latestOf } from '../../../licensing/updates';
import { productJson } from '../../../licensing/views';
import { OperatorPage } from '../kit/operator-page';
import { Head, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { within } from '../within';

/** Which products there are. */

const LIMIT = 50;
const CSV_PAGE = 500;

export const productListRoutes: Route<OperatorCall>[] = [
  { path: '/products', get: showProducts },
  { path: '/products.csv', get: downloadProducts, hasDeadline: false },
];

interface Counts {
  plans: Map<number, number>;
  licenses: Map<number, number>;
  /** the version that Joomla is offered */
  offered: Map<number, string | undefined>;
}

async function showProducts({ db, query }: OperatorCall): Promise<Answer> {
  const after = query.get('after') ?? undefined;
  const { items, next } = await listProductPage(db, { limit: LIMIT, after });
  const counts = await within(db, async (on): Promise<Counts> => {
    const plans = new Map<number, number>();
    for (const { productId } of await plansOf(on, undefined))
      plans.set(productId, (plans.get(productId) ?? 0) + 1);
    const offered = new Map<number, string | undefined>();
    for (const { id } of items)
      offered.set(
        id,
        latestOf(await listOfferedVersions(on, id), (version) => version),
      );
    return { plans, licenses: await countLicensesByProduct(on), offered };
  });
  return { page: <Products {...{ products: items, next, after, counts }} /> };
}

function downloadProducts({ db, view }: OperatorCall): Answer {
  async function* rows() {
    let after: string | undefined;
    let isFirst = true;
    do {
      const { items, next } = await listProductPage(db, { limit: CSV_PAGE, after });
      for (const product of items) {
        const { includes, ...fields } = productJson(product);
        const row = { ...fields, includes: String(includes) };
        if (isFirst) yield Object.keys(row);
        isFirst = false;
        yield Object.values(row);
      }
      after = next ?? undefined;
    } while (after !== undefined);
  }
  return { csv: view.t.products.csvName, rows: rows() };
}

function Products({
  products,
  next,
  after,
  counts,
}: {
  products: CatalogueProduct[];
  next: string | null;
  after: string | undefined;
  counts: Counts | undefined;
}) {
  const { t, to, format, operator } = useView();
  const texts = t.products;
  const { columns } = texts;
  const add =
    operator?.scope === 'write' ? (
      <a class="btn btn-primary" href={to('/products/new')}>
        {texts.add}
      </a>
    ) : null;
  const counted = (of: Map<number, number> | undefined, id: number) =>
    of === undefined ? t.common.none : format.number(of.get(id) ?? 0);
  return (
    <OperatorPage title={texts.title} nav="products">
      <Head
        title={texts.title}
        actions={
          <>
            {products.length > 0 ? add : null}
            <a class="btn btn-quiet" href={to('/products.csv')}>
              {t.common.csv}
            </a>
          </>
        }
      />
      <Panel id="list">
        <Table
          caption={texts.caption(format.number(products.length))}
          rows={products}
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
              cell: ({ id, name }) => <a href={to(`/products/${id}`)}>{name}</a>,
            },
            { title: columns.element, kind: 'long', cell: ({ element }) => element ?? t.common.none },
            {
              title: columns.plans,
              kind: 'number',
              cell: ({ id }) => counted(counts?.plans, id),
            },
            { title: columns.offered, cell: ({ id }) => counts?.offered.get(id) ?? t.common.none },
            {
              title: columns.licenses,
              kind: 'number',
              cell: ({ id }) => (
                <a href={to('/licenses', { product_id: id })}>{counted(counts?.licenses, id)}</a>
              ),
            },
            { title: columns.id, kind: 'number', cell: ({ id }) => String(id) },
          ]}
        />
        <Paging path="/products" query={{ after }} next={next} limit={LIMIT} />
      </Panel>
    </OperatorPage>
  );
}
