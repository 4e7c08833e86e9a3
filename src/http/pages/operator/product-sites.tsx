import { inBothForms } from '../../../licensing/core/identifiers';
import { requireProduct } from '../../../licensing/find-or-throw';
import { asSort } from '../../../licensing/sorting';
import {
  countReportedVersions,
  OUTDATED_SITE_SORTS,
  readProductSites,
} from '../../../licensing/reported-sites';
import { readId } from '../../../operations/kit/request-params';
import { refusalReason } from '../../../overview/action-items';
import { csvRows } from '../csv';
import { ButtonLink } from '../kit/fields';
import { Filters, orderField } from '../kit/filters';
import { ListPage } from '../kit/list-page';
import { DescriptionList, PanelBody, Panel } from '../kit/panel';
import { countOrLast } from '../load-optional';
import type { PageResponse, OperatorCall, Route } from '../page';

/** The versions of a product on customers' sites (telemetry), and the outdated sites. */

const LIMIT = 50;
const CSV_PAGE = 500;
/** Above it, a page keeps the counts of versions for a minute: counting 333,000 sites takes 80 ms. */
const MANY_SITES = 50_000;

export const productSiteRoutes: Route<OperatorCall>[] = [
  { path: '/products/:id/sites', get: showSites },
  { path: '/products/:id/sites.csv', get: downloadSites, hasDeadline: false },
];

async function showSites(call: OperatorCall): Promise<PageResponse> {
  const { t, to, format, operatorLanguage } = call.view;
  const { told: texts } = t;
  const { columns } = texts;
  const { id, name } = await requireProduct(call.db, readId(call));
  const after = call.query.get('after') ?? undefined;
  const version = call.query.get('version')?.trim() || undefined;
  // Sites of one version are sorted by the time at which they installed it.
  const sort = version === undefined ? asSort(OUTDATED_SITE_SORTS, call.query.get('sort')) : undefined;
  const by = sort ?? '-at';
  const counts = await countOrLast(
    call,
    `versions ${id}`,
    (on) => countReportedVersions(on, id),
    false,
    (versions) => versions.reduce((sum, { count }) => sum + count, 0) > MANY_SITES,
  );
  const request = { limit: LIMIT, after, version, sort, counts: counts?.value };
  const sites = await readProductSites(call.db, id, request, call.at);
  const { newest, share, halfDays, counted, versions, behind } = sites;
  const path = `/products/${id}/sites`;
  return {
    page: (
      <ListPage
        title={texts.title(name)}
        nav="products"
        crumbs={[
          [t.products.title, '/products'],
          [name, `/products/${id}`],
        ]}
        sub={texts.how}
        actions={
          counted === 0 ? undefined : (
            <ButtonLink path={`${path}.csv`} query={{ version, sort }} label={t.common.csv} />
          )
        }
        above={
          counted === 0 ? undefined : (
            <Panel id="figures">
              <PanelBody>
                <DescriptionList
                  facts={[
                    [texts.newest, newest ?? t.common.none],
                    [
                      texts.share,
                      share === null
                        ? t.common.none
                        : texts.shareOf(format.number(Math.floor(100 * share)), format.number(counted)),
                    ],
                    [
                      texts.half,
                      halfDays === null ? texts.notHalf : texts.halfAfter(format.number(halfDays)),
                    ],
                    [
                      texts.versions,
                      versions.map((one, i) => (
                        <>
                          {i === 0 ? '' : ', '}
                          <span class="nowrap">
                            <a href={to(path, { version: one.version })}>{one.version}</a>
                            {`: ${format.number(one.sites)}`}
                          </span>
                        </>
                      )),
                    ],
                  ]}
                />
              </PanelBody>
            </Panel>
          )
        }
        list={version === undefined ? texts.behind : undefined}
        tags={
          version === undefined ? undefined : (
            <p class="chips">
              <span class="tag">{texts.onlyVersion(version)}</span>
              <a href={to(path)}>{t.common.clearFilters}</a>
            </p>
          )
        }
        filter={
          version !== undefined || behind.items.length < 2 ? undefined : (
            <Filters path={path} label={t.common.order} fields={[orderField(t, texts.orders, '-at', sort)]} />
          )
        }
        sorting={version === undefined ? { path, query: {}, by } : undefined}
        caption={
          version === undefined
            ? `${texts.orders[by]}. ${t.common.shown(format.number(behind.items.length))}`
            : texts.captionVersion(version, format.number(behind.items.length))
        }
        rows={behind.items}
        empty={
          counted === 0 ? texts.none : version === undefined ? texts.noneBehind : texts.noneWith(version)
        }
        columns={[
          { title: columns.site, kind: 'name', cell: ({ site }) => inBothForms(site, 'domain') },
          { title: columns.version, cell: ({ version }) => version },
          { title: columns.told, kind: 'time', sort: 'at', cell: ({ at }) => format.moment(at) },
          {
            title: columns.license,
            kind: 'number',
            cell: ({ licenseId }) => <a href={to(`/licenses/${licenseId}`)}>{String(licenseId)}</a>,
          },
          { title: columns.customer, kind: 'long', cell: ({ license }) => license.customer ?? t.common.none },
          {
            title: columns.may,
            cell: ({ code }) => (code === null ? texts.may : refusalReason(code, operatorLanguage)),
          },
        ]}
        paging={{ path, query: { version, sort, after }, next: behind.next, limit: LIMIT }}
      />
    ),
  };
}

async function downloadSites(call: OperatorCall): Promise<PageResponse> {
  const { id } = await requireProduct(call.db, readId(call));
  const version = call.query.get('version')?.trim() || undefined;
  const sort = asSort(OUTDATED_SITE_SORTS, call.query.get('sort'));
  const counts = await countReportedVersions(call.db, id);
  const request = { limit: CSV_PAGE, version, sort, counts };
  const rows = csvRows(
    async (after) => (await readProductSites(call.db, id, { ...request, after }, call.at)).behind,
    ({ site, version: told, firstAt, at, license, code }) => ({
      site,
      version: told,
      version_at: firstAt.toISOString(),
      at: at.toISOString(),
      license_id: license.id,
      customer: license.customer,
      code,
    }),
  );
  return { csv: call.view.t.told.csvName, rows };
}
