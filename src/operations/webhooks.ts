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
  PageQuery,
  Text,
  TextOrNull,
  Time,
  TimeOrNull,
  enumAsText,
} from './kit/schemas';

const fields = {
  id: Id,
  url: Text,
  events: Type.Array(Text),
  description: TextOrNull,
  enabled: Type.Boolean(),
  disabled_at: TimeOrNull,
  disabled_reason: nullable(enumAsText(['operator', 'failing', 'gone'])),
  previous_secret_until: nullable(
    Type.String({ ...Time, description: 'Until then the secret before signs too.' }),
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
      description: `Deliveries that wait. ${MAX_COUNTED} stands for that many or more.`,
    }),
  },
  { title: 'WebhookDetails' },
);
const WithSecret = strictObject({ ...fields, secret: Text }, { title: 'WebhookWithSecret' });

const Delivery = strictObject(
  {
    id: Id,
    webhook_id: Type.String({ description: 'The header of this name, the same at every attempt.' }),
    type: Text,
    license_id: nullable(Id),
    state: enumAsText(['waiting', 'delivered', 'failed']),
    attempts: Type.Integer(),
    error: nullable(Type.String({ description: 'Why the latest attempt failed, such as STATUS 500.' })),
    status: nullable(Type.Integer({ description: 'Of the latest answer.' })),
    answer: nullable(Type.String({ description: 'The beginning of its text.' })),
    created_at: Time,
    attempted_at: TimeOrNull,
    next_attempt_at: TimeOrNull,
    delivered_at: TimeOrNull,
    body: Type.Record(Type.String(), Type.Unknown()),
  },
  { title: 'Delivery' },
);

const given = {
  url: Type.String({ description: 'https:, and a public address.', examples: ['https://shop.example/hook'] }),
  events: Type.Array(Text, {
    description: `Types and patterns such as license.* or *. Types: ${WEBHOOK_TYPES.join(', ')}.`,
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
      query: strictObject(PageQuery),
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
        'What waits for a disabled receiver, and what happens meanwhile, is kept and sent once it is enabled.',
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
    { summary: 'Remove a receiver, and what waits for it' },
    async (call) => webhookJson(await removeWebhook(call.db, readId(call, 'id', 'webhook'))),
  ),
  testWebhook: post(
    '/webhooks/{id}/test',
    {
      summary: 'Send webhook.test once, also to a disabled receiver',
      description: 'Queued: the list of deliveries shows the answer.',
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
        'The old one signs too for 24 hours. After a second rotation within that time, the oldest does not.',
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
      summary: 'List what was sent to a receiver, and what waits for it',
      description: 'The newest first. With `state=waiting` what waits, the next first.',
      scope: 'write',
      query: strictObject({ state: Type.Optional(enumOf(['waiting'])), ...PageQuery }),
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
      description: 'Also to a disabled receiver, and before what waits.',
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
