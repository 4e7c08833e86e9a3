import { firstSteps, listGaps, readGoods, type Gap, type Goods } from '../../../overview/first-steps';
import type { CatalogueProduct } from '../../../licensing/catalogue';
import type { Db } from '../../../licensing/licensing';
import { countLicenses } from '../../../licensing/lists';
import { filterId } from '../../../operations/kit/request-params';
import { PERIODS } from '../../../figures/kept-figures';
import { readMoney } from '../../../figures/money';
import { countFailedMails } from '../../../mail/queue';
import { isAutoDisabled, listWebhooks } from '../../../webhooks/receivers';
import {
  countDisputed,
  listActionItems,
  refusalsByReason,
  type ActionItem,
  type RefusalReason,
} from '../../../overview/action-items';
import {
  countEndingSoon,
  readArrivals,
  readFigures,
  readInstalled,
  refusedInDays,
  readRenewalRate,
  readTrend,
  releasedLately,
  type Compared,
  type Figures,
  type OverviewQuery,
  isoDayBefore,
} from '../../../overview/overview';
import { LineIcon } from '../kit/icons';
import { NoteLine } from '../kit/note';
import { OperatorPage } from '../kit/operator-page';
import { PageHeader, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView, type NavCounts, type Query } from '../view';
import { countOrLast, FRESH_MS, NAV_COUNTS } from '../load-optional';
import { ArrivedPanel, EndingPanel, InstalledPanel, TrendPanel, UsedPanel } from './overview-charts';
import { MoneyPanel } from './money-panel';
import { ActionItemList } from './overview-needs';

/**
 * The overview (dashboard), with figures and action items. Before something can be sold, it shows the first steps
 * (onboarding).
 */

export const overviewRoutes: Route<OperatorCall>[] = [{ path: '/', get: showOverview }];

/** Above it, the overview keeps the number of disputes for a minute: it reads the history of each suspended licence. */
const MANY_SUSPENDED = 5_000;
/** Above it, the overview keeps the number of licences that end soon for a minute: 33,000 take 30 ms. */
const MANY_ENDING = 10_000;
/** Above it, the overview keeps the renewal rate for a minute: it reads a year of days, plan by plan. */
const MANY_ENDS = 20_000;

export async function showOverview(call: OperatorCall): Promise<PageResponse> {
  const { db, at, view } = call;
  const goods = await readGoods(db);
  if (Object.values(firstSteps(goods)).includes(undefined)) return { to: '/start' };
  const gaps = await gapsOf(call, goods);
  const query = readQuery(call.query, goods);
  const waits = call.query.get('wait') === '1';
  const { operatorLanguage: language } = view;
  const found: (Date | undefined)[] = [];
  const counted = async <T,>(
    name: string,
    load: (on: typeof db) => Promise<T>,
    isSlowToCount?: (value: T) => boolean,
  ): Promise<T | undefined> => {
    const figure = await countOrLast(call, name, load, waits, isSlowToCount);
    found.push(figure?.at);
    return figure?.value;
  };
  const of = [query.productId, query.days].join(' ');
  const suspended = (await countLicenses(db, { status: 'suspended' }, at)) ?? 0;
  const [figures, needs, refused, ending, reasons, arrivals, trend, installed, rate, money] =
    await Promise.all([
      readFigures(db, query, at),
      // Disputes are counted before and kept on their own: only they are slow, with very many suspended licences.
      counted(
        'disputed',
        (on) => countDisputed(on, at),
        () => suspended > MANY_SUSPENDED,
      ).then((disputed) =>
        disputed === undefined
          ? undefined
          : counted(`needs ${language}`, (on) => listNeeds(call, on, disputed)),
      ),
      counted(`refused ${of}`, (on) => refusedInDays(on, query)),
      counted(
        `ending ${of}`,
        (on) => countEndingSoon(on, goods, query.productId, at),
        (ending) => ending > MANY_ENDING,
      ),
      counted(`reasons ${language} ${of}`, (on) => refusalsByReason(on, query, at, language)),
      counted(`arrivals ${of}`, (on) => readArrivals(on, goods, query, at)),
      counted(`trend ${of}`, (on) => readTrend(on, query, at)),
      counted(`installed ${of}`, (on) => readInstalled(on, goods, query.productId)),
      counted(
        `rate ${of}`,
        (on) => readRenewalRate(on, goods, query.productId, at),
        ({ ended }) => ended > MANY_ENDS,
      ),
      // Orders do not split their amount by product.
      query.productId === undefined ? counted('money', (on) => readMoney(on, at)) : undefined,
    ]);
  if (needs !== undefined) {
    view.counts = navCounts(needs, gaps);
    call.lastFigures.kept.set(NAV_COUNTS, { value: view.counts, at, isSlow: false });
  }
  const released = releasedLately(goods, query, at).map(({ productId, version, publishedAt }) => ({
    what: `${productName(goods.products, productId)} ${version}`,
    at: publishedAt,
  }));
  return {
    page: (
      <OperatorPage title={view.t.overview.title} nav="overview">
        <Top query={query} products={goods.products} />
        <LateNote query={query} found={found} />
        <FiguresPanel query={query} figures={figures} refused={refused} ending={ending} />
        <ActionItemList needs={needs} gaps={gaps} />
        <div class="cols cols-2">
          <div class="stack">
            <TrendPanel months={trend} rate={rate} productId={query.productId} />
            <MoneyPanel money={money} />
            <InstalledPanel
              installed={installed}
              products={query.productId === undefined ? goods.products.length : 1}
            />
          </div>
          <div class="stack">
            <EndingPanel months={figures.expiring} />
            <RefusedPanel query={query} reasons={reasons} />
            <ArrivedPanel arrivals={arrivals} days={figures.days.length} />
            <UsedPanel days={figures.days} released={released} />
          </div>
        </div>
      </OperatorPage>
    ),
  };
}

