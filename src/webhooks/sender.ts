import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { listOperators } from '../access/operators';
import { createBatches } from '../licensing/core/batches';
import { SealError } from '../licensing/sealing';
import { queueMail, type Mailing } from '../mail/queue';
import type { Db } from '../store/database';
import {
  claimDeliveries,
  claimDeliveryNow,
  claimNextOfLanes,
  recordOutcomes,
  releaseLane,
  type Delivery,
  type Lane,
} from '../store/deliveries';
import { isLockConflict, reasonCode } from '../store/errors';
import { changeClaimed, deleteOutboxRow, onQueued, untilRecorded } from '../store/outbox';
import { inTransaction } from '../store/transaction';
import { findWebhook, listSubscribers, REMEMBERED_MS, setWebhook, type WebhookRow } from '../store/webhooks';
import type { Post, Posted } from './post';
import { bodyOf, disabledNow, webhookIdOf, type DisabledReason } from './receivers';
import { secretsOf, signedHeaders } from './signing';

/** For one receiver, at the most so many attempts of this process at once, so that none delays the others' deliveries. */
const LANES = 8;
/**
 * Of the pool's connections, one searches and claims and another records (`settle`), so that neither waits for the other.
 * What customers wait for needs the others, however many deliveries are under way.
 */
const SEARCHING = 1;
/** For one whose latest attempt failed, or was answered at length, so that the others do not wait for it. */
const COSTLY_LANES = 1;
/** For tests and replays of all receivers. */
const NOW_LANES = 4;
/** What other processes queue is found within this time. */
const POLL_MS = 500;
/** A commit of this process is followed by others, in which more may be queued. */
const GATHER_MS = 10;
/** At the stop, for the receivers' answers. */
const STOP_LIMIT_MS = 5_000;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** After each failure (docs/webhooks.md); after one more the receiver is disabled. */
export const PAUSES_MS = [
  5 * SECOND_MS,
  ...[5, 30].map((minutes) => minutes * MINUTE_MS),
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
];
/** So much more or less, so that what failed together is not tried together. */
const JITTER = 0.2;
/** A receiver cannot put a delivery off for longer. */
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS;

const GONE = 410;

export interface WebhookSenderSettings {
  keySecret: Buffer;
  post: Post;
  /** undefined: mail is off */
  mailing: Mailing | undefined;
}

export interface WebhookSender {
  /** attempts since the start */
  counts: () => { delivered: number; failed: number };
  stop: () => Promise<void>;
}

/**
 * Sends what is queued for receivers of webhooks, at once when this process queues it. At least once: a delivery is recorded
 * after the receiver's answer, and a process that is killed in between leaves a claim that ends.
 */
