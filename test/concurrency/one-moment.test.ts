import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { withdrawRelease } from '../../src/packages/releases';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** All facts in an answer were true at the same moment, even if the licence changes while a batch is read. */

interface HeldAnswer {
  /** resolves when the server's answer to the awaited statement has arrived, and is held back */
  held: Promise<void>;
  release: () => void;
}

/** A proxy between a service and the database, which can hold one answer of the database back. */
interface Gate {
  port: number;
  /** holds the answer to the next statement that contains a text */
  holdAnswer(text: string): HeldAnswer;
  close(): void;
}

async function openGate(port: number): Promise<Gate> {
  let awaited: { text: string; onHeld: () => void; released: Promise<void> } | undefined;
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    let holding: typeof awaited;
    near.on('data', (data) => {
      if (awaited && data.includes(awaited.text)) {
        holding = awaited;
        awaited = undefined;
      }
      far.write(data);
    });
    far.on('data', (data) => {
      holding?.onHeld();
      void Promise.resolve(holding?.released).then(() => near.write(data));
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    holdAnswer(text) {
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      const held = new Promise<void>((onHeld) => (awaited = { text, onHeld, released }));
      return { held, release };
    },
    close: () => server.close(),
  };
}

let gate: Gate;
/** the service that reaches the database through the gate */
let gated: TestService;
let direct: TestService;

beforeAll(async () => {
  const url = await createMariaDbDatabase();
  direct = await startTestService({ LICENSING_DATABASE_URL: url });
  gate = await openGate(Number(new URL(url).port));
  const behindGate = Object.assign(new URL(url), { port: String(gate.port) }).href;
  gated = await startTestService({ LICENSING_DATABASE_URL: behindGate });
});

afterAll(async () => {
  await gated.stop();
  await direct.stop();
  gate.close();
});

const call = (service: TestService, verb: string, key: string, identifier: string) =>
  request(service.url).post(`${PREFIX}/licenses/${verb}`).send({ license_key: key, identifier });

/** Sends two calls of a licence in one batch, and runs `meanwhile` after the batch's first statement. */
async function inOneBatch(
  verb: string,
  { key }: TestLicense,
  identifiers: [string, string],
  meanwhile: () => Promise<unknown>,
): Promise<{ status: number; body: unknown }[]> {
  const blocker = gate.holdAnswer('blocker.example');
  const before = call(gated, verb, 'UNKNOWN-KEY', 'blocker.example').then();
  await blocker.held;
  // Requests that arrive now form the next batch.
  let read = 0;
  const count = (message: unknown) => {
    (message as { request: IncomingMessage }).request.once('end', () => read++);
  };
  subscribe('http.server.request.start', count);
  const answers: Promise<{ status: number; body: unknown }>[] = [];
  for (const [i, identifier] of identifiers.entries()) {
    answers.push(
      call(gated, verb, key, identifier).then(({ status, body }) => ({ status, body: body as unknown })),
    );
    await eventually(() => expect(read).toBe(i + 1));
    // Wait, because its limit is counted before it joins the batch.
    await sleep(50);
  }
  unsubscribe('http.server.request.start', count);
  const batch = gate.holdAnswer(identifiers[0]);
  blocker.release();
  await batch.held;
  await meanwhile();
  batch.release();
  await before;
  return Promise.all(answers);
}

test('validate: the slots in use include an identifier exactly when it is said to be activated', async () => {
  const license = await giveLicense(direct.db, await givePlan(direct.db, { limit: 2 }));
  for (const site of ['a.example', 'b.example'])
    await call(direct, 'activate', license.key, site).expect(200);
  const answers = await inOneBatch('validate', license, ['a.example', 'b.example'], () =>
    call(direct, 'deactivate', license.key, 'b.example').expect(200),
  );
  // Both were read before the deactivation.
  const told = { data: { activations_used: 2, identifier_activated: true } };
  expect(answers).toMatchObject([
    { status: 200, body: told },
    { status: 200, body: told },
  ]);
});

test('activate: a site is refused for want of a slot only when all slots are taken by others', async () => {
  const license = await giveLicense(direct.db, await givePlan(direct.db, { limit: 1 }));
  await call(direct, 'activate', license.key, 'a.example').expect(200);
  const answers = await inOneBatch('activate', license, ['b.example', 'a.example'], () =>
    call(direct, 'deactivate', license.key, 'a.example').expect(200),
  );
  expect(answers).toMatchObject([
    { status: 403, body: { error: { code: 'ACTIVATION_LIMIT_REACHED', activations_used: 1 } } },
    { status: 200, body: { data: { identifier: 'a.example', activations_used: 1 } } },
  ]);
});

test('an update check is answered with the version below one that is withdrawn while it is looked up', async () => {
  await givePlan(direct.db, { productId: 43 });
  for (const version of ['1.0.0', '1.1.0']) await giveRelease(direct, { productId: 43, version });
  const versions = gate.holdAnswer('version_order');
  const answer = request(gated.url).get(`${PREFIX}/updates/43`).then();
  await versions.held;
  await withdrawRelease(direct.db, 43, '1.1.0', new Date());
  versions.release();
  expect((await answer).body).toMatchObject({ data: { update_available: true, version: '1.0.0' } });
});
