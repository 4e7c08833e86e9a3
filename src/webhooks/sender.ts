import { Semaphore } from 'async-mutex';
import type { Logger } from 'pino';
import { listOperators } from '../access/operators';
import { SealError } from '../licensing/sealing';
import { queueMail, type Mailing } from '../mail/queue';
import { createLoop } from '../runner/loop';
import { createPool } from '../runner/pool';
import type { Db } from '../store/engine/database';
import { claimDeliveries, claimDeliveryNow, type Delivery } from '../store/deliveries';
import { updateClaimedRow, deleteOutboxRow, onEnqueued } from '../store/outbox';
import { inTransaction } from '../store/engine/transaction';
import {
  findWebhook,
  listSubscribers,
  SUBSCRIBER_CACHE_MS,
  setWebhook,
  type WebhookRow,
} from '../store/webhooks';
import { createOutcomeRecorder, type ClaimedDelivery } from './outcomes';
import type { Post, PostResult } from './post';
import { bodyOf, disabledNow, webhookIdOf, type DisabledReason } from './receivers';
import { scheduleRetry } from './retry-schedule';
import { secretsOf, signedHeaders } from './signing';

/** The maximum number of parallel attempts of this process for a receiver, so that no receiver delays the others. */
const MAX_ATTEMPTS = 8;
/** The maximum for a receiver whose latest attempt failed, or whose response was long. */
const MAX_COSTLY = 1;
/** The maximum for tests and replays of all receivers together. */
const MAX_URGENT = 4;
/**
 * The number of parallel searches and claims. They use one connection of the pool, and recording uses another, so that
 * neither waits for the other. Customers' requests need the rest, however many deliveries are running.
 */
const MAX_SEARCHES = 1;
/** The interval after which deliveries of other processes are found. */
const POLL_MS = 500;
/** The delay after a commit of this process, because further commits with deliveries may follow. */
const GATHER_MS = 10;

export interface WebhookSenderSettings {
  keySecret: Buffer;
  post: Post;
  /** returns the present settings; undefined if mail is off */
  mailing: () => Mailing | undefined;
}

export interface WebhookSender {
  /** the attempts since the start */
  counts: () => { delivered: number; failed: number };
  stop: () => Promise<void>;
  idle: () => Promise<void>;
}

/**
 * Sends queued webhooks, at once if this process queues them. Delivery is at-least-once: the outcome is recorded after
 * the receiver's response, and if the process is killed in between, its claim expires and another sends again.
 */
