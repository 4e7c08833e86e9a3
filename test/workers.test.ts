import { spawnSync } from 'node:child_process';
import { existsSync, promises, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import type { Config, Settings } from '../src/config';
import { readReadiness } from '../src/readiness';
import type { Db } from '../src/store/database';
import { eventually, freePort, temporaryFolder } from './support/processes';
import { openRaw, type RawConnection } from './support/raw-http';
import { startRedis } from './support/servers';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  unusedAddress,
  type TestLicense,
} from './support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from './support/service-process';

/** Two workers under one primary, as processes of the build. */

let settings: Settings;
let db: Db;
let license: TestLicense;
let services: ServiceProcess[] = [];

beforeEach(async () => {
  settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase(), LICENSING_WORKERS: '2' };
  db = await openMigrated(settings);
  license = await giveLicense(db, await givePlan(db));
});

afterEach(async () => {
  await Promise.all(services.map((service) => service.stop()));
  services = [];
  await db.destroy();
});

async function start(
  more: Settings = {},
  env: NodeJS.ProcessEnv = {},
): Promise<ServiceProcess & { admin: string }> {
  const service = await startServiceProcess({ ...settings, ...more }, env);
  services.push(service);
  const listening = service.log().find(({ msg }) => msg === 'listening');
  return Object.assign(service, { admin: listening?.admin as string });
}

const validate = (url: string) =>
  request(url).post(`${PREFIX}/licenses/validate`).send({ license_key: license.key });

/** A status, or the connection's error. */
const outcome = (url: string) =>
  validate(url)
    .timeout(10_000)
    .then(
      ({ status }) => status,
      (error: unknown) => (error as NodeJS.ErrnoException).code,
    );

