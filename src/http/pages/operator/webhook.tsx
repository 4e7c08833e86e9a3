import { capitalized } from '../../../texts/case';
import { describeStored } from '../../../texts/operators/failures';
import {
  countWaitingFor,
  deliveryJson,
  isAutoDisabled,
  listDeliveryPage,
  receiverName,
  requireWebhook,
  deliveryStateOf as stateOfDelivery,
  type Delivery,
  type WebhookRow,
} from '../../../webhooks/receivers';
import { notFound } from '../../../operations/kit/failures';
import { submitOperation } from '../submit';
import { formRoute } from '../form-route';
import { formState, type FormState } from '../form-state';
import { ButtonLink, Form, Submit } from '../kit/fields';
import { SavedViews } from '../kit/filters';
import { FormPage } from '../kit/form-page';
import type { IconName } from '../kit/icons';
import { MoreMenu } from '../kit/more-menu';
import { NoteLine } from '../kit/note';
import { TitledPage } from '../kit/operator-page';
import { DescriptionList, Panel } from '../kit/panel';
import { Tag, type TagKind } from '../kit/status';
import { Pagination, Table } from '../kit/table';
import { redirectWithFlash, type PageResponse, type OperatorCall, type Route } from '../page';
import { useView } from '../view';
import { eventsOf, showSecret, webhookState, WaitingCount, WebhookFields } from './webhooks';
import { webhookOperations } from '../../../operations/webhooks';

/** The page of one webhook receiver: its state, its deliveries, and their actions. */

const LIMIT = 50;

export const webhookRoutes: Route<OperatorCall>[] = [
  { path: '/webhooks/:id', scope: 'write', get: showWebhook },
  formRoute('/webhooks/:id/edit', { find: read, show: showEdit, work: edit }),
  formRoute('/webhooks/:id/rotate', { isSecret: true, find: read, show: askRotate, work: rotate }),
  formRoute('/webhooks/:id/remove', {
    isSecret: true,
    find: read,
    show: askRemove,
    work: remove,
    whenDeleted: '/webhooks',
  }),
  { path: '/webhooks/:id/test', post: test },
  { path: '/webhooks/:id/enable', post: (call, sent) => change(call, sent, true) },
  { path: '/webhooks/:id/disable', post: (call, sent) => change(call, sent, false) },
  { path: '/webhooks/:id/deliveries/:delivery/replay', post: replay },
];

/** Returns the receiver whose id is in the path. @throws OperationError (404) if it does not exist */
async function read({ db, path: { id = '' } }: OperatorCall): Promise<WebhookRow> {
  if (!/^[1-9]\d{0,9}$/.test(id)) throw notFound('webhook');
  return requireWebhook(db, Number(id));
}

const pathOf = ({ path: { id = '' } }: OperatorCall) => `/webhooks/${id}`;

async function showWebhook(call: OperatorCall): Promise<PageResponse> {
  const { db, query, at } = call;
  const { t, to, format } = call.view;
  const webhook = await read(call);
  const { id, previousEndsAt } = webhook;
  const after = query.get('after') ?? undefined;
  const isWaiting = query.get('state') === 'waiting';
  const { items, next } = await listDeliveryPage(db, id, { after, limit: LIMIT, waiting: isWaiting });
  const waiting = await countWaitingFor(db, id);
  const texts = t.webhooks;
  const isOn = webhook.disabledAt === null;
  const name = receiverName(webhook);
  return {
    page: (
      <TitledPage
        title={name}
        nav="system"
        crumbs={[
          [t.system.title, '/system'],
          [texts.title, '/webhooks'],
        ]}
        actions={
          <>
            {isOn ? null : <Act path={`/webhooks/${id}/enable`} label={texts.enable} kind="primary" />}
            <Act path={`/webhooks/${id}/test`} label={texts.test} kind={isOn ? 'primary' : 'quiet'} />
            <ButtonLink path={`/webhooks/${id}/edit`} label={texts.edit} />
            <MoreMenu ofPage label={`${t.common.actions}: ${name}`}>
              <a href={to(`/webhooks/${id}/rotate`)}>{texts.rotate}</a>
              {isOn ? (
                <Form path={`/webhooks/${id}/disable`} form={formState()}>
                  <button type="submit">{texts.disable}</button>
                </Form>
              ) : null}
              <div class="cut">
                <a href={to(`/webhooks/${id}/remove`)}>{texts.remove}</a>
              </div>
            </MoreMenu>
          </>
        }
      >
        {isOn ? null : <NoteLine>{isAutoDisabled(webhook) ? texts.stopped : texts.off}</NoteLine>}
        <Panel id="facts" title={texts.facts.title} inside>
          <DescriptionList
            facts={[
              [texts.facts.state, texts.states[webhookState(webhook)]],
              [texts.facts.url, webhook.url],
              [texts.facts.events, webhook.events.replaceAll(' ', ', ')],
              [texts.facts.waiting, <WaitingCount count={waiting} />],
              previousEndsAt !== null && previousEndsAt > at
                ? [texts.facts.old, format.moment(previousEndsAt)]
                : undefined,
              [texts.facts.added, format.localDay(webhook.createdAt)],
            ]}
          />
        </Panel>
        <Deliveries webhook={webhook} deliveries={items} next={next} after={after} isWaiting={isWaiting} />
      </TitledPage>
    ),
  };
}

