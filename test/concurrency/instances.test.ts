import { existsSync, promises, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import { readReadiness } from '../../src/app/readiness';
import { startServer } from '../../src/http/server';
import type { Db } from '../../src/store/engine/database';
import { startNginx } from '../support/nginx';
import { eventually, freePort, sharedFolder, temporaryFolder } from '../support/processes';
import { startRedis } from '../support/servers';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  storedLicense,
  unusedAddress,
  type TestLicense,
} from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/** Instances of the service, as processes of the build: how one starts and stops, and how several cooperate. */

let settings: Settings;
let db: Db;
let plan: number;
let license: TestLicense;
let services: ServiceProcess[] = [];

beforeAll(async () => {
  settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
  db = await openMigrated(settings);
  plan = await givePlan(db);
});
afterAll(() => db.destroy());

beforeEach(async () => {
  license = await giveLicense(db, plan);
});

afterEach(async () => {
  await Promise.all(services.map((service) => service.stop()));
  services = [];
});

async function start(more: Settings = {}): Promise<ServiceProcess & { admin: string }> {
  const service = await startServiceProcess({ ...settings, ...more });
  services.push(service);
  const listening = service.log().find(({ msg }) => msg === 'listening');
  return Object.assign(service, { admin: listening?.admin as string });
}

const validate = (url: string) =>
  request(url).post(`${PREFIX}/licenses/validate`).send({ license_key: license.key });

/** Returns a status, or the connection's error. */
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

test('two instances with one Redis together refuse the 61st request, and the metrics of both add up to the requests', async () => {
  const shared = {
    LICENSING_REDIS_URL: `${process.env.TEST_REDIS_URL as string}/15`,
    LICENSING_RATE_LIMIT: '60',
    LICENSING_TRUSTED_PROXIES: '127.0.0.1',
  };
  const instances = await Promise.all([start(shared), start(shared)]);
  const address = `198.51.100.${Math.floor(Math.random() * 250)}`;
  const statuses = await Promise.all(
    Array.from({ length: 80 }, async (_, i) => {
      const { status } = await validate(instances[i % 2]!.url).set('X-Forwarded-For', address);
      return status;
    }),
  );
  expect(statuses.filter((status) => status === 200)).toHaveLength(60);
  expect(statuses.filter((status) => status === 429)).toHaveLength(20);
  expect(await storedLicense(db, license.id)).toMatchObject({ check_count: 60 });
  const sum = async (name: string) => {
    const values = await Promise.all(instances.map(({ admin }) => metric(admin, name)));
    return values[0]! + values[1]!;
  };
  expect(await sum('licensing_requests_total{endpoint="validate",status="200"}')).toBe(60);
  expect(await sum('licensing_requests_total')).toBe(80);
  expect(await sum('licensing_request_duration_seconds_count')).toBe(80);
  expect(await sum('licensing_verdicts_total{endpoint="validate",code="ok"}')).toBe(60);
  expect(await sum('licensing_rate_limited_total')).toBe(20);
  expect(await sum('licensing_build_info')).toBe(2);
});

