import { DAY_MS, formatTimestamp } from '../base/days';
import { readCatchUps } from '../orders/catch-up/standing';
import { ok, warning, type Check, type CheckFinding } from './finding';

/** The time after which a catch-up is late: a run each night, and one that was missed. */
const LATE_MS = 2 * DAY_MS;

/** Reports when each shop was last caught up with its own list, and which shops cannot be caught up. */
export const checkCatchUp: Check = async ({ db, now }): Promise<CheckFinding[]> => {
  const shops = await readCatchUps(db);
  const findings: CheckFinding[] = [];
  const fine: { name: string; last: string | undefined }[] = [];
  for (const { state, name, caughtUpAt, catchUpFailure, catchUpTriedAt } of shops) {
    if (state !== 'ready') continue;
    const last = caughtUpAt === null ? undefined : formatTimestamp(caughtUpAt);
    // Before the first success, count from the first attempt, which may still be running.
    const latest = caughtUpAt ?? catchUpTriedAt;
    const isLate = latest !== null && latest.getTime() < now().getTime() - LATE_MS;
    if (catchUpFailure === null && !isLate) {
      fine.push({ name, last });
      continue;
    }
    findings.push(
      warning('CATCH_UP_FAILED', (t) => t.catchUpFailed(name, catchUpFailure ?? undefined, last)),
    );
  }
  if (fine.length > 0) findings.push(ok('CATCH_UP', (t) => t.caughtUp(fine)));
  const others = shops.flatMap(({ name, state }) => (state === 'ready' ? [] : { name, state }));
  const mendable = others.find(({ state }) => state !== 'cannot')?.name;
  const help = mendable && `licensing shop edit ${mendable} --api-key-file FILE (docs/shop-catch-up.md)`;
  if (others.length > 0) findings.push(ok('CATCH_UP_NOT', (t) => t.catchUpNot(others, help)));
  return findings;
};
