import { readdirSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { readConfig, type Settings } from '../../src/settings/config';
import { openServiceDatabase, type Db } from '../../src/store/engine/database';
import { createAuthority } from '../support/certificates';
import { eventually, temporaryFolder } from '../support/processes';
import { startMariaDb, startRedis, type PrivateServer } from '../support/servers';
import { createMariaDbDatabase, giveLicense, givePlan, PREFIX, rows } from '../support/service';
import {
  openMigrated,
  startLicensing,
  startServiceProcess,
  type ServiceProcess,
} from '../support/service-process';

/** A proxy between the service and a server, for connections that a network device forgot without notice. */
interface Wire {
  port: number;
  /** Passes nothing on existing connections from now on; new ones work. */
  silence(): number;
  /** Silences a connection when `isLast` matches the data that was sent to the server. */
  silenceAt(isLast: ((data: Buffer, packets: number) => boolean) | undefined): void;
  /** Cuts a connection when `isLast` matches: the server receives the data, and its answer is lost. */
  cutAt(isLast: ((data: Buffer) => boolean) | undefined): void;
  close(): void;
}

async function openWire(port: number): Promise<Wire> {
  let passing: Socket[] = [];
  let isLast: ((data: Buffer, packets: number) => boolean) | undefined;
  let isUnanswered: ((data: Buffer) => boolean) | undefined;
  const all = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    let packets = 0;
    const end = () => (passing = passing.filter((socket) => socket !== near && socket !== far));
    near.on('data', (data) => {
      if (isLast?.(data, ++packets)) end();
      if (!isUnanswered?.(data)) return;
      end();
      far.write(data);
      setTimeout(() => near.destroy(), 300);
    });
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
    silenceAt(rule) {
      isLast = rule;
    },
    cutAt(rule) {
      isUnanswered = rule;
    },
    close() {
      for (const socket of all) socket.destroy();
      server.close();
    },
  };
}

let wire: Wire;
let redis: PrivateServer & { url: string };
let redisWire: Wire;
let settings: Settings;
let service: ServiceProcess;
let db: Db;

beforeAll(async () => {
  const url = await createMariaDbDatabase();
  db = await openMigrated({ LICENSING_DATABASE_URL: url });
  wire = await openWire(Number(new URL(url).port));
  redis = await startRedis();
  redisWire = await openWire(redis.port);
  settings = { LICENSING_DATABASE_URL: url.replace(/:\d+\//, `:${wire.port}/`) };
  service = await startServiceProcess({
    ...settings,
    LICENSING_REDIS_URL: `redis://127.0.0.1:${redisWire.port}`,
  });
});

afterAll(async () => {
  await service.stop();
  wire.close();
  redisWire.close();
  await redis.stop();
  await db.destroy();
});

const post = (verb: string, { key }: { key: string }, identifier?: string) =>
  request(service.url)
    .post(`${PREFIX}/licenses/${verb}`)
    .send({ license_key: key, identifier })
    .then(({ status, headers }) => ({ status, retryAfter: headers['retry-after'] }));

const sockets = () => readdirSync(`/proc/${service.process.pid}/fd`).length;

/** Counts the descriptors in addition to the connections of the pool. */
async function strayDescriptors(): Promise<number> {
  const { text } = await request(admin()).get('/metrics').expect(200);
  const pooled = [...text.matchAll(/^licensing_database_connections\{state="(?:used|free)"\} (\d+)$/gm)];
  return sockets() - pooled.reduce((sum, [, count]) => sum + Number(count), 0);
}

const admin = () =>
  (service.log().find(({ msg }) => msg === 'listening') as unknown as { admin: string }).admin;

test('connections that went silent are given up within the deadline, and new ones take their place', async () => {
  const plan = await givePlan(db, { limit: 0 });
  const licenses = await Promise.all(Array.from({ length: 30 }, () => giveLicense(db, plan)));
  // Look up the latest version of many products, each by its own statements, so that the pool is full.
  const checks = licenses.map((_, i) => request(service.url).get(`${PREFIX}/updates/${1_000 + i}`));
  expect(new Set((await Promise.all(checks)).map(({ status }) => status))).toEqual(new Set([200]));
  const before = await strayDescriptors();
  expect(wire.silence()).toBeGreaterThan(5);

  const started = performance.now();
  expect(await post('validate', licenses[0]!)).toEqual({ status: 503, retryAfter: '5' });
  // The service's deadline is 4 s; a client of a silent database would wait for ever.
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
  await eventually(async () => expect(await strayDescriptors()).toBeLessThanOrEqual(before + 2), 10_000);
});

test.each([
  ['alone', 0],
  ['beside others that are as good as ever', 8],
])('what a connection held that went silent in a transaction is set free: %s', async (_case, neighbours) => {
  const plan = await givePlan(db);
  const give = (count: number) => Promise.all(Array.from({ length: count }, () => giveLicense(db, plan)));
  // Use several, because the connection that frees another's lock may be older or newer.
  const licenses = await give(3);
  let isBusy = true;
  const busy = (await give(neighbours)).map(async (one) => {
    while (isBusy) expect((await post('validate', one)).status).toBe(200);
  });
  wire.silenceAt((data) => data.includes('INSERT INTO licensing_activations'));
  for (const license of licenses) expect((await post('activate', license, 'example.com')).status).toBe(503);
  isBusy = false;
  await Promise.all(busy);
  wire.silenceAt(undefined);
  // Without this, the server would keep the lock on the licence's row.
  await eventually(async () => {
    for (const license of licenses)
      expect(await post('activate', license, 'example.com')).toMatchObject({ status: 200 });
  }, 20_000);
});

test('a connection by TLS that went silent is given up as well, and killed on the server', async () => {
  const authority = createAuthority();
  const { cert, key } = authority.issue('DNS:localhost');
  const server = await startMariaDb([`--ssl-ca=${authority.ca}`, `--ssl-cert=${cert}`, `--ssl-key=${key}`]);
  const ownWire = await openWire(server.port);
  const { database } = readConfig(
    { LICENSING_ENV_FILE: '/dev/null' },
    {
      LICENSING_DATABASE_URL: `${(await server.createDatabase()).replace(/@[^/]+/, `@localhost:${ownWire.port}`)}?ssl=verify&sslca=${authority.ca}`,
    },
  );
  const own = openServiceDatabase(database, '', 2);
  try {
    let id = 0;
    const work = own.transaction(async (trx) => {
      const [[connection]] = (await trx.raw('SELECT CONNECTION_ID() AS id')) as [[{ id: number }]];
      id = connection.id;
      const [[cipher]] = (await trx.raw("SHOW STATUS LIKE 'Ssl_cipher'")) as [[{ Value: string }]];
      expect(cipher.Value).not.toBe('');
      ownWire.silence();
      await trx.raw('SELECT 1');
    });
    await expect(work).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await eventually(async () => {
      const [found] = (await own.raw('SELECT ID FROM information_schema.PROCESSLIST WHERE ID = ?', [id])) as [
        unknown[],
      ];
      expect(found).toEqual([]);
    }, 10_000);
  } finally {
    await own.destroy();
    ownWire.close();
    await server.stop('SIGKILL');
  }
});

test('connections that say nothing before they can be used leave no socket behind', async () => {
  const license = await giveLicense(db, await givePlan(db));
  await post('validate', license);
  const before = sockets();
  for (const last of [1, 2]) {
    wire.silenceAt((_data, packets) => packets === last);
    wire.silence();
    for (let i = 0; i < 4; i++) expect((await post('validate', license)).status).toBe(503);
  }
  wire.silenceAt(undefined);
  await eventually(async () => expect((await post('validate', license)).status).toBe(200), 10_000);
  await eventually(() => expect(sockets()).toBeLessThanOrEqual(before + 3), 10_000);
});

test('a command does not wait for them without end', async () => {
  for (const last of [1, 2]) {
    wire.silenceAt((_data, packets) => packets === last);
    const { code, stderr } = await startLicensing(['product', 'list'], settings).ended;
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^error: The database/) });
  }
  wire.silenceAt(undefined);
});