export function startWebhookSender(
  db: Db,
  { keySecret, post, mailing }: WebhookSenderSettings,
  log: Logger,
  now: () => Date,
): WebhookSender {
  const loop = createLoop(log, 'webhooks wait: the outbox cannot be read');
  const { stopping } = loop;
  const searches = new Semaphore(MAX_SEARCHES);
  const inTurn = <T>(search: () => Promise<T>) => searches.runExclusive(search);
  const counts = { delivered: 0, failed: 0 };
  /** wakes the pool of each enabled receiver */
  const receivers = new Map<number, () => void>();
  /** the receivers with MAX_COSTLY */
  const costly = new Set<number>();
  const record = createOutcomeRecorder(db, { now, stopping }, withReceivers, log);

  /** Adds the receivers, and leaves out rows whose receiver is deleted or disabled. */
  async function withReceivers(rows: Delivery[]): Promise<ClaimedDelivery[]> {
    const webhooks = new Map<number, WebhookRow | undefined>();
    for (const { webhookId } of rows)
      if (!webhooks.has(webhookId)) webhooks.set(webhookId, await findWebhook(db, webhookId));
    const claims: ClaimedDelivery[] = [];
    for (const row of rows) {
      const webhook = webhooks.get(row.webhookId);
      if (webhook === undefined) await deleteOutboxRow(db, row.id);
      else if (webhook.disabledAt !== null && row.kind === 'webhook') {
        // Remove the pool, which would otherwise claim this row again and again.
        receivers.delete(row.webhookId);
        await updateClaimedRow(db, row, { nextAttemptAt: now() });
      } else claims.push({ row, webhook });
    }
    return claims;
  }

  const wakeNow = createPool(loop, {
    limit: () => MAX_URGENT,
    claimMost: 1,
    async claim() {
      const row = await claimDeliveryNow(db, now());
      return row === undefined ? [] : withReceivers([row]);
    },
    work: deliver,
    inTurn,
  });

  let readAt = -Infinity;
  async function wakeReceivers(): Promise<void> {
    const isFresh = performance.now() - readAt > SUBSCRIBER_CACHE_MS / 2;
    const subscribers = await inTurn(() => listSubscribers(db, { isFresh }));
    if (isFresh) readAt = performance.now();
    const enabled = subscribers.flatMap(({ id, isEnabled }) => (isEnabled ? [id] : []));
    for (const known of [receivers, costly])
      for (const id of known.keys()) if (!enabled.includes(id)) known.delete(id);
    for (const id of enabled) {
      const wake =
        receivers.get(id) ??
        createPool(loop, {
          limit: () => (costly.has(id) ? MAX_COSTLY : MAX_ATTEMPTS),
          claim: async (limit) =>
            receivers.has(id) ? withReceivers(await claimDeliveries(db, id, { now: now(), limit })) : [],
          work: deliver,
          inTurn,
        });
      receivers.set(id, wake);
      wake();
    }
  }

  /** Delivers a webhook. @returns the next delivery in its licence's lane, after the receiver has accepted this one */
  async function deliver({ row, webhook }: ClaimedDelivery): Promise<ClaimedDelivery | undefined> {
    const result = await attempt(webhook, row);
    if (result === 'cut') {
      await inTurn(() => updateClaimedRow(db, row, { nextAttemptAt: now() }));
      return undefined;
    }
    const { failure, status, answer, isLong = false } = result;
    const answered = { answerStatus: status ?? null, answer: answer === '' ? null : answer };
    const about = { webhook: webhook.id, delivery: row.id, type: row.type };
    if (failure === undefined && !isLong) costly.delete(webhook.id);
    else costly.add(webhook.id);
    if (failure === undefined) {
      counts.delivered++;
      log.debug({ ...about, status }, 'webhook delivered');
      return record(row, {
        ...answered,
        kind: 'webhook',
        lane: null,
        failures: 0,
        nextAttemptAt: null,
        sentAt: now(),
        failedAt: null,
        lastError: null,
      });
    }
    counts.failed++;
    const reason = status === undefined ? failure : `${failure} ${status}`;
    const { outcome, disabled } = scheduleRetry(webhook, row, result, now());
    log.warn({ ...about, reason, attempts: row.attempts }, 'webhook not delivered');
    // Disable the receiver first, because otherwise the row would be due for a receiver that is enabled.
    if (disabled !== undefined && (await disable(db, webhook, disabled, mailing(), now())))
      log.error({ webhook: webhook.id, reason: disabled }, 'webhook disabled');
    return record(row, { ...answered, ...outcome, lastError: reason });
  }

  /** Makes an attempt. @returns `cut` if the process stops; another instance then repeats the attempt */
  async function attempt(webhook: WebhookRow, row: Delivery): Promise<PostResult | 'cut'> {
    const at = now();
    let secrets: string[];
    try {
      secrets = secretsOf(webhook, keySecret, at);
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      return { status: undefined, answer: '', failure: 'SECRET', retryAfter: undefined };
    }
    const body = bodyOf(row);
    const headers = signedHeaders(secrets, webhookIdOf(row), at, body);
    return loop.cuttable((cut) =>
      post(webhook.url, headers, body, cut).catch((error: unknown) => {
        if (cut.aborted) return 'cut';
        throw error;
      }),
    );
  }

  let gathering: NodeJS.Timeout | undefined;
  const poll = () => {
    gathering = undefined;
    if (stopping.aborted) return;
    wakeNow();
    loop.track(wakeReceivers());
  };
  const soon = () => void (gathering ??= setTimeout(poll, GATHER_MS).unref());
  loop.start(POLL_MS, poll);
  const forget = [onEnqueued(db, 'webhook', soon), onEnqueued(db, 'webhook_now', soon)];
  return {
    counts: () => ({ ...counts }),
    idle() {
      // Poll now, because the latest deliveries still wait for GATHER_MS.
      poll();
      return loop.idle();
    },
    stop() {
      for (const one of forget) one();
      return loop.stop();
    },
  };
}

/** Disables a receiver, and queues mails that notify the operators. @returns false if it was already disabled */
async function disable(
  db: Db,
  { id }: WebhookRow,
  reason: DisabledReason,
  mailing: Mailing | undefined,
  now: Date,
): Promise<boolean> {
  const operators = mailing === undefined ? [] : await listOperators(db);
  return inTransaction(db, async (trx) => {
    if (!(await setWebhook(trx, id, disabledNow(reason, now), { disabledAt: null }))) return false;
    for (const { email } of operators)
      await queueMail(
        trx,
        { type: 'webhook_disabled', email, webhookId: id },
        { now, language: (mailing as Mailing).language },
      );
    return true;
  });
}
