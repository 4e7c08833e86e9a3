/* oxlint-disable typescript/no-unsafe-assignment -- answers are JSON of any form */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { table, type TableName } from '../../src/store/engine/database';
import { pruneCalls } from '../../src/store/idempotency';
import { runs } from '../support/extent';
import {
  expectNoSecrets,
  expectRefusal,
  isLate,
  manageClient,
  startManaged,
  type ManageAnswer,
  type ManageClient,
  type Managed,
} from '../support/manage';
import { makePackage } from '../support/packages';
import { eventually } from '../support/processes';
import {
  BACKENDS,
  countTimes,
  giveLicense,
  givePlan,
  rows,
  startTestService,
  type TestService,
} from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/** Tests Idempotency-Key (docs/operator-api.md): a POST with a key happens once, even if processes die meanwhile. */

const DAY_MS = 86_400_000;
let keys = 0;
const newKey = () => `a-key-of-this-test-${++keys}`;

/** Repeats a POST until it is no longer under way, or late on a busy machine. */
async function untilDone(send: () => Promise<ManageAnswer>): Promise<ManageAnswer> {
  return eventually(async () => {
    const answer = await send();
    if (isLate(answer)) throw new Error('It is still under way.');
    return answer;
  });
}

describe.each(BACKENDS)('Idempotency-Key, on %s', (_, settings) => {
  let service: Managed;
  let write: ManageClient;
  /** Another instance on the same database, if the database can be shared. */
  let second: TestService | undefined;
  let planId: number;
  beforeAll(async () => {
    const shared = { ...(await settings()), LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64') };
    service = await startManaged(shared);
    ({ write } = service);
    planId = await givePlan(service.db, {}, service.clock.now);
    if ('LICENSING_DATABASE_URL' in shared) second = await startTestService(shared, service.clock.now);
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await second?.stop();
    await service.stop();
  });

  const post = (key: string, body: unknown = { plan_id: planId }, path = '/licenses', client = write) =>
    client.send(`POST ${path}`, { body, headers: { 'Idempotency-Key': key } });
  const elsewhere = () => manageClient(second?.url ?? service.url, write.token);
  const count = async (name: TableName = 'licenses') => (await rows(service.db, name)).length;
  /** Reads the claims. `rows` cannot, because it sorts by a column "id", which this table does not have. */
  const claims = () =>
    service.db(table(service.db, 'idempotency')) as unknown as Promise<Record<string, unknown>[]>;

  it('does it once for 50 parallel calls over two instances', async () => {
    const key = newKey();
    const before = await count();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (__, i) =>
        untilDone(() => post(key, { plan_id: planId }, '/licenses', i % 2 ? elsewhere() : write)),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await count()).toBe(before + 1);
  });

  it('answers the same again, from another instance and to a differently written body', async () => {
    const key = newKey();
    const first = await post(key);
    expect(first.status).toBe(201);
    const again = await post(key, `{ "plan_id" : ${planId} }`, '/licenses', {
      ...elsewhere(),
      send: (call, sent) =>
        elsewhere().send(call, {
          ...sent,
          headers: { ...sent?.headers, 'Content-Type': 'application/json' },
        }),
    });
    expect([again.status, again.text]).toEqual([201, first.text]);
    const { license_key } = first.body.data;
    expect(again.body.data).toMatchObject({ license_key });
    const issued = first.body.data.id as number;
    const rekeyed = await post(newKey(), {}, `/licenses/${issued}/rekey`);
    expect(rekeyed.body.data.license_key).not.toBe(license_key);
    // This is the stored answer, although the licence has another key now.
    expect((await post(key)).text).toBe(first.text);
  });

  it('refuses another body, query or path with the same key', async () => {
    const key = newKey();
    const { id } = (await post(key)).body.data as { id: number };
    const before = await count();
    expectRefusal(await post(key, { plan_id: planId, lifetime: true }), 'IDEMPOTENCY_MISMATCH');
    expectRefusal(await post(key, {}, `/licenses/${id}/suspend`), 'IDEMPOTENCY_MISMATCH');
    expectRefusal(await post(key, { plan_id: planId }, `/licenses/${id}/suspend`), 'IDEMPOTENCY_MISMATCH');
    expect(await count()).toBe(before);
    expect((await post(key)).status).toBe(201);
  });

  it('treats the same key of another token as another call', async () => {
    const key = newKey();
    const other = await service.withToken('write', 'second admin');
    const [mine, others] = [await post(key), await post(key, { plan_id: planId }, '/licenses', other)];
    expect([mine.status, others.status]).toEqual([201, 201]);
    expect(mine.body.data.id).not.toBe(others.body.data.id);
  });

  it('repeats refusals, but keeps no 401 and no 403', async () => {
    const { id } = await giveLicense(service.db, planId);
    const key = newKey();
    const path = `/licenses/${id}/reinstate`;
    const refused = await post(key, {}, path);
    expectRefusal(refused, 'CONFLICT');
    await write.ok(`POST /licenses/${id}/suspend`);
    const again = await post(key, {}, path);
    expect([again.status, again.text, again.headers.get('retry-after')]).toEqual([409, refused.text, null]);
    expect((await post(newKey(), {}, path)).status).toBe(200);

    for (const [body, refusal] of [
      [{ plan_id: 999 }, 'INVALID_REQUEST'],
      [{ plan_id: planId, custmer: 'x' }, 'INVALID_REQUEST'],
    ] as const) {
      const wrong = newKey();
      expectRefusal(await post(wrong, body), refusal);
      expectRefusal(await post(wrong, body), refusal);
      expectRefusal(await post(wrong), 'IDEMPOTENCY_MISMATCH');
    }

    const before = (await claims()).length;
    for (const client of [service.as('wrong'), service.read])
      expect([401, 403]).toContain((await post(newKey(), { plan_id: planId }, '/licenses', client)).status);
    expect((await claims()).length).toBe(before);
  });

  it('takes 1 to 255 printable ASCII characters', async () => {
    expect((await post('x'.repeat(255))).status).toBe(201);
    expect((await post('!~ {"a"}')).status).toBe(201);
    for (const wrong of ['x'.repeat(256), 'é', 'a\tb', ''])
      expectRefusal(await post(wrong), 'INVALID_REQUEST', undefined, wrong);
    // Only a POST may have a key. A PATCH ignores it.
    const { id } = await giveLicense(service.db, planId);
    const patch = (limit: number) =>
      write.send(`PATCH /licenses/${id}`, {
        body: { activation_limit: limit },
        headers: { 'Idempotency-Key': 'patched' },
      });
    expect([(await patch(1)).status, (await patch(2)).status]).toEqual([200, 200]);
  });

  it('forgets a call after 24 hours, and prunes it', async () => {
    const start = service.clock.now;
    const key = newKey();
    const first = await post(key);
    service.clock.now = new Date(start.getTime() + DAY_MS - 2_000);
    expect((await post(key)).text).toBe(first.text);
    service.clock.now = new Date(start.getTime() + DAY_MS + 2_000);
    const next = await post(key);
    expect(next.status).toBe(201);
    expect(next.body.data.id).not.toBe(first.body.data.id);
    while ((await pruneCalls(service.db, new Date(service.clock.now.getTime() - DAY_MS), 10)) > 0);
    expect(await claims()).toHaveLength(1);
    expect((await post(key)).text).toBe(next.text);
    service.clock.now = start;
  });

  it('takes over the call of an instance that died after its claim, once its lease ends', async () => {
    const start = service.clock.now;
    const key = newKey();
    await post(key);
    const idempotency = service.db(table(service.db, 'idempotency'));
    const [made] = (await claims()).slice(-1);
    expect(made).toBeDefined();
    await idempotency.update({ answer: null });
    const before = await count();
    const waiting = await post(key);
    expectRefusal(waiting, 'CONFLICT');
    expect(Number(waiting.headers.get('retry-after'))).toBeGreaterThan(0);
    service.clock.now = new Date(start.getTime() + 11_000);
    const answers = await Promise.all(Array.from({ length: 10 }, () => untilDone(() => post(key))));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect(await count()).toBe(before + 1);
    service.clock.now = start;
  });

  it('stores the answer to an upload with a key', async () => {
    const key = newKey();
    const [file, other] = [(await makePackage()).bytes, (await makePackage()).bytes];
    const upload = (body: Buffer, query = '?version=1.0.0') =>
      write.send(`POST /products/42/releases${query}`, {
        body,
        headers: { 'Content-Type': 'application/zip', 'Idempotency-Key': key },
      });
    const first = await upload(file);
    expect([first.status, first.text]).toEqual([201, expect.stringContaining('"1.0.0"')]);
    expect((await upload(file)).text).toBe(first.text);
    expectRefusal(await upload(other), 'IDEMPOTENCY_MISMATCH');
    expectRefusal(await upload(file, '?version=1.0.1'), 'IDEMPOTENCY_MISMATCH');
    expect(await count('releases')).toBe(1);
  });

  it('stores no key, no token and no Idempotency-Key in clear', async () => {
    const issued = await post(newKey());
    const added = await post(newKey(), { name: 'made once', scope: 'read' }, '/tokens');
    const dump: unknown[] = [];
    for (const name of ['idempotency', 'licenses', 'license_keys', 'events', 'tokens', 'access_log'] as const)
      dump.push(await service.db(table(service.db, name)));
    const text = JSON.stringify(dump);
    for (const secret of [
      issued.body.data.license_key,
      added.body.data.token,
      write.token,
      'a-key-of-this-test',
    ])
      expect(text).not.toContain(secret);
  });
});

