import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RowDataPacket } from 'mysql2/promise';
import request from 'supertest';
import { canonicalKey, generateKey } from '../../src/licensing/core/keys';
import type { Db } from '../../src/store/engine/database';
import { NEXT_MIGRATION, NEXT_VERSION } from '../support/next-version';
import { operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import { giveLicense, givePlan, PREFIX, rows, type TestLicense } from '../support/service';
import {
  openMigrated,
  startLicensing,
  startServiceProcess,
  startServicesOnMariaDb,
  type ServiceProcess,
} from '../support/service-process';

interface Answer {
  status: number;
  body: { data?: Record<string, unknown>; error?: Record<string, unknown> };
}

function call(service: ServiceProcess, verb: string, key: string, identifier: string): Promise<Answer> {
  return request(service.url)
    .post(`${PREFIX}/licenses/${verb}`)
    .send({ license_key: key, identifier })
    .then(({ status, body }) => ({ status, body: body as Answer['body'] }));
}

function outcome({ status, body }: Answer): string {
  return status === 200 ? 'ok' : String(body.error?.code);
}

function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[outcome(answer)] = (counts[outcome(answer)] ?? 0) + 1;
  return counts;
}

async function stored(db: Db, license: TestLicense) {
  const licenses = await rows<{ id: number; activations_used: number }>(db, 'licenses');
  const activations = await rows<{ license_id: number; identifier: string }>(db, 'activations');
  return {
    used: licenses.find(({ id }) => id === license.id)?.activations_used,
    identifiers: activations.filter((row) => row.license_id === license.id).map((row) => row.identifier),
  };
}

function inParallel<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

describe('two service processes on one MariaDB', () => {
  let db: Db;
  let services: ServiceProcess[];
  let stop: () => Promise<void>;
  const either = (index: number) => services[index % 2] as ServiceProcess;

  beforeAll(async () => {
    ({ db, services, stop } = await startServicesOnMariaDb(2));
  });

  afterAll(() => stop());

  test('200 activations at once take exactly the seven slots there are', async () => {
    const license = await giveLicense(db, await givePlan(db, { limit: 7 }));
    const answers = await inParallel(200, (i) =>
      call(either(i), 'activate', license.key, `site-${i}.example`),
    );
    expect(tally(answers)).toEqual({ ok: 7, ACTIVATION_LIMIT_REACHED: 193 });
    for (const { status, body } of answers.filter((answer) => outcome(answer) !== 'ok')) {
      expect(status).toBe(403);
      expect(body.error).toMatchObject({ activation_limit: 7, activations_used: 7 });
    }
    const successes = answers.filter((answer) => outcome(answer) === 'ok').map(({ body }) => body.data!);
    expect(successes.map((data) => data.activations_used).sort()).toEqual([1, 2, 3, 4, 5, 6, 7]);
    const { used, identifiers } = await stored(db, license);
    expect(used).toBe(7);
    expect(identifiers.sort()).toEqual(successes.map((data) => data.identifier).sort());
  });

  test('100 activations of one site at once take one slot, and all succeed', async () => {
    const license = await giveLicense(db, await givePlan(db, { limit: 3 }));
    const answers = await inParallel(100, (i) =>
      call(either(i), 'activate', license.key, i % 3 === 0 ? 'https://www.Example.com/' : 'example.com'),
    );
    expect(tally(answers)).toEqual({ ok: 100 });
    expect(new Set(answers.map(({ body }) => body.data!.activations_used))).toEqual(new Set([1]));
    expect(await stored(db, license)).toEqual({ used: 1, identifiers: ['example.com'] });
    const events = await rows<{ license_id: number; action: string }>(db, 'events');
    const actions = events.filter((event) => event.license_id === license.id).map((event) => event.action);
    expect(actions).toEqual(['issue', 'activate']);
  });

  test('100 deactivations of one site at once free one slot', async () => {
    const license = await giveLicense(db, await givePlan(db, { limit: 3 }));
    await call(either(0), 'activate', license.key, 'keeps.example');
    await call(either(1), 'activate', license.key, 'goes.example');
    const answers = await inParallel(100, (i) => call(either(i), 'deactivate', license.key, 'goes.example'));
    expect(tally(answers)).toEqual({ ok: 1, ACTIVATION_NOT_FOUND: 99 });
    expect(await stored(db, license)).toEqual({ used: 1, identifiers: ['keeps.example'] });
  });

  test('in a storm of activations and deactivations the counter always equals the rows and never passes the limit', async () => {
    const limit = 4;
    const license = await giveLicense(db, await givePlan(db, { limit }));
    const sampler = sampleSlots(db, license);
    const answers: Answer[] = [];
    await inParallel(16, async (worker) => {
      for (let i = 0; i < 20; i++)
        answers.push(
          await call(
            either(worker + i),
            // five activations to three deactivations, so that the limit is reached repeatedly
            (worker * 7 + i) % 8 < 5 ? 'activate' : 'deactivate',
            license.key,
            `site-${(worker + i * 5) % 11}.example`,
          ),
        );
    });
    const samples = await sampler.stop();

    const counts = tally(answers);
    expect(Object.keys(counts).sort()).toEqual(['ACTIVATION_LIMIT_REACHED', 'ACTIVATION_NOT_FOUND', 'ok']);
    expect(samples.length).toBeGreaterThan(20);
    expect(new Set(samples.map(({ used }) => used)).size).toBeGreaterThan(2);
    expect(samples.filter(({ used, counted }) => used !== counted)).toEqual([]);
    expect(Math.max(...samples.map(({ used }) => used))).toBe(limit);

    const { used, identifiers } = await stored(db, license);
    expect(used).toBe(identifiers.length);
    const events = await rows<{ license_id: number; action: string; times: number }>(db, 'events');
    const happened = (action: string) =>
      events
        .filter((event) => event.license_id === license.id && event.action === action)
        .reduce((sum, { times }) => sum + times, 0);
    expect(happened('activate') - happened('deactivate')).toBe(used);
  });

  test('a limit of 0 takes all of 60 sites at once', async () => {
    const license = await giveLicense(db, await givePlan(db, { limit: 0 }));
    const answers = await inParallel(60, (i) =>
      call(either(i), 'activate', license.key, `site-${i}.example`),
    );
    expect(tally(answers)).toEqual({ ok: 60 });
    const { used, identifiers } = await stored(db, license);
    expect([used, identifiers.length]).toEqual([60, 60]);
  });
});

