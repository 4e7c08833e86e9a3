import { readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { AS_THEY_ARE, buildCommon } from '../../scripts/release/tree.mjs';

/**
 * Writes the program like a release, without Node and SQLite's compiled files, unless it is newer than all its sources.
 * One of its commands loads a few files; one of the ordinary build loads 1,143, which takes three times the CPU.
 */

const root = join(import.meta.dirname, '../..');
const [to] = process.argv.slice(2);
const MADE_OF = ['src', 'migrations', 'seeds', 'scripts/release', 'package-lock.json', ...AS_THEY_ARE];

/** Returns the time of the newest file or folder. A folder is newer than a file that was deleted from it. */
function newest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))));
}

const began = new Date();
const written = statSync(to, { throwIfNoEntry: false })?.mtimeMs ?? 0;
if (Math.max(...MADE_OF.map((path) => newest(join(root, path)))) > written) {
  // Write into a separate folder first: another run of the tests may be starting programs from the old one.
  const [next, old] = [`${to}.${process.pid}`, `${to}.${process.pid}.old`];
  await buildCommon(next);
  utimesSync(next, began, began);
  if (written > 0) renameSync(to, old);
  renameSync(next, to);
  rmSync(old, { recursive: true, force: true });
}
