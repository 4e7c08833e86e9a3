import { releasesOf, type Release } from '../../../packages/releases';
import type { CatalogueProduct } from '../../../licensing/catalogue';
import { listReleasePage } from '../../../licensing/lists';
import { readStatistics } from '../../../licensing/statistics';
import { releaseJson } from '../../../licensing/views';
import { ManageError } from '../../../operations/failures';
import { Options } from '../kit/fields';
import { Icon, type IconName } from '../kit/icons';
import { OperatorPage } from '../kit/operator-page';
import { Head, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { within } from '../within';
import { chosenProduct } from './catalogue';
import { OfferPanel, readOffer, type Offer } from './update-xml';

/** What sites get, and the versions of a product. */

const LIMIT = 50;

export const releaseListRoutes: Route<OperatorCall>[] = [
  { path: '/releases', get: showReleases },
  { path: '/releases.csv', get: downloadReleases, hasDeadline: false },
];

async function showReleases(call: OperatorCall): Promise<Answer> {
  const { db, at, query } = call;
  const { products, product } = await chosenProduct(call);
  if (product === undefined) return { page: <NoProduct /> };
  const after = query.get('after') ?? undefined;
  const { items, next } = await listReleasePage(db, product.id, { limit: LIMIT, after });
  const offer = await readOffer(call, product);
  const downloads = await within(db, async (on) => {
    const { days } = await readStatistics(on, { productId: product.id }, at);
    const sums = new Map<string, number>();
    for (const day of days)
      for (const [version, count] of Object.entries(day.downloads))
        sums.set(version, (sums.get(version) ?? 0) + count);
    return sums;
  });
  return { page: <Releases {...{ products, product, offer, releases: items, next, after, downloads }} /> };
}

async function downloadReleases(call: OperatorCall): Promise<Answer> {
  const { product } = await chosenProduct(call);
  if (product === undefined) throw new ManageError('NOT_FOUND', '');
  const { id } = product;
  async function* rows() {
    let isFirst = true;
    for (const release of await releasesOf(call.db, id)) {
      const fields = releaseJson(release);
      if (isFirst) yield Object.keys(fields);
      isFirst = false;
      yield Object.values(fields);
    }
  }
  return { csv: call.view.t.releases.csvName, rows: rows() };
}

function NoProduct() {
  const { t, to, operator } = useView();
  return (
    <OperatorPage title={t.releases.title} nav="releases">
      <Head title={t.releases.title} />
      <Panel id="none">
        <div class="in empty">
          <p>{t.releases.noProduct}</p>
          {operator?.scope === 'write' ? (
            <a class="btn btn-primary" href={to('/products/new')}>
              {t.releases.addProduct}
            </a>
          ) : null}
        </div>
      </Panel>
    </OperatorPage>
  );
}

function Releases({
  products,
  product,
  offer,
  releases,
  next,
  after,
  downloads,
}: {
  products: CatalogueProduct[];
  product: CatalogueProduct;
  offer: Offer;
  releases: Release[];
  next: string | null;
  after: string | undefined;
  downloads: Map<string, number> | undefined;
}) {
  const { t, to, operator } = useView();
  const texts = t.releases;
  const mayWrite = operator?.scope === 'write';
  const newAddress = to(`/products/${product.id}/releases/new`);
  return (
    <OperatorPage title={`${texts.title}: ${product.name}`} nav="releases">
      <Head
        title={texts.title}
        sub={<a href={to(`/products/${product.id}`)}>{product.name}</a>}
        actions={
          <>
            {products.length > 1 ? <Chooser {...{ products, product }} /> : null}
            {mayWrite && releases.length > 0 ? (
              <a class="btn btn-primary" href={newAddress}>
                {texts.add}
              </a>
            ) : null}
            <a class="btn btn-quiet" href={to('/releases.csv', { product_id: product.id })}>
              {t.common.csv}
            </a>
          </>
        }
      />
      <OfferPanel offer={offer} />
      <Panel id="list" title={texts.list}>
        <ReleaseTable
          {...{ releases, downloads }}
          empty={
            <>
              <p>{offer.club === undefined ? texts.none : texts.noneOfClub}</p>
              {mayWrite && offer.club === undefined ? (
                <a class="btn btn-primary" href={newAddress}>
                  {texts.add}
                </a>
              ) : null}
            </>
          }
        />
        <Paging
          path="/releases"
          query={{ product_id: String(product.id), after }}
          next={next}
          limit={LIMIT}
        />
      </Panel>
    </OperatorPage>
  );
}

function Chooser({ products, product }: { products: CatalogueProduct[]; product: CatalogueProduct }) {
  const { t, to } = useView();
  return (
    <form class="acts" method="get" action={to('/releases')}>
      <label class="visually-hidden" for="product">
        {t.releases.product}
      </label>
      <select class="form-select form-select-sm w-auto" id="product" name="product_id">
        <Options
          options={products.map(({ id, name }) => ({ value: id, label: name }))}
          chosen={String(product.id)}
        />
      </select>
      <button class="btn btn-quiet btn-sm" type="submit">
        {t.releases.show}
      </button>
    </form>
  );
}

function ReleaseTable({
  releases,
  downloads,
  empty,
}: {
  releases: Release[];
  downloads: Map<string, number> | undefined;
  empty: Parameters<typeof Table>[0]['empty'];
}) {
  const { t, to, format, operator } = useView();
  const { columns, caption } = t.releases;
  const mayWrite = operator?.scope === 'write';
  const actions = mayWrite
    ? [{ title: '', kind: 'act' as const, cell: (one: Release) => <Action release={one} /> }]
    : [];
  return (
    <Table
      caption={caption(format.number(releases.length))}
      rows={releases}
      empty={empty}
      columns={[
        { title: columns.state, cell: ({ state }) => <ReleaseState state={state} /> },
        {
          title: columns.version,
          kind: 'name',
          cell: ({ id, version, changelog }) => (
            <>
              {mayWrite ? <a href={to(`/releases/${id}/edit`)}>{version}</a> : version}
              <span class="sub fw-normal">{firstLine(changelog)}</span>
            </>
          ),
        },
        {
          title: columns.released,
          cell: ({ publishedAt }) => (publishedAt === null ? t.common.none : format.localDay(publishedAt)),
        },
        {
          title: columns.downloads,
          kind: 'number',
          cell: ({ version, state }) =>
            downloads === undefined || state === 'draft'
              ? t.common.none
              : format.number(downloads.get(version) ?? 0),
        },
        { title: columns.size, kind: 'number', cell: ({ fileSize }) => format.bytes(fileSize) },
        ...actions,
      ]}
    />
  );
}

const LONGEST_LINE = 120;

/** Of a changelog, which may have a megabyte. */
function firstLine(changelog: string): string {
  const line = /\S.*/.exec(changelog)?.[0].trim() ?? '';
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE)}...` : line;
}

const ICONS: Record<string, IconName> = { draft: 'draft', published: 'yes', withdrawn: 'slash' };

function ReleaseState({ state }: { state: string }) {
  const { states } = useView().t.releases;
  return (
    <span class={`st st-${state === 'published' ? 'active' : state}`}>
      <Icon name={ICONS[state] ?? 'info'} />
      {states[state] ?? state}
    </span>
  );
}

/** What is done with a version most; its name leads to the rest. */
function Action({ release: { id, version, state } }: { release: Release }) {
  const { t, to } = useView();
  const { publish, withdraw } = t.releases;
  const actions: Record<string, [path: string, name: string]> = {
    draft: ['publish', publish],
    published: ['withdraw', withdraw],
  };
  const [path, name] = actions[state] ?? [];
  if (path === undefined) return null;
  return (
    <a class="btn btn-quiet btn-row" href={to(`/releases/${id}/${path}`)}>
      {name}
      <span class="visually-hidden"> {version}</span>
    </a>
  );
}
