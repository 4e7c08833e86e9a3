import { MOVE_IN_DAYS, readMoveIn, type MoveIn, type SitesAsked } from '../../../overview/move-in';
import { TitledPage } from '../kit/operator-page';
import { PanelBody, Panel } from '../kit/panel';
import { Table } from '../kit/table';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { sourceName } from './move-in-sent';

/**
 * The check after a move: the successful and refused requests of customers' sites, compared with the days before, and
 * the unknown keys.
 */

export const moveInCheckRoute: Route<OperatorCall> = { path: '/move-in/check', get: show };

async function show({ db, settings, at }: OperatorCall): Promise<PageResponse> {
  return { page: <MoveInCheckPage found={await readMoveIn(db, settings.config, at)} /> };
}

function MoveInCheckPage({ found }: { found: MoveIn }) {
  const { t, format } = useView();
  const texts = t.moveIn.fare;
  const days = format.number(MOVE_IN_DAYS);
  return (
    <TitledPage
      title={texts.title}
      nav="system"
      crumbs={[
        [t.system.title, '/system'],
        [t.moveIn.title, '/move-in'],
      ]}
      sub={texts.about(days)}
    >
      <div class="stack">
        <Panel id="sites" title={texts.asked}>
          <Asked found={found} />
          {found.before.length === 0 && found.now.sites > 0 ? <PanelBody>{texts.noBefore}</PanelBody> : null}
        </Panel>
        <Panel id="unknown" title={texts.unknown}>
          <Unknown keys={found.unknownKeys} />
        </Panel>
      </div>
    </TitledPage>
  );
}

function Asked({ found: { now, before } }: { found: MoveIn }) {
  const { t, format } = useView();
  const texts = t.moveIn.fare;
  const { columns } = texts;
  const { number, day } = format;
  const rows: (SitesAsked & { where: string; count: string; isHere: boolean })[] = [
    {
      ...now,
      where: texts.here(number(MOVE_IN_DAYS)),
      count: now.more ? texts.moreThan(number(now.sites)) : number(now.sites),
      isHere: true,
    },
    ...before.map((one) => ({
      ...one,
      where: `${sourceName(t, one.source)}, ${day(one.from)} – ${day(one.to)}`,
      count: number(one.sites),
      isHere: false,
    })),
  ];
  return (
    <Table
      caption={texts.order}
      rows={now.sites === 0 && before.length === 0 ? [] : rows}
      empty={<p>{texts.none}</p>}
      columns={[
        { title: columns.where, kind: 'name', cell: ({ where }) => where },
        { title: columns.sites, kind: 'number', cell: ({ count }) => count },
        { title: columns.answered, kind: 'number', cell: ({ answered }) => number(answered) },
        { title: columns.refused, kind: 'number', cell: ({ refused }) => number(refused) },
        {
          title: columns.why,
          kind: 'text',
          // The former system did not record the reasons.
          cell: ({ refusals, refused, isHere }) =>
            isHere || refused === 0
              ? refusals
                  .map(({ code, sites }) => `${reasonOf(t.needsYou.reasons, code)}: ${number(sites)}`)
                  .join(', ')
              : texts.notSaid,
        },
      ]}
    />
  );
}

function reasonOf(reasons: Record<string, string>, code: string): string {
  return reasons[code] ?? code;
}

function Unknown({ keys }: { keys: MoveIn['unknownKeys'] }) {
  const { t, to, format } = useView();
  const texts = t.moveIn.fare;
  const { columns } = texts;
  const slips: Record<string, string> = { ...t.whatHappened.slips, ...texts.slips };
  return (
    <Table
      caption={texts.unknownOrder}
      rows={keys}
      empty={<p>{texts.noUnknown}</p>}
      columns={[
        {
          title: columns.key,
          kind: 'name',
          cell: ({ keyHint }) => (
            <a href={to('/requests', { outcome: 'LICENSE_NOT_FOUND', hint: keyHint })}>
              {t.moveIn.key(keyHint)}
            </a>
          ),
        },
        { title: columns.sites, kind: 'number', cell: ({ sites }) => format.number(sites) },
        { title: columns.times, kind: 'number', cell: ({ times }) => format.number(times) },
        { title: columns.at, kind: 'time', cell: ({ at }) => format.moment(at) },
        {
          title: columns.nearest,
          kind: 'text',
          cell: ({ nearest }) =>
            nearest.length === 0
              ? texts.noneNear
              : nearest.map(({ license: { id, customer, product }, slip }) => (
                  <span class="sub">
                    <a href={to(`/licenses/${id}`)}>{customer ?? t.moveIn.noCustomer}</a> ({product.name},{' '}
                    {id}): {slips[slip]}
                  </span>
                )),
        },
      ]}
    />
  );
}
