import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readdirSync, readlinkSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createApp } from '../../src/http/app';
import { createAddressReader } from '../../src/http/client-address';
import { createMemoryLimiter } from '../../src/http/limits/rate-limit';
import { startServer, type RunningServer } from '../../src/http/server';
import { createLicensing } from '../../src/licensing/licensing';
import { table } from '../../src/store/engine/database';
import { giveRelease, makePackage } from '../support/packages';
import { eventually } from '../support/processes';
import { startRedis } from '../support/servers';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestService,
} from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

interface LogLine {
  msg: string;
  endpoint?: string;
  code?: string;
}

const logged = ({ logLines }: TestService) => logLines.map((line) => JSON.parse(line) as LogLine);

async function openSocket({ url }: Pick<TestService, 'url'>): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

let service: TestService;
let address: string;

beforeAll(async () => {
  service = await startTestService({ LICENSING_DATABASE_URL: await createMariaDbDatabase() });
  const { key } = await giveLicense(service.db, await givePlan(service.db));
  await giveRelease(service, { version: '1.0' });
  address = `${PREFIX}/downloads/42?dlid=${key}`;
});

afterAll(() => service.stop());

/** Counts the packages that the service, which runs in this process, has open. */
const openPackages = () =>
  readdirSync('/proc/self/fd').filter((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(service.packagesDir);
    } catch {
      return false;
    }
  }).length;

const downloads = () => logged(service).filter(({ endpoint }) => endpoint === 'download').length;

test('a client that asks for a package and leaves at once is no failure', async () => {
  let begun = 0;
  const count = () => {
    begun++;
  };
  subscribe('http.server.request.start', count);
  for (let i = 0; i < 40; i++) {
    const socket = await openSocket(service);
    const ask = (method: string) => `${method} ${address} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    // The later requests wait for their turn on the connection, which never comes.
    socket.write(ask('HEAD') + ask('GET') + ask('HEAD') + ask('GET'));
    await sleep(i % 8);
    socket.destroy();
  }
  await fetch(`${service.url}${address}`).then((answer) => answer.arrayBuffer());
  // A handler that still waited for its client would end only at its deadline, as failed.
  await eventually(() => expect(downloads()).toBe(begun));
  unsubscribe('http.server.request.start', count);
  expect(logged(service).filter(({ msg }) => msg === 'failed')).toEqual([]);
  // The bytes of the last answer arrive before its file is closed.
  await eventually(() => expect(openPackages()).toBe(0));
});

test('a package that waited for its turn when its client left is not kept open', async () => {
  await giveRelease(service, { version: '1.1', file: (await makePackage({}, 20_000_000)).path });
  const socket = (await openSocket(service)).pause();
  socket.write(`GET ${address} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(5));
  await eventually(() => expect(openPackages()).toBe(5));
  socket.destroy();
  await eventually(() => expect(openPackages()).toBe(0));
});

