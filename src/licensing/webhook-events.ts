import { chunksOf, inChunks } from '../base/chunks';
import { shortDigest } from '../base/digest';
import { jsonOf } from '../base/json';
import { HOUR_MS } from '../base/days';
import type { Access } from '../store/access-log';
import { customerDigest } from '../store/customer-digest';
import type { Db, Transaction } from '../store/engine/database';
import { insertEvents, type EventAction, type LicenseEvent } from '../store/events';
import { findLicensesByIds, lockLicenses, type License } from '../store/licenses/licenses';
import { insertOutboxRowIfNew, insertOutboxRows, type NewOutboxRow } from '../store/outbox';
import type { Release } from '../store/releases';
import { inTransaction } from '../store/engine/transaction';
import { listSubscribers, type Subscriber } from '../store/webhooks';
import { createTtlMap } from './core/ttl-map';
import { readMetadata } from './metadata';
import { liveStatus } from './core/states';

/**
 * The webhooks, as outbox rows in the transaction of the change: a row for each subscribed receiver, with its body's
 * data as of the licence's revision after that change (docs/decisions/0015-webhooks.md).
 */

export const WEBHOOK_TYPES = [
  'license.issued',
  'license.renewed',
  'license.expiring',
  'license.expired',
  'license.suspended',
  'license.reinstated',
  'license.revoked',
  'license.cancelled',
  'license.rekeyed',
  'license.changed',
  'activation.added',
  'activation.removed',
  'activation.limit_reached',
  'release.published',
  'release.withdrawn',
  'download.refused',
  'key.spreading',
  'customer.erased',
  'webhook.test',
] as const;
export type WebhookType = (typeof WEBHOOK_TYPES)[number];

/** The webhook types of actions. Receivers are not notified of other actions. */
const TYPES: Partial<Record<EventAction, WebhookType>> = {
  issue: 'license.issued',
  renew: 'license.renewed',
  suspend: 'license.suspended',
  reinstate: 'license.reinstated',
  revoke: 'license.revoked',
  cancel: 'license.cancelled',
  rekey: 'license.rekeyed',
  'set-limit': 'license.changed',
  'set-end': 'license.changed',
  'change-plan': 'license.changed',
  'set-customer': 'license.changed',
  'set-metadata': 'license.changed',
  'erase-customer': 'license.changed',
  'add-key': 'license.changed',
  'edit-key': 'license.changed',
  'end-key': 'license.changed',
  activate: 'activation.added',
  deactivate: 'activation.removed',
};

/** The `data` of a body, without members that do not apply. It never contains a key or a client's address. */
export interface WebhookData {
  license?: ReturnType<typeof licenseData>;
  activation?: { identifier: string; name: string | null };
  release?: { id: number; product_id: number; version: string };
  customer?: { id: string };
  /** the licence belongs to a subscription with automatic renewal */
  renews?: true;
  actor?: string;
  reason?: string;
}

export function renewsOf({ renewsItself }: Pick<License, 'renewsItself'>): Pick<WebhookData, 'renews'> {
  return renewsItself ? { renews: true } : {};
}

export function licenseData(license: License, now: Date) {
  return {
    id: license.id,
    product_id: license.product.id,
    plan_id: license.plan.id,
    status: liveStatus(license, now),
    ...jsonOf(license, 'customer', 'reference', 'keyHint', 'expiresAt'),
    ...jsonOf(license, 'activationLimit', 'activationsUsed', 'revision'),
    metadata: readMetadata(license.metadata),
  };
}

/** Reports whether a subscription's types and patterns, such as `license.*`, include a type. */
export function isSubscribed({ events }: Pick<Subscriber, 'events'>, type: WebhookType): boolean {
  const group = `${type.slice(0, type.indexOf('.'))}.*`;
  return events.some((one) => one === type || one === group || one === '*');
}