async function metric(admin: string, name: string): Promise<number> {
  const { text } = await request(admin).get('/metrics').expect(200);
  return text
    .split('\n')
    .filter((line) => line.startsWith(name))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe.each([
  ['in the primary', (): Settings => ({})],
  ['in Redis', (): Settings => ({ LICENSING_REDIS_URL: `${process.env.TEST_REDIS_URL as string}/15` })],
])('with limits counted %s', (_where, limits) => {
  test('both workers together refuse the 61st request, and the metrics add up to the requests made', async () => {
    const service = await start({
      ...limits(),
      LICENSING_RATE_LIMIT: '60',
      LICENSING_TRUSTED_PROXIES: '127.0.0.1',
    });
    const address = `198.51.100.${Math.floor(Math.random() * 250)}`;
    const statuses = await Promise.all(
      Array.from({ length: 80 }, async () => {
        // No agent: every request has a connection of its own, so that both workers get some.
        const { status } = await validate(service.url).set('X-Forwarded-For', address);
        return status;
      }),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);
    expect(statuses.filter((status) => status === 429)).toHaveLength(20);
    expect(await rows(db, 'licenses')).toMatchObject([{ check_count: 60 }]);
    expect(await metric(service.admin, 'licensing_requests_total{endpoint="validate",status="200"}')).toBe(
      60,
    );
    expect(await metric(service.admin, 'licensing_requests_total')).toBe(80);
    expect(await metric(service.admin, 'licensing_request_duration_seconds_count')).toBe(80);
    expect(await metric(service.admin, 'licensing_verdicts_total{endpoint="validate",code="ok"}')).toBe(60);
    expect(await metric(service.admin, 'licensing_rate_limited_total')).toBe(20);
    expect(await metric(service.admin, 'licensing_build_info')).toBe(1);
  });
});

test('a worker that is killed is replaced, and the other answers meanwhile', async () => {
  const service = await start();
  const primary = service.process.pid as number;
  const [victim] = await workersOf(primary);
  process.kill(victim as number, 'SIGKILL');
  // The connection on its way to the dying worker is cut, so that its client can ask again; none is left hanging.
  let cut = 0;
  for (let i = 0; i < 20; i++) {
    const status = await outcome(service.url);
    if (status === 'ECONNRESET') cut++;
    else expect(status).toBe(200);
  }
  expect(cut).toBeLessThanOrEqual(1);
  await eventually(async () => {
    const now = await workersOf(primary);
    expect(now).toHaveLength(2);
    expect(now).not.toContain(victim);
  }, 15_000);
  await eventually(() => validate(service.url).expect(200));
  expect(service.log().filter(({ msg }) => msg === 'a worker ended and is replaced')).toMatchObject([
    { worker: victim, signal: 'SIGKILL' },
  ]);
});

test('a connection that hung with its worker is cut when that is killed, and the other worker answers on', async () => {
  const service = await start();
  const primary = service.process.pid as number;
  const [victim] = await workersOf(primary);
  process.kill(victim as number, 'SIGSTOP');
  // One of them is handed to the worker that hangs.
  const outcomes = Array.from({ length: 6 }, () => outcome(service.url));
  const first = await Promise.race([Promise.all(outcomes), sleep(1_000, 'one hangs')]);
  expect(first).toBe('one hangs');
  process.kill(victim as number, 'SIGKILL');
  expect((await Promise.all(outcomes)).sort()).toEqual([200, 200, 200, 200, 200, 'ECONNRESET']);
});

test.each(['1', '2'])(
  'connections not yet taken by %s worker(s) when SIGTERM comes are answered',
  async (count) => {
    const service = await start({ LICENSING_WORKERS: count });
    const primary = service.process.pid as number;
    const busy = count === '1' ? [primary] : [...(await workersOf(primary)), primary];
    for (const pid of busy) process.kill(pid, 'SIGSTOP');
    const outcomes = Array.from({ length: 6 }, () => outcome(service.url));
    await sleep(300);
    process.kill(primary, 'SIGTERM');
    await sleep(200);
    for (const pid of busy) process.kill(pid, 'SIGCONT');
    expect(await Promise.all(outcomes)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await service.stop()).toBe(0);
  },
);

test('workers that die young are replaced ever more slowly, and the log says why they ended', async () => {
  const service = await start();
  const primary = service.process.pid as number;
  for (let deaths = 1; deaths <= 3; deaths++) {
    const [victim] = await eventually(async () => {
      const workers = await workersOf(primary);
      expect(workers).toHaveLength(2);
      return workers.slice(-1);
    }, 20_000);
    process.kill(victim as number, 'SIGKILL');
    await eventually(() =>
      expect(service.log().filter(({ msg }) => msg === 'a worker ended and is replaced')).toHaveLength(
        deaths,
      ),
    );
  }
  const pauses = service
    .log()
    .filter(({ msg }) => msg === 'a worker ended and is replaced')
    .map(({ pause_ms }) => pause_ms as number);
  expect(pauses).toEqual([1000, 2000, 4000]);
}, 60_000);

describe('with a program that is away for a while', () => {
  /** What the primary forks its workers from: a name that the test can take away and give back. */
  let program: string;
  let env: NodeJS.ProcessEnv;
  const giveBack = () => symlinkSync(process.execPath, program);
  const failures = (service: ServiceProcess) =>
    service.log().filter(({ msg }) => msg === 'a worker could not be forked, which is tried again');

  beforeEach(() => {
    program = join(temporaryFolder(), 'node');
    const preload = join(temporaryFolder(), 'preload.cjs');
    writeFileSync(preload, `process.execPath = ${JSON.stringify(program)};`);
    env = { NODE_OPTIONS: `--require ${preload}` };
    giveBack();
  });

  test('a worker that cannot be forked is tried again ever more slowly, until it can', async () => {
    const service = await start({}, env);
    const primary = service.process.pid as number;
    const [victim] = await workersOf(primary);
    rmSync(program);
    process.kill(victim as number, 'SIGKILL');
    await eventually(() => expect(failures(service).length).toBeGreaterThanOrEqual(2), 20_000);
    giveBack();
    await eventually(async () => expect(await workersOf(primary)).toHaveLength(2), 20_000);
    for (const [i, failure] of failures(service).entries())
      expect(failure).toMatchObject({ reason: `spawn ${program} ENOENT`, pause_ms: 2_000 * 2 ** i });
    await validate(service.url).expect(200);
    expect(await service.stop()).toBe(0);
  }, 60_000);

  test('a first worker that cannot be forked ends the start, and says why', async () => {
    rmSync(program);
    await expect(start({}, env)).rejects.toThrow(
      `The service ended with exit code 1.\nlicensing-gateway cannot start: a worker could not be forked (spawn ${program} ENOENT).`,
    );
  });
});

test('without a file to open, a worker is not forked, and is once there is one', async () => {
  const service = await start();
  const primary = service.process.pid as number;
  const limitFiles = (limit: string) =>
    expect(spawnSync('prlimit', ['--pid', String(primary), `--nofile=${limit}:`]).status).toBe(0);
  const [victim] = await workersOf(primary);
  process.kill(victim as number, 'SIGKILL');
  await eventually(() =>
    expect(service.log().filter(({ msg }) => msg.includes('a worker ended'))).toHaveLength(1),
  );
  limitFiles('10');
  await eventually(() =>
    expect(service.log().filter(({ reason }) => String(reason).includes('EMFILE'))).not.toEqual([]),
  );
  limitFiles('1024');
  await eventually(async () => expect(await workersOf(primary)).toHaveLength(2), 20_000);
  expect(await service.stop()).toBe(0);
}, 60_000);

test('a worker that cannot start stops the start, and says why', async () => {
  const taken = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
  for (const variable of ['LICENSING_LISTEN', 'LICENSING_ADMIN_LISTEN'])
    for (const workers of ['1', '2'])
      await expect(start({ [variable]: `127.0.0.1:${port}`, LICENSING_WORKERS: workers })).rejects.toThrow(
        new RegExp(`${variable}: 127\\.0\\.0\\.1:${port} is in use by another program`),
      );
  await new Promise((resolve) => taken.close(resolve));
});

test.each(['1', '2'])('a database that is not there stops the start of %s in one line', async (workers) => {
  const url = `mysql://shop:S3cret@${await unusedAddress()}/licences`;
  const failed = await start({ LICENSING_DATABASE_URL: url, LICENSING_WORKERS: workers }).catch(
    (error: unknown) => (error as Error).message,
  );
  expect(failed).toMatch(
    /^The service ended with exit code 1\.\nlicensing-gateway cannot start: The database \(licences as shop at 127\.0\.0\.1:\d+\) cannot be used: nobody listens there \(ECONNREFUSED\)\. Start the database server, or correct host and port in LICENSING_DATABASE_URL\.$/,
  );
});

test('a wrong password stops the start without being repeated', async () => {
  const url = `mysql://nobody:S3cret@127.0.0.1:${process.env.TEST_MARIADB_PORT as string}/mysql`;
  const failed = await start({ LICENSING_DATABASE_URL: url }).catch(
    (error: unknown) => (error as Error).message,
  );
  expect(failed).toMatch(/mysql as nobody at .* refuses this user or this password.*LICENSING_DATABASE_URL/);
  expect(failed).not.toContain('S3cret');
});

test('a socket cannot be made in a folder that does not exist, and that is what is said', async () => {
  const socket = join(temporaryFolder(), 'none', 'http.sock');
  for (const workers of ['1', '2'])
    await expect(start({ LICENSING_LISTEN: `unix:${socket}`, LICENSING_WORKERS: workers })).rejects.toThrow(
      `LICENSING_LISTEN: The folder of ${socket} does not exist.`,
    );
});

/** An activation that waits for its licence's row. */
async function heldActivation(url: string) {
  const holder = await db.transaction();
  await holder.raw('SELECT 1');
  await holder('licensing_licenses').where({ id: license.id }).forUpdate();
  const answer = request(url)
    .post(`${PREFIX}/licenses/activate`)
    .send({ license_key: license.key, identifier: 'example.com' })
    .then((answered) => answered);
  await eventually(async () => {
    const [waits] = (await db.raw('SHOW FULL PROCESSLIST')) as [{ Info: string | null }[]];
    expect(waits.some(({ Info }) => /for update$/i.test(Info ?? ''))).toBe(true);
  });
  return { answer, release: () => holder.rollback() };
}

test('requests under way when SIGTERM comes are answered, and the process ends with exit code 0', async () => {
  const service = await start();
  const { answer, release } = await heldActivation(service.url);
  const ended = service.stop('SIGTERM');
  setTimeout(() => void release(), 500);
  expect(await answer).toMatchObject({ status: 200, body: { data: { activations_used: 1 } } });
  expect(await ended).toBe(0);
});

test('requests under way when the primary is killed are answered, and the workers end', async () => {
  const service = await start();
  const workers = await workersOf(service.process.pid as number);
  const { answer, release } = await heldActivation(service.url);
  service.process.kill('SIGKILL');
  setTimeout(() => void release(), 500);
  expect(await answer).toMatchObject({ status: 200, body: { data: { activations_used: 1 } } });
  await eventually(() => expect(workers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]));
  expect(service.log().filter(({ msg }) => msg === 'stopped')).toHaveLength(2);
});

