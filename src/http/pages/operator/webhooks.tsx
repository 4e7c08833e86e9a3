import {
  countWaitingFor,
  listWebhookPage,
  MAX_COUNTED,
  receiverName,
  webhookJson,
  type WebhookRow,
} from '../../../webhooks/receivers';
import { WEBHOOK_TYPES } from '../../../licensing/webhook-events';
import { submitOperation, nonEmptyFields, type DataOf } from '../submit';
import { csvNameOf, csvRows } from '../csv';
import { formRoute } from '../form-route';
import type { FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { ButtonLink, TextField } from '../kit/fields';
import { FormPage } from '../kit/form-page';
import { ListPage } from '../kit/list-page';
import { TitledPage } from '../kit/operator-page';
import { Panel } from '../kit/panel';
import { Tag } from '../kit/status';
import type { PageResponse, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { webhookOperations } from '../../../operations/webhooks';

/** The list of webhook receivers, and the form for a new one, whose secret is shown once. */

const LIMIT = 50;
const CSV_PAGE = 500;

export const webhookListRoutes: Route<OperatorCall>[] = [
  { path: '/webhooks', scope: 'write', get: showWebhooks },
  { path: '/webhooks.csv', scope: 'write', get: downloadWebhooks, hasDeadline: false },
  formRoute('/webhooks/new', { isSecret: true, show: showNew, work: add }),
];

async function showWebhooks({ db, query, view: { t, to, format } }: OperatorCall): Promise<PageResponse> {
  const texts = t.webhooks;
  const { columns } = texts;
  const after = query.get('after') ?? undefined;
  const { items, next } = await listWebhookPage(db, { after, limit: LIMIT });
  const rows: { webhook: WebhookRow; waiting: number }[] = [];
  for (const webhook of items) rows.push({ webhook, waiting: await countWaitingFor(db, webhook.id) });
  return {
    page: (
      <ListPage
        title={texts.title}
        nav="system"
        crumbs={[[t.system.title, '/system']]}
        sub={texts.about}
        actions={
          <>
            <ButtonLink kind="primary" path="/webhooks/new" label={texts.add} />
            <ButtonLink path="/webhooks.csv" label={t.common.csv} />
          </>
        }
        caption={texts.caption}
        rows={rows}
        empty={<p>{texts.none}</p>}
        columns={[
          {
            title: columns.name,
            kind: 'name',
            cell: ({ webhook }) => <a href={to(`/webhooks/${webhook.id}`)}>{receiverName(webhook)}</a>,
          },
          {
            title: columns.state,
            phone: 'beside',
            cell: ({ webhook }) => (
              <Tag
                kind={webhook.disabledAt === null ? 'ok' : 'off'}
                icon={webhook.disabledAt === null ? 'yes' : 'pause'}
              >
                {texts.states[webhookState(webhook)]}
              </Tag>
            ),
          },
          {
            title: columns.events,
            kind: 'long',
            cell: ({ webhook }) => webhook.events.replaceAll(' ', ', '),
          },
          {
            title: columns.waiting,
            kind: 'number',
            cell: ({ waiting }) => <WaitingCount count={waiting} />,
          },
          { title: columns.added, kind: 'time', cell: ({ webhook }) => format.localDay(webhook.createdAt) },
          { title: columns.id, kind: 'number', cell: ({ webhook }) => String(webhook.id) },
        ]}
        paging={{ path: '/webhooks', query: { after }, next, limit: LIMIT }}
        below={<p class="small muted">{t.system.asksAgain}</p>}
      />
    ),
  };
}

function downloadWebhooks({ db, view }: OperatorCall): PageResponse {
  const rows = csvRows(
    (after) => listWebhookPage(db, { after, limit: CSV_PAGE }),
    (webhook) => {
      const { events, ...fields } = webhookJson(webhook);
      return { ...fields, events: events.join(' ') };
    },
  );
  return { csv: csvNameOf(view.t.webhooks.title), rows };
}

function showNew({ view: { t } }: OperatorCall, form: FormState): PageResponse {
  const { title, add: heading, form: texts } = t.webhooks;
  return {
    page: (
      <FormPage
        title={heading}
        nav="system"
        crumbs={[[title, '/webhooks']]}
        path="/webhooks/new"
        form={form}
        submit={texts.submit}
        busy={texts.busy}
        back="/webhooks"
      >
        <WebhookFields />
      </FormPage>
    ),
  };
}

async function add(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const body = { ...nonEmptyFields(sent, 'url', 'description'), events: eventsOf(sent) };
  const added = await submitOperation(call, sent, webhookOperations.addWebhook, { body });
  return showSecret(call, added);
}

export function eventsOf(sent: URLSearchParams): string[] {
  return (sent.get('events') ?? '').split(/[\s,]+/).filter(Boolean);
}

export function WaitingCount({ count }: { count: number }) {
  const { t, format } = useView();
  return <>{count === MAX_COUNTED ? t.webhooks.orMore(format.number(count)) : format.number(count)}</>;
}

/** Returns `enabled`, or the reason why it is disabled. */
export function webhookState({ disabledAt, disabledReason }: WebhookRow): string {
  return disabledAt === null ? 'enabled' : (disabledReason ?? 'operator');
}

/** The form fields of a receiver. */
export function WebhookFields({ webhook }: { webhook?: WebhookRow }) {
  const { form: texts } = useView().t.webhooks;
  return (
    <>
      <TextField
        name="url"
        type="url"
        label={texts.url}
        hint={texts.urlHint}
        value={webhook?.url ?? ''}
        placeholder="https://crm.example/hook"
        required
      />
      <TextField
        name="events"
        label={texts.events}
        hint={texts.eventsHint(WEBHOOK_TYPES.join(', '))}
        value={webhook?.events.replaceAll(' ', ', ') ?? '*'}
        required
      />
      <TextField
        name="description"
        label={texts.description}
        hint={texts.descriptionHint}
        value={webhook?.description ?? ''}
      />
    </>
  );
}

/** Shows a secret, once. */
export function showSecret(
  { view: { t, format } }: OperatorCall,
  webhook: DataOf<typeof webhookOperations.addWebhook>,
): PageResponse {
  const { secret: texts, title } = t.webhooks;
  const heading = texts.title(receiverName(webhook));
  const until = webhook.previous_secret_until;
  return {
    page: (
      <TitledPage title={heading} nav="system" crumbs={[[title, '/webhooks']]}>
        <Panel id="secret" title={texts.label} inside>
          <CopyText id="secret-text" label={texts.label} text={webhook.secret} />
          <p>
            <strong>{texts.once}</strong> {texts.use}{' '}
            {until === null ? null : texts.old(format.moment(new Date(until)))}
          </p>
        </Panel>
        <p class="acts">
          <ButtonLink path={`/webhooks/${webhook.id}`} label={texts.on} />
        </p>
      </TitledPage>
    ),
  };
}
