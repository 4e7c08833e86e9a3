import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { giveRelease } from './support/packages';
import { eventually } from './support/processes';
import { startRedis } from './support/servers';
import { giveLicense, givePlan, PREFIX, startTestService, type TestService } from './support/service';

interface LogLine {
  msg: string;
  endpoint?: string;
  code?: string;
}

const logged = ({ logLines }: TestService) => logLines.map((line) => JSON.parse(line) as LogLine);

async function open({ url }: TestService): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

let service: TestService;
let address: string;

beforeAll(async () => {
  service = await startTestService();
  const { key } = await giveLicense(service.db, await givePlan(service.db));
  await giveRelease(service, { version: '1.0' });
  address = `${PREFIX}/downloads/42?dlid=${key}`;
});

afterAll(() => service.stop());

test('a client that asks for a package and leaves at once is no failure', async () => {
  for (let i = 0; i < 40; i++) {
    const socket = await open(service);
    const ask = (method: string) => `${method} ${address} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    // Several at once: the later ones wait for their turn on the connection, which never comes.
    socket.write(ask('HEAD') + ask('GET') + ask('HEAD'));
    await sleep(i % 8);
    socket.destroy();
  }
  // Longer than the deadline of a handler that waits for nobody.
  await sleep(4_500);
  expect(logged(service).filter(({ msg }) => msg === 'failed')).toEqual([]);
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

  test('is told as gone, and not as one with a body that is wrong', async () => {
    const own = await startTestService();
    const socket = await open(own);
    socket.write(begun);
    // It is being read by now: there is nothing to see of that.
    await sleep(200);
    await goneFrom(own, socket);
    await own.stop();
  });

  test('is told as gone when its limit is looked up meanwhile too', async () => {
    const redis = await startRedis();
    const own = await startTestService({ LICENSING_REDIS_URL: redis.url });
    redis.hang();
    const socket = await open(own);
    socket.write(begun);
    await goneFrom(own, socket);
    await own.stop();
    await redis.stop();
  });
});
