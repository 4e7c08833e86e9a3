import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import type { Db } from '../src/store/database';
import { eventually } from './support/processes';
import { createMariaDbDatabase, giveLicense, givePlan, PREFIX, rows } from './support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from './support/service-process';

/** Between the service and its database: connections that somebody on the way forgot, without a word to either side. */
interface Wire {
  port: number;
  /** From now on nothing passes on the connections there are; new ones are as good as ever. */
  silence(): number;
  close(): void;
}

async function openWire(port: number): Promise<Wire> {
  let passing: Socket[] = [];
  const all = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      all.add(from);
      passing.push(from);
      from.on('data', (data) => passing.includes(from) && to.write(data));
      from.on('error', () => undefined);
      from.on('close', () => passing.includes(from) && to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    silence() {
      const open = passing.filter((socket) => !socket.destroyed).length / 2;
      passing = [];
      return open;
    },
    close() {
      for (const socket of all) socket.destroy();
      server.close();
    },
  };
}

let wire: Wire;
let service: ServiceProcess;
let db: Db;

beforeAll(async () => {
  const url = await createMariaDbDatabase();
  db = await openMigrated({ LICENSING_DATABASE_URL: url });
  wire = await openWire(Number(new URL(url).port));
  service = await startServiceProcess({
    LICENSING_DATABASE_URL: url.replace(/:\d+\//, `:${wire.port}/`),
  });
});

afterAll(async () => {
  await service.stop();
  wire.close();
  await db.destroy();
});

test('connections that went silent are given up within the deadline, and new ones take their place', async () => {
  const plan = await givePlan(db, { limit: 0 });
  const licenses = await Promise.all(Array.from({ length: 30 }, () => giveLicense(db, plan)));
  const post = (verb: string, { key }: { key: string }, identifier?: string) =>
    request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .send({ license_key: key, identifier })
      .then(({ status, headers }) => ({ status, retryAfter: headers['retry-after'] }));
  // Each end of an activation is a transaction of its own: so many fill the pool.
  for (const verb of ['activate', 'deactivate']) {
    const answers = await Promise.all(licenses.map((one) => post(verb, one, 'example.com')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
  expect(wire.silence()).toBeGreaterThan(5);

  const started = performance.now();
  expect(await post('validate', licenses[0]!)).toEqual({ status: 503, retryAfter: '5' });
  // The service's deadline is 4 s; a client of a database that says nothing would wait for ever.
  expect(performance.now() - started).toBeLessThan(6_000);
  await eventually(async () => {
    const answers = await Promise.all(licenses.map((one) => post('validate', one)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }, 10_000);
  const after = await Promise.all(licenses.map((one) => post('activate', one, 'example.org')));
  expect(new Set(after.map(({ status }) => status))).toEqual(new Set([200]));
  expect(
    (await rows<{ activations_used: number }>(db, 'licenses')).map((row) => row.activations_used),
  ).toEqual(licenses.map(() => 1));
}, 90_000);
