import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { changePlan, setLimit } from '../../src/licensing/amend';
import { eraseCustomer } from '../../src/privacy/erase-customer';
import { changeState } from '../../src/licensing/lifecycle';
import { OperatorError } from '../../src/licensing/operator-error';
import type { Db } from '../../src/store/engine/database';
import { isLockConflict } from '../../src/store/engine/errors';
import { operator, type Operator } from '../support/operator';
import { eventually, temporaryFolder } from '../support/processes';
import { giveLicense, givePlan, PREFIX, rows, type TestLicense } from '../support/service';
import { startServicesOnMariaDb, type ServiceProcess } from '../support/service-process';

/** Many programs at once on the same few licences: two services, operators, an import, and a customer's erasure. */

let db: Db;
let command: Operator;
let services: ServiceProcess[];
let stop: () => Promise<void>;

beforeAll(async () => {
  const started = await startServicesOnMariaDb(2);
  ({ db, services, stop } = started);
  command = operator(started.settings);
});

afterAll(() => stop());

const LIMIT = 4;
/** The code for a call that waits a second for a lock, as happens on a busy machine. */
const LATE = 'SERVICE_UNAVAILABLE';
const CUSTOMER = 'jane@example.com';

test('slots, states and history agree after a storm, and nothing in it was a fault', async () => {
  const plans = [
    await givePlan(db, { type: 'seat', limit: LIMIT }),
    await givePlan(db, { type: 'seat', limit: LIMIT }),
  ];
  const licenses: TestLicense[] = [];
  for (let i = 0; i < 3; i++) licenses.push(await giveLicense(db, plans[0]!, { customer: CUSTOMER }));
  const file = join(temporaryFolder(), 'before.jsonl');
  await command.json(['export', '--out', file]);

  let running = true;
  const statuses = new Map<string, number>();
  const faults: unknown[] = [];
  let imports = 0;
  const pick = <T>(from: T[]): T => from[Math.floor(Math.random() * from.length)] as T;
  const client = async (service: ServiceProcess) => {
    while (running) {
      const verb = pick(['activate', 'activate', 'deactivate', 'validate']);
      const identifier = pick([CUSTOMER, 'a@example.com', 'b@example.com', 'c@example.com', 'd@example.com']);
      const answer = await request(service.url)
        .post(`${PREFIX}/licenses/${verb}`)
        .send({ license_key: pick(licenses).key, identifier, name: pick([undefined, 'Desk', CUSTOMER]) });
      const { status } = answer;
      const body: unknown = answer.body;
      const code = (body as { error?: { code: string } }).error?.code ?? 'ok';
      statuses.set(code, (statuses.get(code) ?? 0) + 1);
      if (status >= 500 && code !== LATE) faults.push(body);
    }
  };
  const context = () => ({ actor: 'operator:test', now: new Date() });
  const works: (() => Promise<unknown>)[] = [
    () => setLimit(db, pick(licenses).id, LIMIT, context()),
    () => changePlan(db, pick(licenses).id, pick(plans), context()),
    () => changeState(db, pick(licenses).id, pick(['suspend', 'reinstate', 'reinstate']), context()),
    () => eraseCustomer(db, CUSTOMER, context()),
    async () => {
      const { code, stderr } = await command.run(['import', file]);
      if (code === 0) imports++;
      // Accept this message, which follows the quarter of a minute in which it retries.
      else if (!stderr.includes('another process is changing the same rows')) faults.push({ code, stderr });
    },
  ];
  const worker = async (work: () => Promise<unknown>) => {
    while (running) {
      // A refusal by the rules is not a fault, and an operator who met a lock may try again.
      await work().catch((error: unknown) => {
        if (!(error instanceof OperatorError) && !isLockConflict(error)) faults.push(error);
      });
      await sleep(Math.random() * 100);
    }
  };
  const everybody = [
    ...services.flatMap((service) => [client(service), client(service), client(service), client(service)]),
    ...works.map(worker),
  ];
  try {
    // About 1 s.
    await eventually(() => {
      expect([...statuses.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(300);
      expect(imports).toBeGreaterThan(2);
      const codes = ['ok', 'ACTIVATION_LIMIT_REACHED', 'ACTIVATION_NOT_FOUND', 'LICENSE_INACTIVE'];
      expect(codes.filter((code) => (statuses.get(code) ?? 0) < 10)).toEqual([]);
    });
  } finally {
    running = false;
    await Promise.all(everybody);
  }

  expect(faults).toEqual([]);
  const calls = [...statuses.values()].reduce((sum, count) => sum + count, 0);
  expect(statuses.get(LATE) ?? 0).toBeLessThanOrEqual(calls / 100);
  const activations = await rows<{ license_id: number }>(db, 'activations');
  const events = await rows<{ license_id: number; action: string; times: number }>(db, 'events');
  for (const row of await rows<{ id: number; activations_used: number }>(db, 'licenses')) {
    const of = <T extends { license_id: number }>(from: T[]) =>
      from.filter((one) => one.license_id === row.id);
    const count = (action: string) =>
      of(events).reduce((sum, event) => sum + (event.action === action ? event.times : 0), 0);
    expect(row.activations_used).toBe(of(activations).length);
    expect(row.activations_used).toBeLessThanOrEqual(LIMIT);
    expect(count('activate') - count('deactivate')).toBe(row.activations_used);
  }
  // When no program writes the address any longer, another erasure must remove it completely.
  await eraseCustomer(db, CUSTOMER, context());
  for (const name of ['licenses', 'activations', 'events', 'access_log'] as const)
    expect((await rows(db, name)).filter((row) => JSON.stringify(row).includes(CUSTOMER))).toEqual([]);
  expect(services.map((service) => service.process.exitCode)).toEqual([null, null]);
});
