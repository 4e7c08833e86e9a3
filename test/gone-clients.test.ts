import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { giveRelease } from './support/packages';
import { giveLicense, givePlan, PREFIX, startTestService, type TestService } from './support/service';

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
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    await once(socket, 'connect');
    const ask = (method: string) => `${method} ${address} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    // Several at once: the later ones wait for their turn on the connection, which never comes.
    socket.write(ask('HEAD') + ask('GET') + ask('HEAD'));
    await sleep(i % 8);
    socket.destroy();
  }
  // Longer than the deadline of a handler that waits for nobody.
  await sleep(4_500);
  const failed = service.logLines.filter((line) => (JSON.parse(line) as { msg: string }).msg === 'failed');
  expect(failed).toEqual([]);
});