export function startWebhookSender(
  db: Db,
  settings: WebhookSenderSettings,
  log: Logger,
  now: () => Date,
): WebhookSender {
  const inTurn = createTurnstile(SEARCHING);
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  const counts = { delivered: 0, failed: 0 };

  let failures = 0;
  /** Runs until the stop waits for it. A failure leaves claims, which end by themselves. */
  function track(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .then(
        () => void (failures = 0),
        (error: unknown) => {
          if (failures++ === 0)
            log.warn({ reason: reasonCode(error) }, 'webhooks wait: the outbox cannot be read');
        },
      )
      .finally(() => running.delete(tracked));
    running.add(tracked);
  }

  /** One receiver's work, or that of tests and replays. */
  function createLanes(limit: () => number, claim: (free: number) => Promise<Claimed[]>) {
    let lanes = 0;
    let isClaiming = false;
    let again = false;

    async function fill(): Promise<void> {
      isClaiming = true;
      try {
        do {
          again = false;
          let free = 0;
          // Those that end together free their lanes before one search for all.
          await nextTurn();
          const claimed = await inTurn(async () => {
            free = Math.max(0, limit() - lanes);
            return free === 0 ? [] : claim(free);
          });
          for (const one of claimed) {
            lanes++;
            track(
              follow(one).finally(() => {
                lanes--;
                if (again) wake();
              }),
            );
          }
          // With fewer, nothing more was due.
          again ||= claimed.length === free;
        } while (again && lanes < limit() && !stopping.signal.aborted);
      } finally {
        isClaiming = false;
      }
    }

    function wake(): void {
      again = true;
      if (!isClaiming && lanes < limit() && !stopping.signal.aborted) track(fill());
    }
    return wake;
  }

  /** Delivers a row, and what has waited behind it. */
  async function follow(first: Claimed): Promise<void> {
    for (let next: Claimed | undefined = first; next !== undefined;) next = await deliver(next);
  }

  /** Rows with their receivers, without those whose receiver is gone or takes nothing now. */
  async function withReceivers(rows: Delivery[]): Promise<Claimed[]> {
    const found = new Map<number, WebhookRow | undefined>();
    for (const { webhookId } of rows)
      if (!found.has(webhookId)) found.set(webhookId, await findWebhook(db, webhookId));
    const claimed: Claimed[] = [];
    for (const row of rows) {
      const webhook = found.get(row.webhookId);
      if (webhook === undefined) await deleteOutboxRow(db, row.id);
      else if (webhook.disabledAt !== null && row.kind === 'webhook') {
        // Or its lanes would claim what is put back here again and again.
        receivers.delete(row.webhookId);
        await changeClaimed(db, row, { nextAttemptAt: now() });
      } else claimed.push({ row, webhook });
    }
    return claimed;
  }

  const receivers = new Map<number, () => void>();
  /** receivers for whom COSTLY_LANES is the limit */
  const costly = new Set<number>();
  const wakeNow = createLanes(
    () => NOW_LANES,
    async (free) => {
      const claimed: Delivery[] = [];
      while (claimed.length < free) {
        const row = await claimDeliveryNow(db, now());
        if (row === undefined) break;
        claimed.push(row);
      }
      return withReceivers(claimed);
    },
  );

  let readAt = -Infinity;
  async function wakeAll(): Promise<void> {
    const isFresh = performance.now() - readAt > REMEMBERED_MS / 2;
    const subscribers = await inTurn(() => listSubscribers(db, { isFresh }));
    const enabled = subscribers.filter(({ isEnabled }) => isEnabled);
    if (isFresh) readAt = performance.now();
    for (const known of [receivers, costly])
      for (const id of known.keys()) if (!enabled.some((one) => one.id === id)) known.delete(id);
    for (const { id } of enabled) {
      const claim = async (limit: number) =>
        receivers.has(id) ? withReceivers(await claimDeliveries(db, id, { now: now(), limit })) : [];
      const lanes = () => (costly.has(id) ? COSTLY_LANES : LANES);
      const wake = receivers.get(id) ?? createLanes(lanes, claim);
      receivers.set(id, wake);
      wake();
    }
  }

  /** @returns what has waited behind it, once the receiver has taken it */
  async function deliver({ row, webhook }: Claimed): Promise<Claimed | undefined> {
    const posted = await attempt(webhook, row);
    if (posted === 'cut') {
      await inTurn(() => changeClaimed(db, row, { nextAttemptAt: now() }));
      return undefined;
    }
    const { failure, status, answer, isCut: isLong = false } = posted;
    const answered = { answerStatus: status ?? null, answer: answer === '' ? null : answer };
    const about = { webhook: webhook.id, delivery: row.id, type: row.type };
    if (failure === undefined && !isLong) costly.delete(webhook.id);
    else costly.add(webhook.id);
    if (failure === undefined) {
      counts.delivered++;
      log.debug({ ...about, status }, 'webhook delivered');
      return record(row, {
        ...answered,
        ...{ kind: 'webhook', lane: null, failures: 0, nextAttemptAt: null, sentAt: now() },
        ...{ failedAt: null, lastError: null },
      });
    }
    counts.failed++;
    const reason = status === undefined ? failure : `${failure} ${status}`;
    const { outcome, disabled } = afterFailure(webhook, row, posted, now());
    log.warn({ ...about, reason, attempts: row.attempts }, 'webhook not delivered');
    // First, or the row would be due for a receiver that is still enabled.
    if (disabled !== undefined) await disable(webhook, disabled);
    return record(row, { ...answered, ...outcome, lastError: reason });
  }

  async function attempt(webhook: WebhookRow, row: Delivery): Promise<Posted | 'cut'> {
    const at = now();
    let secrets: string[];
    try {
      secrets = secretsOf(webhook, settings.keySecret, at);
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      return { status: undefined, answer: '', failure: 'SECRET', retryAfter: undefined };
    }
    const body = bodyOf(row);
    const cut = new AbortController();
    cuts.add(cut);
    if (isCut) cut.abort();
    try {
      return await settings.post(
        webhook.url,
        signedHeaders(secrets, webhookIdOf(row), at, body),
        body,
        cut.signal,
      );
    } catch (error) {
      if (cut.signal.aborted) return 'cut';
      throw error;
    } finally {
      cuts.delete(cut);
    }
  }

  /** @returns the next of the row's lane, which a delivered row has held */
  async function record(row: Delivery, outcome: Partial<Delivery>): Promise<Claimed | undefined> {
    const { isTaken, next } = await untilRecorded(() => settle({ row, outcome }), row, {
      ...{ now, stopping: stopping.signal },
    });
    if (!isTaken)
      log.warn({ delivery: row.id }, 'another instance has taken this webhook over: it may arrive twice');
    return next;
  }

  /** Records what arrives together in one commit, and claims what waited behind it in another. */
  const settle = createBatches(async (items: Attempted[]): Promise<(Settled | Promise<Settled>)[]> => {
    const recorded = await recordTogether(items);
    const delivered = items.filter(({ outcome }, i) => recorded[i] === true && outcome.sentAt);
    const nexts = await freeLanes(delivered.map(({ row }) => row));
    return items.map(({ row }, i) => {
      const isTaken = recorded[i];
      if (typeof isTaken !== 'boolean')
        return Promise.reject(isTaken ?? new Error('No outcome was recorded.'));
      return { isTaken, next: nexts.get(row) };
    });
  });

  /** @returns the next of the delivered rows' lanes; a replay's lane has its own order, and is only let go */
  async function freeLanes(delivered: Delivery[]): Promise<Map<Delivery, Claimed>> {
    const freed = delivered.flatMap((row) => {
      const { webhookId, lane, kind } = row;
      return lane === null ? [] : [{ row, webhookId, lane, goesOn: kind === 'webhook' }];
    });
    try {
      const ordered = stopping.signal.aborted ? [] : freed.filter(({ goesOn }) => goesOn);
      for (const lane of freed) if (!ordered.includes(lane)) await releaseLane(db, lane, now());
      const nexts = await withReceivers(await claimNextOfLanes(db, ordered, now()));
      const isOf = (of: Lane) => (next: Claimed) =>
        next.row.webhookId === of.webhookId && next.row.lane === of.lane;
      return new Map(
        ordered.flatMap((lane): [Delivery, Claimed][] => {
          const next = nexts.find(isOf(lane));
          return next === undefined ? [] : [[lane.row, next]];
        }),
      );
    } catch (error) {
      // What is recorded stays so; the lanes' next rows are found once the delivered ones' claims would have ended.
      log.warn({ reason: reasonCode(error) }, 'webhooks wait: the outbox cannot be read');
      return new Map();
    }
  }

  /** @returns for each whether it was still claimed, or why that could not be recorded */
  async function recordTogether(items: Attempted[]): Promise<(boolean | Error)[]> {
    try {
      return await recordOutcomes(db, items);
    } catch (error) {
      if (!isLockConflict(error)) throw error;
    }
    // Somebody holds one of the rows: the others do not wait for it.
    const recorded: (boolean | Error)[] = [];
    for (const item of items)
      recorded.push(
        await recordOutcomes(db, [item]).then(
          ([isTaken]) => isTaken === true,
          (error: unknown) => error as Error,
        ),
      );
    return recorded;
  }

  async function disable({ id }: WebhookRow, reason: DisabledReason): Promise<void> {
    const operators = settings.mailing === undefined ? [] : await listOperators(db);
    const isDisabled = await inTransaction(db, async (trx) => {
      if (!(await setWebhook(trx, id, disabledNow(reason, now()), { disabledAt: null }))) return false;
      for (const { email } of operators)
        await queueMail(
          trx,
          { type: 'webhook_disabled', email, webhookId: id },
          { now: now(), language: (settings.mailing as Mailing).language },
        );
      return true;
    });
    if (isDisabled) log.error({ webhook: id, reason }, 'webhook disabled');
  }

  // At the stop, ends attempts that are under way; another instance makes them again.
  const cuts = new Set<AbortController>();
  let isCut = false;

  let gathering: NodeJS.Timeout | undefined;
  const poll = () => {
    gathering = undefined;
    if (stopping.signal.aborted) return;
    wakeNow();
    track(wakeAll());
  };
  const soon = () => void (gathering ??= setTimeout(poll, GATHER_MS).unref());
  poll();
  const timer = setInterval(poll, POLL_MS).unref();
  const forget = [onQueued(db, 'webhook', soon), onQueued(db, 'webhook_now', soon)];
  return {
    counts: () => ({ ...counts }),
    async stop() {
      stopping.abort();
      clearInterval(timer);
      clearTimeout(gathering);
      for (const one of forget) one();
      const done = async () => {
        while (running.size > 0) await Promise.all(running);
      };
      await Promise.race([done(), sleep(STOP_LIMIT_MS, undefined, { ref: false })]);
      isCut = true;
      for (const cut of cuts) cut.abort();
      await done();
    },
  };
}

