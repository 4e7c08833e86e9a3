import { DAY_MS, HOUR_MS } from '../../base/days';
import { forEach } from '../../base/for-each';
import type { Db } from '../../store/engine/database';
import { claimCatchUp, findShop, listReceiverShops } from '../../store/orders/shops';
import { catchUp, type CatchUpContext } from './run';
import { catchUpState } from './standing';

/** UTC: few customers pay then. */
const NIGHT_HOUR = 3;
/** Of a hundred pages; the rest is for the next hour. */
const MAX_RUNS = 10;

/** How often a run under way asks whether the service stops. */
const LOOK_EVERY_MS = 1_000;

/**
 * Catches up each shop that can be, once a night, and goes on with what an hour ago was not done.
 * @param turn see `Turn` (runner/jobs.ts)
 */
export async function catchUpAll(
  db: Db,
  given: Omit<CatchUpContext, 'cut'>,
  { goesOn, pause }: { goesOn: () => Promise<boolean>; pause: (ms: number) => Promise<boolean> },
): Promise<void> {
  const stop = new AbortController();
  const context = { ...given, cut: stop.signal };
  await forEach(await listReceiverShops(db), async ({ id, name, ...shop }) => {
    if (catchUpState(shop) !== 'ready' || !(await goesOn())) return;
    const now = context.now();
    const due = { before: lastNight(now), interruptedBefore: new Date(now.getTime() - HOUR_MS) };
    if (!(await claimCatchUp(db, id, now, due))) return;
    for (let runs = 0; runs < MAX_RUNS && (await goesOn()); runs++) {
      // The place where the last run ended is in its row.
      const row = await findShop(db, name);
      if (row === undefined || catchUpState(row) !== 'ready') break;
      const running = cutAtStop(catchUp(db, row, undefined, context), stop, pause);
      const ran = await running.catch((error: unknown) => {
        if (!stop.signal.aborted) throw error;
        return undefined;
      });
      if (ran === undefined || ran.isDone || ran.failure !== null) break;
    }
  });
}

async function cutAtStop<T>(
  work: Promise<T>,
  stop: AbortController,
  pause: (ms: number) => Promise<boolean>,
): Promise<T> {
  let isOver = false;
  const watch = async () => {
    while (!isOver && (await pause(LOOK_EVERY_MS)));
    if (!isOver) stop.abort();
  };
  void watch();
  return work.finally(() => (isOver = true));
}

function lastNight(now: Date): Date {
  const night = new Date(now);
  night.setUTCHours(NIGHT_HOUR, 0, 0, 0);
  return night > now ? new Date(night.getTime() - DAY_MS) : night;
}
