import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { table } from '../../src/store/engine/database';
import { endProcess, eventually, startProcess, temporaryFolder } from '../support/processes';
import { CLI } from '../support/program';
import { DATABASE_KINDS } from '../support/service';
import { processEnvironment } from '../support/service-process';
import {
  closePlaces,
  contents,
  importJson,
  largeFile,
  place,
  writeText,
  type Place,
} from '../support/transfers';

/** Exports and imports of tens of thousands of licences that are interrupted, killed or measured. */

afterAll(closePlaces);

describe.each(DATABASE_KINDS)('a large export or import on %s', (kind) => {
  it('leaves no file of an export behind when it is interrupted', async () => {
    const large = await place(kind);
    await importJson(large, largeFile(20_000));
    const folder = temporaryFolder();
    const child = startProcess(process.execPath, [CLI, 'export', '--out', join(folder, 'all.jsonl')], {
      env: processEnvironment(large.settings),
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    await eventually(() => {
      const [file = ''] = readdirSync(folder);
      expect(statSync(join(folder, file)).size).toBeGreaterThan(100_000);
    });
    child.kill('SIGINT');
    expect(await ended).toEqual([null, 'SIGINT']);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('leaves nothing half done of an import that is killed while it is read, and comes in whole the next time', async () => {
    const to = await place(kind);
    const count = 30_000;
    const text = readFileSync(largeFile(count));
    const child = startProcess(process.execPath, [CLI, 'import', '-'], {
      env: processEnvironment(to.settings),
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    child.stdin!.on('error', () => undefined).write(text.subarray(0, Math.floor(text.length * 0.7)));
    await eventually(() => expectUncommittedRows(to), 60_000);
    await endProcess(child, 'SIGKILL');
    await eventually(async () => expect(Object.values(await contents(to.db)).flat()).toEqual([]));

    let highest = 0;
    const second = startProcess(process.execPath, [CLI, 'import', writeText(text)], {
      env: processEnvironment(to.settings),
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = once(second, 'close');
    while (second.exitCode === null && second.signalCode === null) {
      const status = `/proc/${second.pid!}/status`;
      if (existsSync(status))
        highest = Math.max(highest, Number(/VmHWM:\s+(\d+)/.exec(readFileSync(status, 'utf8'))?.[1] ?? 0));
      await sleep(100);
    }
    expect(await ended).toEqual([0, null]);
    expect(highest / 1024).toBeLessThan(300);
    const all = await contents(to.db);
    expect([all.license.length, all.activation.length, all.event.length]).toEqual([count, count, count]);
    expect(all.license.every(({ activations_used }) => activations_used === 1)).toBe(true);
  }, 180_000);
});

it('leaves no log as large as the import beside an SQLite database in use', async () => {
  const to = await place('SQLite');
  await importJson(to, largeFile(30_000));
  const { LICENSING_DATABASE_URL: url } = to.settings;
  await to.operator.json(['license', 'issue', '--plan', '1']);
  await to.db(table(to.db, 'plans')).update({ name: 'One' });
  const wal = `${url!.slice('sqlite:'.length)}-wal`;
  expect(existsSync(wal) ? statSync(wal).size : 0).toBeLessThanOrEqual(8 * 1024 * 1024);
});

/** Expects rows of a running import: by a query that ignores commits, or in SQLite's write-ahead log. */
async function expectUncommittedRows({ settings, db }: Place): Promise<void> {
  const url = settings.LICENSING_DATABASE_URL!;
  if (url.startsWith('sqlite:'))
    return expect(statSync(`${url.slice(7)}-wal`).size).toBeGreaterThan(5_000_000);
  const connection = await createConnection(url.replace('root:@', 'root@'));
  try {
    await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
    const [[row]] = (await connection.query(
      `SELECT COUNT(*) AS n FROM ${table(db, 'licenses')}`,
    )) as unknown as [[{ n: number }]];
    expect(row.n).toBeGreaterThan(5_000);
  } finally {
    await connection.end();
  }
}
