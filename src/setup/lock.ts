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
import { run } from './machine';

/**
 * One of "licensing setup", "licensing upgrade" and the package's scripts at a time, by flock(1). The kernel's lock goes with
 * the processes that have the file open, however they end, so that none is left behind.
 */

/** In a folder that only root may write to, and that a start of the machine empties. deploy/debian/alone knows it too. */
export const LOCK = '/run/licensing-gateway.lock';

/** What a program that is started with `pass` has the lock as. */
const PASSED = 3;
const TAKEN = 75;

let held: number | undefined;

/** The lock's descriptor, for programs that go on when this process is ended, or that take the lock themselves. */
export function heldLock(): number | undefined {
  return held;
}

/**
 * Takes the lock until this process and those that it passed the lock to have ended.
 * @param who as others are told, such as `licensing setup`
 * @throws OperatorError that says who has it since when
 */
export async function holdLock(who: string, now: Date, path: string = LOCK): Promise<void> {
  if (isPassed(path)) {
    held = PASSED;
    return;
  }
  const lock = openSync(path, 'a', 0o600);
  const { code, stderr } = await run(
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

/** Whether the program that started this one has the lock, and handed it on. */
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
    (isGone ? 'It was ended, and a program that it started still works. ' : '') +
    'Run this again when it has ended.'
  );
}
