import { DAY_MS, formatTimestamp, formatTimestampOrNull } from '../base/days';
import {
  isCursorId,
  isCursorTime,
  readCursor,
  toPage,
  type Page,
  type PageRequest,
} from '../licensing/cursors';
import { requireLabel } from '../licensing/fields';
import { OperatorError } from '../licensing/operator-error';
import { isSubscribed, WEBHOOK_TYPES, webhookRow, type WebhookType } from '../licensing/webhook-events';
import {
  countWaitingDeliveries,
  findDelivery,
  listDeliveries as listStored,
  listWaitingDeliveries,
  resumeDeliveries,
  sendNow,
  type Delivery,
} from '../store/deliveries';
import type { Db, Transaction } from '../store/engine/database';
import { insertOutboxRow } from '../store/outbox';
import { toSqlTime } from '../store/engine/time';
import { inTransaction } from '../store/engine/transaction';
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  setWebhook,
  type WebhookRow,
} from '../store/webhooks';
import { createAddressRules, requireWebhookUrl } from './addresses';
import { generateWebhookSecret, canOpenSecrets, sealSecret } from './signing';

declare module '../licensing/operator-error' {
  interface Refusals {
    webhooks: { reason: 'no-webhook' | 'webhook-address' };
  }
}

/** Receivers of webhooks: operators add, change and test them, and see their deliveries. */

export { listWebhooks, type WebhookRow, type Delivery };

export type DisabledReason = 'operator' | 'failing' | 'gone';

/** The settings that adding and changing receivers needs. */
interface WebhookSettings {
  /** encrypts the secrets; undefined if there can be no receivers */
  keySecret: Buffer | undefined;
  /** LICENSING_WEBHOOK_NETWORKS */
  webhookNetworks: readonly string[];
}

export interface ReceiverFields {
  url: string;
  /** types and patterns */
  events: string[];
  /** null or empty for no description */
  description: string | null;
}

const MAX_EVENTS = 30;

/**
 * Adds a receiver.
 * @returns the receiver and its secret, which is only shown now
 * @throws OperatorError with the wrong field, or without LICENSING_KEY_SECRET
 */
export async function addWebhook(
  db: Db,
  fields: ReceiverFields,
  { actor, now }: { actor: string; now: Date },
  settings: WebhookSettings,
): Promise<{ webhook: WebhookRow; secret: string }> {
  const keySecret = requireKeySecret(settings);
  const events = requireEvents(fields.events);
  const description = requireDescription(fields.description);
  const url = await requireWebhookUrl(fields.url, createAddressRules(settings.webhookNetworks));
  const secret = generateWebhookSecret();
  const row: Omit<WebhookRow, 'id'> = {
    url,
    events,
    description,
    secretSealed: sealSecret(secret, keySecret),
    previousSealed: null,
    previousEndsAt: null,
    enabledAt: now,
    disabledAt: null,
    disabledReason: null,
    sweptAt: now,
    createdBy: actor,
    createdAt: now,
  };
  return { webhook: { ...row, id: await insertWebhook(db, row) }, secret };
}

/**
 * Changes a receiver; undefined values stay. Waiting deliveries are sent at once if it is enabled or gets another address.
 * @throws OperatorError
 */
export async function editWebhook(
  db: Db,
  id: number,
  {
    url,
    events,
    description,
    enabled,
  }: { [K in keyof ReceiverFields]?: ReceiverFields[K] | undefined } & {
    enabled?: boolean | undefined;
  },
  now: Date,
  settings: WebhookSettings,
): Promise<WebhookRow> {
  const webhook = await requireWebhook(db, id);
  const changes: Partial<WebhookRow> = {
    // Do not report ends from before the subscription.
    ...(events !== undefined && { events: requireEvents(events), sweptAt: now }),
    ...(description !== undefined && { description: requireDescription(description) }),
    ...(url !== undefined && {
      url: await requireWebhookUrl(url, createAddressRules(settings.webhookNetworks)),
    }),
    ...(enabled === true &&
      webhook.disabledAt !== null && { disabledAt: null, disabledReason: null, enabledAt: now }),
    ...(enabled === false && webhook.disabledAt === null && disabledNow('operator', now)),
  };
  if (Object.keys(changes).length > 0 && !(await setWebhook(db, id, changes))) await requireWebhook(db, id);
  const edited = await requireWebhook(db, id);
  const isOther = changes.enabledAt !== undefined || edited.url !== webhook.url;
  if (edited.disabledAt === null && isOther) await resumeDeliveries(db, id, now);
  return edited;
}

