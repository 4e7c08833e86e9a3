import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { type Settings } from '../../src/settings/config';
import { changePlan, setLimit } from '../../src/licensing/amend';
import { addPlan, changePlanLimit, editPlan, removePlan } from '../../src/licensing/catalogue';
import { addKey } from '../../src/licensing/license-keys';
import { setKey } from '../../src/store/licenses/license-keys';
import { createLedger } from '../../src/licensing/core/ledger';
import { recordEvents } from '../../src/licensing/webhook-events';
import { publishRelease } from '../../src/packages/releases';
import { eraseCustomer } from '../../src/privacy/erase-customer';
import { anyCsv } from '../../src/transfer/moving/any-csv';
import { moveLicensesIn } from '../../src/transfer/moving/run';
import { insertActivations } from '../../src/store/licenses/activations';
import { insertProduct, lockProduct, sharePlan } from '../../src/store/catalogue';
import type { Pool } from '../../src/store/engine/connections';
import { openDatabase, table, type Db, type Transaction } from '../../src/store/engine/database';
import {
  findLicense,
  lockLicense,
  adjustSlotCounts,
  setLicense,
  type License,
} from '../../src/store/licenses/licenses';
import { setRelease } from '../../src/store/releases';
import { operator, type Operator } from '../support/operator';
import { giveRelease } from '../support/packages';
import { eventually } from '../support/processes';
import {
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
  testConfig,
} from '../support/service';

/** An operator's change is judged by the state at its writing, whatever other programs changed since it was read. */

const context = { actor: 'operator:test', now: new Date() };
let service: TestService;
let db: Db;
let command: Operator;

beforeAll(async () => {
  const settings = { LICENSING_DATABASE_URL: await createMariaDbDatabase() };
  service = await startTestService(settings);
  db = openPatient(settings);
  command = operator(settings);
});

afterAll(async () => {
  await db.destroy();
  await service.stop();
});

/**
 * A database for a test that must be the first in a queue. Otherwise a wait for a lock ends after a second, and its
 * place is lost on a machine that pauses for that time.
 */
function openPatient(settings: Settings): Db {
  const { database, tablePrefix } = testConfig(settings);
  const patient = openDatabase(database, tablePrefix, 4);
  (patient.client as { pool: Pool }).pool.on('createSuccess', (_event, connection) =>
    connection.query('SET SESSION innodb_lock_wait_timeout = 30', [], () => undefined),
  );
  return patient;
}

/** Waits until this number of transactions are queued for a row. The next one is queued behind them. */
function untilWaiting(count: number): Promise<void> {
  return eventually(async () => {
    // Wait for InnoDB's copy of this table, which it refreshes only if it was not read for 0.1 s.
    await sleep(150);
    const [waiting] = await db.raw<[object[]]>(
      `SELECT 1 FROM information_schema.innodb_trx JOIN information_schema.processlist ON id = trx_mysql_thread_id
         WHERE db = DATABASE() AND trx_state = 'LOCK WAIT'`,
    );
    expect(waiting).toHaveLength(count);
  });
}

/** Locks a licence's row while `begin` starts work that waits for it, and changes the licence before unlocking it. */
async function whileHeld<T>(
  license: TestLicense,
  begin: () => Promise<T>,
  change: (trx: Transaction) => Promise<unknown>,
): Promise<T> {
  const [begun] = await db.transaction(async (trx) => {
    await lockLicense(trx, license.id);
    const begun = begin();
    // The test checks its failure later.
    begun.catch(() => undefined);
    await untilWaiting(1);
    await change(trx);
    return [begun];
  });
  return begun;
}

const stored = async (name: 'licenses' | 'plans', id: number) =>
  (await rows<{ id: number }>(db, name)).find((row) => row.id === id);
const eventsOf = async ({ id }: TestLicense) =>
  (await rows<{ license_id: number; action: string }>(db, 'events'))
    .filter(({ license_id }) => license_id === id)
    .map(({ action }) => action);