/** Reads counter and rows repeatedly in one statement, which shows one moment, until it is stopped. */
function sampleSlots(db: Db, license: TestLicense) {
  const samples: { used: number; counted: number }[] = [];
  const end = new AbortController();
  const sampling = (async () => {
    while (!end.signal.aborted) {
      const [[sample]] = (await db.raw(
        `SELECT activations_used AS used,
           (SELECT COUNT(*) FROM licensing_activations a WHERE a.license_id = l.id) AS counted
         FROM licensing_licenses l WHERE id = ?`,
        [license.id],
      )) as [{ used: number; counted: number }[]];
      samples.push(sample!);
    }
  })();
  return {
    async stop() {
      end.abort();
      await sampling;
      return samples;
    },
  };
}

describe('locks, on a MariaDB of its own', () => {
  let mariadb: MariaDb;
  let db: Db;
  let service: ServiceProcess;
  let database: string;

  beforeAll(async () => {
    mariadb = await startMariaDb();
    const url = await mariadb.createDatabase();
    database = url.split('/').at(-1)!;
    db = await openMigrated({ LICENSING_DATABASE_URL: url });
    service = await startServiceProcess({ LICENSING_DATABASE_URL: url });
  });

  afterAll(async () => {
    await service.stop();
    await db.destroy();
    await mariadb.stop();
  });

  /** Returns how often a statement has waited for a row's lock since the server started. */
  async function lockWaits(): Promise<number> {
    const connection = await mariadb.connect();
    const [[row]] = await connection.query<RowDataPacket[]>(
      `SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_waits'`,
    );
    await connection.end();
    return Number(row!.Value);
  }

  test('an activation does not wait for somebody who holds the plan and the product', async () => {
    const planId = await givePlan(db, { limit: 3 });
    const license = await giveLicense(db, planId);
    const before = await lockWaits();
    const holder = await mariadb.connect(database);
    await holder.beginTransaction();
    await holder.query('SELECT * FROM licensing_plans WHERE id = ? FOR UPDATE', [planId]);
    await holder.query('SELECT * FROM licensing_products WHERE id = 42 FOR UPDATE');
    for (const [verb, identifier] of [
      ['activate', 'one.example'],
      ['activate', 'two.example'],
      ['validate', 'one.example'],
      ['deactivate', 'one.example'],
    ] as const)
      expect(outcome(await call(service, verb, license.key, identifier))).toBe('ok');
    await holder.rollback();
    await holder.end();
    expect(await lockWaits()).toBe(before);
    expect(await stored(db, license)).toEqual({ used: 1, identifiers: ['two.example'] });
  });

  test('issuing does not wait while unknown keys are tried, nor do those wait for issuing', async () => {
    const planId = await givePlan(db, { limit: 3 });
    const before = await lockWaits();
    let issuing = true;
    let tried = 0;
    const trying = inParallel(8, async (worker) => {
      while (issuing) {
        const verb = worker % 2 === 0 ? 'activate' : 'validate';
        const answer = await call(service, verb, generateKey(), 'example.com');
        expect(outcome(answer)).toBe('LICENSE_NOT_FOUND');
        tried++;
      }
    });
    const issued: TestLicense[] = [];
    try {
      await inParallel(2, async () => {
        for (let i = 0; i < 40; i++) issued.push(await giveLicense(db, planId));
      });
    } finally {
      issuing = false;
    }
    await trying;
    expect(tried).toBeGreaterThan(8);
    expect(await lockWaits()).toBe(before);

    // Test the other order with a long issuing: its row exists but is not committed.
    const holder = await mariadb.connect(database);
    await holder.beginTransaction();
    const key = generateKey();
    await holder.query(
      `INSERT INTO licensing_licenses (plan_id, status, activation_limit, created_at)
       VALUES (?, 'active', 3, '2026-01-01 00:00:00')`,
      [planId],
    );
    await holder.query(
      `INSERT INTO licensing_license_keys (key_digest, license_id, created_at)
       VALUES (SHA2(?, 256), LAST_INSERT_ID(), '2026-01-01 00:00:00')`,
      [canonicalKey(key)],
    );
    await holder.query(
      'UPDATE licensing_licenses SET main_key_id = LAST_INSERT_ID() ORDER BY id DESC LIMIT 1',
    );
    for (const unknown of [key, generateKey(), generateKey()])
      for (const verb of ['activate', 'validate'])
        expect(outcome(await call(service, verb, unknown, 'example.com'))).toBe('LICENSE_NOT_FOUND');
    await holder.commit();
    await holder.end();
    expect(outcome(await call(service, 'activate', key, 'example.com'))).toBe('ok');
    expect(await lockWaits()).toBe(before);
  });

  test('an activation waits for somebody who holds the licence itself, and then sees what was decided', async () => {
    const license = await giveLicense(db, await givePlan(db, { limit: 3 }));
    const before = await lockWaits();
    const holder = await mariadb.connect(database);
    await holder.beginTransaction();
    await holder.query(`UPDATE licensing_licenses SET status = 'suspended' WHERE id = ?`, [license.id]);
    const answer = call(service, 'activate', license.key, 'example.com');
    // Commit when the activation is seen to wait.
    while ((await lockWaits()) === before);
    await holder.commit();
    await holder.end();
    expect(outcome(await answer)).toBe('LICENSE_INACTIVE');
    expect(await stored(db, license)).toEqual({ used: 0, identifiers: [] });
  });
});