describe('two instances behind nginx, on a Unix socket each', () => {
  let first: string;
  let second: string;

  beforeEach(() => {
    const folder = sharedFolder();
    first = `unix:${join(folder, '1.sock')}`;
    second = `unix:${join(folder, '2.sock')}`;
  });

  test('share the requests; when one is killed, nginx sends all of them to the other', async () => {
    const instances = [await start({ LICENSING_LISTEN: first }), await start({ LICENSING_LISTEN: second })];
    const nginx = await startNginx({ upstream: [first, second] });
    try {
      const all = () => Promise.all(Array.from({ length: 20 }, () => outcome(nginx.url)));
      expect(new Set(await all())).toEqual(new Set([200]));
      for (const { admin } of instances)
        expect(await metric(admin, 'licensing_requests_total')).toBeGreaterThan(0);
      // Its socket remains, and refuses connections.
      await instances[0]!.stop('SIGKILL');
      expect(new Set(await all())).toEqual(new Set([200]));
      expect(await metric(instances[1]!.admin, 'licensing_requests_total')).toBeGreaterThan(20);
      await start({ LICENSING_LISTEN: first });
      expect(new Set(await all())).toEqual(new Set([200]));
    } finally {
      await nginx.stop();
    }
  });

  test('the one that hangs is given up by nginx for a request that may be sent again', async () => {
    const hanging = await start({ LICENSING_LISTEN: first });
    await start({ LICENSING_LISTEN: second });
    const nginx = await startNginx({
      upstream: [first, second],
      edit: (text) => text.replace('proxy_read_timeout 15s', 'proxy_read_timeout 5s'),
    });
    try {
      hanging.process.kill('SIGSTOP');
      for (let i = 0; i < 4; i++) await request(nginx.url).get(`${PREFIX}/updates/42`).expect(200);
    } finally {
      hanging.process.kill('SIGCONT');
      await nginx.stop();
    }
  });
});

test.each(['a port', 'a Unix socket'])(
  'connections on %s that are not yet taken when SIGTERM comes are answered',
  async (where) => {
    const socket = join(temporaryFolder(), 'http.sock');
    const service = await start(where === 'a port' ? {} : { LICENSING_LISTEN: `unix:${socket}` });
    const url = where === 'a port' ? service.url : `http+unix://${encodeURIComponent(socket)}`;
    service.process.kill('SIGSTOP');
    const outcomes = Array.from({ length: 6 }, () => outcome(url));
    // Wait until they have connected and sent, which the stopped process cannot report.
    await sleep(300);
    service.process.kill('SIGTERM');
    service.process.kill('SIGCONT');
    expect(await Promise.all(outcomes)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(await service.stop()).toBe(0);
  },
);

test('an address that is taken stops the start, and the setting is named', async () => {
  const taken = createServer();
  const port = await freePort();
  await new Promise<void>((resolve) => taken.listen(port, '127.0.0.1', resolve));
  for (const variable of ['LICENSING_LISTEN', 'LICENSING_ADMIN_LISTEN'])
    await expect(start({ [variable]: `127.0.0.1:${port}` })).rejects.toThrow(
      new RegExp(`${variable}: 127\\.0\\.0\\.1:${port} is in use by another program`),
    );
  await new Promise((resolve) => taken.close(resolve));
});

test('a database that is not there stops the start in one line', async () => {
  const url = `mysql://shop:S3cret@${await unusedAddress()}/licences`;
  const failed = await start({ LICENSING_DATABASE_URL: url }).catch(
    (error: unknown) => (error as Error).message,
  );
  expect(failed).toMatch(
    /^The service ended with exit code 1\.\nlicensing-gateway cannot start: The database \(licences as shop at 127\.0\.0\.1:\d+\) cannot be used: no server listens there \(ECONNREFUSED\)\. Start the database server, or correct host and port in LICENSING_DATABASE_URL\.$/,
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
  await expect(start({ LICENSING_LISTEN: `unix:${socket}` })).rejects.toThrow(
    `LICENSING_LISTEN: The folder of ${socket} does not exist.`,
  );
});

/** Starts an activation that waits for its licence's row. */
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
  await eventually(() => expect(service.log()).toContainEqual(expect.objectContaining({ msg: 'stopping' })));
  await release();
  expect(await answer).toMatchObject({ status: 200, body: { data: { activations_used: 1 } } });
  expect(await ended).toBe(0);
});