describe('Idempotency-Key, on MariaDB with several instances', () => {
  it('has one effect when the first caller is stopped while it waits, and another takes over', async () => {
    const [, settings] = BACKENDS.at(-1)!;
    const shared = await settings();
    const first = await startManaged(shared);
    const second = await startTestService(shared, new Date(first.clock.now.getTime() + 11_000));
    try {
      const { id } = await giveLicense(first.db, await givePlan(first.db));
      const body = { reason: 'once' };
      const suspend = (url: string) =>
        manageClient(url, first.write.token).send(`POST /licenses/${id}/suspend`, {
          body,
          headers: { 'Idempotency-Key': 'stopped' },
        });
      const lock = await first.db.transaction();
      await lock(table(lock, 'licenses')).where({ id }).forUpdate();
      const waiting = suspend(first.url);
      const claims = () => first.db(table(first.db, 'idempotency')).pluck<string[]>('claim');
      const [claim] = await eventually(async () => {
        const made = await claims();
        expect(made).toHaveLength(1);
        return made;
      });
      // The second instance's clock is ahead, so the lease has ended for it.
      const taking = suspend(second.url);
      await eventually(async () => expect(await claims()).not.toEqual([claim]));
      await lock.commit();
      const [one, other] = await Promise.all([waiting, taking]);
      expect(other.status).toBe(200);
      expectRefusal(one, 'CONFLICT');
      expect(await countTimes(first.db, 'events', { license_id: id, action: 'suspend' })).toBe(1);
      expect((await suspend(first.url)).text).toBe(other.text);
    } finally {
      await second.stop();
      await first.stop();
    }
  });

  it('runs a call again that a deadlock has rolled back, whole', async () => {
    const [, settings] = BACKENDS.at(-1)!;
    const service = await startManaged(await settings());
    try {
      const planId = await givePlan(service.db);
      const { id } = await giveLicense(service.db, planId);
      const other = await giveLicense(service.db, planId);
      const statuses = await Promise.all(
        Array.from({ length: 6 }, async (__, i) => {
          const lock = await service.db.transaction();
          try {
            await lock(table(lock, 'licenses')).where({ id: other.id }).forUpdate();
            await sleep(10);
            await lock(table(lock, 'licenses')).where({ id }).forUpdate();
            await lock.commit();
          } catch {
            await lock.rollback();
          }
          const { status } = await service.write.send(`POST /licenses/${id}/keys`, {
            body: { label: `Key ${i}` },
            headers: { 'Idempotency-Key': `deadlock ${i}` },
          });
          return status;
        }),
      );
      const keysMade = (await rows(service.db, 'license_keys')).filter(({ label }) => label !== null);
      expect(keysMade).toHaveLength(statuses.filter((status) => status === 201).length);
      expect(statuses.filter((status) => ![201, 503].includes(status))).toEqual([]);
    } finally {
      await service.stop();
    }
  });
});

