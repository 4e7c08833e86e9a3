import { Semaphore } from 'async-mutex';
import type { Logger } from 'pino';
import { listOperators } from '../access/operators';
import { SealError } from '../licensing/sealing';
import { queueMail, type Mailing } from '../mail/queue';
import { createLoop } from '../runner/loop';
import { createPool } from '../runner/pool';
import type { Db } from '../store/engine/database';
import { claimDeliveries, claimDeliveryNow, type Delivery } from '../store/deliveries';
import { changeClaimed, deleteOutboxRow, onQueued } from '../store/outbox';
import { inTransaction } from '../store/engine/transaction';
import { findWebhook, listSubscribers, REMEMBERED_MS, setWebhook, type WebhookRow } from '../store/webhooks';
import { createRecorder, type Claim } from './outcomes';
import type { Post, PostResult } from './post';
import { bodyOf, disabledNow, webhookIdOf, type DisabledReason } from './receivers';
import { afterFailure } from './schedule';
import { secretsOf, signedHeaders } from './signing';

/** The most attempts of this process at once for a receiver, so that none delays the others' deliveries. */
const ATTEMPTS_AT_ONCE = 8;
/** The same while a receiver's latest attempt failed, or was answered at length. */
const COSTLY_AT_ONCE = 1;
/** The same for tests and replays of all receivers. */
const NOW_AT_ONCE = 4;
/**
 * Searches and claims use one of the pool's connections, and recording uses another, so that neither waits for the other.
 * Customers' requests need the rest, however many deliveries are under way.
 */
const SEARCHES_AT_ONCE = 1;
/** How soon a delivery is found that another process has queued. */
const POLL_MS = 500;
/** A commit of this process is followed by others, in which more may be queued. */
const GATHER_MS = 10;

export interface WebhookSenderSettings {
  keySecret: Buffer;
  post: Post;
  /** as the settings are now; undefined: mail is off */
  mailing: () => Mailing | undefined;
}

export interface WebhookSender {
  /** attempts since the start */
  counts: () => { delivered: number; failed: number };
  stop: () => Promise<void>;
  idle: () => Promise<void>;
}

/**
 * Sends what is queued for receivers of webhooks, at once when this process queues it. At least once: a delivery is recorded
 * after the receiver's answer, and a process that is killed in between leaves a claim that ends.
 */
export function startWebhookSender(
  db: Db,
  { keySecret, post, mailing }: WebhookSenderSettings,
  log: Logger,
  now: () => Date,
): WebhookSender {
  const loop = createLoop(log, 'webhooks wait: the outbox cannot be read');
  const { stopping } = loop;
  const searches = new Semaphore(SEARCHES_AT_ONCE);
  const inTurn = <T>(search: () => Promise<T>) => searches.runExclusive(search);
  const counts = { delivered: 0, failed: 0 };
  /** of each enabled receiver: wakes its pool */
  const receivers = new Map<number, () => void>();
  /** receivers with COSTLY_AT_ONCE */
  const costly = new Set<number>();
  const record = createRecorder(db, { now, stopping }, withReceivers, log);

  /** Leaves out rows whose receiver is gone or disabled. */
  async function withReceivers(rows: Delivery[]): Promise<Claim[]> {
    const webhooks = new Map<number, WebhookRow | undefined>();
    for (const { webhookId } of rows)
      if (!webhooks.has(webhookId)) webhooks.set(webhookId, await findWebhook(db, webhookId));
    const claims: Claim[] = [];
    for (const row of rows) {
      const webhook = webhooks.get(row.webhookId);
      if (webhook === undefined) await deleteOutboxRow(db, row.id);
      else if (webhook.disabledAt !== null && row.kind === 'webhook') {
        // Otherwise its pool would claim again and again what is put back here.
        receivers.delete(row.webhookId);
        await changeClaimed(db, row, { nextAttemptAt: now() });
      } else claims.push({ row, webhook });
    }
    return claims;
  }

  const wakeNow = createPool(loop, {
    limit: () => NOW_AT_ONCE,
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
    const isFresh = performance.now() - readAt > REMEMBERED_MS / 2;
    const subscribers = await inTurn(() => listSubscribers(db, { isFresh }));
    if (isFresh) readAt = performance.now();
    const enabled = subscribers.flatMap(({ id, isEnabled }) => (isEnabled ? [id] : []));
    for (const known of [receivers, costly])
      for (const id of known.keys()) if (!enabled.includes(id)) known.delete(id);
    for (const id of enabled) {
      const wake =
        receivers.get(id) ??
        createPool(loop, {
          limit: () => (costly.has(id) ? COSTLY_AT_ONCE : ATTEMPTS_AT_ONCE),
          claim: async (limit) =>
            receivers.has(id) ? withReceivers(await claimDeliveries(db, id, { now: now(), limit })) : [],
          work: deliver,
          inTurn,
        });
      receivers.set(id, wake);
      wake();
    }
  }

  /** @returns what has waited behind it in its licence's lane, once the receiver has taken it */
  async function deliver({ row, webhook }: Claim): Promise<Claim | undefined> {
    const result = await attempt(webhook, row);
    if (result === 'cut') {
      await inTurn(() => changeClaimed(db, row, { nextAttemptAt: now() }));
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
    const { outcome, disabled } = afterFailure(webhook, row, result, now());
    log.warn({ ...about, reason, attempts: row.attempts }, 'webhook not delivered');
    // First, because otherwise the row would be due for a receiver that is still enabled.
    if (disabled !== undefined && (await disable(db, webhook, disabled, mailing(), now())))
      log.error({ webhook: webhook.id, reason: disabled }, 'webhook disabled');
    return record(row, { ...answered, ...outcome, lastError: reason });
  }

  /** @returns `cut`: the process stops, and another instance makes the attempt again */
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
  const forget = [onQueued(db, 'webhook', soon), onQueued(db, 'webhook_now', soon)];
  return {
    counts: () => ({ ...counts }),
    idle() {
      // What was queued a moment ago still waits for GATHER_MS.
      poll();
      return loop.idle();
    },
    stop() {
      for (const one of forget) one();
      return loop.stop();
    },
  };
}

/** Disables a receiver, and queues mails that tell the operators. @returns false: it was disabled already */
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