/** Returns a waiting row for one receiver. */
export function webhookRow(
  webhookId: number,
  type: WebhookType,
  data: WebhookData,
  now: Date,
  once: string | null = null,
): NewOutboxRow {
  const { license } = data;
  return {
    kind: 'webhook',
    type,
    webhookId,
    details: data,
    once,
    createdAt: now,
    nextAttemptAt: now,
    licenseId: license?.id ?? null,
    lane: license?.id ?? null,
    revision: license?.revision ?? null,
    recipient: null,
    address: null,
    language: '',
  };
}

/** Writes a licence's history, and notifies receivers. The caller has raised the revision by one for each event. */
export async function recordEvents(trx: Transaction, events: LicenseEvent[]): Promise<void> {
  await insertEvents(trx, events);
  await enqueueLicenseWebhooks(trx, events);
}

/** Notifies receivers of changes recorded elsewhere. @param events all of the transaction's events since the last call */
export async function enqueueLicenseWebhooks(trx: Transaction, events: LicenseEvent[]): Promise<void> {
  const subscribers = await listSubscribers(trx);
  if (subscribers.length === 0) return;
  const told = events.map((event) => {
    const type = TYPES[event.action];
    const receivers = type ? subscribers.filter((one) => isSubscribed(one, type)) : [];
    return { event, type, receivers };
  });
  const ids = new Set(
    told.filter(({ receivers }) => receivers.length > 0).map(({ event }) => event.licenseId),
  );
  if (ids.size === 0) return;
  const licenses = await readLicenses(trx, [...ids]);
  /** the number of later events of each licence */
  const later = new Map<number, number>();
  const rows: NewOutboxRow[][] = [];
  for (const { event, type, receivers } of told.reverse()) {
    const license = licenses.get(event.licenseId);
    const after = later.get(event.licenseId) ?? 0;
    later.set(event.licenseId, after + 1);
    if (type === undefined || license === undefined) continue;
    const data = dataOf(event, type, { ...license, revision: license.revision - after });
    rows.push(receivers.map(({ id }) => webhookRow(id, type, data, event.at)));
  }
  await insertOutboxRows(trx, rows.reverse().flat());
}

async function readLicenses(db: Db, ids: number[]): Promise<Map<number, License>> {
  const found = await inChunks(ids, (some) => findLicensesByIds(db, some));
  return new Map(found.map((license) => [license.id, license]));
}

function dataOf(
  { at, actor, before, after }: LicenseEvent,
  type: WebhookType,
  license: License,
): WebhookData {
  const used = after?.activations_used;
  const identifier = after?.identifier ?? before?.identifier;
  const name = after?.name ?? before?.name;
  return {
    license: {
      ...licenseData(license, at),
      ...(typeof used === 'number' && { activations_used: used }),
    },
    ...(type.startsWith('activation.') &&
      typeof identifier === 'string' && {
        activation: { identifier, name: typeof name === 'string' ? name : null },
      }),
    ...(type.startsWith('license.') && renewsOf(license)),
    actor: publicActor(actor),
    ...(typeof after?.reason === 'string' && { reason: after.reason }),
  };
}

/** A client's actor is its network address. */
function publicActor(actor: string): string {
  return actor.startsWith('customer') ? 'customer' : actor;
}

/** Notifies receivers of a release, in the transaction of its change. */
export async function enqueueReleaseWebhook(
  trx: Transaction,
  type: 'release.published' | 'release.withdrawn',
  { id, productId, version }: Pick<Release, 'id' | 'productId' | 'version'>,
  now: Date,
): Promise<void> {
  const data = { release: { id, product_id: productId, version } };
  const receivers = (await listSubscribers(trx)).filter((one) => isSubscribed(one, type));
  await insertOutboxRows(
    trx,
    receivers.map(({ id: webhookId }) => webhookRow(webhookId, type, data, now)),
  );
}

