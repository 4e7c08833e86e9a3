import type { Logger } from 'pino';
import { DAY_MS, HOUR_MS, MINUTE_MS, dayOf } from '../base/days';
import { refreshExposures } from '../figures/exposure';
import { refreshFigures } from '../figures/kept-figures';
import { lastMonths } from '../figures/renewals';
import { countAllLicenses, aggregateNewRows } from '../figures/statistics';
import { SPREAD_DAYS, REPORTED_SITE_DAYS } from '../licensing/spreading';
import { pruneAccesses } from '../store/access-log';
import type { Db } from '../store/engine/database';
import { deleteDeliveries, listReceiversOfRows } from '../store/deliveries';
import { pruneCalls } from '../store/idempotency';
import { recordEarlierDownloads } from '../store/licenses/license-downloads';
import { pruneLimitCounts } from '../store/limit-counts';
import { pruneLinkRequests } from '../store/link-requests';
import { pruneCodes } from '../store/one-time-codes';
import { pruneOutbox, type OutboxKind } from '../store/outbox';
import { areWordsNew, refreshChanged, refreshRenamed } from '../store/search-words';
import { pruneSessions } from '../store/sessions';
import { pruneMessages } from '../store/orders/shop-messages';
import { pruneRefusedDays } from '../store/orders/shop-refusals';
import { pruneLicenseMonths, pruneRefused } from '../store/sums';
import { pruneReportedSites } from '../store/reported-sites';
import { findWebhook } from '../store/webhooks';
import { startScheduler, type Job, type Turn } from './jobs';
import type { Stop } from './loop';

const SECOND_MS = 1_000;
/** The interval of the jobs. With the lease, a killed instance is replaced before the statistics are a minute old. */
const EVERY_MS = 20 * SECOND_MS;
/** The pause between batches of a backlog, so that a small machine can answer requests. */
const SUM_PAUSE_MS = 20;
/** The pause after counting the figures, as a multiple of its duration: counting is slow with a million licences. */
const FIGURES_REST = 100;
/** The rows of one DELETE. With more than 200 ids, MariaDB plans by its statistics and may read and lock the whole log. */
const BATCH_SIZE = 100;
const MIN_BATCH_SIZE = 10;
const PAUSE_MS = 100;
/** The pause after a failure, because a cancelled DELETE keeps its row locks until it is rolled back. */
const PAUSE_AFTER_FAILURE_MS = 3_000;
/** The days after which rows of the outbox are deleted: a mail is retried for two days, a webhook for four. */
const TRIED_DAYS = { mail: 3, webhook: 5, webhook_now: 5 } satisfies Record<
  Exclude<OutboxKind, 'notice'>,
  number
>;
/** The time for which a call with an Idempotency-Key can be repeated. */
const CALLS_KEPT_MS = DAY_MS;
/** The time for which a request for a sign-in link is stored: a client may request a few in an hour. */
const LINK_REQUESTS_KEPT_MS = HOUR_MS;
/** The time for which the earlier version may run after the tables are brought up to date. */
const UPGRADED_MS = 14 * DAY_MS;
/** The longest time between a change and its commit, with room. */
const WORDS_OVERLAP_MS = 5 * MINUTE_MS;
/** The time for which a page can still explain that a session has ended. */
const SESSIONS_KEPT_MS = DAY_MS;

