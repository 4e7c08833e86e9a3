import { releasesOf, type Release } from '../../../packages/releases';
import type { CatalogueProduct } from '../../../licensing/catalogue';
import { listReleasePage, RELEASE_SORTS } from '../../../licensing/lists';
import { asSort } from '../../../licensing/sorting';
import { readStatistics } from '../../../figures/statistics';
import { releaseJson } from '../../../licensing/views';
import { OperationError } from '../../../operations/kit/failures';
import { csvRows } from '../csv';
import { ChangeList } from '../kit/changes';
import { ButtonLink, Options } from '../kit/fields';
import { Filters, orderField } from '../kit/filters';
import type { IconName } from '../kit/icons';
import { Tag, type TagKind } from '../kit/status';
import { ListPage } from '../kit/list-page';
import { MoreMenu } from '../kit/more-menu';
import { TitledPage } from '../kit/operator-page';
import { Panel } from '../kit/panel';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { loadOptional } from '../load-optional';
import { chosenProduct } from './catalogue';
import { readRollout, RolloutPanel } from './release-rollout';
import { SecurityPanel, loadSecurityAdoption } from './security-panel';
import { OfferPanel, readOffer, type Offer } from './update-xml';

/** The list of a product's releases, and the versions that sites are offered. */

const LIMIT = 50;
/** The number of newest versions that are cards. */
const CARDS = 4;

export const releaseListRoutes: Route<OperatorCall>[] = [
  { path: '/releases', get: showReleases },
  { path: '/releases.csv', get: downloadReleases, hasDeadline: false },
];