test('a licence that is activated while its plan is changed stays on a plan that counts the same', async () => {
  const domains = await givePlan(db);
  const license = await giveLicense(db, domains);
  const devices = await givePlan(db, { type: 'device' });
  await expect(
    whileHeld(
      license,
      () => changePlan(db, license.id, devices, context),
      async (trx) => {
        await adjustSlotCounts(trx, new Map([[license.id, 1]]));
        await insertActivations(trx, [
          {
            licenseId: license.id,
            identifier: 'example.com',
            name: null,
            ip: null,
            keyId: null,
            free: false,
            heldUntil: null,
            site: 'example.com',
            activatedAt: new Date(),
          },
        ]);
      },
    ),
  ).rejects.toThrow(/has activations by domain/);
  expect(await stored('licenses', license.id)).toMatchObject({ plan_id: domains, activations_used: 1 });
  expect(await eventsOf(license)).toEqual(['issue']);
});

test('an activation on its way while the plan learns to count by something else is counted by that', async () => {
  const plan = await givePlan(db);
  const license = await giveLicense(db, plan);
  let activation: Promise<{ status: number; body: object }> | undefined;
  const edited = await whileHeld(
    license,
    () => editPlan(db, plan, { activationType: 'device' }),
    async () => {
      // It was looked up as a domain before it waits for the lock, behind the edit.
      activation = request(service.url)
        .post(`${PREFIX}/licenses/activate`)
        .send({ license_key: license.key, identifier: 'https://www.Example.com/' })
        .then(({ status, body }) => ({ status, body: body as object }));
      await untilWaiting(2);
    },
  );
  expect(edited).toMatchObject({ activationType: 'device' });
  expect(await activation).toMatchObject({
    status: 200,
    body: { data: { activation_type: 'device', identifier: 'https://www.Example.com/' } },
  });
  const activations = await rows<{ license_id: number }>(db, 'activations');
  expect(activations.filter(({ license_id }) => license_id === license.id)).toMatchObject([
    { identifier: 'https://www.Example.com/' },
  ]);
});

test('a plan learns to count by something else only after an activation that was faster, and then not', async () => {
  const plan = await givePlan(db);
  const license = await giveLicense(db, plan);
  for (let round = 0; round < 10; round++) {
    const [before, type] =
      round % 2 === 0 ? (['domain', 'instance'] as const) : (['instance', 'domain'] as const);
    const identifier = `https://www.Site-${round}.example/`;
    const send = (verb: string) =>
      request(service.url).post(`${PREFIX}/licenses/${verb}`).send({ license_key: license.key, identifier });
    const [edited, activated] = await Promise.allSettled([
      editPlan(db, plan, { activationType: type }),
      send('activate').expect(200),
    ]);
    expect(activated.status).toBe('fulfilled');
    if (edited.status === 'rejected')
      expect(String(edited.reason)).toContain(`have 1 activation by ${before}`);
    expect(await stored('plans', plan)).toMatchObject({
      activation_type: edited.status === 'rejected' ? before : type,
    });
    // In either order, the activation is found by the plan's present type.
    const validated = await request(service.url)
      .post(`${PREFIX}/licenses/validate`)
      .send({ license_key: license.key, identifier });
    expect(validated.body).toMatchObject({ data: { identifier_activated: true, activations_used: 1 } });
    await send('deactivate').expect(200);
    if (edited.status === 'rejected') await editPlan(db, plan, { activationType: type });
  }
});

test('an activation that had to wait is answered by the limit and the end that its licence has by then', async () => {
  const license = await giveLicense(db, await givePlan(db, { limit: 1 }));
  const activated = await whileHeld(
    license,
    () =>
      request(service.url)
        .post(`${PREFIX}/licenses/activate`)
        .send({ license_key: license.key, identifier: 'example.com' })
        .then(({ body }) => body as object),
    (trx) => setLicense(trx, license.id, { activationLimit: 5, expiresAt: new Date('2099-01-31T00:00:00Z') }),
  );
  expect(activated).toMatchObject({
    data: { activation_limit: 5, activations_used: 1, expires_at: '2099-01-31T00:00:00Z' },
  });
});