/** Notifies receivers that a customer was erased, once an hour, because an erasure has several transactions. */
export async function enqueueErasureWebhook(trx: Transaction, address: string, now: Date): Promise<void> {
  const type = 'customer.erased';
  const id = customerDigest(address);
  for (const one of await listSubscribers(trx))
    if (isSubscribed(one, type)) {
      const once = `ce:${one.id}:${id}:${hourOf(now)}`;
      await insertOutboxRowIfNew(trx, webhookRow(one.id, type, { customer: { id } }, now, once));
    }
}

function hourOf(at: Date): number {
  return Math.floor(at.getTime() / HOUR_MS);
}

/** Notifies receivers that a key of a licence is in many hands, once a month for each key. */
export async function enqueueSpreading(db: Db, licenseId: number, keyId: number, now: Date): Promise<void> {
  const type = 'key.spreading';
  const subscribers = (await listSubscribers(db)).filter((one) => isSubscribed(one, type));
  if (subscribers.length === 0) return;
  await inTransaction(db, async (trx) => {
    // Without the lock, a change at this moment could be reported first, with a later revision.
    await lockLicenses(trx, [licenseId]);
    const license = (await readLicenses(trx, [licenseId])).get(licenseId);
    if (license === undefined) return;
    for (const { id } of subscribers) {
      const once = `ks:${id}:${keyId}:${now.toISOString().slice(0, 7)}`;
      await insertOutboxRowIfNew(
        trx,
        webhookRow(id, type, { license: licenseData(license, now) }, now, once),
      );
    }
  });
}

/** The maximum number of queued refusals that a process remembers, so that a repeated one causes no query. */
const MAX_REMEMBERED = 10_000;
/** The number of licences that one transaction locks, which blocks their clients. */
const LOCK_BATCH_SIZE = 50;

/**
 * Notifies receivers of refused downloads, once for each licence, reason and hour, and of activations above the limit,
 * once for each licence, identifier and hour.
 */
export function createRefusalEnqueuer(db: Db): (refused: Access[]) => Promise<void> {
  const told = createTtlMap<{ at: Date }>(MAX_REMEMBERED, 2 * HOUR_MS);

  return async (accesses) => {
    const subscribers = await listSubscribers(db);
    if (subscribers.length === 0) return;
    const news = accesses.flatMap((access) => {
      const { at, outcome, licenseId, identifier } = access;
      const type = refusalType(access);
      if (type === undefined || licenseId === null) return [];
      const what = type === 'download.refused' ? outcome : shortDigest(identifier ?? '');
      return subscribers
        .filter((one) => isSubscribed(one, type))
        .map(({ id }) => ({ type, access, id, once: `re:${id}:${licenseId}:${hourOf(at)}:${what}` }))
        .filter(({ once }) => told.get(once, at) === undefined);
    });
    if (news.length === 0) return;
    const ids = [...new Set(news.map(({ access }) => access.licenseId as number))];
    for (const some of chunksOf(ids, LOCK_BATCH_SIZE)) await queue(some);
    for (const { once, access } of news) told.set(once, { at: access.at });

    function queue(some: number[]): Promise<void> {
      return inTransaction(db, async (trx) => {
        // Without the lock, a change at this moment could be reported first, with a later revision.
        await lockLicenses(trx, some);
        const licenses = await readLicenses(trx, some);
        for (const { type, access, id, once } of news) {
          const { at, outcome, identifier } = access;
          const license = licenses.get(access.licenseId as number);
          if (license === undefined) continue;
          const data: WebhookData = {
            license: licenseData(license, at),
            ...(type === 'activation.limit_reached' &&
              identifier !== null && { activation: { identifier, name: null } }),
            ...(type === 'download.refused' && { reason: outcome }),
          };
          await insertOutboxRowIfNew(trx, webhookRow(id, type, data, at, once));
        }
      });
    }
  };
}

function refusalType({ endpoint, outcome }: Access): WebhookType | undefined {
  if (endpoint === 'download' && !['ok', 'RATE_LIMITED', 'OMITTED'].includes(outcome))
    return 'download.refused';
  return endpoint === 'activate' && outcome === 'ACTIVATION_LIMIT_REACHED'
    ? 'activation.limit_reached'
    : undefined;
}