/** Returns the fields of a disabled receiver. */
export function disabledNow(reason: DisabledReason, now: Date): Partial<WebhookRow> {
  return { disabledAt: now, disabledReason: reason };
}

/** Rotates the secret, and returns it; it is only shown now. The old secret also signs for 24 hours. @throws OperatorError */
export async function rotateSecret(
  db: Db,
  id: number,
  now: Date,
  settings: WebhookSettings,
): Promise<{ webhook: WebhookRow; secret: string }> {
  const keySecret = requireKeySecret(settings);
  const webhook = await requireWebhook(db, id);
  const { secretSealed } = webhook;
  const secret = generateWebhookSecret();
  // Drop a secret that can no longer be decrypted, because it cannot sign.
  const isOpen = canOpenSecrets({ ...webhook, previousSealed: null }, keySecret, now);
  const changes = {
    secretSealed: sealSecret(secret, keySecret),
    previousSealed: isOpen ? secretSealed : null,
    previousEndsAt: isOpen ? new Date(now.getTime() + DAY_MS) : null,
  };
  if (!(await setWebhook(db, id, changes, { secretSealed })))
    throw new OperatorError('Another operator rotated its secret at the same moment. Try again.', {
      code: 'CONFLICT',
    });
  return { webhook: await requireWebhook(db, id), secret };
}

/** Removes a receiver at once; housekeeping deletes its waiting deliveries. @throws OperatorError */
export async function removeWebhook(db: Db, id: number): Promise<WebhookRow> {
  const webhook = await requireWebhook(db, id);
  return (await deleteWebhook(db, id)) ? webhook : noWebhook(id);
}

/** Returns a receiver. @throws OperatorError if it does not exist */
export async function requireWebhook(db: Db, id: number): Promise<WebhookRow> {
  return (await findWebhook(db, id)) ?? noWebhook(id);
}

function noWebhook(id: number): never {
  throw new OperatorError(`There is no webhook ${id}.`, {
    code: 'NOT_FOUND',
    facts: { reason: 'no-webhook' },
  });
}

export async function listWebhookPage(db: Db, { after, limit }: PageRequest): Promise<Page<WebhookRow>> {
  const [id] = readCursor<[number]>(after, [isCursorId]) ?? [];
  return toPage(await listWebhooks(db, { after: id, limit: limit + 1 }), limit, (webhook) => [webhook.id]);
}

/** Queues `webhook.test`, which is sent once, even to a disabled receiver. @throws OperatorError */
export async function queueTest(db: Db, id: number, now: Date): Promise<Delivery> {
  await requireWebhook(db, id);
  const queue = async (trx: Transaction) => {
    const row = { ...webhookRow(id, 'webhook.test', {}, now), kind: 'webhook_now' as const };
    return (await findDelivery(trx, id, await insertOutboxRow(trx, row))) as Delivery;
  };
  return db.isTransaction ? queue(db as Transaction) : inTransaction(db, queue);
}

/**
 * Sends a delivery again at once, with the same `webhook-id` and out of order, even to a disabled receiver.
 * @throws OperatorError
 */
export async function replayDelivery(
  db: Db,
  webhookId: number,
  deliveryId: number,
  now: Date,
): Promise<Delivery> {
  await requireWebhook(db, webhookId);
  const delivery = await requireDelivery(db, webhookId, deliveryId);
  if (!(await sendNow(db, delivery, now)))
    throw new OperatorError('It is being sent at this moment. Try again.', { code: 'CONFLICT' });
  return requireDelivery(db, webhookId, deliveryId);
}

export async function requireDelivery(db: Db, webhookId: number, deliveryId: number): Promise<Delivery> {
  const delivery = await findDelivery(db, webhookId, deliveryId);
  if (delivery === undefined)
    throw new OperatorError(`Webhook ${webhookId} has no delivery ${deliveryId}.`, {
      code: 'NOT_FOUND',
      facts: { reason: 'no-webhook' },
    });
  return delivery;
}

/** Lists deliveries, newest first, or the waiting ones, next due first. @throws OperatorError for an unknown receiver */
export async function listDeliveryPage(
  db: Db,
  webhookId: number,
  { after, limit, waiting = false }: PageRequest & { waiting?: boolean },
): Promise<Page<Delivery>> {
  await requireWebhook(db, webhookId);
  const [at, id] = readCursor<[string, number]>(after, [isCursorTime, isCursorId]) ?? [];
  const place = at === undefined || id === undefined ? undefined : { at, id };
  const list = waiting ? listWaitingDeliveries : listStored;
  return toPage(await list(db, webhookId, { after: place, limit: limit + 1 }), limit, (row) => [
    toSqlTime(waiting ? (row.nextAttemptAt as Date) : row.createdAt),
    row.id,
  ]);
}

