import type { Logger } from 'pino';
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf } from '../base/days';
import { keepFigures } from '../figures/kept-figures';
import { lastMonths } from '../figures/renewals';
import { countAllLicenses, sumUp } from '../figures/statistics';
import { SPREAD_DAYS, TOLD_DAYS } from '../licensing/told';
import { pruneAccesses } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { deleteDeliveries, listReceiversOfRows } from '../store/deliveries';
import { pruneCalls } from '../store/idempotency';
import { pruneLimitCounts } from '../store/limit-counts';
import { pruneLinkRequests } from '../store/link-requests';
import { pruneCodes } from '../store/one-time-codes';
import { pruneOutbox, type OutboxKind } from '../store/outbox';
import { pruneSessions } from '../store/sessions';
import { pruneMessages } from '../store/orders/shop-messages';
import { pruneRefusedDays } from '../store/orders/shop-refusals';
import { pruneLicenseMonths, pruneRefused } from '../store/sums';
import { pruneTold } from '../store/told';
import { findWebhook } from '../store/webhooks';
import { startJobs, type Job, type Turn } from './jobs';
import type { Stop } from './loop';

const SECOND_MS = 1_000;
/** With the lease, a killed instance is replaced before the statistics are a minute old. */
const EVERY_MS = 20 * SECOND_MS;
/** Between the batches of a backlog, for the requests of a small machine. */
const SUM_PAUSE_MS = 20;
/** After counting the figures it rests so many times as long: they are dear with a million licences. */
const FIGURES_REST = 100;
/** With more than 200 ids MariaDB plans from its statistics, and may read and lock the whole log. */
const ROWS_AT_ONCE = 100;
const LEAST_AT_ONCE = 10;
const PAUSE_MS = 100;
/** A cancelled DELETE rolls back first, and holds its row locks until then. */
const PAUSE_AFTER_FAILURE_MS = 3_000;
/** A mail is tried for two days, a webhook for four. */
const TRIED_DAYS = { mail: 3, webhook: 5, webhook_now: 5 } satisfies Record<OutboxKind, number>;
/** A call with an Idempotency-Key is repeated for a day. */
const CALLS_KEPT_MS = DAY_MS;
/** A client may ask for a few links in an hour. */
const LINK_REQUESTS_KEPT_MS = HOUR_MS;
/** Until then a page can say that the session has ended. */
const SESSIONS_KEPT_MS = DAY_MS;

/**
 * Runs `others`, then keeps the daily sums up to date and deletes what is old. One instance does it for all.
 * @param logDays how long entries of the access log are kept, as the settings are now
 * @returns call it to stop
 */
export function startHousekeeping(
  db: Db,
  logDays: () => number,
  log: Logger,
  now: () => Date,
  others: Job[] = [],
): Stop {
  const ago = (ms: number) => new Date(now().getTime() - ms);
  let restsUntil = 0;
  const jobs: Job[] = [
    ...others,
    {
      name: 'sums',
      run: async ({ lease, pause }) =>
        (await sumUp(db, lease, now, () => pause(SUM_PAUSE_MS))) && countAllLicenses(db, lease, now),
    },
    {
      name: 'figures',
      everyMs: MINUTE_MS,
      isDue: () => Promise.resolve(performance.now() >= restsUntil),
      async run({ lease }) {
        const started = performance.now();
        const isKept = await keepFigures(db, lease, now);
        restsUntil = performance.now() + FIGURES_REST * (performance.now() - started);
        return isKept;
      },
      failure: 'the figures of the overview could not be counted; it is tried again in a minute',
    },
    {
      // After the sums, because only what is summed is deleted.
      name: 'prune',
      everyMs: HOUR_MS,
      inBackground: true,
      run: (turn) => prune(db, turn, ago(logDays() * DAY_MS), ago),
      failure: 'the access log could not be pruned; it is tried again in an hour',
    },
    {
      // Each minute: an address that asked for a link is forgotten after an hour.
      name: 'prune sign-ins',
      everyMs: MINUTE_MS,
      inBackground: true,
      async run(turn) {
        await pruneAll(turn, (rows) => pruneLinkRequests(db, ago(LINK_REQUESTS_KEPT_MS), rows));
        await pruneAll(turn, (rows) => pruneCodes(db, now(), rows));
        await pruneAll(turn, (rows) => pruneSessions(db, ago(SESSIONS_KEPT_MS), rows));
        // Last: in a flood it takes as long as that.
        await pruneAll(turn, (rows) => pruneLimitCounts(db, now(), rows));
      },
      failure: 'old sessions and codes could not be deleted; it is tried again in a minute',
    },
  ];
  const failure = 'the daily sums are behind; they are tried again every 20 s';
  return startJobs(db, { lease: 'housekeeping', everyMs: EVERY_MS, jobs, failure }, log, now);
}

async function prune(db: Db, turn: Turn, before: Date, ago: (ms: number) => Date): Promise<void> {
  await pruneAll(turn, (rows) => pruneCalls(db, ago(CALLS_KEPT_MS), rows));
  await pruneAll(turn, (rows) => pruneAccesses(db, before, rows));
  await pruneAll(turn, (rows) => pruneRefused(db, dayOf(before), rows));
  await pruneAll(turn, (rows) => pruneLicenseMonths(db, lastMonths(ago(0))[0] as string, rows));
  const told = { sites: ago(TOLD_DAYS * DAY_MS), networks: ago(SPREAD_DAYS * DAY_MS) };
  await pruneAll(turn, (rows) => pruneTold(db, told, rows));
  await pruneAll(turn, (rows) => pruneMessages(db, before, rows));
  await pruneAll(turn, (rows) => pruneRefusedDays(db, dayOf(before), rows));
  for (const [kind, days] of Object.entries(TRIED_DAYS) as [OutboxKind, number][]) {
    const tried = ago(days * DAY_MS);
    await pruneAll(turn, (rows) => pruneOutbox(db, kind, before < tried ? before : tried, rows));
  }
  for (const id of await listReceiversOfRows(db))
    if ((await findWebhook(db, id)) === undefined)
      await pruneAll(turn, (rows) => deleteDeliveries(db, id, rows));
}

/** @param pruneSome deletes at most so many rows, and returns how many */
async function pruneAll({ goesOn }: Turn, pruneSome: (rows: number) => Promise<number>): Promise<void> {
  let pauseMs = 0;
  for (let rows = ROWS_AT_ONCE; await goesOn(pauseMs);)
    try {
      if ((await pruneSome(rows)) < rows) return;
      pauseMs = PAUSE_MS;
    } catch (error) {
      // A slow disk may not manage this many rows within the statement time-out, now or in an hour.
      if (rows <= LEAST_AT_ONCE) throw error;
      rows /= 10;
      pauseMs = PAUSE_AFTER_FAILURE_MS;
    }
}