test('readiness tells of the database, the packages folder and Redis, and fails while stopping', async () => {
  const packages = join(temporaryFolder(), 'packages');
  const service = await start({ LICENSING_PACKAGES_DIR: packages });
  const healthy = await request(service.admin).get('/healthz').expect(200);
  expect(healthy.body).toEqual({ status: 'ok' });
  const ready = await request(service.admin).get('/readyz').expect(200);
  expect(ready.body).toEqual({
    ready: true,
    checks: { database: 'ok', packages: 'ok', process: 'ok', redis: 'not configured' },
  });
  await db.schema.renameTable('licensing_migrations', 'licensing_moved');
  try {
    const { body } = (await request(service.admin).get('/readyz').expect(503)) as {
      body: { checks: { database: string } };
    };
    expect(body.checks.database).toContain('licensing migrate');
  } finally {
    await db.schema.renameTable('licensing_moved', 'licensing_migrations');
  }
  await request(service.admin).get('/nothing').expect(404);
  await request(service.url).get('/healthz').expect(404);
  await request(service.url).get(`${PREFIX}/metrics`).expect(404);
});

test('readiness tells of a socket that is gone, or is of another process', async () => {
  const path = join(temporaryFolder(), 'http.sock');
  const server = await startServer((_, response) => response.end(), { path });
  const processState = async () =>
    (await readReadiness('/', db, undefined, { stopping: false, lostSocket: server.lostSocket() })).checks
      .process;
  expect(await processState()).toBe('ok');
  rmSync(path);
  expect(await processState()).toBe(`its socket ${path} no longer exists: restart this instance`);
  const other = await startServer((_, response) => response.end(), { path });
  expect([server.lostSocket(), other.lostSocket()]).toEqual([path, undefined]);
  await Promise.all([server.drain(), other.drain()]);
});

test('readiness tells a packages folder whose disk hangs from one that is not there', async () => {
  const packages = async () =>
    (await readReadiness('/nowhere', db, undefined, { stopping: false, lostSocket: undefined })).checks
      .packages;
  expect(await packages()).toBe('the folder /nowhere cannot be used (ENOENT)');
  const hanging = jest.spyOn(promises, 'access').mockReturnValue(new Promise(() => undefined));
  try {
    expect(await packages()).toBe('the folder /nowhere does not answer');
  } finally {
    hanging.mockRestore();
  }
});

test('readiness tells of a Redis that refuses writes, before a request finds out', async () => {
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
    // It answers, and refuses writes.
    await client.config('SET', 'min-replicas-to-write', 1);
    expect(await state()).toBe('not available: limits are counted in memory');
    await client.config('SET', 'min-replicas-to-write', 0);
    await eventually(async () => expect(await state()).toBe('ok'));
  } finally {
    client.disconnect();
    await redis.stop();
  }
});

test('a packages folder that is not a folder stops the start', async () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  for (const folder of [file, join(file, 'packages')])
    await expect(start({ LICENSING_PACKAGES_DIR: folder })).rejects.toThrow(
      `LICENSING_PACKAGES_DIR: ${folder} is not a folder.`,
    );
});

test('a Unix socket left behind is replaced and nginx may connect to it; one in use is not taken', async () => {
  const socket = join(temporaryFolder(), 'http.sock');
  const listen = { LICENSING_LISTEN: `unix:${socket}` };
  const killed = await start(listen);
  await killed.stop('SIGKILL');
  expect(existsSync(socket)).toBe(true);

  const service = await start(listen);
  expect(service.url).toBe(`unix:${socket}`);
  expect(statSync(socket).mode & 0o777).toBe(0o666);
  await expect(start(listen)).rejects.toThrow(/Another process already answers/);
  await request(`http+unix://${encodeURIComponent(socket)}`)
    .get(`${PREFIX}/updates/42`)
    .expect(200);
});

test('a file that is no socket is not removed from where one is to be', async () => {
  const path = join(temporaryFolder(), 'http.sock');
  writeFileSync(path, 'something of somebody');
  await expect(start({ LICENSING_LISTEN: `unix:${path}` })).rejects.toThrow(
    /http\.sock is not a socket, and is not removed/,
  );
  expect(readFileSync(path, 'utf8')).toBe('something of somebody');
});
