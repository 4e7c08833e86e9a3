import {
  countWaitingFor,
  listWebhookPage,
  MOST_COUNTED,
  receiverName,
  type WebhookRow,
} from '../../../webhooks/receivers';
import { WEBHOOK_TYPES } from '../../../licensing/webhook-events';
import { act, attempt, filled, type DataOf } from '../act';
import { formState, type FormState } from '../form-state';
import { CopyText } from '../kit/copy';
import { Form, FormErrors, Submit, TextField } from '../kit/fields';
import { OperatorPage } from '../kit/operator-page';
import { Head, Inside, Panel } from '../kit/panel';
import { Paging, Table } from '../kit/table';
import type { Answer, OperatorCall, Route } from '../page';
import { useView } from '../view';
import { webhookOperations } from '../../../operations/webhooks';

/** Receivers of webhooks: which there are, and a new one, whose secret is shown once. */

const LIMIT = 50;

export const webhookListRoutes: Route<OperatorCall>[] = [
  { path: '/webhooks', scope: 'write', get: showWebhooks },
  {
    path: '/webhooks/new',
    scope: 'write',
    isSecret: true,
    get: () => ({ page: <NewWebhook form={formState()} /> }),
    post: (call, sent) =>
      attempt(
        call,
        sent,
        () => add(call, sent),
        (form) => ({ page: <NewWebhook form={form} /> }),
      ),
  },
];

/** A receiver with how many deliveries wait for it. */
interface Counted {
  webhook: WebhookRow;
  waiting: number;
}

async function showWebhooks({ db, query }: OperatorCall): Promise<Answer> {
  const after = query.get('after') ?? undefined;
  const { items, next } = await listWebhookPage(db, { after, limit: LIMIT });
  const counted: Counted[] = [];
  for (const webhook of items) counted.push({ webhook, waiting: await countWaitingFor(db, webhook.id) });
  return { page: <Webhooks {...{ counted, next, after }} /> };
}

async function add(call: OperatorCall, sent: URLSearchParams): Promise<Answer> {
  const body = { ...filled(sent, 'url', 'description'), events: eventsOf(sent) };
  const added = await act(call, sent, webhookOperations.addWebhook, { body });
  return { page: <WebhookSecret webhook={added} /> };
}

export function eventsOf(sent: URLSearchParams): string[] {
  return (sent.get('events') ?? '').split(/[\s,]+/).filter(Boolean);
}

export function WaitingCount({ count }: { count: number }) {
  const { t, format } = useView();
  return <>{count === MOST_COUNTED ? t.webhooks.orMore(format.number(count)) : format.number(count)}</>;
}

function Webhooks({
  counted,
  next,
  after,
}: {
  counted: Counted[];
  next: string | null;
  after: string | undefined;
}) {
  const { t, to, format } = useView();
  const { webhooks: texts } = t;
  const { columns } = texts;
  return (
    <OperatorPage title={texts.title} nav="system" crumbs={[[t.system.title, '/system']]}>
      <Head
        title={texts.title}
        sub={texts.about}
        actions={
          <a class="btn btn-primary" href={to('/webhooks/new')}>
            {texts.add}
          </a>
        }
      />
      <Panel id="list">
        <Table
          caption={texts.caption}
          rows={counted}
          empty={<p class="mb-0">{texts.none}</p>}
          columns={[
            { title: columns.state, cell: ({ webhook }) => texts.states[stateOf(webhook)] },
            {
              title: columns.name,
              kind: 'name',
              cell: ({ webhook }) => <a href={to(`/webhooks/${webhook.id}`)}>{receiverName(webhook)}</a>,
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
            { title: columns.added, cell: ({ webhook }) => format.localDay(webhook.createdAt) },
            { title: columns.id, kind: 'number', cell: ({ webhook }) => String(webhook.id) },
          ]}
        />
        <Paging path="/webhooks" query={{ after }} next={next} limit={LIMIT} />
      </Panel>
      <p class="small muted mt-2">{t.system.asksAgain}</p>
    </OperatorPage>
  );
}

/** `enabled`, or why it is not. */
export function stateOf({ disabledAt, disabledReason }: WebhookRow): string {
  return disabledAt === null ? 'enabled' : (disabledReason ?? 'operator');
}

/** The fields of a receiver. */
export function WebhookFields({ form, webhook }: { form: FormState; webhook?: WebhookRow }) {
  const { form: texts } = useView().t.webhooks;
  return (
    <>
      <TextField
        form={form}
        name="url"
        type="url"
        label={texts.url}
        hint={texts.urlHint}
        value={webhook?.url ?? ''}
        placeholder="https://crm.example/hook"
        required
      />
      <TextField
        form={form}
        name="events"
        label={texts.events}
        hint={texts.eventsHint(WEBHOOK_TYPES.join(', '))}
        value={webhook?.events.replaceAll(' ', ', ') ?? '*'}
        required
      />
      <TextField
        form={form}
        name="description"
        label={texts.description}
        hint={texts.descriptionHint}
        value={webhook?.description ?? ''}
      />
    </>
  );
}

function NewWebhook({ form }: { form: FormState }) {
  const { t, to } = useView();
  const texts = t.webhooks;
  return (
    <OperatorPage title={texts.add} nav="system" crumbs={[[texts.title, '/webhooks']]}>
      <Head title={texts.add} />
      <Panel id="new" kind="narrow">
        <Inside>
          <Form path="/webhooks/new" form={form}>
            <FormErrors form={form} />
            <WebhookFields form={form} />
            <p class="acts mb-0">
              <Submit busy={texts.form.busy}>{texts.form.submit}</Submit>
              <a class="btn btn-quiet" href={to('/webhooks')}>
                {t.common.back}
              </a>
            </p>
          </Form>
        </Inside>
      </Panel>
    </OperatorPage>
  );
}

export function WebhookSecret({ webhook }: { webhook: DataOf<typeof webhookOperations.addWebhook> }) {
  const { t, to, format } = useView();
  const { secret: texts, title } = t.webhooks;
  const heading = texts.title(receiverName(webhook));
  const until = webhook.previous_secret_until;
  return (
    <OperatorPage title={heading} nav="system" crumbs={[[title, '/webhooks']]}>
      <Head title={heading} />
      <Panel id="secret" title={texts.label}>
        <Inside>
          <CopyText id="secret-text" label={texts.label} text={webhook.secret} />
          <p class="mb-0 mt-2">
            <strong>{texts.once}</strong> {texts.use}{' '}
            {until === null ? null : texts.old(format.moment(new Date(until)))}
          </p>
        </Inside>
      </Panel>
      <p class="acts mt-3">
        <a class="btn btn-quiet" href={to(`/webhooks/${webhook.id}`)}>
          {texts.on}
        </a>
      </p>
    </OperatorPage>
  );
}