test('a deactivation on its way while its key ends frees nothing: the key is known no more', async () => {
  const license = await giveLicense(db, await givePlan(db));
  const { key, stored: added } = await addKey(db, license.id, {}, undefined, context);
  const send = (verb: string) =>
    request(service.url)
      .post(`${PREFIX}/licenses/${verb}`)
      .send({ license_key: key, identifier: 'example.com' })
      .then(({ status, body }) => ({ status, body: body as object }));
  expect(await send('activate')).toMatchObject({ status: 200 });
  const deactivated = await whileHeld(
    license,
    () => send('deactivate'),
    (trx) => setKey(trx, added.id, { endsAt: service.clock.now }),
  );
  expect(deactivated).toMatchObject({ status: 403, body: { error: { code: 'LICENSE_NOT_FOUND' } } });
  expect(await stored('licenses', license.id)).toMatchObject({ activations_used: 1 });
  expect((await eventsOf(license)).sort()).toEqual(['activate', 'add-key', 'issue']);
});

test.each<[string, (trx: Transaction, license: License) => Promise<unknown>]>([
  [
    'its licence moves to a plan that counts by something else',
    async (trx, { id }) => setLicense(trx, id, { planId: await givePlan(db, { type: 'device' }) }),
  ],
  [
    'its plan learns to count by something else',
    (trx, { plan }) => trx(table(db, 'plans')).where({ id: plan.id }).update({ activation_type: 'device' }),
  ],
])('an activation by the operator while %s is counted by that', async (_what, change) => {
  const given = await giveLicense(db, await givePlan(db));
  const license = (await findLicense(db, given.id)) as License;
  const identifier = 'https://www.Example.com/';
  const claim = { keyDigest: license.keyDigest, identifier, actor: context.actor, now: context.now };
  const added = await whileHeld(
    given,
    () => createLedger(db, recordEvents).override(claim),
    (trx) => change(trx, license),
  );
  // As a domain it would be example.com.
  expect(added).toMatchObject({ identifier, activationsUsed: 1 });
  expect(await stored('licenses', given.id)).toMatchObject({ activations_used: 1 });
  expect(await eventsOf(given)).toEqual(['issue', 'activate']);
});

test('licences that follow their plan leave out one that got another limit meanwhile, and that is reported', async () => {
  const plan = await givePlan(db, { limit: 3 });
  const [first, busy, last] = [
    await giveLicense(db, plan),
    await giveLicense(db, plan),
    await giveLicense(db, plan),
  ];
  const edited = await whileHeld(
    busy,
    () => command.json(['plan', 'edit', String(plan), '--activation-limit', '5', '--licenses', 'follow'], {}),
    (trx) => trx(table(db, 'licenses')).where({ id: busy.id }).update({ activation_limit: 9 }),
  );
  expect(edited).toMatchObject({ activation_limit: 5, licenses_changed: 2, licenses_skipped: 1 });
  const limits = [];
  for (const { id } of [first, busy, last]) limits.push(await stored('licenses', id));
  expect(limits).toMatchObject([{ activation_limit: 5 }, { activation_limit: 9 }, { activation_limit: 5 }]);
  expect(await eventsOf(first)).toEqual(['issue', 'set-limit']);
  expect(await eventsOf(busy)).toEqual(['issue']);
});

