import type { Child } from 'hono/jsx';
import { plansOf } from '../../../licensing/catalogue';
import type { RecordedEvent } from '../../../licensing/license-view';
import { listEventPage } from '../../../licensing/lists';
import { requireLicense } from '../../../operations/kit/request-params';
import { actorInWords } from '../../../support/sentences';
import { csvRows } from '../csv';
import { ButtonLink } from '../kit/fields';
import { LineIcon } from '../kit/icons';
import type { LineIconName } from '../kit/line-icons';
import { ListPage } from '../kit/list-page';
import { TimelineItem } from '../kit/timeline';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { eventSentence, type EventWords } from './event-sentence';

/** The audit log of a licence, and one of its events in a timeline. */

const LIMIT = 50;
const CSV_PAGE = 500;

export const historyRoutes: Route<OperatorCall>[] = [
  { path: '/licenses/:id/history', get: showHistory },
  { path: '/licenses/:id/history.csv', get: downloadHistory, hasDeadline: false },
];

async function showHistory(call: OperatorCall): Promise<PageResponse> {
  const { t, format } = call.view;
  const { historyOf, crumb, history: texts } = t.requests;
  const { id, words } = await licenseOf(call);
  const path = `/licenses/${id}/history`;
  const after = call.query.get('after') ?? undefined;
  const { items, next } = await listEventPage(call.db, id, { limit: LIMIT, after });
  return {
    page: (
      <ListPage
        title={historyOf(String(id))}
        nav="licenses"
        crumbs={[
          [t.licenses.title, '/licenses'],
          [crumb(String(id)), `/licenses/${id}`],
        ]}
        actions={<ButtonLink path={`${path}.csv`} label={t.common.csv} />}
        caption={texts.caption(format.number(items.length))}
        rows={items}
        empty={texts.none}
        columns={[
          {
            title: texts.columns.when,
            kind: 'time',
            cell: ({ at }) => <time datetime={at.toISOString()}>{format.moment(at)}</time>,
          },
          {
            title: texts.columns.what,
            kind: 'text',
            cell: (event) => eventSentence(event, t, format, words),
          },
          { title: texts.columns.by, kind: 'long', cell: ({ actor }) => actorInWords(actor, t) },
        ]}
        paging={{ path, query: { after }, next, limit: LIMIT }}
      />
    ),
  };
}

async function downloadHistory(call: OperatorCall): Promise<PageResponse> {
  const { id, words } = await licenseOf(call);
  const { t, format } = call.view;
  const rows = csvRows(
    (after) => listEventPage(call.db, id, { limit: CSV_PAGE, after }),
    (event) => ({
      at: event.at.toISOString(),
      times: event.times,
      last_at: event.lastAt?.toISOString(),
      actor: actorInWords(event.actor, t),
      action: event.action,
      sentence: eventSentence(event, t, format, words),
      before: event.before && JSON.stringify(event.before),
      after: event.after && JSON.stringify(event.after),
    }),
  );
  return { csv: t.requests.history.csvName(String(id)), rows };
}

async function licenseOf(call: OperatorCall): Promise<{ id: number; words: EventWords }> {
  const { id, plan } = await requireLicense(call);
  const plans = new Map((await plansOf(call.db, undefined)).map((one) => [one.id, one.name]));
  return { id, words: { activationType: plan.activationType, plans } };
}

/** The icon of a change: of a site, a key, a mail, or of anything else. */
function iconOf(action: string): LineIconName {
  if (action.includes('activat')) return 'globe';
  if (/key|issue|reveal/.test(action)) return 'key-round';
  return /answer|notify/.test(action) ? 'mail' : 'pencil';
}

/** A change of a licence in a timeline. @param children before who did it */
export function EventItem({
  event,
  words,
  children,
}: {
  event: RecordedEvent;
  words: EventWords;
  children?: Child;
}) {
  const { t, format } = useView();
  return (
    <TimelineItem
      icon={<LineIcon name={iconOf(event.action)} />}
      when={<time datetime={event.at.toISOString()}>{format.moment(event.at)}</time>}
    >
      {eventSentence(event, t, format, words)}
      <small>
        {children}
        {actorInWords(event.actor, t)}
      </small>
    </TimelineItem>
  );
}