export const MAX_COUNTED = 1_000;

/** Counts waiting deliveries, up to MAX_COUNTED. */
export function countWaitingFor(db: Db, webhookId: number): Promise<number> {
  return countWaitingDeliveries(db, webhookId, MAX_COUNTED);
}

/** Reports whether a receiver was disabled because it failed. */
export function isAutoDisabled({ disabledAt, disabledReason }: WebhookRow): boolean {
  return disabledAt !== null && disabledReason !== 'operator';
}

/** Checks event names. @returns the form that is stored @throws OperatorError (field `events`) */
function requireEvents(names: string[]): string {
  const events = [...new Set(names.map((one) => one.trim()).filter(Boolean))];
  if (events.length === 0 || events.length > MAX_EVENTS)
    throw refused('events', `Name 1 to ${MAX_EVENTS} events, such as license.* or release.published.`);
  const unknown = events.find((one) => !WEBHOOK_TYPES.some((type) => isSubscribed({ events: [one] }, type)));
  if (unknown !== undefined)
    throw refused(
      'events',
      `"${unknown.slice(0, 60)}" is not an event. The events are: ${WEBHOOK_TYPES.join(', ')}; all of a kind, such as license.*; and *.`,
    );
  return events.join(' ');
}

function requireDescription(text: string | null): string | null {
  return text === null || text.trim() === '' ? null : requireLabel(text, 'description');
}

function requireKeySecret({ keySecret }: WebhookSettings): Buffer {
  if (keySecret === undefined)
    throw new OperatorError('Webhooks need LICENSING_KEY_SECRET, which seals their secrets.', {
      code: 'CONFLICT',
      facts: { reason: 'no-key-secret' },
    });
  return keySecret;
}

function refused(field: string, message: string): OperatorError {
  return new OperatorError(message, { code: 'INVALID_REQUEST', field });
}

/** Returns a receiver's name for users: its description, otherwise its host, because the path may be a secret. */
export function receiverName({ url, description }: Pick<WebhookRow, 'url' | 'description'>): string {
  return description ?? new URL(url).host;
}

export function webhookJson(webhook: WebhookRow) {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events.split(' '),
    description: webhook.description,
    enabled: webhook.disabledAt === null,
    disabled_at: formatTimestampOrNull(webhook.disabledAt),
    disabled_reason: webhook.disabledReason,
    previous_secret_until: formatTimestampOrNull(webhook.previousEndsAt),
    created_at: formatTimestamp(webhook.createdAt),
  };
}

type DeliveryState = 'waiting' | 'delivered' | 'failed';

/** Returns a delivery's state. `failed`: a test that was not accepted; other deliveries are retried. */
export function deliveryStateOf({ nextAttemptAt, sentAt }: Delivery): DeliveryState {
  if (nextAttemptAt !== null) return 'waiting';
  return sentAt === null ? 'failed' : 'delivered';
}

/** Returns the body that is sent for a delivery. */
export function bodyOf({ type, createdAt, detailsJson }: Delivery): string {
  const data = JSON.parse(detailsJson ?? '{}') as object;
  return JSON.stringify({ type: type as WebhookType, timestamp: formatTimestamp(createdAt), data });
}

/** Returns the header `webhook-id`. */
export function webhookIdOf({ messageId }: Delivery): string {
  return `msg_${messageId}`;
}

export function deliveryJson(delivery: Delivery) {
  return {
    id: delivery.id,
    webhook_id: webhookIdOf(delivery),
    type: delivery.type,
    license_id: delivery.licenseId,
    state: deliveryStateOf(delivery),
    attempts: delivery.attempts,
    error: delivery.lastError,
    status: delivery.answerStatus,
    answer: delivery.answer,
    created_at: formatTimestamp(delivery.createdAt),
    attempted_at: formatTimestampOrNull(delivery.attemptedAt),
    next_attempt_at: formatTimestampOrNull(delivery.nextAttemptAt),
    delivered_at: formatTimestampOrNull(delivery.sentAt),
    body: JSON.parse(bodyOf(delivery)) as Record<string, unknown>,
  };
}