test('a plan keeps its old limit until its licences have the new one, so that a run that ended early can be repeated', async () => {
  const plan = await givePlan(db, { limit: 3 });
  const { id } = await giveLicense(db, plan);
  const follow = (onProgress?: () => void) =>
    changePlanLimit(db, plan, { from: 3, to: 5 }, context, onProgress);
  await expect(
    follow(() => {
      throw new Error('interrupted');
    }),
  ).rejects.toThrow('interrupted');
  expect(await stored('plans', plan)).toMatchObject({ activation_limit: 3 });
  const late = await giveLicense(db, plan);
  expect(await follow()).toEqual({ changed: 1, skipped: 0 });
  expect(await stored('plans', plan)).toMatchObject({ activation_limit: 5 });
  for (const one of [id, late.id])
    expect(await stored('licenses', one)).toMatchObject({ activation_limit: 5 });
});

test('of two operators who give a plan different limits, the later one hears of the other', async () => {
  const plan = await givePlan(db, { limit: 3 });
  const license = await giveLicense(db, plan);
  const { code, stderr } = await whileHeld(
    license,
    () => command.run(['plan', 'edit', String(plan), '--activation-limit', '5', '--licenses', 'follow']),
    () => db(table(db, 'plans')).where({ id: plan }).update({ activation_limit: 9 }),
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /Another operator gave plan \d+ a different limit meanwhile\. 1 licence has 5 slots/,
  );
  expect(await stored('plans', plan)).toMatchObject({ activation_limit: 9 });
});

test('a licence issued while its plan is given another limit has the new one', async () => {
  const plan = await givePlan(db, { limit: 3 });
  const [issued] = await db.transaction(async (trx) => {
    await trx(table(db, 'plans')).where({ id: plan }).update({ activation_limit: 9 });
    const begun = command.json(['license', 'issue', '--plan', String(plan)]);
    begun.catch(() => undefined);
    await untilWaiting(1);
    return [begun];
  });
  expect(await issued).toMatchObject({ activation_limit: 9 });
});

test('a plan learns to count by something else only after an import onto it, and then not', async () => {
  const plan = await givePlan(db, { type: 'domain' });
  let edited: Promise<unknown> | undefined;
  async function* table() {
    yield Buffer.from('key,site\n');
    edited = editPlan(db, plan, { activationType: 'seat' });
    edited.catch(() => undefined);
    await untilWaiting(1);
    yield Buffer.from('OLD-SYSTEM-KEY-1,www.example.com\n');
  }
  const map = new Map<'key' | 'activations', string>([
    ['key', 'key'],
    ['activations', 'site'],
  ]);
  const report = await moveLicensesIn(db, {
    ...{ source: anyCsv, file: table(), dryRun: false, secret: undefined, ...context },
    table: { map, ignore: [], product: undefined, plan: String(plan) },
  });
  expect(report).toMatchObject({ new: 1, leftOut: [] });
  await expect(edited).rejects.toThrow(/have 1 activation by domain/);
  expect(await stored('plans', plan)).toMatchObject({ activation_type: 'domain' });
});

test('what is written while a customer is erased is kept, and the customer taken out of it too', async () => {
  const { release } = await giveRelease(service, { version: '1.0', changelog: 'For Jane@Example.com' });
  const releases = table(db, 'releases');
  const erased = await db.transaction(async (trx) => {
    await trx(releases).where({ id: release.id }).update({ changelog: 'Faster, for jane@example.com' });
    const begun = eraseCustomer(db, 'jane@example.com', context);
    await untilWaiting(1);
    return [begun];
  });
  await Promise.all(erased);
  expect(await rows(db, 'releases')).toMatchObject([{ changelog: 'Faster, for erased' }]);
});

test('a licence that moved to another plan meanwhile does not follow the old one', async () => {
  const [plan, other] = [await givePlan(db, { limit: 3 }), await givePlan(db, { limit: 3 })];
  const license = await giveLicense(db, plan);
  const followed = await whileHeld(
    license,
    () => changePlanLimit(db, plan, { from: 3, to: 5 }, context),
    (trx) => trx(table(db, 'licenses')).where({ id: license.id }).update({ plan_id: other }),
  );
  expect(followed).toEqual({ changed: 0, skipped: 1 });
  expect(await stored('licenses', license.id)).toMatchObject({ plan_id: other, activation_limit: 3 });
  await setLimit(db, license.id, 4, context);
  expect(await stored('licenses', license.id)).toMatchObject({ activation_limit: 4 });
});

