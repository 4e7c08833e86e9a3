import { closeSync, openSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import { endProcess, eventually, freePort, startProcess, temporaryFolder } from '../support/processes';
import { createMariaDbDatabase, PREFIX } from '../support/service';
import { openMigrated, processEnvironment } from '../support/service-process';

/** Tests that the service runs without a log, because a full disk must not end it. */

const BUILD = join(__dirname, '../../dist/src');

test('the service starts, answers and stops without a log', async () => {
  const database = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
  await (await openMigrated(database)).destroy();
  const [listen, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const full = openSync('/dev/full', 'w');
  const child = startProcess(process.execPath, [join(BUILD, 'main.js')], {
    env: processEnvironment({
      ...database,
      LICENSING_LISTEN: listen,
      LICENSING_ADMIN_LISTEN: admin,
      LICENSING_PACKAGES_DIR: temporaryFolder(),
    }),
    stdio: ['ignore', full, full],
  });
  closeSync(full);
  await eventually(() => request(`http://${admin}`).get('/readyz').expect(200));
  for (let i = 0; i < 20; i++) await request(`http://${listen}`).get(`${PREFIX}/updates/42`).expect(200);
  await endProcess(child);
  expect(child.exitCode).toBe(0);
});

test('lines that could not be written are kept within bounds, and written once the disk has room', async () => {
  // For a while, the files of this process cannot grow any further, as on a full disk.
  const program = `
    const { spawnSync } = require('node:child_process');
    const { createLog } = require(${JSON.stringify(join(BUILD, 'process/log.js'))});
    const limitFiles = (bytes) => spawnSync('prlimit', ['--pid', String(process.pid), '--fsize=' + bytes + ':']);
    const log = createLog('info');
    limitFiles(1000);
    for (let number = 0; number < 20000; number++) log.info({ number }, 'x'.repeat(100));
    limitFiles('unlimited');
    log.info('lost '.repeat(100));
    log.info('last');`;
  const path = join(temporaryFolder(), 'log');
  const file = openSync(path, 'w');
  const child = startProcess(process.execPath, ['-e', program], { stdio: ['ignore', file, 'inherit'] });
  closeSync(file);
  expect(await once(child, 'exit')).toEqual([0, null]);
  const entries = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { number?: number; msg: string });
  expect(entries.length).toBeGreaterThan(1_000);
  expect(entries.length).toBeLessThan(10_000);
  expect(entries.pop()?.msg).toBe('last');
  expect(entries.map(({ number }) => number)).toEqual([...entries.keys()]);
});
