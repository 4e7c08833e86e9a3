import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Db } from '../../src/store/engine/database';
import { usage } from '../support/load';
import { eventually, temporaryFolder } from '../support/processes';
import { PREFIX } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/** Clients that neither continue nor disconnect. */

const CLIENTS = 20;

let db: Db;
let service: ServiceProcess;

beforeAll(async () => {
  const settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'test.sqlite')}` };
  db = await openMigrated(settings);
  service = await startServiceProcess(settings);
});

afterAll(async () => {
  await service.stop();
  await db.destroy();
});

const descriptors = () => usage(service.process.pid as number).descriptors;

/** Returns a client that reads its answer, and keeps its own side open when the other side closes. */
async function openStubborn(): Promise<Socket> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  // Ignore the final reset, if the client is still connected.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

test.each([
  ['late', 408, `GET ${PREFIX}/updates/42 HTTP/1.1\r\nHost:`],
  ['wrong', 400, `GET ${PREFIX}/updates/\xa0 HTTP/1.1\r\n\r\n`],
])('that are refused as %s and stay hold no socket', async (_what, status, bytes) => {
  const before = descriptors();
  const clients = await Promise.all(Array.from({ length: CLIENTS }, openStubborn));
  const answers = clients.map(async (client) => {
    let answer = '';
    client.on('data', (data) => (answer += data.toString()));
    await once(client, 'end');
    return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
  });
  for (const client of clients) client.write(bytes);
  expect(await Promise.all(answers)).toEqual(clients.map(() => status));
  // Check before the time for headers ends, which also closes the wrong ones.
  await eventually(() => expect(descriptors()).toBeLessThan(before + CLIENTS / 2), 5_000);
  for (const client of clients) client.destroy();
});