/**
 * Runs the jobs in `others`, updates the daily sums and deletes old rows. A lease lets one instance do this for all.
 * @param logDays returns the present retention of the access log
 * @returns a function that stops the jobs
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
  /** the time since which licences may have other words; undefined before the first refresh */
  let changedSince: Date | undefined;
  const jobs: Job[] = [
    ...others,
    {
      name: 'sums',
      run: async ({ lease, pause }) =>
        (await aggregateNewRows(db, lease, now, () => pause(SUM_PAUSE_MS))) &&
        countAllLicenses(db, lease, now),
    },
    {
      name: 'figures',
      everyMs: MINUTE_MS,
      isDue: () => Promise.resolve(performance.now() >= restsUntil),
      async run({ lease }) {
        const started = performance.now();
        const isKept = await refreshFigures(db, lease, now);
        restsUntil = performance.now() + FIGURES_REST * (performance.now() - started);
        return isKept;
      },
      failure: 'the figures of the overview could not be counted; it is tried again in a minute',
    },
    {
      name: 'search words',
      // Soon, because an erasure by the earlier version leaves words of a person.
      everyMs: MINUTE_MS,
      inBackground: true,
      async run() {
        const isUpgraded = changedSince === undefined && (await areWordsNew(db, ago(UPGRADED_MS)));
        const overlaps = ago(WORDS_OVERLAP_MS);
        await refreshChanged(db, changedSince ?? ago(isUpgraded ? UPGRADED_MS : 2 * HOUR_MS));
        changedSince = overlaps;
      },
      failure: 'the words of the search could not be refreshed; it is tried again in a minute',
    },
    {
      name: 'names in the search',
      everyMs: HOUR_MS,
      inBackground: true,
      // Twice the interval: during an upgrade, the earlier version changes licences until its last instance ends.
      run: () => refreshRenamed(db, ago(2 * HOUR_MS)),
      failure: 'the names in the search could not be refreshed; it is tried again in an hour',
    },
    {
      name: 'downloads of the earlier version',
      everyMs: HOUR_MS,
      inBackground: true,
      // Twice the interval, for the same reason.
      run: () => recordEarlierDownloads(db, ago(2 * HOUR_MS)),
      failure: 'the last downloads could not be completed; it is tried again in an hour',
    },
    {
      name: 'exposure',
      inBackground: true,
      run: ({ goesOn }) => refreshExposures(db, now, goesOn),
      failure: 'the exposure to a hole could not be counted; it is tried again in 20 s',
    },
    {
      // This comes after the sums, because rows are only deleted after they are summed.
      name: 'prune',
      everyMs: HOUR_MS,
      inBackground: true,
      run: (turn) => prune(db, turn, ago(logDays() * DAY_MS), ago),
      failure: 'the access log could not be pruned; it is tried again in an hour',
    },
    {
      // This runs each minute, so that an address that requested a link is deleted after an hour.
      name: 'prune sign-ins',
      everyMs: MINUTE_MS,
      inBackground: true,
      async run(turn) {
        await pruneAll(turn, (rows) => pruneLinkRequests(db, ago(LINK_REQUESTS_KEPT_MS), rows));
        await pruneAll(turn, (rows) => pruneCodes(db, now(), rows));
        await pruneAll(turn, (rows) => pruneSessions(db, ago(SESSIONS_KEPT_MS), rows));
        // This is last, because in a flood of requests it lasts as long as the flood.
        await pruneAll(turn, (rows) => pruneLimitCounts(db, now(), rows));
      },
      failure: 'old sessions and codes could not be deleted; it is tried again in a minute',
    },
  ];
  const failure = 'the daily sums are behind; they are tried again every 20 s';
  return startScheduler(db, { lease: 'housekeeping', everyMs: EVERY_MS, jobs, failure }, log, now);
}

async function prune(db: Db, turn: Turn, before: Date, ago: (ms: number) => Date): Promise<void> {
  await pruneAll(turn, (rows) => pruneCalls(db, ago(CALLS_KEPT_MS), rows));
  await pruneAll(turn, (rows) => pruneAccesses(db, before, rows));
  await pruneAll(turn, (rows) => pruneRefused(db, dayOf(before), rows));
  await pruneAll(turn, (rows) => pruneLicenseMonths(db, lastMonths(ago(0))[0] as string, rows));
  const told = { sites: ago(REPORTED_SITE_DAYS * DAY_MS), networks: ago(SPREAD_DAYS * DAY_MS) };
  await pruneAll(turn, (rows) => pruneReportedSites(db, told, rows));
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

/** Deletes in batches. @param pruneSome deletes at most the given number of rows, and returns how many it deleted */
async function pruneAll({ goesOn }: Turn, pruneSome: (rows: number) => Promise<number>): Promise<void> {
  let pauseMs = 0;
  for (let rows = BATCH_SIZE; await goesOn(pauseMs);)
    try {
      if ((await pruneSome(rows)) < rows) return;
      pauseMs = PAUSE_MS;
    } catch (error) {
      // Use smaller batches: a slow disk may never delete this many rows within the statement timeout.
      if (rows <= MIN_BATCH_SIZE) throw error;
      rows /= 10;
      pauseMs = PAUSE_AFTER_FAILURE_MS;
    }
}