describe('a service process and the operator command on one SQLite file', () => {
  test('a second service is refused in words, and may come when the first has ended, however it did', async () => {
    const path = join(temporaryFolder(), 'shared.sqlite');
    const settings = { LICENSING_DATABASE_URL: `sqlite:${path}` };
    await (await openMigrated(settings)).destroy();
    const first = await startServiceProcess(settings);
    await expect(startServiceProcess(settings)).rejects.toThrow(`Another process already uses ${path}.`);
    await first.stop('SIGKILL');
    const second = await startServiceProcess(settings);
    expect(await second.stop()).toBe(0);
  });

  test('a service in use is not migrated under its feet: the command says what to do first', async () => {
    const settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'shared.sqlite')}` };
    const db = await openMigrated(settings);
    const service = await startServiceProcess(settings);
    const next = operator(settings);
    const refused = await next.run(['migrate'], { env: NEXT_VERSION });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('Stop it, migrate, and start it again.'),
    ]);
    await service.stop();
    expect(await next.json(['migrate'], { env: NEXT_VERSION })).toEqual({ run: [NEXT_MIGRATION] });
    await db.destroy();
  });

  test('activations, issuing and changes of state at the same time all succeed and are exact', async () => {
    const settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'shared.sqlite')}` };
    const db = await openMigrated(settings);
    const planId = await givePlan(db, { limit: 7 });
    const license = await giveLicense(db, planId, { expiresAt: new Date('2098-12-31') });
    const other = await giveLicense(db, planId);
    const service = await startServiceProcess(settings);
    const commands = [
      ...Array.from({ length: 3 }, (_, i) => [
        'license',
        'issue',
        '--plan',
        `${planId}`,
        '--customer',
        'jane@example.com',
        '--count',
        `${50 + i}`,
      ]),
      ['license', 'suspend', `${other.id}`],
      ['license', 'renew', `${license.id}`, '--until', '2099-12-31T00:00:00Z'],
    ].map((args) => startLicensing(args, settings));
    let working = true;
    const ended = Promise.all(commands.map((command) => command.ended)).finally(() => (working = false));

    const answers: Answer[] = [];
    await inParallel(8, async (worker) => {
      for (let i = 0; working || i < 10; i++)
        answers.push(await call(service, 'activate', license.key, `site-${worker}-${i}.example`));
    });
    for (const { code, stderr } of await ended) expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    await service.stop();

    expect(tally(answers)).toEqual({ ok: 7, ACTIVATION_LIMIT_REACHED: answers.length - 7 });
    const { used, identifiers } = await stored(db, license);
    expect([used, identifiers.length]).toEqual([7, 7]);
    const licenses = await rows<{ id: number; status: string; expires_at: string | null }>(db, 'licenses');
    expect(licenses).toHaveLength(2 + 50 + 51 + 52);
    expect(licenses.find(({ id }) => id === other.id)?.status).toBe('suspended');
    expect(licenses.find(({ id }) => id === license.id)?.expires_at).not.toBeNull();
    await db.destroy();
  });

  test('what is answered after another process held the database is committed, and survives a kill', async () => {
    const settings = { LICENSING_DATABASE_URL: `sqlite:${join(temporaryFolder(), 'shared.sqlite')}` };
    const db = await openMigrated(settings);
    const license = await giveLicense(db, await givePlan(db, { limit: 7 }));
    const service = await startServiceProcess(settings);
    await db.raw('BEGIN IMMEDIATE');
    const refused = await inParallel(6, (i) =>
      call(service, i % 2 === 0 ? 'activate' : 'validate', license.key, `early-${i}.example`),
    );
    expect(tally(refused)).toEqual({ SERVICE_UNAVAILABLE: 6 });
    await db.raw('COMMIT');

    for (const verb of ['validate', 'activate', 'validate'])
      expect(outcome(await call(service, verb, license.key, 'late.example'))).toBe('ok');
    await service.stop('SIGKILL');
    // Earlier calls were asked to retry; one in progress may have succeeded even so.
    const { used, identifiers } = await stored(db, license);
    expect(identifiers).toContain('late.example');
    expect(used).toBe(identifiers.length);
    const [row] = await rows<{ check_count: number }>(db, 'licenses');
    expect(row?.check_count).toBeGreaterThanOrEqual(2);
    await db.destroy();
  });
});
