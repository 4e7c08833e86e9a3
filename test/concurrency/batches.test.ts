import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createBatches, dedupeInBatch } from '../../src/licensing/core/batches';
import { cacheBriefly } from '../../src/licensing/updates';
import request from 'supertest';
import { giveRelease, makePackage } from '../support/packages';
import { eventually } from '../support/processes';
import { openRaw } from '../support/raw-http';
import {
  BACKENDS,
  createMariaDbDatabase,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';
import { processEnvironment, startProgram } from '../support/service-process';

/** Calls that share their statements: an error of one must not affect the others. */

afterEach(() => void jest.useRealTimers());

describe('a group', () => {
  test('starts alone at once, and makes one batch of what arrives meanwhile', async () => {
    const batches: number[][] = [];
    let release: () => void = () => undefined;
    const submit = createBatches<number, number>(
      async (items) => {
        batches.push(items);
        if (batches.length === 1) await new Promise<void>((resolve) => (release = resolve));
        return items.map((item) => item * 2);
      },
      { maxItems: 3, maxWaiting: 10 },
    );
    const first = submit(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const others = [2, 3, 4, 5].map((item) => submit(item));
    release();
    expect(await Promise.all([first, ...others])).toEqual([2, 4, 6, 8, 10]);
    expect(batches).toEqual([[1], [2, 3, 4], [5]]);
  });

  test('takes half of a crowd that comes back as soon as it is answered, so that the other half can', async () => {
    const sizes: number[] = [];
    const submit = createBatches<number, number>(
      async (items) => {
        sizes.push(items.length);
        await new Promise((resolve) => setTimeout(resolve, 5));
        return items;
      },
      { maxItems: 100, maxWaiting: 1_000 },
    );
    let calls = 600;
    const comeBack = async (): Promise<void> => {
      while (--calls >= 0) await submit(calls);
    };
    await Promise.all(Array.from({ length: 60 }, comeBack));
    expect(sizes).toEqual(Array.from({ length: 20 }, () => 30));
  });

  test('fails the callers of a batch that failed, and answers the next', async () => {
    let fail = true;
    const submit = createBatches<number, number>(
      (items) => (fail ? Promise.reject(new Error('away')) : Promise.resolve(items)),
      { maxItems: 10, maxWaiting: 10 },
    );
    const results = await Promise.allSettled([submit(1), submit(2)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fail = false;
    expect(await submit(3)).toBe(3);
  });

  test('hands over an answer that failed while the next batch is begun, and the process lives on', async () => {
    const program = `
      const { createBatches } = require('./dist/src/licensing/core/batches');
      const work = (items) => Promise.resolve(items.map(() => Promise.reject(new Error('locked'))));
      const submit = createBatches(work, { maxItems: 1, maxWaiting: 10 });
      Promise.allSettled([submit(1), submit(2), submit(3)]).then((all) =>
        console.log(all.map(({ reason }) => reason.message).join()),
      );`;
    const { ended } = startProgram(process.execPath, ['-e', program], processEnvironment());
    expect(await ended).toEqual({ code: 0, stdout: 'locked,locked,locked\n', stderr: '' });
  });

  test('refuses at once what its queue has no room for', async () => {
    let release: () => void = () => undefined;
    const submit = createBatches<number, number>(
      async (items) => {
        await new Promise<void>((resolve) => (release = resolve));
        return items;
      },
      { maxItems: 1, maxWaiting: 2 },
    );
    const first = submit(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const waiting = [submit(2), submit(3)];
    await expect(submit(4)).rejects.toMatchObject({ code: 'BUSY' });
    for (const one of [first, ...waiting]) {
      release();
      await one;
    }
  });
});

test('what many ask at once is looked up once, and each gets its own answer', async () => {
  const lookedUp: string[] = [];
  const answer = dedupeInBatch(
    (item: { name: string }) => item.name,
    ({ name }) => {
      lookedUp.push(name);
      return Promise.resolve(name.toUpperCase());
    },
  );
  const asked = ['a', 'b', 'a', 'c', 'b', 'a'].map((name) => ({ name }));
  expect(await answer(asked)).toEqual(['A', 'B', 'A', 'C', 'B', 'A']);
  expect(lookedUp).toEqual(['a', 'b', 'c']);
});

test('what is remembered is looked up once; one that fails late leaves the answer that came after it', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  const lookedUp: { resolve: (answer: string) => void; reject: (error: Error) => void }[] = [];
  const ask = cacheBriefly(
    () => new Promise<string>((resolve, reject) => lookedUp.push({ resolve, reject })),
  );
  const late = ask(42);
  expect(ask(42)).toBe(late);
  jest.advanceTimersByTime(1_050);
  const next = ask(42);
  lookedUp[1]?.resolve('answer');
  expect(await next).toBe('answer');
  lookedUp[0]?.reject(new Error('late'));
  await expect(late).rejects.toThrow('late');
  expect(await ask(42)).toBe('answer');
  expect(lookedUp).toHaveLength(2);

  const failing = ask(43);
  lookedUp[2]?.reject(new Error('at once'));
  await expect(failing).rejects.toThrow('at once');
  void ask(43);
  expect(lookedUp).toHaveLength(4);
});

describe.each(BACKENDS)('downloads at the same moment, on %s', (_name, backend) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService(await backend());
  });
  afterAll(() => service.stop());

  test('of all versions of several products, by many keys: each gets the package it asked for', async () => {
    const licenses = new Map<number, TestLicense[]>();
    for (const productId of [42, 43, 44]) {
      const plan = await givePlan(service.db, { productId });
      licenses.set(productId, [await giveLicense(service.db, plan), await giveLicense(service.db, plan)]);
    }
    // Publish the same versions of two products, and none of the third.
    const packages = new Map<string, Buffer>();
    for (const productId of [42, 43])
      for (const version of ['1.0', '2.0', '2.1-beta1']) {
        // Give each another size, because a package with a wrong size is refused.
        const { path } = await makePackage({}, 1_000 + packages.size);
        const { bytes } = await giveRelease(service, { productId, version, file: path });
        packages.set(`${productId} ${version}`, bytes);
      }
    const all = [...licenses].flatMap(([productId, keys]) =>
      [undefined, '1.0', '2.0', '2.1-beta1', '9.9'].flatMap((version) =>
        [...keys, { id: null, key: 'UNKNOWN' }].map(({ id, key }) => ({ productId, version, id, key })),
      ),
    );
    const wanted = [...all, ...all];
    // Send them at once on one connection, so that they are read and decided together.
    const connection = openRaw(service.url);
    // Use a separate client for each, so that each is logged.
    const ask = ({ productId, version, key }: (typeof wanted)[number], i: number) =>
      `GET ${PREFIX}/downloads/${productId}?dlid=${key}${version === undefined ? '' : `&version=${version}`} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 198.51.100.${i}\r\n\r\n`;
    const answers = [await connection.send(wanted.map(ask).join(''))];
    while (answers.length < wanted.length) answers.push(await connection.send(''));
    connection.close();
    const expected = wanted.map(({ productId, version = '2.0', id }) => {
      const bytes = packages.get(`${productId} ${version}`);
      if (id === null) return { status: 403, body: Buffer.from('License not found') };
      if (bytes) return { status: 200, body: bytes };
      return { status: 404, body: Buffer.from('No download is available for this product') };
    });
    expect(answers.map((answer) => ({ status: answer?.status, body: answer?.body }))).toEqual(expected);

    const told = (entry: { product_id: unknown; version: unknown; license_id: unknown; outcome: unknown }) =>
      [entry.product_id, entry.version, entry.license_id, entry.outcome].join();
    await eventually(async () =>
      expect((await rows<Parameters<typeof told>[0]>(service.db, 'access_log')).map(told).sort()).toEqual(
        wanted
          .map(({ productId, version, id }, i) => {
            const outcome = { 200: 'ok', 403: 'LICENSE_NOT_FOUND', 404: 'DOWNLOAD_NOT_FOUND' }[
              expected[i]!.status
            ];
            const sent = version ?? (outcome === 'ok' ? '2.0' : undefined);
            return told({ product_id: productId, version: sent, license_id: id, outcome });
          })
          .sort(),
      ),
    );
  });
});

describe('validate calls on MariaDB', () => {
  let service: TestService;
  let licenses: TestLicense[];

  beforeAll(async () => {
    service = await startTestService({ LICENSING_DATABASE_URL: await createMariaDbDatabase() });
    const plan = await givePlan(service.db);
    licenses = [];
    for (let i = 0; i < 10; i++) licenses.push(await giveLicense(service.db, plan));
    await request(service.url)
      .post(`${PREFIX}/licenses/activate`)
      .send({ license_key: licenses[0]!.key, identifier: 'example.com' })
      .expect(200);
  });

  afterAll(() => service.stop());

  const validate = (key: string, identifier?: string, address = '192.0.2.1') =>
    request(service.url)
      .post(`${PREFIX}/licenses/validate`)
      .set('X-Forwarded-For', address)
      .send({ license_key: key, identifier });

  test('the same licence many times with different identifiers: each its own answer, the count exact', async () => {
    service.clock.now = new Date('2030-01-01T00:00:00.900Z');
    const [first] = licenses as [TestLicense];
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        validate(first.key, i % 3 === 0 ? 'https://EXAMPLE.com/' : i % 3 === 1 ? 'other.example' : undefined),
      ),
    );
    expect(
      answers.map(
        ({ body }) => (body as { data: { identifier_activated: boolean } }).data.identifier_activated,
      ),
    ).toEqual(answers.map((_, i) => i % 3 !== 1));
    const [row] = await rows(service.db, 'licenses');
    expect(row).toMatchObject({ check_count: 30, last_check_at: '2030-01-01 00:00:00' });
  });

  test('unknown keys among good ones: they are refused, the others are answered and counted', async () => {
    const keys = licenses.slice(1, 6).flatMap(({ key }, i) => [key, `UNKNOWN-${i}`]);
    const answers = await Promise.all(keys.map((key) => validate(key)));
    expect(answers.map(({ status }) => status)).toEqual(keys.map((key) => (key.startsWith('U') ? 403 : 200)));
    const counted = await rows<{ check_count: number }>(service.db, 'licenses');
    expect(counted.slice(1, 6).map(({ check_count }) => check_count)).toEqual([1, 1, 1, 1, 1]);
  });

  test('the latest time keeps its address, whatever arrives after it', async () => {
    const { key, id } = licenses[6]!;
    service.clock.now = new Date('2030-01-02T00:00:10Z');
    await validate(key, undefined, '198.51.100.7').expect(200);
    service.clock.now = new Date('2030-01-02T00:00:05Z');
    await validate(key, undefined, '198.51.100.8').expect(200);
    const row = (await rows(service.db, 'licenses')).find((one) => one.id === id);
    expect(row).toMatchObject({
      check_count: 2,
      last_check_at: '2030-01-02 00:00:10',
      last_check_ip: '198.51.100.7',
    });
  });

  test('a time that a clock gone wrong has left a year ahead is the latest no more', async () => {
    const { key, id } = licenses[6]!;
    const last = async () =>
      (await rows<{ id: number }>(service.db, 'licenses')).find((one) => one.id === id);
    service.clock.now = new Date('2031-01-02T00:00:10Z');
    await validate(key, undefined, '198.51.100.7').expect(200);
    expect(await last()).toMatchObject({ last_check_at: '2031-01-02 00:00:10' });
    service.clock.now = new Date('2030-01-02T00:00:20Z');
    await validate(key, undefined, '198.51.100.8').expect(200);
    expect(await last()).toMatchObject({
      check_count: 4,
      last_check_at: '2030-01-02 00:00:20',
      last_check_ip: '198.51.100.8',
    });
  });

  test('a licence whose row somebody holds is refused in the end, and the others are answered before, again and again', async () => {
    const held = licenses[7]!;
    const free = licenses[8]!;
    const countOf = async (id: number) =>
      (await rows<{ id: number; check_count: number }>(service.db, 'licenses')).find((one) => one.id === id)!
        .check_count;
    const before = { held: await countOf(held.id), free: await countOf(free.id) };
    const holder = await service.db.transaction();
    await holder('licensing_licenses').where({ id: held.id }).forUpdate();
    try {
      for (let round = 0; round < 3; round++) {
        const order: string[] = [];
        const waiting = validate(held.key).then(({ status }) => order.push(`held ${status}`));
        const others = Array.from({ length: 20 }, () =>
          validate(free.key).then(({ status }) => order.push(`free ${status}`)),
        );
        await Promise.all([waiting, ...others]);
        expect(order).toEqual([...Array<string>(20).fill('free 200'), 'held 503']);
      }
    } finally {
      await holder.rollback();
    }
    await validate(held.key).expect(200);
    // A refused call must not be counted, and an answered one exactly once.
    expect(await countOf(held.id)).toBe(before.held + 1);
    expect(await countOf(free.id)).toBe(before.free + 60);
  });

  test('a statement that fails in the middle of a batch counts nothing and is answered as a fault', async () => {
    const { key, id } = licenses[9]!;
    await service.db.schema.alterTable('licensing_licenses', (table) =>
      table.renameColumn('check_count', 'moved'),
    );
    const answers = await Promise.all([validate(key), validate(licenses[8]!.key)]);
    expect(answers.map(({ status }) => status)).toEqual([503, 503]);
    await service.db.schema.alterTable('licensing_licenses', (table) =>
      table.renameColumn('moved', 'check_count'),
    );
    const row = (await rows(service.db, 'licenses')).find((one) => one.id === id);
    expect(row).toMatchObject({ check_count: 0, last_check_at: null });
    await validate(key).expect(200);
  });
});