/** A claimed row, and the receiver as it was read after the claim. */
interface Claimed {
  row: Delivery;
  webhook: WebhookRow;
}

interface Attempted {
  row: Delivery;
  outcome: Partial<Delivery>;
}

interface Settled {
  /** false: another instance has taken the row over, or it was erased */
  isTaken: boolean;
  next: Claimed | undefined;
}

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** At most so many pieces of work at once, in the order in which they are asked for. */
function createTurnstile(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running === most) await new Promise<void>((resolve) => void waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

/** What becomes of a delivery that was not taken, and whether its receiver is disabled. */
export function afterFailure(
  { enabledAt }: Pick<WebhookRow, 'enabledAt'>,
  {
    type,
    failures: before,
    attemptedBefore,
    failedAt,
  }: Pick<Delivery, 'type' | 'failures' | 'attemptedBefore'> & Partial<Pick<Delivery, 'failedAt'>>,
  { status, retryAfter = 0 }: Pick<Posted, 'status' | 'retryAfter'>,
  now: Date,
  random = Math.random(),
): { outcome: Partial<Delivery>; disabled?: DisabledReason } {
  if (type === 'webhook.test')
    return { outcome: { kind: 'webhook', nextAttemptAt: null, failedAt: now, failures: before + 1 } };
  // Enabling a receiver begins its schedule again. Times are whole seconds: the attempt before may be of the same one.
  const isOver = Boolean(failedAt) || (attemptedBefore ?? enabledAt) < enabledAt;
  const failures = 1 + (isOver ? 0 : before);
  const outcome = { kind: 'webhook' as const, failures, failedAt: null };
  const pause = PAUSES_MS[failures - 1];
  if (status === GONE) return { outcome: { ...outcome, nextAttemptAt: now }, disabled: 'gone' };
  if (pause === undefined)
    return { outcome: { ...outcome, nextAttemptAt: now, failedAt: now }, disabled: 'failing' };
  const jittered = pause * (1 - JITTER + 2 * JITTER * random);
  const wait = Math.max(jittered, Math.min(retryAfter, MAX_RETRY_AFTER_MS));
  return { outcome: { ...outcome, nextAttemptAt: new Date(now.getTime() + wait) } };
}
