import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { table, type Db } from '../../src/store/engine/database';
import { lockLicense } from '../../src/store/licenses/licenses';
import { eventually } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  type TestLicense,
} from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/** The service runs in a separate process, which an unhandled rejection would end. */

let service: ServiceProcess;
let db: Db;
let license: TestLicense;

beforeAll(async () => {
  const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
  db = await openMigrated(settings);
  license = await giveLicense(db, await givePlan(db));
  service = await startServiceProcess(settings);
});

afterAll(async () => {
  await service.stop();
  await db.destroy();
});

const validate = (identifier?: string) =>
  request(service.url)
    .post(`${PREFIX}/licenses/validate`)
    .send({ license_key: license.key, identifier })
    .then(({ status }) => status);

test('a validation that failed before its held licence could be written does not end the process', async () => {
  const [moved, activations] = ['licensing_elsewhere', table(db, 'activations')];
  // Rename the table before locking the row: MySQL waits for users of the tables that it refers to.
  await db.schema.renameTable(activations, moved);
  const holder = await db.transaction();
  try {
    await lockLicense(holder, license.id);
    // The look-up of the identifier fails at once. A write that waited for the row would fail later, without a handler.
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => validate(`site-${i}.example`)));
    expect(new Set(answers)).toEqual(new Set([503]));
    await eventually(async () => {
      const [statements] = await db.raw<[{ info: string }[]]>(
        `SELECT info FROM information_schema.processlist
         WHERE db = DATABASE() AND command <> 'Sleep' AND id <> CONNECTION_ID()`,
      );
      expect(statements).toEqual([]);
    });
    // A process that had ended would not answer this.
    await request(service.url).get(`${PREFIX}/updates/42`).expect(200);
  } finally {
    await holder.rollback();
    await db.schema.renameTable(moved, activations);
  }
  expect(service.process.exitCode).toBeNull();
  expect(await validate('example.com')).toBe(200);
  expect(await rows(db, 'licenses')).toMatchObject([{ check_count: 1 }]);
});

const HELD = 12;

test.each([
  ['validations of twelve licences', 'validate', HELD],
  ['activations of twelve licences', 'activate', HELD],
  ['deactivations of twelve licences', 'deactivate', HELD],
  ['twelve deactivations of one licence', 'deactivate', 1],
])('%s that are held wait, and leave connections for everybody else', async (_what, verb, count) => {
  const plan = await givePlan(db, { limit: 0 });
  const held: TestLicense[] = [];
  for (let i = 0; i < count; i++) held.push(await giveLicense(db, plan));
  const free = await giveLicense(db, plan);
  const call = (name: string, { key }: TestLicense, site: number) =>
    request(service.url)
      .post(`${PREFIX}/licenses/${name}`)
      .send({ license_key: key, identifier: `site-${site}.example.com` })
      .then(({ status }) => status);
  const calls = Array.from({ length: HELD }, (_, i) => [held[i % count] as TestLicense, i] as const);
  if (verb === 'deactivate') for (const [one, site] of calls) await call('activate', one, site);

  const holder = await db.transaction();
  const waiting: Promise<number>[] = [];
  let answered = 0;
  try {
    for (const { id } of held) await lockLicense(holder, id);
    for (const [one, site] of calls) waiting.push(call(verb, one, site).finally(() => answered++));
    const others: number[] = [];
    for (let i = 0; i < 4; i++) others.push(await call('validate', free, 0), await call('activate', free, 0));
    // With all connections waiting, the others would be answered only after the waiting calls, which are refused.
    expect([answered, new Set(others)]).toEqual([0, new Set([200])]);
  } finally {
    await holder.rollback();
  }
  await Promise.all(waiting);
});