function navCounts(needs: ActionItem[], gaps: Gap[]): NavCounts {
  const of = (...types: ActionItem['type'][]) =>
    needs.reduce((sum, one) => sum + ('count' in one && types.includes(one.type) ? one.count : 0), 0);
  return {
    overview: needs.length + gaps.length,
    orders: of('orders', 'failed', 'without_address'),
    mails: of('mails'),
  };
}

async function listNeeds(
  { at, settings, view }: OperatorCall,
  db: Db,
  disputed: number,
): Promise<ActionItem[]> {
  return listActionItems(db, {
    home: settings.updateXml,
    disputed,
    failedMails: await countFailedMails(db, new Date(isoDayBefore(at, 7))),
    stoppedWebhooks: (await listWebhooks(db)).filter(isAutoDisabled).length,
    spreadFactor: settings.spreadFactor,
    language: view.operatorLanguage,
    now: at,
  });
}

/** Lists the gaps of the set-up, except those of products and plans. */
export function gapsOf({ db, settings: { config } }: OperatorCall, goods: Goods): Promise<Gap[]> {
  return listGaps(db, goods, { address: config.publicUrl !== undefined, mail: config.mail !== undefined });
}

/**
 * The note with the time of the oldest figure, if figures are still being counted.
 * @param found undefined if never counted
 */
function LateNote({
  query: { productId, days },
  found,
}: {
  query: OverviewQuery;
  found: (Date | undefined)[];
}) {
  const { t, to, format, now } = useView();
  const texts = t.overview;
  const older = found.filter(
    (one): one is Date => one !== undefined && Number(now) - Number(one) >= FRESH_MS,
  );
  const [oldest] = older.sort((a, b) => a.getTime() - b.getTime());
  if (oldest === undefined && !found.includes(undefined)) return null;
  return (
    <NoteLine role="status">
      {texts.counting} {oldest === undefined ? '' : texts.asOf(format.moment(oldest))}{' '}
      <a href={to('/', { product_id: productId, days, wait: 1 })}>{texts.wait}</a>
    </NoteLine>
  );
}

/** Reads the query. Without a known product, it means all products, and without a known period the first. */
function readQuery(given: URLSearchParams, { products }: Goods): OverviewQuery {
  const days = Number(given.get('days'));
  const id = filterId(given.get('product_id') ?? undefined);
  return {
    productId: products.some((product) => product.id === id) ? id : undefined,
    days: PERIODS.find((one) => one === days) ?? PERIODS[0],
  };
}

function productName(products: CatalogueProduct[], id: number): string {
  return products.find((product) => product.id === id)?.name ?? '';
}