test('a package that is found after its client has left is not kept open', async () => {
  const before = downloads();
  const holder = await service.db.transaction();
  await holder.raw(`LOCK TABLES ${table(service.db, 'licenses')} WRITE`);
  const socket = await openSocket(service);
  socket.write(`GET ${address} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(5));
  await eventually(async () => {
    const [waiting] = await service.db.raw<[object[]]>(
      "SELECT 1 FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE 'Waiting for table%'",
    );
    expect(waiting).not.toEqual([]);
  });
  socket.destroy();
  // The service notices that the client has left, but does not show it: give it time.
  await sleep(200);
  await holder.raw('UNLOCK TABLES');
  await holder.rollback();
  await eventually(() => expect(downloads()).toBe(before + 5));
  await eventually(() => expect(openPackages()).toBe(0));
});

describe('a package that is sent by a server with little patience', () => {
  /** The default is a minute. */
  const TIMEOUT_MS = 2_000;
  const PACKAGE_BYTES = 20_000_000;
  let impatient: RunningServer;
  let socket: Socket;

  beforeAll(async () => {
    await giveRelease(service, { version: '1.2', file: (await makePackage({}, PACKAGE_BYTES)).path });
    const log = pino({ level: 'silent' });
    const app = createApp({
      licensing: createLicensing(
        service.db,
        () => new Date(),
        () => undefined,
      ),
      limiter: createMemoryLimiter({
        limits: {
          api: 100,
          download: 100,
          manage: 100,
          manage_failures: 100,
          hooks: 100,
          hook_failures: 100,
          pages: 100,
          my_sessions: 100,
        },
        window: 60,
      }),
      clientAddress: createAddressReader([]),
      downloads: { packagesDir: service.packagesDir, accelLocation: undefined },
      log,
    });
    impatient = await startServer(app.callback(), { host: '127.0.0.1', port: 0 }, TIMEOUT_MS);
  });
  afterAll(() => impatient.drain());

  beforeEach(async () => {
    socket = (await openSocket({ url: impatient.address })).pause();
    socket.on('error', () => undefined);
    socket.write(`GET ${address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  });

  test('is given up when its client takes nothing more of it', async () => {
    await eventually(() => expect(openPackages()).toBe(1));
    await eventually(() => expect(openPackages()).toBe(0));
    socket.destroy();
  });

  test('is not given up while its client keeps reading slowly', async () => {
    let received = 0;
    const started = performance.now();
    for await (const chunk of socket) {
      received += (chunk as Buffer).length;
      // Read at the speed that takes twice the timeout for the whole package.
      await sleep(Math.max(0, (2 * TIMEOUT_MS * received) / PACKAGE_BYTES - (performance.now() - started)));
    }
    expect(received).toBeGreaterThan(PACKAGE_BYTES);
    expect(performance.now() - started).toBeGreaterThan(TIMEOUT_MS);
  });
});

describe('a client that leaves in the middle of its body', () => {
  const body = `{"license_key":"${'k'.repeat(1_000)}`;
  const begun =
    `POST ${PREFIX}/licenses/activate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length + 100}\r\n\r\n${body}`;

  const goneFrom = async (from: TestService, socket: Socket) => {
    socket.destroy();
    await eventually(() =>
      expect(logged(from).filter(({ endpoint }) => endpoint === 'activate')).toMatchObject([
        { msg: 'refused', code: 'CLIENT_GONE' },
      ]),
    );
  };

  test('is reported as gone, and not as one with a wrong body', async () => {
    const own = await startTestService();
    const socket = await openSocket(own);
    socket.write(begun);
    // The service begins to read the body, but does not show it: give it time.
    await sleep(200);
    await goneFrom(own, socket);
    await own.stop();
  });

  test('is reported as gone even while its limit is looked up', async () => {
    const redis = await startRedis();
    const own = await startTestService({ LICENSING_REDIS_URL: redis.url });
    redis.hang();
    const socket = await openSocket(own);
    socket.write(begun);
    await goneFrom(own, socket);
    await own.stop();
    await redis.stop();
  });
});

test('a client that resets its connection before it is taken cannot name an address as its own', async () => {
  const settings = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    // This machine is not a proxy, so the client below is not trusted.
    LICENSING_TRUSTED_PROXIES: '192.0.2.1',
  };
  const db = await openMigrated(settings);
  const own = await startServiceProcess(settings);
  try {
    const { key } = await giveLicense(db, await givePlan(db));
    const body = JSON.stringify({ license_key: key });
    const request =
      `POST ${PREFIX}/licenses/validate HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 198.51.100.7\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    own.process.kill('SIGSTOP');
    for (let i = 0; i < 20; i++) {
      const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
      await once(socket, 'connect');
      await new Promise<void>((resolve) => socket.write(request, () => resolve()));
      socket.resetAndDestroy();
    }
    own.process.kill('SIGCONT');
    const answer = await fetch(`${own.url}${PREFIX}/licenses/validate`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(200);
    expect(await rows(db, 'licenses')).toMatchObject([{ check_count: 1, last_check_ip: '127.0.0.1' }]);
  } finally {
    await own.stop();
    await db.destroy();
  }
});
