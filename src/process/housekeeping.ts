import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { countAllLicenses, sumUp } from '../licensing/statistics';
import { dayOf } from '../licensing/timestamps';
import { pruneAccesses } from '../store/access-log';
import type { Db } from '../store/database';
import { deleteDeliveries, listReceiversOfRows } from '../store/deliveries';
import { reasonCode } from '../store/errors';
import { pruneCalls } from '../store/idempotency';
import { pruneOutbox, type OutboxKind } from '../store/outbox';
import { holdLease, releaseLease, type Lease } from '../store/leases';
import { pruneLinkRequests } from '../store/link-requests';
import { pruneCodes } from '../store/one-time-codes';
import { pruneSessions } from '../store/sessions';
import { pruneMessages } from '../store/shop-messages';
import { pruneRefusedDays } from '../store/shop-refusals';
import { pruneRefused } from '../store/sums';
import { findWebhook } from '../store/webhooks';

/** With the lease, a killed instance is replaced before the statistics are a minute old. */
const EVERY_MS = 20 * 1000;
/** Between the batches of a backlog, for the requests of a small machine. */
const SUM_PAUSE_MS = 20;
const PRUNE_EVERY_MS = 60 * 60 * 1000;
const FORGET_EVERY_MS = 60 * 1000;
/** With more than 200 ids MariaDB plans from its statistics, and may read and lock the whole log. */
const ROWS_AT_ONCE = 100;
const LEAST_AT_ONCE = 10;
const PAUSE_MS = 100;
const RUN_ORDERS_EVERY_MS = 60 * 1000;
const REMIND_EVERY_MS = 10 * 60 * 1000;
/** A cancelled DELETE rolls back first, and holds its row locks until then. */
const PAUSE_AFTER_FAILURE_MS = 3_000;
const DAY_MS = 24 * 60 * 60 * 1000;
/** A mail is tried for two days, a webhook for four. */
const TRIED_DAYS = { mail: 3, webhook: 5, webhook_now: 5 } satisfies Record<OutboxKind, number>;
/** A call with an Idempotency-Key is repeated for a day. */
const CALLS_KEPT_MS = DAY_MS;
/** A slot for links is taken for an hour. */
const LINK_REQUESTS_KEPT_MS = 60 * 60 * 1000;
/** Until then a page can say that the session has ended. */
const SESSIONS_KEPT_MS = DAY_MS;

export interface Jobs {
  /** queues the reminders that are due, every ten minutes; undefined: mail is off */
  remind?: ((lease: Lease, goesOn: () => Promise<boolean>) => Promise<unknown>) | undefined;
  /** runs orders that wait for what has come since, every minute */
  runOrders?: (goesOn: () => Promise<boolean>) => Promise<unknown>;
}

/**
 * Keeps the daily sums up to date, and deletes access log entries older than `logDays` once they are summed, and calls
 * with an Idempotency-Key after a day, and mails and webhooks as old, now and every hour, in small deletes. What signing
 * in leaves goes each minute, since an address that asked for a link shall be forgotten after an hour. One instance does it for all.
 * @returns call it to stop
 */
