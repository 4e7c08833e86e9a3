import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { OperatorError } from '../licensing/operator-error';
import { runLine } from './machine';

/**
 * Lets only one of "licensing setup", "licensing upgrade" and the package's scripts run at a time, by flock(1). The
 * kernel releases the lock when all processes with the open file have ended, so that no stale lock remains.
 */

/** In a folder that only root may write to, and that is empty after a boot. deploy/debian/alone uses this path too. */
export const LOCK = '/run/licensing-gateway.lock';

/** The descriptor as which a program started with `pass` receives the lock. */
const PASSED = 3;
const TAKEN = 75;

let held: number | undefined;

/** Returns the lock's descriptor, for programs that outlive this process or take the lock themselves. */
export function heldLock(): number | undefined {
  return held;
}

/**
 * Takes the lock until this process and the processes that it passed the lock to have ended.
 * @param who the holder's name for others, such as `licensing setup`
 * @throws OperatorError that names the holder and the time
 */
export async function holdLock(who: string, now: Date, path: string = LOCK): Promise<void> {
  if (isPassed(path)) {
    held = PASSED;
    return;
  }
  const lock = openSync(path, 'a', 0o600);
  const { code, stderr } = await runLine(
    ['flock', '--nonblock', '--conflict-exit-code', `${TAKEN}`, `${PASSED}`],
    {
      pass: lock,
    },
  );
  if (code !== 0) closeSync(lock);
  if (code === TAKEN) throw new OperatorError(describeHolder(path), { code: 'CONFLICT' });
  if (code !== 0) throw new OperatorError(`${path} cannot be locked: ${stderr.trim()}`);
  ftruncateSync(lock);
  writeSync(
    lock,
    `${who} (process ${process.pid}) since ${now.toISOString().replace(/T|\.\d+Z/g, ' ')}UTC\n`,
  );
  held = lock;
}

/** Reports whether the program that started this one holds the lock and passed it on. */
function isPassed(path: string): boolean {
  try {
    const [ours, there] = [fstatSync(PASSED), statSync(path)];
    return ours.dev === there.dev && ours.ino === there.ino;
  } catch {
    return false;
  }
}

function describeHolder(path: string): string {
  const holder = readFileSync(path, 'utf8').trim();
  const [, pid] = /\(process (\d+)\)/.exec(holder) ?? [];
  const isGone = pid !== undefined && !existsSync(`/proc/${pid}`);
  return (
    `Nothing was changed, because another run changes this machine: ${holder}. ` +
    (isGone ? 'It was ended, but a program that it started is still running. ' : '') +
    'Run this again once it has ended.'
  );
}
