import { Type } from '@sinclair/typebox';
import { WEBHOOK_TYPES } from '../licensing/webhook-events';
import {
  addWebhook,
  countWaitingFor,
  deliveryJson,
  editWebhook,
  listDeliveryPage,
  listWebhookPage,
  MAX_COUNTED,
  queueTest,
  removeWebhook,
  replayDelivery,
  requireWebhook,
  rotateSecret,
  webhookJson,
} from '../webhooks/receivers';
import { get, list, patch, post, remove } from './kit/operation';
import { pageOf, readId } from './kit/request-params';
import {
  strictObject,
  Id,
  enumOf,
  nullable,
  Paging,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
  textEnum,
} from './kit/schemas';

const fields = {
  id: Id,
  url: Text,
  events: Type.Array(Text),
  description: TextOrNull,
  enabled: Type.Boolean(),
  disabled_at: TimeOrNull,
  disabled_reason: nullable(textEnum(['operator', 'failing', 'gone'])),
  previous_secret_until: nullable(
    Type.String({
      ...Time,
      description: 'Until this time, webhooks are also signed with the previous secret.',
    }),
  ),
  created_at: Time,
};
const Webhook = strictObject(fields, { title: 'Webhook' });
const Details = strictObject(
  {
    ...fields,
    waiting: Type.Integer({
      minimum: 0,
      maximum: MAX_COUNTED,
      description: `The number of waiting deliveries. ${MAX_COUNTED} means at least ${MAX_COUNTED}.`,
    }),
  },
  { title: 'WebhookDetails' },
);
const WithSecret = strictObject({ ...fields, secret: Text }, { title: 'WebhookWithSecret' });

const Delivery = strictObject(
  {
    id: Id,
    webhook_id: Type.String({
      description: 'The value of the header with this name, which is the same at every attempt.',
    }),
    type: Text,
    license_id: nullable(Id),
    state: textEnum(['waiting', 'delivered', 'failed']),
    attempts: Type.Integer(),
    error: nullable(
      Type.String({ description: 'The reason why the latest attempt failed, such as STATUS 500.' }),
    ),
    status: nullable(Type.Integer({ description: 'The status code of the latest answer.' })),
    answer: nullable(Type.String({ description: 'The beginning of the latest answer.' })),
    created_at: Time,
    attempted_at: TimeOrNull,
    next_attempt_at: TimeOrNull,
    delivered_at: TimeOrNull,
    body: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: 'Delivery' },
);

const given = {
  url: Type.String({ description: 'A public https address.', examples: ['https://shop.example/hook'] }),
  events: Type.Array(Text, {
    description: `Types, or patterns such as license.* or *. The types: ${WEBHOOK_TYPES.join(', ')}.`,
    examples: [['license.*', 'release.published']],
  }),
  description: Type.Optional(TextOrNull),
};

export const webhookOperations = {
  listWebhooks: list(
    '/webhooks',
    {
      summary: 'List receivers of webhooks, without their secrets',
      scope: 'write',
      query: strictObject(Paging),
      data: Webhook,
    },
    async ({ db, query }) => {
      const { items, next } = await listWebhookPage(db, pageOf(query));
      return { data: items.map(webhookJson), next };
    },
  ),
  addWebhook: post(
    '/webhooks',
    {
      summary: 'Add a receiver of webhooks; its secret is shown only now',
      description: '409 without LICENSING_KEY_SECRET, which seals the secret.',
      body: strictObject(given),
      data: WithSecret,
      status: 201,
    },
    async ({ db, body, context, settings }) => {
      const webhook = { ...body, description: body.description ?? null };
      const added = await addWebhook(db, webhook, context, settings);
      return { data: { ...webhookJson(added.webhook), secret: added.secret } };
    },
  ),
  getWebhook: get(
    '/webhooks/{id}',
    { summary: 'Read a receiver', scope: 'write', data: Details },
    async (call) => {
      const webhook = await requireWebhook(call.db, readId(call, 'id', 'webhook'));
      return { data: { ...webhookJson(webhook), waiting: await countWaitingFor(call.db, webhook.id) } };
    },
  ),
  updateWebhook: patch(
    '/webhooks/{id}',
    {
      summary: 'Change, disable or enable a receiver',
      description:
        'While a receiver is disabled, its deliveries are kept. They are sent once it is enabled again.',
      body: strictObject({
        ...Type.Partial(Type.Object(given)).properties,
        enabled: Type.Optional(Type.Boolean()),
      }),
      data: Webhook,
    },
    async (call) => {
      const { db, body, now, settings } = call;
      return { data: webhookJson(await editWebhook(db, readId(call, 'id', 'webhook'), body, now, settings)) };
    },
  ),
  removeWebhook: remove(
    '/webhooks/{id}',
    { summary: 'Remove a receiver and its waiting deliveries' },
    async (call) => webhookJson(await removeWebhook(call.db, readId(call, 'id', 'webhook'))),
  ),
  testWebhook: post(
    '/webhooks/{id}/test',
    {
      summary: 'Send webhook.test once, even to a disabled receiver',
      description: 'It is queued. The list of deliveries shows the answer.',
      body: strictObject({}),
      data: Delivery,
      status: 201,
    },
    async (call) => ({
      data: deliveryJson(await queueTest(call.db, readId(call, 'id', 'webhook'), call.now)),
    }),
  ),
  rotateWebhook: post(
    '/webhooks/{id}/rotate',
    {
      summary: 'Make a new secret, which is shown only now',
      description:
        'For 24 hours, webhooks are also signed with the old one. If you rotate again within that time, the oldest secret no longer signs.',
      body: strictObject({}),
      data: WithSecret,
    },
    async (call) => {
      const id = readId(call, 'id', 'webhook');
      const { webhook, secret } = await rotateSecret(call.db, id, call.now, call.settings);
      return { data: { ...webhookJson(webhook), secret } };
    },
  ),
  listWebhookDeliveries: list(
    '/webhooks/{id}/deliveries',
    {
      summary: 'List the deliveries to a receiver, including waiting ones',
      description: 'Newest first. With `state=waiting`, only waiting deliveries, the next one first.',
      scope: 'write',
      query: strictObject({ state: Type.Optional(enumOf(['waiting'])), ...Paging }),
      data: Delivery,
    },
    async (call) => {
      const page = { ...pageOf(call.query), waiting: call.query.state === 'waiting' };
      const { items, next } = await listDeliveryPage(call.db, readId(call, 'id', 'webhook'), page);
      return { data: items.map(deliveryJson), next };
    },
  ),
  replayWebhookDelivery: post(
    '/webhooks/{id}/deliveries/{delivery_id}/replay',
    {
      summary: 'Send a delivery again, at once and with the same webhook-id',
      description: 'It is sent even to a disabled receiver, and before the waiting deliveries.',
      body: strictObject({}),
      data: Delivery,
    },
    async (call) => {
      const id = readId(call, 'id', 'webhook');
      const delivery = await replayDelivery(call.db, id, readId(call, 'delivery_id', 'delivery'), call.now);
      return { data: deliveryJson(delivery) };
    },
  ),
};
