/**
 * Outlives its parent process briefly, to end its private servers and remove its temporary folders. Reads lines "pid
 * N", "done N" and "dir PATH"; the end of its input means that the parent has ended, for any reason.
 */
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const pids = new Set();
const dirs = new Set();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);

for await (const line of createInterface({ input: process.stdin })) {
  const [word, value] = line.split(/ (.*)/s);
  if (word === 'pid') pids.add(Number(value));
  if (word === 'done') pids.delete(Number(value));
  if (word === 'dir') dirs.add(value);
}
// Kill the group that each process leads, because the workers of nginx and PHP-FPM outlive their master.
for (const pid of pids)
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has already ended.
  }
if (pids.size > 0) await sleep(300);
for (const dir of dirs) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
