import { inBothForms } from '../../../licensing/core/identifiers';
import { asSort } from '../../../licensing/sorting';
import { listSpreadingPage, MAX_SPREADING_KEYS, SPREADING_SORTS } from '../../../licensing/spreading';
import { spreadingJson } from '../../../operations/reported-sites';
import { csvNameOf, csvOf } from '../csv';
import { ButtonLink } from '../kit/fields';
import { Filters, orderField } from '../kit/filters';
import { ListPage } from '../kit/list-page';
import type { PageResponse, OperatorCall, Route } from '../page';

/** Shared keys (key sharing): more networks download with the key than its slots explain. */

const SITES_NAMED = 5;

export const keySharingRoutes: Route<OperatorCall>[] = [
  { path: '/spreading', get: showSharedKeys },
  { path: '/spreading.csv', get: downloadSharedKeys, hasDeadline: false },
];

async function showSharedKeys({ db, query, view, settings, at }: OperatorCall): Promise<PageResponse> {
  const { t, to, format, mayWrite } = view;
  const { spreading: texts } = t.told;
  const { columns } = texts;
  const sort = asSort(SPREADING_SORTS, query.get('sort'));
  const by = sort ?? '-at';
  const page = { limit: MAX_SPREADING_KEYS };
  const { items: keys } = await listSpreadingPage(db, settings.spreadFactor, page, sort, at);
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="licenses"
        crumbs={[[t.licenses.title, '/licenses']]}
        actions={<ButtonLink path="/spreading.csv" query={{ sort }} label={t.common.csv} />}
        sub={texts.about(format.number(settings.spreadFactor))}
        filter={
          keys.length < 2 ? undefined : (
            <Filters
              path="/spreading"
              label={t.common.order}
              fields={[orderField(t, texts.orders, '-at', sort)]}
            />
          )
        }
        caption={`${texts.orders[by]}. ${t.common.shown(format.number(keys.length))}`}
        sorting={{ path: '/spreading', query: {}, by }}
        rows={keys}
        empty={texts.none}
        columns={[
          {
            title: columns.license,
            kind: 'name',
            cell: ({ license, key }) => (
              <a href={to(`/licenses/${license.id}`)}>
                {`${license.id} · ${[license.product.name, key.label ?? key.keyHint].filter(Boolean).join(' · ')}`}
              </a>
            ),
          },
          {
            title: columns.customer,
            kind: 'long',
            sort: 'customer',
            cell: ({ license }) => license.customer ?? t.common.none,
          },
          {
            title: columns.networks,
            kind: 'number',
            sort: 'networks',
            cell: ({ networks }) => format.number(networks),
          },
          { title: columns.most, kind: 'number', cell: ({ most }) => format.number(most) },
          { title: columns.slots, kind: 'number', cell: ({ slots }) => format.number(slots) },
          { title: columns.latest, kind: 'time', sort: 'at', cell: (one) => format.moment(one.at) },
          {
            title: columns.sites,
            kind: 'long',
            cell: ({ sites }) =>
              [...new Set(sites.map(({ site }) => inBothForms(site, 'domain')))]
                .slice(0, SITES_NAMED)
                .join(', ') || t.common.none,
          },
          mayWrite && {
            title: '',
            kind: 'act',
            cell: ({ license, key }) => (
              <ButtonLink
                small
                path={`/licenses/${license.id}/keys/${key.id}/new`}
                query={{ overlap: '14d' }}
                label={texts.rekey}
              />
            ),
          },
        ]}
      />
    ),
  };
}

async function downloadSharedKeys({ db, query, view, settings, at }: OperatorCall): Promise<PageResponse> {
  const sort = asSort(SPREADING_SORTS, query.get('sort'));
  const page = { limit: MAX_SPREADING_KEYS };
  const { items } = await listSpreadingPage(db, settings.spreadFactor, page, sort, at);
  const rows = csvOf(items, (one) => {
    const { sites, ...fields } = spreadingJson(one);
    return { ...fields, sites: [...new Set(sites.map(({ site }) => site))].join(' ') };
  });
  return { csv: csvNameOf(view.t.told.spreading.title), rows };
}