function Top({ query, products }: { query: OverviewQuery; products: CatalogueProduct[] }) {
  const { t, to, format, now } = useView();
  const texts = t.overview;
  const { productId, days } = query;
  const linkTo = (product: number | undefined, length: number) => ({
    href: to('/', { product_id: product, days: length }),
    ...(product === productId && length === days ? { 'aria-current': 'true' as const } : {}),
  });
  const filters = (
    <>
      {products.length === 1 ? null : (
        <details class="menu">
          <summary class="btn">
            <span class="visually-hidden">{texts.product}: </span>
            {productId === undefined ? texts.allProducts : productName(products, productId)}
            <LineIcon name="chevron-down" />
          </summary>
          <div class="pop">
            <a {...linkTo(undefined, days)}>{texts.allProducts}</a>
            {products.map(({ id, name }) => (
              <a {...linkTo(id, days)}>{name}</a>
            ))}
          </div>
        </details>
      )}
      <div class="seg" role="group" aria-label={texts.length}>
        {PERIODS.map((length) => (
          <a {...linkTo(productId, length)}>{texts.days(format.number(length))}</a>
        ))}
      </div>
    </>
  );
  return (
    <PageHeader
      title={texts.title}
      sub={texts.period(format.fullDay(now), format.number(days))}
      actions={filters}
    />
  );
}

function FiguresPanel({
  query,
  figures,
  refused,
  ending,
}: {
  query: OverviewQuery;
  figures: Figures;
  refused: Compared | undefined;
  ending: number | undefined;
}) {
  const { t, format, now } = useView();
  const { figures: texts, late } = t.overview;
  const { sold, renewed, active, refused: requests } = figures;
  const before = (count: number) => texts.before(format.number(count), format.number(query.days));
  const product = { product_id: query.productId };
  const written = texts.requests(requests.now, format.number(requests.now));
  return (
    <Panel id="figures">
      <dl class="figs">
        <Figure
          title={texts.sold}
          value={sold.now}
          note={before(sold.before)}
          link={{ ...product, issued_since: isoDayBefore(now, query.days - 1) }}
        />
        <Figure title={texts.renewed} value={renewed.now} note={before(renewed.before)} />
        <Figure
          title={texts.ending}
          value={ending}
          note={ending === undefined ? late : texts.ofActive(format.number(active))}
          link={{ ...product, expiring: '30d' }}
        />
        <Figure
          title={texts.refused}
          value={refused?.now}
          note={refused === undefined ? late : `${written}; ${before(refused.before)}`}
          link={{ ...product, refused: `${query.days}d` }}
        />
      </dl>
    </Panel>
  );
}

/**
 * A figure.
 * @param value undefined if not counted
 * @param link the filter of the licences that it counts; no filter finds renewed licences
 */
function Figure({
  title,
  value,
  note,
  link,
}: {
  title: string;
  value: number | undefined;
  note: string;
  link?: Query;
}) {
  const { t, to, format } = useView();
  const written = value === undefined ? t.common.none : format.number(value);
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <span class="v">
          {link === undefined || !value ? written : <a href={to('/licenses', link)}>{written}</a>}
        </span>
        <span class="also">{note}</span>
      </dd>
    </div>
  );
}

function RefusedPanel({ query, reasons }: { query: OverviewQuery; reasons: RefusalReason[] | undefined }) {
  const { t, to, format } = useView();
  const texts = t.overview.refused;
  const days = format.number(query.days);
  const product = { product_id: query.productId };
  return (
    <Panel id="refused" title={texts.title} aside={<a href={to('/requests', product)}>{texts.all}</a>}>
      <Table
        caption={texts.caption(days)}
        rows={reasons ?? []}
        empty={<p>{reasons === undefined ? t.overview.late : texts.none(days)}</p>}
        columns={[
          {
            title: texts.reason,
            kind: 'name',
            cell: ({ code, reason }) => <a href={to('/requests', { ...product, outcome: code })}>{reason}</a>,
          },
          {
            title: texts.licenses,
            kind: 'number',
            cell: ({ licenses }) => (licenses === 0 ? t.common.none : format.number(licenses)),
          },
          {
            title: texts.requests,
            kind: 'number',
            phone: 'beside',
            cell: ({ requests }) => format.number(requests),
          },
          {
            title: texts.last,
            kind: 'time',
            cell: ({ last }) => (last === null ? t.common.none : format.moment(last)),
          },
        ]}
      />
    </Panel>
  );
}
