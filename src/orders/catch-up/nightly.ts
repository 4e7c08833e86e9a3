import { DAY_MS, HOUR_MS } from '../../base/days';
import { forEach } from '../../base/for-each';
import type { Db } from '../../store/engine/database';
import { claimCatchUp, findShop, listReceiverShops } from '../../store/orders/shops';
import { catchUp, type CatchUpContext } from './run';
import { catchUpState } from './standing';

/** The hour (UTC) of the nightly runs, when few customers pay. */
const NIGHT_HOUR = 3;
/** The maximum number of runs, of a hundred pages each. The next hour continues. */
const MAX_RUNS = 10;

/** The interval at which a run checks whether the service is stopping. */
const LOOK_EVERY_MS = 1_000;

/**
 * Catches up each shop once a night, and each hour continues the shops whose run is not complete.
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
      // Read the row again: it has the cursor of the last run.
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
