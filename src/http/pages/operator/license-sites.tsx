import { capitalized } from '../../../texts/case';
import { inBothForms } from '../../../licensing/core/identifiers';
import { findActivation, listFollowers } from '../../../licensing/activations';
import type { LicenseView } from '../../../licensing/license-view';
import type { License } from '../../../licensing/licenses';
import { searchSitePage, SITE_SORTS } from '../../../licensing/lists';
import { asSort } from '../../../licensing/sorting';
import { activationJson } from '../../../licensing/views';
import { notFound } from '../../../operations/kit/failures';
import { readId } from '../../../operations/kit/request-params';
import { submitOperation, nonEmptyFields, redirectIfDeleted } from '../submit';
import { csvRows } from '../csv';
import { formRoute } from '../form-route';
import { formState, type FormState } from '../form-state';
import { ButtonLink, Form, Submit, TextField } from '../kit/fields';
import { Filters, orderField } from '../kit/filters';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { Panel } from '../kit/panel';
import { Table, type Sorting, type TableProps } from '../kit/table';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView, type View } from '../view';
import { slotLimit } from './catalogue';
import { licenseBreadcrumbs, licenseFormProps, licenseOf, licenseName, pathOf } from './license-call';
import { activationOperations } from '../../../operations/activations';

/** A licence's sites, devices, seats or instances. Its own page shows the newest, and the list here shows all. */

type Site = LicenseView['sites']['items'][number];

export const licenseSiteRoutes: Route<OperatorCall>[] = [
  { path: '/licenses/:id/sites', get: showSites },
  { path: '/licenses/:id/sites.csv', get: downloadSites, hasDeadline: false },
  formRoute('/licenses/:id/sites/add', {
    find: licenseOf,
    needsNoRecentSignIn: true,
    show: showAdd,
    work: add,
  }),
  { path: '/licenses/:id/sites/:site/remove', needsNoRecentSignIn: true, post: remove },
];

const LIMIT = 50;
const CSV_PAGE = 500;

async function showSites(call: OperatorCall): Promise<PageResponse> {
  const { db, query, view } = call;
  const { t, mayWrite } = view;
  const license = await licenseOf(call);
  const text = query.get('site')?.trim() || undefined;
  const after = query.get('after') ?? undefined;
  const sort = asSort(SITE_SORTS, query.get('sort'));
  const { items, next } = await searchSitePage(db, license.id, text, { limit: LIMIT, after }, sort);
  const texts = t.license.sites;
  const path = pathOf(license, '/sites');
  return {
    page: (
      <ListPage
        title={activationWords(view, license).title}
        nav="licenses"
        crumbs={licenseBreadcrumbs(license, t)}
        sub={licenseName(license, t)}
        actions={
          <ButtonLink
            path={pathOf(license, '/sites.csv')}
            query={{ site: text, sort }}
            label={t.common.csv}
          />
        }
        filter={<SiteFilter license={license} text={text} sort={sort} />}
        {...siteTable(view, license, items, text === undefined ? texts.none : texts.noMatch, {
          path,
          query: { site: text },
          by: sort ?? '-id',
        })}
        paging={{ path, query: { site: text, sort, after }, next, limit: LIMIT }}
        footer={mayWrite ? <AddForm license={license} /> : undefined}
      />
    ),
  };
}

async function downloadSites(call: OperatorCall): Promise<PageResponse> {
  const { db, query, view } = call;
  const license = await licenseOf(call);
  const text = query.get('site')?.trim() || undefined;
  const sort = asSort(SITE_SORTS, query.get('sort'));
  const rows = csvRows(
    (after) => searchSitePage(db, license.id, text, { limit: CSV_PAGE, after }, sort),
    (site) => activationJson(site, license),
  );
  return { csv: view.t.license.sites.csvName(String(license.id)), rows };
}

function showAdd({ view }: OperatorCall, form: FormState, license: License): PageResponse {
  const texts = view.t.license.sites;
  const { add: title, example } = activationWords(view, license);
  return {
    page: (
      <FormPage {...licenseFormProps(view, license, '/sites/add')} title={title} form={form} submit={title}>
        <TextField
          name="identifier"
          label={texts.identifier}
          placeholder={example}
          hint={texts.addHint}
          required
        />
        <TextField name="name" label={texts.labelField} />
      </FormPage>
    ),
  };
}

async function add(call: OperatorCall, sent: URLSearchParams, license: License): Promise<PageResponse> {
  const { format, t } = call.view;
  const added = await submitOperation(call, sent, activationOperations.addLicenseActivation, {
    path: { id: license.id },
    body: nonEmptyFields(sent, 'identifier', 'name'),
  });
  const { activationsUsed, activationLimit } = await licenseOf(call);
  const limit = slotLimit(call.view, activationLimit);
  const used = t.license.facts.slotsOf(format.number(activationsUsed), limit);
  return redirectWithFlash(
    pathOf(license),
    'licenseSiteAdded',
    inBothForms(added.identifier, license.plan.activationType),
    used,
  );
}