async function edit(call: OperatorCall, sent: URLSearchParams, { id }: WebhookRow): Promise<PageResponse> {
  const body = {
    url: sent.get('url') ?? '',
    events: eventsOf(sent),
    description: sent.get('description') ?? '',
  };
  await submitOperation(call, sent, webhookOperations.updateWebhook, { path: { id }, body });
  return redirectWithFlash(pathOf(call), 'saved');
}

async function rotate(call: OperatorCall, sent: URLSearchParams, { id }: WebhookRow): Promise<PageResponse> {
  const data = await submitOperation(call, sent, webhookOperations.rotateWebhook, { path: { id }, body: {} });
  return showSecret(call, data);
}

async function change(call: OperatorCall, sent: URLSearchParams, enabled: boolean): Promise<PageResponse> {
  const { id } = await read(call);
  await submitOperation(call, sent, webhookOperations.updateWebhook, { path: { id }, body: { enabled } });
  return redirectWithFlash(pathOf(call), enabled ? 'webhookEnabled' : 'webhookDisabled');
}

async function test(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  await submitOperation(call, sent, webhookOperations.testWebhook, {
    path: { id: (await read(call)).id },
    body: {},
  });
  return redirectWithFlash(pathOf(call), 'webhookTested');
}

async function replay(call: OperatorCall, sent: URLSearchParams): Promise<PageResponse> {
  const { id } = await read(call);
  const { delivery = '' } = call.path;
  const path = { id, delivery_id: delivery };
  await submitOperation(call, sent, webhookOperations.replayWebhookDelivery, { path, body: {} });
  return redirectWithFlash(pathOf(call), 'webhookReplayed', delivery);
}

async function remove(call: OperatorCall, sent: URLSearchParams, webhook: WebhookRow): Promise<PageResponse> {
  await submitOperation(call, sent, webhookOperations.removeWebhook, { path: { id: webhook.id } });
  return redirectWithFlash('/webhooks', 'webhookRemoved', receiverName(webhook));
}

interface Shown {
  webhook: WebhookRow;
  deliveries: Delivery[];
  next: string | null;
  after: string | undefined;
  /** true to show only pending deliveries */
  isWaiting: boolean;
}

/** A button that performs an action without a confirmation. */
function Act({ path, label, kind }: { path: string; label: string; kind: 'primary' | 'quiet' }) {
  return (
    <Form path={path} form={formState()}>
      <Submit kind={kind} label={label} />
    </Form>
  );
}

const LOOKS: Record<ReturnType<typeof stateOfDelivery>, { kind: TagKind; icon: IconName }> = {
  waiting: { kind: 'off', icon: 'clock' },
  delivered: { kind: 'ok', icon: 'yes' },
  failed: { kind: 'bad', icon: 'no' },
};

