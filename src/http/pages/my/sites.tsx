import { formatTimestamp } from '../../../base/days';
import { findMySite, listMySites, mySiteRows } from '../../../selfservice/by-mail';
import { toId } from '../../../operations/kit/request-params';
import { fieldOf } from '../form-state';
import { CustomerPage } from '../kit/customer-page';
import { LineIcon } from '../kit/icons';
import { Panel } from '../kit/panel';
import { Pagination } from '../kit/table';
import type { Cell, CsvField } from '../csv';
import type { PageResponse } from '../page';
import { useView } from '../view';
import { mailSessionRoute, orNotFound, redirectToLicenses, type MailCall } from './customer';
import { SignOut } from './parts';
import { SiteTable } from './site-table';

/** The list of a licence's sites, and the search for a site in all licences. */

const LIMIT = 50;

export const siteRoutes = [
  mailSessionRoute('/my/sites', { get: redirectToLicenses, post: findSite }),
  mailSessionRoute('/my/licenses/:id/sites', { get: (call) => showSites(call), post: filterSites }),
  mailSessionRoute('/my/licenses/:id/sites.csv', { get: downloadSites, hasDeadline: false }),
];

async function findSite({ db, email, view: { t } }: MailCall, sent: URLSearchParams): Promise<PageResponse> {
  const text = fieldOf(sent, 'site');
  if (text === '') return redirectToLicenses();
  const { items, more } = await findMySite(db, email, text);
  const texts = t.my.sites;
  return {
    page: (
      <CustomerPage title={texts.found(text)} action={<SignOut />} stack sub={<LicensesLink />}>
        <SiteSearchForm value={text} />
        <Panel id="found">
          <SiteTable
            caption={texts.foundCaption}
            sites={items.map(({ site, ...license }) => ({ ...site, ...license }))}
            licenseId={({ licenseId }) => licenseId}
            mayRemove
            empty={texts.noMatch}
            more={[{ title: texts.license, cell: ({ product, plan }) => `${product} · ${plan}` }]}
          />
        </Panel>
        {more ? <p class="small muted">{texts.foundMore}</p> : null}
      </CustomerPage>
    ),
  };
}

/** Filters the list by POST, like the search in all licences, so that logs do not contain the name of a site. */
function filterSites(call: MailCall, sent: URLSearchParams): Promise<PageResponse> {
  return showSites(call, fieldOf(sent, 'site') || undefined);
}

async function showSites(call: MailCall, q?: string): Promise<PageResponse> {
  const { db, email, query } = call;
  const { t, to } = call.view;
  const id = toId(call.path.id);
  const after = query.get('after') ?? undefined;
  // Show all matches on one page, because a filter by POST has no address for a next page.
  const page = q === undefined ? { after, limit: LIMIT } : { q, limit: MAX_FILTERED };
  const { items, next, product, plan } = orNotFound(await listMySites(db, email, id, page));
  const { sites } = t.my;
  const path = `/my/licenses/${id}/sites`;
  const license = `${product} · ${plan}`;
  return {
    page: (
      <CustomerPage
        title={sites.title(license)}
        action={<SignOut />}
        stack
        sub={<LicensesLink />}
        actions={
          <a class="btn" href={to(`${path}.csv`)}>
            {t.kit.csv}
          </a>
        }
      >
        <Panel id="sites">
          <SiteSearchForm path={path} value={q} />
          <SiteTable
            caption={sites.caption}
            sites={items}
            licenseId={id}
            mayRemove
            empty={
              q === undefined ? (
                sites.none
              ) : (
                <>
                  {sites.noMatch} <a href={to(path)}>{t.kit.clearFilters}</a>
                </>
              )
            }
          />
          {q === undefined ? (
            <Pagination path={path} query={{ after }} next={next} limit={LIMIT} />
          ) : next === null ? null : (
            <p class="in small muted">{sites.foundMore}</p>
          )}
        </Panel>
      </CustomerPage>
    ),
  };
}

const MAX_FILTERED = 500;

async function downloadSites({ db, email, path, view }: MailCall): Promise<PageResponse> {
  const sites = orNotFound(await mySiteRows(db, email, toId(path.id)));
  const { csvName } = view.t.my.sites;
  const { yes, no } = view.t.kit;
  async function* rows(): AsyncIterable<Cell[]> {
    yield ['site', 'label', 'activated_at', 'slot'] satisfies CsvField[];
    for await (const { identifier, name, activatedAt, free } of sites)
      yield [identifier, name, formatTimestamp(activatedAt), free ? no : yes];
  }
  return { csv: csvName, rows: rows() };
}

/** The search form for a site. @param path the page of one licence's sites; by default, all licences are searched */
export function SiteSearchForm({ path, value = '' }: { path?: string; value?: string | undefined }) {
  const { t, to } = useView();
  const { find, filter } = t.my.sites;
  const label = path === undefined ? find : filter;
  return (
    <div class={path === undefined ? 'panel filters' : 'filters'}>
      <form class="find" method="post" action={to(path ?? '/my/sites')} role="search">
        <div class="only">
          <label for="site" class="visually-hidden">
            {label}
          </label>
          <input
            class="input"
            id="site"
            name="site"
            type="search"
            autocomplete="off"
            maxlength={255}
            placeholder={label}
            value={value}
          />
        </div>
        <button type="submit" aria-label={t.kit.find}>
          <LineIcon name="search" />
        </button>
      </form>
    </div>
  );
}

export function LicensesLink() {
  const { t, to } = useView();
  return <a href={to('/my/mail')}>{t.my.toLicenses}</a>;
}