describe('with a primary that was killed, requests on connections there are', () => {
  let service: ServiceProcess;
  let connections: RawConnection[];
  const said = (what: string) => service.log().filter(({ msg }) => msg === what);
  const ask = () => {
    const body = JSON.stringify({ license_key: license.key });
    const validation =
      `POST ${PREFIX}/licenses/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`;
    return Promise.all(
      connections.map((connection) => connection.send(validation).then((answer) => answer?.status)),
    );
  };

  beforeEach(async () => {
    service = await start();
    // Node hands them out in turn, so that each worker has some.
    connections = Array.from({ length: 4 }, () => openRaw(service.url));
    expect(await ask()).toEqual([200, 200, 200, 200]);
  });

  async function bothEndWell(): Promise<void> {
    await eventually(() => expect(said('stopped')).toHaveLength(2));
    // Neither printed an error on its way out.
    expect(service.lines).toHaveLength(service.log().length);
  }

  test('are answered by workers that know of it', async () => {
    service.process.kill('SIGKILL');
    await eventually(() => expect(said('stopping')).toHaveLength(2));
    expect(await ask()).toEqual([200, 200, 200, 200]);
    await bothEndWell();
  });

  test('and by those that learn of it only when they ask it', async () => {
    const workers = await workersOf(service.process.pid as number);
    for (const pid of workers) process.kill(pid, 'SIGSTOP');
    const answers = ask();
    await sleep(200);
    service.process.kill('SIGKILL');
    await sleep(200);
    // What came first they see first: the requests, and then the end of their primary.
    for (const pid of workers) process.kill(pid, 'SIGCONT');
    expect(await answers).toEqual([200, 200, 200, 200]);
    await bothEndWell();
  });
});