describe('what is removed meanwhile', () => {
  /** Deletes a row of the catalogue while `begin` starts work that has already read it. */
  async function whileRemoved(name: 'products' | 'plans', id: number, begin: () => Promise<unknown>) {
    const [begun] = await db.transaction(async (trx) => {
      await trx(table(db, name)).where({ id }).delete();
      const begun = begin().catch((error: unknown) => String(error));
      await untilWaiting(1);
      return [begun];
    });
    return begun;
  }

  test('a plan: no licence is issued on it', async () => {
    const plan = await givePlan(db);
    expect(
      await whileRemoved('plans', plan, () => command.run(['license', 'issue', '--plan', String(plan)])),
    ).toMatchObject({ code: 1, stderr: expect.stringContaining(`There is no plan ${plan}.`) });
  });

  test('a product: it gets no plan, and no version', async () => {
    const product = { name: 'Slip', createdAt: new Date(), element: null };
    const plan = { name: 'P', activationType: 'seat', activationLimit: 1, duration: null } as const;
    const first = await insertProduct(db, product);
    expect(
      await whileRemoved('products', first, () => addPlan(db, { ...plan, productId: first }, new Date())),
    ).toContain(`There is no product ${first}.`);
    const second = await insertProduct(db, product);
    expect(
      await whileRemoved('products', second, () =>
        giveRelease(service, { version: '1.0', productId: second }),
      ),
    ).toContain(`There is no product ${second}.`);
  });

  test('and what got a licence meanwhile is not removed', async () => {
    const [plan, other] = [await givePlan(db), await givePlan(db)];
    const license = await giveLicense(db, other);
    const [removed] = await db.transaction(async (trx) => {
      await sharePlan(trx, plan);
      const removed = removePlan(db, plan).catch(String);
      await untilWaiting(1);
      await trx(table(db, 'licenses')).where({ id: license.id }).update({ plan_id: plan });
      return [removed];
    });
    expect(await removed).toContain(`Plan ${plan} has licences`);
    expect(await stored('plans', plan)).toBeDefined();
  });
});

describe('a draft that is changed while it is being published', () => {
  let version = 0;

  /** Publishes a draft, without a new package or changelog, while another program runs `change` on it. */
  async function publishWhile(change: (trx: Transaction, id: number) => Promise<unknown>) {
    const draft = { productId: 42, version: `1.0.${++version}`, changelog: undefined, date: undefined };
    const { release } = await giveRelease(service, { ...draft, changelog: 'Draft', draft: true });
    const [published] = await db.transaction(async (trx) => {
      await lockProduct(trx, 42);
      const published = publishRelease(
        db,
        service.packagesDir,
        { ...draft, file: undefined, draft: false },
        new Date(),
      ).then(
        ({ state, changelog }) => ({ state, changelog }),
        (error: unknown) => (error as Error).message,
      );
      await untilWaiting(1);
      await change(trx, release.id);
      return [published];
    });
    return published;
  }

  beforeAll(() => givePlan(db));

  test('keeps a changelog that was written meanwhile', async () => {
    expect(
      await publishWhile((trx, id) => setRelease(trx, id, 'draft', { changelog: 'Written meanwhile' })),
    ).toEqual({ state: 'published', changelog: 'Written meanwhile' });
  });

  test('is refused when it got another package, which nobody looked at', async () => {
    expect(await publishWhile((trx, id) => setRelease(trx, id, 'draft', { sha256: 'f'.repeat(64) }))).toMatch(
      /^Another operator changed version 1\.0\.2 meanwhile\. Nothing was changed\. Try again\.$/,
    );
  });
});