async function showReleases(call: OperatorCall): Promise<PageResponse> {
  const { db, query, view } = call;
  const { t, to, format, mayWrite } = view;
  const texts = t.releases;
  const { columns } = texts;
  const { products, product } = await chosenProduct(call);
  if (product === undefined) return noProduct(call);
  const { id, name } = product;
  const after = query.get('after') ?? undefined;
  const sort = asSort(RELEASE_SORTS, query.get('sort'));
  const by = sort ?? '-version';
  const { items, next } = await listReleasePage(db, id, { limit: LIMIT, after }, sort);
  const offer = await readOffer(call, product);
  const { rollouts } = offer.xml;
  const rollout = await readRollout(call, id, rollouts[0]?.version);
  const downloads = await readDownloads(call, id);
  // The newest versions are cards. In another order, all are rows.
  const cards = sort === undefined && after === undefined ? items.slice(0, CARDS) : [];
  const older = items.slice(cards.length);
  const range = [older[0], older.at(-1)].map((one) => one?.version ?? '') as [string, string];
  const add = <ButtonLink kind="primary" path={`/products/${id}/releases/new`} label={texts.add} />;
  return {
    page: (
      <ListPage
        title={`${texts.title}: ${name}`}
        heading={texts.title}
        nav="releases"
        sub={<a href={to(`/products/${id}`)}>{name}</a>}
        actions={
          <>
            {products.length > 1 ? <Chooser products={products} product={product} /> : null}
            {mayWrite && items.length > 0 ? add : null}
            <ButtonLink path="/releases.csv" query={{ product_id: id }} label={t.common.csv} />
          </>
        }
        above={
          <>
            <OfferPanel offer={offer} />
            <SecurityPanel standing={await loadSecurityAdoption(call, id)} />
            {rollout === undefined ? null : <RolloutPanel rollout={rollout} />}
            {cards.map((release) => (
              <Card release={release} rollouts={rollouts} downloads={downloads} />
            ))}
          </>
        }
        list={texts.list}
        fold={
          cards.length === 0 ? undefined : (
            <>
              {next === null ? texts.older(older.length, format.number(older.length)) : texts.allOlder}
              <span class="end">{texts.range(...range)}</span>
            </>
          )
        }
        filter={
          older.length < 2 ? undefined : (
            <Filters
              path="/releases"
              label={t.common.order}
              fields={[orderField(t, texts.orders, '-version', sort)]}
              hidden={{ product_id: id }}
            />
          )
        }
        caption={`${texts.orders[by]}. ${t.common.shown(format.number(older.length))}`}
        sorting={{ path: '/releases', query: { product_id: id }, by }}
        rows={older}
        empty={
          <>
            <p>{offer.club === undefined ? texts.none : texts.noneOfClub}</p>
            {mayWrite && offer.club === undefined ? add : null}
          </>
        }
        columns={[
          {
            title: columns.version,
            kind: 'name',
            sort: 'version',
            cell: ({ id, version, changelog, security }) => (
              <>
                {mayWrite ? <a href={to(`/releases/${id}/edit`)}>{version}</a> : version}
                {security ? (
                  <a class="sub" href={to(`/releases/${id}/exposure`)}>
                    {texts.security.badge}
                  </a>
                ) : null}
                <ChangeList changelog={firstLines(changelog)} words={texts.changes} />
              </>
            ),
          },
          {
            title: columns.state,
            phone: 'bare',
            cell: (release) => <ReleaseState release={release} rollouts={rollouts} />,
          },
          {
            title: columns.released,
            kind: 'time',
            sort: 'published_at',
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
          mayWrite && { title: '', kind: 'act', cell: (release) => <Action release={release} /> },
        ]}
        paging={{ path: '/releases', query: { product_id: String(id), sort, after }, next, limit: LIMIT }}
      />
    ),
  };
}

/** Returns the downloads by version; undefined if they were not loaded within the timeout. */
function readDownloads(call: OperatorCall, productId: number): Promise<Map<string, number> | undefined> {
  return loadOptional(call, async (on) => {
    const { days } = await readStatistics(on, { productId }, call.at);
    const sums = new Map<string, number>();
    for (const day of days)
      for (const [version, count] of Object.entries(day.downloads))
        sums.set(version, (sums.get(version) ?? 0) + count);
    return sums;
  });
}

async function downloadReleases(call: OperatorCall): Promise<PageResponse> {
  const { product } = await chosenProduct(call);
  if (product === undefined) throw new OperationError('NOT_FOUND', '');
  const load = async () => ({ items: await releasesOf(call.db, product.id), next: null });
  const line = (release: Release) => ({ ...releaseJson(release), cve: release.cve.join(', ') });
  return { csv: call.view.t.releases.csvName, rows: csvRows(load, line) };
}

function noProduct({ view: { t, mayWrite } }: OperatorCall): PageResponse {
  const { title, noProduct: says, addProduct } = t.releases;
  return {
    page: (
      <TitledPage title={title} nav="releases">
        <Panel id="none">
          <div class="in empty">
            <p>{says}</p>
            {mayWrite ? <ButtonLink kind="primary" path="/products/new" label={addProduct} /> : null}
          </div>
        </Panel>
      </TitledPage>
    ),
  };
}

function Chooser({ products, product }: { products: CatalogueProduct[]; product: CatalogueProduct }) {
  const { t, to } = useView();
  return (
    <form class="acts" method="get" action={to('/releases')}>
      <label class="visually-hidden" for="product">
        {t.releases.product}
      </label>
      <select class="select" id="product" name="product_id">
        <Options
          options={products.map(({ id, name }) => ({ value: id, label: name }))}
          chosen={String(product.id)}
        />
      </select>
      <button class="btn btn-sm" type="submit">
        {t.releases.show}
      </button>
    </form>
  );
}

const MAX_LINES = 5;
const MAX_LINE_LENGTH = 120;

/** Returns the first lines of a changelog, which can be one megabyte. */
function firstLines(changelog: string): string {
  const lines = changelog
    .slice(0, 10_000)
    .split(/\r\n|[\r\n]/)
    .filter((line) => line.trim() !== '');
  const shown = lines
    .slice(0, MAX_LINES)
    .map((line) => (line.length > MAX_LINE_LENGTH ? `${line.slice(0, MAX_LINE_LENGTH)}...` : line));
  return [...shown, ...(lines.length > MAX_LINES ? ['...'] : [])].join('\n');
}

const LOOKS: Record<string, [TagKind, IconName]> = {
  draft: ['off', 'draft'],
  published: ['ok', 'yes'],
  withdrawn: ['off', 'slash'],
};

function ReleaseState({
  release: { state, version },
  rollouts,
}: {
  release: Release;
  rollouts: Offer['xml']['rollouts'];
}) {
  const { states, rollout: texts } = useView().t.releases;
  const [kind, icon] = LOOKS[state] ?? ['off', 'info'];
  const staged = state === 'published' ? rollouts.find((one) => one.version === version) : undefined;
  return (
    <Tag kind={kind} icon={icon}>
      {states[state] ?? state}
      {staged === undefined ? null : ` ${texts.badge(String(staged.percent))}`}
    </Tag>
  );
}

/** A version as a card: its state, its changes and its downloads. */
function Card({
  release,
  rollouts,
  downloads,
}: {
  release: Release;
  rollouts: Offer['xml']['rollouts'];
  /** by version; undefined if they were not loaded in time */
  downloads: ReadonlyMap<string, number> | undefined;
}) {
  const { t, to, format, mayWrite } = useView();
  const { id, version, state, changelog, security, publishedAt, fileSize } = release;
  const texts = t.releases;
  const count = downloads?.get(version) ?? 0;
  return (
    <article class="panel" aria-labelledby={`h-v${id}`}>
      <header>
        <div class="acts">
          <h2 id={`h-v${id}`}>{mayWrite ? <a href={to(`/releases/${id}/edit`)}>{version}</a> : version}</h2>
          <ReleaseState release={release} rollouts={rollouts} />
          {security ? <span class="tag tag-word tag-bad">{texts.security.badge}</span> : null}
        </div>
        <div class="acts">
          {publishedAt === null ? null : <span>{format.localDay(publishedAt)}</span>}
          {mayWrite ? <Action release={release} /> : null}
        </div>
      </header>
      <ChangeList changelog={firstLines(changelog)} words={texts.changes} />
      <footer>
        {downloads === undefined || state === 'draft' ? null : (
          <span>{texts.downloaded(count, format.number(count))}</span>
        )}
        <span class="muted">{format.bytes(fileSize)}</span>
        {security ? <a href={to(`/releases/${id}/exposure`)}>{t.told.exposure.link}</a> : null}
      </footer>
    </article>
  );
}

/** The most frequent action for a release. The link of its name leads to the others. */
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
    <MoreMenu label={`${t.common.actions}: ${version}`}>
      <a href={to(`/releases/${id}/${path}`)}>{name}</a>
    </MoreMenu>
  );
}