function Deliveries({ webhook, deliveries, next, after, isWaiting }: Shown) {
  const { t, to, format } = useView();
  const texts = t.webhooks.deliveries;
  const { columns } = texts;
  const path = `/webhooks/${webhook.id}`;
  const state = isWaiting ? 'waiting' : undefined;
  return (
    <>
      <SavedViews
        label={texts.quick}
        views={[false, true].map((one) => ({
          title: one ? texts.waiting : texts.all,
          path,
          query: one ? { state: 'waiting' } : {},
          isCurrent: one === isWaiting,
        }))}
      />
      <Panel id="deliveries" title={texts.title}>
        <Table
          caption={isWaiting ? texts.captionWaiting : texts.captionAll}
          rows={deliveries}
          empty={<p>{isWaiting ? texts.noneWaiting : texts.none}</p>}
          columns={[
            { title: columns.type, kind: 'name', cell: ({ type }) => type },
            {
              title: columns.state,
              phone: 'beside',
              cell: (row) => (
                <>
                  <Tag {...LOOKS[stateOfDelivery(row)]}>{texts.states[stateOfDelivery(row)]}</Tag>
                  {row.nextAttemptAt === null || webhook.disabledAt !== null ? null : (
                    <span class="sub">{texts.next(format.moment(row.nextAttemptAt))}</span>
                  )}
                </>
              ),
            },
            {
              title: columns.license,
              cell: ({ licenseId }) =>
                licenseId === null ? (
                  t.common.none
                ) : (
                  <a href={to(`/licenses/${licenseId}`)}>{texts.license(String(licenseId))}</a>
                ),
            },
            { title: columns.queued, kind: 'time', cell: ({ createdAt }) => format.moment(createdAt) },
            { title: columns.attempts, kind: 'number', cell: ({ attempts }) => format.number(attempts) },
            { title: columns.answer, kind: 'long', cell: (row) => <LastAnswer row={row} /> },
            { title: columns.id, kind: 'number', cell: ({ id }) => String(id) },
            {
              title: '',
              kind: 'act',
              cell: ({ id }) => (
                <Form
                  path={`${path}/deliveries/${id}/replay`}
                  form={formState()}
                  label={texts.replayOne(String(id))}
                >
                  <Submit kind="quiet" small label={texts.replay} />
                </Form>
              ),
            },
          ]}
        />
        <Pagination path={path} query={{ state, after }} next={next} limit={LIMIT} />
      </Panel>
    </>
  );
}

/** The receiver's latest response. Its details contain the sent body and the response's text. */
function LastAnswer({ row }: { row: Delivery }) {
  const { webhooks, failures } = useView().t;
  const texts = webhooks.deliveries;
  const { body, answer } = deliveryJson(row);
  return (
    <>
      {row.lastError === null
        ? (row.answerStatus ?? '')
        : capitalized(describeStored(failures.webhook, row.lastError))}
      <details class="raw">
        <summary>{texts.body}</summary>
        <pre>
          <code>{`${JSON.stringify(body, null, 2)}${answer === null ? '' : `\n\n${answer}`}`}</code>
        </pre>
      </details>
    </>
  );
}

function showEdit({ view: { t } }: OperatorCall, form: FormState, webhook: WebhookRow): PageResponse {
  const texts = t.webhooks;
  const path = `/webhooks/${webhook.id}`;
  return {
    page: (
      <FormPage
        title={texts.editTitle(receiverName(webhook))}
        nav="system"
        crumbs={[[texts.title, '/webhooks']]}
        path={`${path}/edit`}
        form={form}
        submit={texts.save}
        back={path}
      >
        <WebhookFields webhook={webhook} />
      </FormPage>
    ),
  };
}

function askRotate({ view: { t } }: OperatorCall, form: FormState, webhook: WebhookRow): PageResponse {
  const texts = t.webhooks;
  return {
    page: (
      <FormPage
        danger
        title={texts.rotateTitle(receiverName(webhook))}
        nav="system"
        crumbs={[[texts.title, '/webhooks']]}
        path={`/webhooks/${webhook.id}/rotate`}
        form={form}
        points={texts.rotateDoes}
        submit={texts.rotateSubmit}
        back={[texts.rotateBack, `/webhooks/${webhook.id}`]}
      />
    ),
  };
}

async function askRemove(
  { db, view: { t, format } }: OperatorCall,
  form: FormState,
  webhook: WebhookRow,
): Promise<PageResponse> {
  const texts = t.webhooks;
  const waiting = await countWaitingFor(db, webhook.id);
  return {
    page: (
      <FormPage
        danger
        title={texts.removeTitle(receiverName(webhook))}
        nav="system"
        crumbs={[[texts.title, '/webhooks']]}
        path={`/webhooks/${webhook.id}/remove`}
        form={form}
        points={[texts.removeDoes, texts.removeWaiting(format.number(waiting))]}
        submit={texts.removeSubmit}
        back={[texts.removeBack, `/webhooks/${webhook.id}`]}
      />
    ),
  };
}