const ROUNDS = runs(2, 200);

describe('Idempotency-Key, when the service is killed', () => {
  it(
    `never does it twice, and the next attempt finishes it (${ROUNDS} times)`,
    async () => {
      const [, settings] = BACKENDS.at(-1)!;
      const shared = { ...(await settings()), LICENSING_MANAGE_RATE_LIMIT: '100000' };
      const own = await startManaged(shared);
      const db = await openMigrated(shared);
      const planId = await givePlan(db);
      // The clock of the surviving instance is an hour ahead, so that it does not have to wait for leases to end.
      own.clock.now = new Date(Date.now() + 3_600_000);
      let process: ServiceProcess | undefined;
      try {
        for (let round = 0; round < ROUNDS; round++) {
          process = await startServiceProcess(shared);
          const mortal = manageClient(process.url, own.write.token);
          const send = (client: ManageClient) =>
            client.send('POST /licenses', {
              body: { plan_id: planId, metadata: { round: String(round) } },
              headers: { 'Idempotency-Key': `round ${round}` },
            });
          await mortal.ok('GET /me');
          const dying = send(mortal).catch(() => undefined);
          await sleep(Math.random() * 40);
          await process.stop('SIGKILL');
          const died = await dying;
          const finished = await untilDone(() => send(own.write));
          expect(finished.status).toBe(201);
          if (died !== undefined) expect(finished.text).toBe(died.text);
          expect(
            (await rows(db, 'licenses')).filter(({ metadata }) => metadata === `{"round":"${round}"}`),
          ).toHaveLength(1);
        }
      } finally {
        await process?.stop('SIGKILL');
        await db.destroy();
        await own.stop();
      }
    },
    ROUNDS * 5_000 + 90_000,
  );
});