test.each(['licensing_migrations', 'licensing_products'])(
  '"update-xml lint" gives up a statement on %s that is never answered, and judges without the database',
  async (table) => {
    const folder = temporaryFolder();
    const [xml, hurry] = [join(folder, 'update.xml'), join(folder, 'hurry.js')];
    writeFileSync(
      xml,
      `<updates><update><downloadurl>https://shop.example${PREFIX}/downloads/42?version=1.0.0</downloadurl></update></updates>`,
    );
    // Let the five minutes of its wait pass in three seconds.
    writeFileSync(
      hurry,
      'const wait = setTimeout; globalThis.setTimeout = (work, ms, ...rest) => wait(work, ms > 60_000 ? ms / 100 : ms, ...rest);',
    );
    wire.silenceAt((data) => data.includes(table));
    const { code, stdout, stderr } = await startLicensing(['update-xml', 'lint', xml], settings, {
      NODE_OPTIONS: `--require ${hurry}`,
    }).ended;
    wire.silenceAt(undefined);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^The XML was not compared with the published versions: .*\nerror: There are \d+ errors\.\n$/,
      ),
    });
    expect(stdout).toMatch(/^error: line 1: <version> is missing or empty\. /m);
  },
);

describe('a command whose COMMIT was not answered says that it may have been carried out', () => {
  async function runUnanswered(args: string[]): Promise<void> {
    wire.cutAt((data) => data.includes('COMMIT'));
    const { code, stderr } = await startLicensing(args, settings).ended;
    wire.cutAt(undefined);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^error: The database .* may have been made all the same: check before you run the command again\.\n$/,
      ),
    });
  }

  test('a change of a licence', async () => {
    const license = await giveLicense(db, await givePlan(db));
    await runUnanswered(['license', 'renew', String(license.id), '--until', '2099-01-31']);
    expect((await rows<{ id: number }>(db, 'licenses')).find(({ id }) => id === license.id)).toMatchObject({
      expires_at: '2099-01-31 23:59:59',
    });
  });

  test('a product, which would be added twice', async () => {
    const before = (await rows(db, 'products')).length;
    await runUnanswered(['product', 'add', '--name', 'Once']);
    expect(await rows(db, 'products')).toHaveLength(before + 1);
  });

  test('an import', async () => {
    const plan = await givePlan(db);
    const before = (await rows(db, 'licenses')).length;
    const csv = join(temporaryFolder(), 'licenses.csv');
    writeFileSync(csv, 'key\nOLD-SYSTEM-KEY-1\n');
    await runUnanswered(['import', csv, '--csv', '--map', 'key=key', '--plan', String(plan)]);
    expect(await rows(db, 'licenses')).toHaveLength(before + 1);
  });
});

test('Redis is back when its one connection went silent and a new one would do', async () => {
  const state = async () =>
    ((await request(admin()).get('/readyz').expect(200)).body as { checks: { redis: string } }).checks.redis;
  expect(await state()).toBe('ok');
  redisWire.silence();
  expect(await state()).toMatch(/^away/);
  await eventually(async () => expect(await state()).toBe('ok'), 15_000);
});