test('readiness tells of the database, the packages folder and Redis, and fails while stopping', async () => {
  const packages = join(temporaryFolder(), 'packages');
  const service = await start({ LICENSING_PACKAGES_DIR: packages });
  await request(service.admin).get('/healthz').expect(200, { status: 'ok' });
  await request(service.admin)
    .get('/readyz')
    .expect(200, {
      ready: true,
      checks: { database: 'ok', packages: 'ok', process: 'ok', redis: 'not configured' },
    });
  await db.schema.renameTable('licensing_migrations', 'licensing_moved');
  const { body } = (await request(service.admin).get('/readyz').expect(503)) as {
    body: { checks: { database: string } };
  };
  expect(body.checks.database).toContain('licensing migrate');
  await db.schema.renameTable('licensing_moved', 'licensing_migrations');
  await request(service.admin).get('/nothing').expect(404);
  await request(service.url).get('/healthz').expect(404);
  await request(service.url).get(`${PREFIX}/metrics`).expect(404);
});

test('readiness tells a packages folder whose disk hangs from one that is not there', async () => {
  const config = { packagesDir: '/nowhere' } as Config;
  const packages = async () => (await readReadiness(config, db, undefined, false)).checks.packages;
  expect(await packages()).toBe('the folder /nowhere cannot be used (ENOENT)');
  const hanging = jest.spyOn(promises, 'access').mockReturnValue(new Promise(() => undefined));
  try {
    expect(await packages()).toBe('the folder /nowhere does not answer');
  } finally {
    hanging.mockRestore();
  }
});

test('readiness tells of a Redis that refuses what the workers ask of it, though the primary asks for nothing', async () => {
  const redis = await startRedis();
  const client = new Redis(redis.url);
  try {
    const service = await start({ LICENSING_REDIS_URL: redis.url });
    const state = async () => {
      const { body } = (await request(service.admin).get('/readyz').expect(200)) as {
        body: { checks: { redis: string } };
      };
      return body.checks.redis;
    };
    expect(await state()).toBe('ok');
    // It answers, and takes no writes.
    await client.config('SET', 'min-replicas-to-write', 1);
    expect(await state()).toBe('away: limits are counted in memory');
    await client.config('SET', 'min-replicas-to-write', 0);
    await eventually(async () => expect(await state()).toBe('ok'));
  } finally {
    client.disconnect();
    await redis.stop();
  }
});

test.each(['1', '2'])('a packages folder that is none stops the start of %s workers', async (workers) => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  for (const folder of [file, join(file, 'packages')])
    await expect(start({ LICENSING_PACKAGES_DIR: folder, LICENSING_WORKERS: workers })).rejects.toThrow(
      `LICENSING_PACKAGES_DIR: ${folder} is not a folder.`,
    );
});

test('a Unix socket left behind is replaced and nginx may connect to it; one in use is not taken', async () => {
  const socket = join(temporaryFolder(), 'http.sock');
  const listen = { LICENSING_LISTEN: `unix:${socket}` };
  const killed = await start(listen);
  const workers = await workersOf(killed.process.pid as number);
  for (const pid of [killed.process.pid as number, ...workers]) process.kill(pid, 'SIGKILL');
  await killed.stop();
  expect(existsSync(socket)).toBe(true);

  const service = await start(listen);
  expect(service.url).toBe(`unix:${socket}`);
  expect(statSync(socket).mode & 0o777).toBe(0o666);
  await expect(start(listen)).rejects.toThrow(/Another process answers/);
  await request(`http+unix://${encodeURIComponent(socket)}`)
    .get(`${PREFIX}/updates/42`)
    .expect(200);
});

test('a file that is no socket is not removed from where one is to be', async () => {
  const path = join(temporaryFolder(), 'http.sock');
  writeFileSync(path, 'something of somebody');
  for (const workers of ['1', '2'])
    await expect(start({ LICENSING_LISTEN: `unix:${path}`, LICENSING_WORKERS: workers })).rejects.toThrow(
      /http\.sock is not a socket, and is not removed/,
    );
  expect(readFileSync(path, 'utf8')).toBe('something of somebody');
});

/** The process ids of a primary's workers. */
async function workersOf(primary: number): Promise<number[]> {
  const { readFile } = await import('node:fs/promises');
  const children = await readFile(`/proc/${primary}/task/${primary}/children`, 'utf8');
  return children.trim().split(/\s+/).filter(Boolean).map(Number);
}
