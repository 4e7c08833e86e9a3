import { capitalized } from '../../../texts/case';
import { asWritten } from '../../../licensing/core/identifiers';
import { findActivation } from '../../../licensing/core/activations';
import type { LicenseView } from '../../../licensing/license-view';
import type { License } from '../../../licensing/licenses';
import { searchSitePage } from '../../../licensing/lists';
import { activationJson } from '../../../licensing/views';
import { notFound } from '../../../operations/failures';
import { readId } from '../../../operations/reading';
import { act, filled, unlessGone } from '../act';
import { formState, type FormState } from '../form-state';
import { Form, Submit, TextField } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { Head, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import { done, type Answer, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { crumbsOf, licenseOf, licenseName, pathOf } from './license-call';
import { FormPage, formRoute } from './license-form';
import { activationOperations } from '../../../operations/activations';

/** A licence's sites, devices, seats or instances: the newest on its page, all of them on one of their own. */

type Site = LicenseView['sites']['items'][number];

export const licenseSiteRoutes: Route<OperatorCall>[] = [
  { path: '/licenses/:id/sites', get: showSites },
  { path: '/licenses/:id/sites.csv', get: downloadSites, hasDeadline: false },
  {
    ...formRoute('/sites/add', (_call, license, form) => ({ page: <AddPage {...{ license, form }} /> }), add),
    goesOn: true,
  },
  { path: '/licenses/:id/sites/:site/remove', goesOn: true, post: remove },
];

const LIMIT = 50;
const CSV_PAGE = 500;

async function showSites(call: OperatorCall): Promise<Answer> {
  const { db, query } = call;
  const license = await licenseOf(call);
  const text = query.get('site')?.trim() || undefined;
  const after = query.get('after') ?? undefined;
  const { items, next } = await searchSitePage(db, license.id, text, { limit: LIMIT, after });
  return { page: <SitesPage {...{ license, text, after, next }} sites={items} /> };
}

async function downloadSites(call: OperatorCall): Promise<Answer> {
  const { db, query, view } = call;
  const license = await licenseOf(call);
  const text = query.get('site')?.trim() || undefined;
  async function* rows() {
    let after: string | undefined;
    do {
      const { items, next } = await searchSitePage(db, license.id, text, { limit: CSV_PAGE, after });
      const lines = items.map((one) => activationJson(one, license));
      const [first] = lines;
      if (after === undefined && first) yield Object.keys(first);
      for (const line of lines) yield Object.values(line);
      after = next ?? undefined;
    } while (after !== undefined);
  }
  return { csv: view.t.license.sites.csvName(String(license.id)), rows: rows() };
}

async function add(call: OperatorCall, sent: URLSearchParams, license: License): Promise<Answer> {
  const { format, t } = call.view;
  const body = { ...filled(sent, 'identifier', 'name') };
  const added = await act(call, sent, activationOperations.addLicenseActivation, {
    path: { id: license.id },
    body,
  });
  const { activationsUsed, activationLimit } = await licenseOf(call);
  const limit = activationLimit === 0 ? t.common.unlimited : format.number(activationLimit);
  const used = t.license.facts.slotsOf(format.number(activationsUsed), limit);
  return done(pathOf(license), 'licenseSiteAdded', asWritten(added.identifier), used);
}

async function remove(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const license = await licenseOf(call);
  const id = readId(call, 'site', 'activation');
  return unlessGone(pathOf(license), async () => {
    const site = await findActivation(call.db, license.id, { id });
    if (site === undefined) throw notFound('activation');
    const path = { id: license.id, activation_id: id };
    await act(call, sent, activationOperations.removeLicenseActivation, { path });
    return done(pathOf(license), 'licenseSiteRemoved', asWritten(site.identifier), site.free ? 'free' : '');
  });
}

/** Examples of an identifier, by the plan's activation type. */
const EXAMPLES: Record<string, string> = {
  domain: 'www.example.com',
  device: 'LAPTOP-7',
  seat: 'jane',
  instance: 'web-1',
};

/** What the licence's plan counts, as a title. */
function useSites({ plan }: License): string {
  return capitalized(useView().t.common.sites(plan.activationType));
}

function useAdd({ plan: { activationType } }: License): { title: string; example: string } {
  return { title: useView().t.license.add(activationType), example: EXAMPLES[activationType] ?? '' };
}

/** The panel of the licence's page. */
export function SitePanel({ shown: { license, sites, freeSites } }: { shown: LicenseView }) {
  const { t, to, format, operator } = useView();
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
      title={useSites(license)}
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
      {...(operator?.scope === 'write' ? { footer: <AddForm license={license} /> } : {})}
    >
      {sites.next === null ? null : <Filter license={license} text={undefined} />}
      <SiteTable license={license} sites={sites.items} empty={texts.none} />
    </Panel>
  );
}

function Filter({ license, text }: { license: License; text: string | undefined }) {
  const { t, to } = useView();
  const texts = t.license.sites;
  return (
    <form
      class="filters"
      method="get"
      action={to(pathOf(license, '/sites'))}
      role="search"
      aria-label={texts.filterForm}
    >
      <div class="grow">
        <label for="site">{texts.filter}</label>
        <input class="form-control form-control-sm" id="site" name="site" type="search" value={text ?? ''} />
      </div>
      <div>
        <button class="btn btn-quiet btn-sm" type="submit">
          {t.common.filter}
        </button>
      </div>
    </form>
  );
}

function SiteTable({ license, sites, empty }: { license: License; sites: Site[]; empty: string }) {
  const { t, format, operator, now } = useView();
  const texts = t.license.sites;
  return (
    <Table
      caption={texts.caption(format.number(sites.length))}
      rows={sites}
      empty={empty}
      columns={[
        {
          title: capitalized(t.common.site(license.plan.activationType)),
          kind: 'name',
          cell: ({ identifier }) => asWritten(identifier),
        },
        {
          title: texts.label,
          cell: ({ name, free, heldUntil }) =>
            [
              name,
              free ? texts.free : null,
              heldUntil !== null && heldUntil > now ? texts.held(format.day(heldUntil)) : null,
            ]
              .filter(Boolean)
              .join(', ') || t.common.none,
        },
        { title: texts.since, cell: ({ activatedAt }) => format.localDay(activatedAt) },
        { title: texts.from, cell: ({ ip }) => ip ?? t.common.none },
        ...(operator?.scope === 'write'
          ? [
              {
                title: '',
                kind: 'act' as const,
                cell: ({ id, identifier }: Site) => (
                  <Form path={pathOf(license, `/sites/${id}/remove`)} form={formState()}>
                    <Submit kind="quiet" small>
                      {texts.remove}
                      <span class="visually-hidden"> {asWritten(identifier)}</span>
                    </Submit>
                  </Form>
                ),
              },
            ]
          : []),
      ]}
    />
  );
}

/** Adds without a question, in the list's last line. */
function AddForm({ license }: { license: License }) {
  const { t } = useView();
  const texts = t.license.sites;
  const { title, example } = useAdd(license);
  return (
    <>
      <Form
        path={pathOf(license, '/sites/add')}
        form={formState()}
        kind="d-flex flex-wrap gap-2 align-items-center"
      >
        <label class="muted" for="add-site">
          {title}
        </label>
        <input
          class="form-control form-control-sm w-auto"
          id="add-site"
          name="identifier"
          placeholder={example}
          autocomplete="off"
          required
        />
        <Submit kind="quiet" small>
          {texts.addButton}
        </Submit>
      </Form>
      <span class="muted small">{texts.addHint}</span>
    </>
  );
}

function AddPage({ license, form }: { license: License; form: FormState }) {
  const { t } = useView();
  const texts = t.license.sites;
  const { title, example } = useAdd(license);
  return (
    <FormPage {...{ license, form, title }} rest="/sites/add" submit={title}>
      <TextField
        form={form}
        name="identifier"
        label={texts.identifier}
        placeholder={example}
        hint={texts.addHint}
        required
      />
      <TextField form={form} name="name" label={texts.labelField} />
    </FormPage>
  );
}

function SitesPage({
  license,
  sites,
  text,
  after,
  next,
}: {
  license: License;
  sites: Site[];
  text: string | undefined;
  after: string | undefined;
  next: string | null;
}) {
  const { t, to, operator } = useView();
  const texts = t.license.sites;
  const title = useSites(license);
  return (
    <OperatorPage title={title} nav="licenses" crumbs={crumbsOf(license, t)}>
      <Head
        title={title}
        sub={licenseName(license, t)}
        actions={
          <a class="btn btn-quiet" href={to(pathOf(license, '/sites.csv'), { site: text })}>
            {t.common.csv}
          </a>
        }
      />
      <Panel id="list" {...(operator?.scope === 'write' ? { footer: <AddForm license={license} /> } : {})}>
        <Filter license={license} text={text} />
        <SiteTable license={license} sites={sites} empty={text === undefined ? texts.none : texts.noMatch} />
        <Paging path={pathOf(license, '/sites')} query={{ site: text, after }} next={next} limit={LIMIT} />
      </Panel>
    </OperatorPage>
  );
}
