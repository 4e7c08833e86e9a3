import { asWritten } from '../../../licensing/core/identifiers';
import { listSpreadingKeys } from '../../../licensing/told';
import { spreadingJson } from '../../../operations/told-sites';
import { csvNameOf, csvOf } from '../csv';
import { ButtonLink } from '../kit/fields';
import { ListPage } from '../kit/list-page';
import type { Answer, OperatorCall, Route } from '../page';

/** Keys that more networks download by than their slots explain. */

const SITES_NAMED = 5;

export const spreadingRoutes: Route<OperatorCall>[] = [
  { path: '/spreading', get: showSpreading },
  { path: '/spreading.csv', get: downloadSpreading, hasDeadline: false },
];

async function showSpreading({ db, view, settings, at }: OperatorCall): Promise<Answer> {
  const { t, to, format, mayWrite } = view;
  const { spreading: texts } = t.told;
  const { columns } = texts;
  const keys = await listSpreadingKeys(db, settings.spreadFactor, at);
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="licenses"
        crumbs={[[t.licenses.title, '/licenses']]}
        actions={<ButtonLink path="/spreading.csv">{t.common.csv}</ButtonLink>}
        sub={texts.about(format.number(settings.spreadFactor))}
        caption={texts.caption(format.number(keys.length))}
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
          { title: columns.customer, kind: 'long', cell: ({ license }) => license.customer ?? t.common.none },
          { title: columns.networks, kind: 'number', cell: ({ networks }) => format.number(networks) },
          { title: columns.most, kind: 'number', cell: ({ most }) => format.number(most) },
          { title: columns.slots, kind: 'number', cell: ({ slots }) => format.number(slots) },
          { title: columns.latest, kind: 'time', cell: (one) => format.moment(one.at) },
          {
            title: columns.sites,
            kind: 'long',
            cell: ({ sites }) =>
              [...new Set(sites.map(({ site }) => asWritten(site)))].slice(0, SITES_NAMED).join(', ') ||
              t.common.none,
          },
          mayWrite && {
            title: '',
            kind: 'act',
            cell: ({ license, key }) => (
              <ButtonLink
                kind="quiet btn-sm"
                path={`/licenses/${license.id}/keys/${key.id}/new`}
                query={{ overlap: '14d' }}
              >
                {texts.rekey}
              </ButtonLink>
            ),
          },
        ]}
      />
    ),
  };
}

async function downloadSpreading({ db, view, settings, at }: OperatorCall): Promise<Answer> {
  const rows = csvOf(await listSpreadingKeys(db, settings.spreadFactor, at), (one) => {
    const { sites, ...fields } = spreadingJson(one);
    return { ...fields, sites: [...new Set(sites.map(({ site }) => site))].join(' ') };
  });
  return { csv: csvNameOf(view.t.told.spreading.title), rows };
}
