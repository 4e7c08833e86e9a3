import { plansOf } from '../../../licensing/catalogue';
import { listEventPage } from '../../../licensing/lists';
import type { RecordedEvent } from '../../../store/events';
import { requireLicense } from '../../../operations/reading';
import { OperatorPage } from '../kit/operator-page';
import { Head, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { eventActor, eventSentence, type EventWords } from './event-sentence';

/** All that was done to a licence. */

const LIMIT = 50;
const CSV_PAGE = 500;

export const historyRoutes: Route<OperatorCall>[] = [
  { path: '/licenses/:id/history', get: showHistory },
  { path: '/licenses/:id/history.csv', get: downloadHistory, hasDeadline: false },
];

async function showHistory(call: OperatorCall): Promise<Answer> {
  const { id, words } = await licenseOf(call);
  const after = call.query.get('after') ?? undefined;
  const { items, next } = await listEventPage(call.db, id, { limit: LIMIT, after });
  return { page: <History {...{ id, words, after, events: items, next }} /> };
}

async function downloadHistory(call: OperatorCall): Promise<Answer> {
  const { id, words } = await licenseOf(call);
  const { t, format } = call.view;
  async function* rows() {
    yield ['at', 'times', 'last_at', 'actor', 'action', 'sentence', 'before', 'after'];
    let after: string | undefined;
    do {
      const { items, next } = await listEventPage(call.db, id, { limit: CSV_PAGE, after });
      for (const event of items)
        yield [
          ...[event.at.toISOString(), event.times, event.lastAt?.toISOString(), event.actor, event.action],
          eventSentence(event, t, format, words),
          ...[event.before, event.after].map((fields) => fields && JSON.stringify(fields)),
        ];
      after = next ?? undefined;
    } while (after !== undefined);
  }
  return { csv: t.requests.history.csvName(String(id)), rows: rows() };
}

async function licenseOf(call: OperatorCall): Promise<{ id: number; words: EventWords }> {
  const { id, plan } = await requireLicense(call);
  const plans = new Map((await plansOf(call.db, undefined)).map((one) => [one.id, one.name]));
  return { id, words: { activationType: plan.activationType, plans } };
}

function History({
  id,
  words,
  after,
  events,
  next,
}: {
  id: number;
  words: EventWords;
  after: string | undefined;
  events: RecordedEvent[];
  next: string | null;
}) {
  const { t, to, format } = useView();
  const { historyOf, crumb, history } = t.requests;
  const path = `/licenses/${id}/history`;
  const title = historyOf(String(id));
  return (
    <OperatorPage
      title={title}
      nav="licenses"
      crumbs={[
        [t.licenses.title, '/licenses'],
        [crumb(String(id)), `/licenses/${id}`],
      ]}
    >
      <Head
        title={title}
        actions={
          <a class="btn btn-quiet" href={to(`${path}.csv`)}>
            {t.common.csv}
          </a>
        }
      />
      <Panel id="list">
        <Table
          caption={history.caption(format.number(events.length))}
          rows={events}
          empty={history.none}
          columns={[
            {
              title: history.columns.when,
              cell: ({ at }) => <time datetime={at.toISOString()}>{format.moment(at)}</time>,
            },
            {
              title: history.columns.what,
              kind: 'text',
              cell: (event) => eventSentence(event, t, format, words),
            },
            { title: history.columns.by, kind: 'long', cell: ({ actor }) => eventActor(actor, t) },
          ]}
        />
        <Paging path={path} query={{ after }} next={next} limit={LIMIT} />
      </Panel>
    </OperatorPage>
  );
}
