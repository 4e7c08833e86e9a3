import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { publishRelease } from '../../src/packages/releases';
import { quantile, underFault, unhealthy, type Fault } from '../support/faults';
import { openStand, tally, usage, type Goods, type Stand } from '../support/load';
import { startNginx } from '../support/nginx';
import { makePackage } from '../support/packages';
import { eventually } from '../support/processes';
import { PREFIX } from '../support/service';
import type { ServiceProcess } from '../support/service-process';
import type { TestWebServer } from '../support/web-server-process';

/** Slow clients, and others that must not wait for them. */

const SLOW = 200;
const SLOW_DOWNLOADS = 500;
const PACKAGE_BYTES = 6_000_000;

let stand: Stand;
let service: ServiceProcess;
let accelerated: ServiceProcess;
let nginx: TestWebServer;
let pid: number;
let sockets: Socket[] = [];
const timers: NodeJS.Timeout[] = [];

beforeAll(async () => {
  stand = await openStand();
  service = await stand.start();
  accelerated = await stand.start({ LICENSING_ACCEL_LOCATION: '/_licensing_packages/' });
  nginx = await startNginx({ upstream: new URL(accelerated.url).host, packagesDir: stand.packagesDir });
  const { path } = await makePackage({}, PACKAGE_BYTES);
  await publishRelease(
    stand.db,
    stand.packagesDir,
    { productId: 42, version: '1.0.0', file: path, changelog: undefined, draft: false, date: undefined },
    new Date(),
  );
});

afterEach(() => {
  for (const timer of timers.splice(0)) clearInterval(timer);
  for (const socket of sockets) socket.destroy();
  sockets = [];
});

afterAll(async () => {
  await nginx.stop();
  await stand.close();
});

interface SlowClient {
  /** the bytes that it has received */
  received: number;
  closed: boolean;
}

/** Returns a client that sends `fast` at once, then `slow` at a byte a second, and reads at a KB a second. */
function slowClient(url: string, fast: string, slow = ''): SlowClient {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const client: SlowClient = { received: 0, closed: false };
  sockets.push(socket);
  socket.pause();
  socket.on('error', () => undefined);
  socket.on('close', () => (client.closed = true));
  socket.write(fast);
  let sent = 0;
  timers.push(
    setInterval(() => {
      if (sent < slow.length && socket.writable) socket.write(slow.charAt(sent++));
      const chunk = (socket.read(1_024) ?? socket.read()) as Buffer | null;
      client.received += chunk?.length ?? 0;
    }, 1_000),
  );
  return client;
}

/** Loads the service while slow clients are connected, and checks that no other client waits for them. */
async function othersAreServed(
  url: string,
  goods: Goods,
  slowClients: Pick<Fault, 'begin' | 'lasts' | 'end'>,
): Promise<void> {
  const { load, meanwhile, before } = await underFault({
    url,
    goods,
    db: stand.db,
    recovers: 0,
    ...slowClients,
  });
  expect(tally(unhealthy(load.calls))).toEqual({});
  expect(quantile(meanwhile, 0.99)).toBeLessThan(quantile(before, 0.99) + 1_000);
}

const HEADERS = `Host: localhost\r\nX-Slow: ${'x'.repeat(100)}\r\n`;

describe.each<[string, () => { url: string; pid: number }]>([
  ['directly', () => ({ url: service.url, pid: service.process.pid as number })],
  ['through nginx', () => ({ url: nginx.url, pid: accelerated.process.pid as number })],
])('%s', (where, target) => {
  beforeAll(() => {
    ({ pid } = target());
  });

  test('headers and bodies at a byte a second: others are served, and the slow ones are cut off in time', async () => {
    const { url } = target();
    const before = usage(pid);
    const clients: SlowClient[] = [];
    const goods = await stand.newGoods();
    const body = JSON.stringify({ license_key: goods.licenses[0]!.key, name: 'x'.repeat(300) });
    let most = usage(pid);
    await othersAreServed(url, goods, {
      async begin() {
        for (let i = 0; i < SLOW; i++) {
          clients.push(slowClient(url, `GET ${PREFIX}/updates/42 HTTP/1.1\r\n`, HEADERS));
          clients.push(
            slowClient(
              url,
              `POST ${PREFIX}/licenses/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
                `Content-Length: ${body.length}\r\n\r\n`,
              body,
            ),
          );
        }
        await sleep(2_000);
        most = usage(pid);
      },
      lasts: where === 'directly' ? 30 : 6,
    });

    expect(most.descriptors).toBeLessThan(before.descriptors + 2 * SLOW + 100);
    expect(most.memory).toBeLessThan(before.memory + 100);
    if (where === 'directly') {
      // 10 s for headers, 20 s for the whole request, checked every 5 s.
      expect(clients.filter(({ closed }) => !closed)).toEqual([]);
      await eventually(() => expect(usage(pid).descriptors).toBeLessThan(before.descriptors + 50));
      // A slow client is not an error.
      expect(service.log().filter(({ level }) => (level as number) >= 50)).toEqual([]);
    }
    // nginx reads these requests to their end before it forwards them.
    else expect(most.descriptors).toBeLessThan(before.descriptors + 100);
  }, 120_000);

  test('500 downloads read at a KB a second: others are served, memory and descriptors are bounded', async () => {
    const { url } = target();
    const goods = await stand.newGoods();
    const before = usage(pid);
    const clients: SlowClient[] = [];
    const most = { ...before };
    const watch = setInterval(() => {
      const { memory, descriptors } = usage(pid);
      most.memory = Math.max(most.memory, memory);
      most.descriptors = Math.max(most.descriptors, descriptors);
    }, 250);
    let held = Infinity;
    await othersAreServed(url, goods, {
      async begin() {
        for (let i = 0; i < SLOW_DOWNLOADS; i++) {
          const { key } = goods.licenses[i % goods.licenses.length]!;
          clients.push(
            slowClient(
              url,
              `GET ${PREFIX}/downloads/42?dlid=${key}&version=1.0.0 HTTP/1.1\r\nHost: localhost\r\n\r\n`,
            ),
          );
          if (i % 50 === 0) await sleep(50);
        }
        // The kernel's own buffers are filled first, with some 2 MB for each.
        await eventually(
          () => expect(clients.filter(({ received }) => received === 0)).toHaveLength(0),
          40_000,
        );
      },
      lasts: 5,
      end() {
        held = usage(pid).descriptors - before.descriptors;
        expect(clients.filter(({ closed }) => closed).length).toBe(0);
        for (const socket of sockets) socket.destroy();
      },
    }).finally(() => clearInterval(watch));

    // Each has a socket and a file, and 64 KiB read ahead; behind nginx the service has it only until its decision.
    const sending = where === 'directly' ? SLOW_DOWNLOADS : 0;
    expect(held).toBeLessThan(2 * sending + 100);
    expect(most.descriptors).toBeLessThan(before.descriptors + 2 * SLOW_DOWNLOADS + 100);
    expect(most.memory).toBeLessThan(before.memory + 100 + sending * 0.3);
    await eventually(() => expect(usage(pid).descriptors).toBeLessThan(before.descriptors + 50));
  }, 120_000);
});