async function remove(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const license = await licenseOf(call);
  const id = readId(call, 'site', 'activation');
  return redirectIfDeleted(pathOf(license), async () => {
    const site = await findActivation(call.db, license.id, { id });
    if (site === undefined) throw notFound('activation');
    const { activationType } = license.plan;
    const written = (identifier: string) => inBothForms(identifier, activationType);
    const followers = (await listFollowers(call.db, site)).map(written).join(', ');
    const path = { id: license.id, activation_id: id };
    await submitOperation(call, sent, activationOperations.removeLicenseActivation, { path });
    const free = site.free ? 'free' : '';
    return redirectWithFlash(
      pathOf(license),
      'licenseSiteRemoved',
      written(site.identifier),
      free,
      followers,
    );
  });
}

/** Examples of an identifier, by the plan's activation type. */
const EXAMPLES: Record<string, string> = {
  domain: 'www.example.com',
  device: 'LAPTOP-7',
  seat: 'jane',
  instance: 'web-1',
};

/** Returns the words for the plan's activation type, such as "Sites". */
function activationWords({ t }: View, { plan: { activationType } }: License) {
  return {
    title: capitalized(t.common.sites(activationType)),
    one: capitalized(t.common.site(activationType)),
    add: t.license.add(activationType),
    example: EXAMPLES[activationType] ?? '',
  };
}

/** The panel of the sites on the licence's page. */
export function SitePanel({ shown: { license, sites, freeSites } }: { shown: LicenseView }) {
  const view = useView();
  const { t, to, format, mayWrite } = view;
  const texts = t.license.sites;
  const used = format.number(license.activationsUsed);
  const slots =
    license.activationLimit === 0
      ? texts.usedAll(used)
      : texts.used(used, format.number(license.activationLimit));
  const all = format.number(license.activationsUsed + freeSites);
  return (
    <Panel
      id="sites"
      title={activationWords(view, license).title}
      aside={
        <>
          {slots}
          {freeSites === 0 ? null : `; ${texts.freeCount(freeSites, format.number(freeSites))}`}
          {sites.next === null ? null : (
            <>
              {' · '}
              <a href={to(pathOf(license, '/sites'))}>{texts.all(all)}</a>
            </>
          )}
        </>
      }
      footer={mayWrite ? <AddForm license={license} /> : undefined}
    >
      {sites.next === null ? null : <SiteFilter license={license} />}
      <Table {...siteTable(view, license, sites.items, texts.none)} />
    </Panel>
  );
}

/** The filters of the list. @param sort undefined for newest first */
function SiteFilter({
  license,
  text,
  sort,
}: {
  license: License;
  text?: string | undefined;
  sort?: string | undefined;
}) {
  const { t } = useView();
  const texts = t.license.sites;
  return (
    <Filters
      path={pathOf(license, '/sites')}
      label={texts.filterForm}
      fields={[{ name: 'site', label: texts.filter, value: text }, orderField(t, texts.orders, '-id', sort)]}
      live={null}
    />
  );
}

function siteTable(
  view: View,
  license: License,
  sites: Site[],
  empty: string,
  sorting?: Sorting,
): TableProps<Site> {
  const { t, format, mayWrite, now } = view;
  const texts = t.license.sites;
  const by = asSort(SITE_SORTS, sorting?.by) ?? '-id';
  return {
    caption: `${texts.orders[by]}. ${t.common.shown(format.number(sites.length))}`,
    rows: sites,
    empty,
    sorting,
    columns: [
      {
        title: activationWords(view, license).one,
        kind: 'name',
        sort: 'identifier',
        cell: ({ identifier, name, free, heldUntil }) => {
          const about = [
            name,
            free ? texts.free : null,
            heldUntil !== null && heldUntil > now ? texts.held(format.day(heldUntil)) : null,
          ].filter(Boolean);
          return (
            <>
              {inBothForms(identifier, license.plan.activationType)}
              {about.length === 0 ? null : <span class="sub">{about.join(', ')}</span>}
            </>
          );
        },
      },
      {
        title: texts.since,
        kind: 'time',
        sort: 'id',
        cell: ({ activatedAt }) => format.localDay(activatedAt),
      },
      { title: texts.from, cell: ({ ip }) => ip ?? t.common.none },
      mayWrite && {
        title: '',
        kind: 'act',
        cell: ({ id, identifier }) => (
          <Form path={pathOf(license, `/sites/${id}/remove`)} form={formState()}>
            <Submit
              kind="quiet"
              small
              label={
                <>
                  {texts.remove}
                  <span class="visually-hidden"> {inBothForms(identifier, license.plan.activationType)}</span>
                </>
              }
            />
          </Form>
        ),
      },
    ],
  };
}

/** The form in the list's last row. It adds a site without a confirmation. */
function AddForm({ license }: { license: License }) {
  const view = useView();
  const texts = view.t.license.sites;
  const { add: title, example } = activationWords(view, license);
  return (
    <>
      <Form path={pathOf(license, '/sites/add')} form={formState()} kind="acts">
        <label class="muted" for="add-site">
          {title}
        </label>
        <input
          class="input"
          id="add-site"
          name="identifier"
          placeholder={example}
          autocomplete="off"
          required
        />
        <Submit kind="quiet" small label={texts.addButton} />
      </Form>
      <span class="muted small">{texts.addHint}</span>
    </>
  );
}
