/**
 * Outlives the process that started it by a moment, to end what that left behind: private servers and temporary
 * folders. It reads lines "pid N", "done N" and "dir PATH"; the end of its input is the end of its parent, however
 * that came about.
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
// Each leads a group of its own, in which are its workers: nginx's and PHP-FPM's outlive their master.
for (const pid of pids)
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has ended already
  }
if (pids.size > 0) await sleep(300);
for (const dir of dirs) rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