export function startHousekeeping(
  db: Db,
  logDays: number,
  log: Logger,
  now: () => Date,
  { remind, runOrders }: Jobs = {},
): () => Promise<void> {
  const lease: Lease = { name: 'housekeeping', holder: randomBytes(16).toString('hex') };
  const stopping = new AbortController();
  const pause = (ms: number) => sleep(ms, undefined, { signal: stopping.signal }).catch(() => undefined);
  const isHeld = async () => !stopping.signal.aborted && (await holdLease(db, lease, now()));
  const goesOn = async () => {
    await pause(SUM_PAUSE_MS);
    return !stopping.signal.aborted;
  };

  async function prune(): Promise<void> {
    const before = new Date(now().getTime() - logDays * DAY_MS);
    await pruneAll((rows) => pruneCalls(db, new Date(now().getTime() - CALLS_KEPT_MS), rows));
    await pruneAll((rows) => pruneAccesses(db, before, rows));
    await pruneAll((rows) => pruneRefused(db, dayOf(before), rows));
    await pruneAll((rows) => pruneMessages(db, before, rows));
    await pruneAll((rows) => pruneRefusedDays(db, dayOf(before), rows));
    for (const [kind, days] of Object.entries(TRIED_DAYS) as [OutboxKind, number][]) {
      const tried = new Date(now().getTime() - days * DAY_MS);
      await pruneAll((rows) => pruneOutbox(db, kind, before < tried ? before : tried, rows));
    }
    for (const id of await listReceiversOfRows(db))
      if ((await findWebhook(db, id)) === undefined) await pruneAll((rows) => deleteDeliveries(db, id, rows));
  }

  async function pruneSignIns(): Promise<void> {
    const ago = (ms: number) => new Date(now().getTime() - ms);
    await pruneAll((rows) => pruneLinkRequests(db, ago(LINK_REQUESTS_KEPT_MS), rows));
    await pruneAll((rows) => pruneCodes(db, now(), rows));
    await pruneAll((rows) => pruneSessions(db, ago(SESSIONS_KEPT_MS), rows));
  }

  async function pruneAll(pruneSome: (rows: number) => Promise<number>): Promise<void> {
    for (let rows = ROWS_AT_ONCE; await isHeld();)
      try {
        if ((await pruneSome(rows)) < rows) return;
        await pause(PAUSE_MS);
      } catch (error) {
        // A slow disk may not manage this many rows within the statement time-out, now or in an hour.
        if (rows <= LEAST_AT_ONCE) throw error;
        rows /= 10;
        await pause(PAUSE_AFTER_FAILURE_MS);
      }
  }

  /** For what takes too long to wait for when many entries are old. */
  function inBackground(everyMs: number, job: () => Promise<unknown>, failure: string) {
    let next = -Infinity;
    let running: Promise<unknown> | undefined;
    return {
      startIfDue() {
        if (performance.now() < next || stopping.signal.aborted) return;
        next = performance.now() + everyMs;
        running ??= job()
          .catch((error: unknown) => log.warn({ reason: reasonCode(error) }, failure))
          .finally(() => (running = undefined));
      },
      ended: () => running,
    };
  }
  const pruning = inBackground(
    PRUNE_EVERY_MS,
    prune,
    'the access log could not be pruned; it is tried again in an hour',
  );
  const forgetting = inBackground(
    FORGET_EVERY_MS,
    pruneSignIns,
    'old sessions and codes could not be deleted; it is tried again in a minute',
  );

  const runningOrders = inBackground(
    RUN_ORDERS_EVERY_MS,
    async () => runOrders?.(async () => (await goesOn()) && (await isHeld())),
    'orders that waited could not be run; it is tried again in a minute',
  );

  let nextReminding = -Infinity;
  async function remindOfEnds(): Promise<void> {
    if (remind === undefined || performance.now() < nextReminding || !(await isHeld())) return;
    nextReminding = performance.now() + REMIND_EVERY_MS;
    try {
      await remind(lease, async () => (await goesOn()) && (await isHeld()));
    } catch (error) {
      log.warn(
        { reason: reasonCode(error) },
        'reminders could not be queued; it is tried again in ten minutes',
      );
    }
  }

  async function work(): Promise<void> {
    await remindOfEnds();
    if (await isHeld()) runningOrders.startIfDue();
    if (!(await isHeld()) || !(await sumUp(db, lease, now, goesOn))) return;
    await countAllLicenses(db, lease, now);
    pruning.startIfDue();
    forgetting.startIfDue();
  }

  let running: Promise<void> | undefined;
  let failures = 0;
  function run(): void {
    running ??= work()
      .then(
        () => void (failures = 0),
        (error: unknown) => {
          if (failures++ === 0)
            log.warn(
              { reason: reasonCode(error) },
              'the daily sums are behind; they are tried again every 20 s',
            );
        },
      )
      .finally(() => (running = undefined));
  }
  run();
  const timer = setInterval(run, EVERY_MS).unref();
  return async () => {
    stopping.abort();
    clearInterval(timer);
    await running;
    await pruning.ended();
    await forgetting.ended();
    await runningOrders.ended();
    await releaseLease(db, lease).catch(() => undefined);
  };
}
