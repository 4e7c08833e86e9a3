import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { parseDatabaseUrl } from '../../src/store/engine/database-url';
import { openDatabase, clusterStatusOf, table, type Db } from '../../src/store/engine/database';
import type { NodeSwitch } from '../../src/store/engine/nodes';
import request from 'supertest';
import { operator } from '../support/operator';
import { eventually, freePort } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import { giveLicense, givePlan, PREFIX, rows } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** Several servers in LICENSING_DATABASE_URL: all instances use the first one that can be written to. */

let one: MariaDb;
let other: MariaDb;
const handles = new Map<MariaDb, Db>();

beforeAll(async () => {
  [one, other] = await Promise.all([startMariaDb(), startMariaDb()]);
  for (const server of [one, other])
    handles.set(server, await openMigrated({ LICENSING_DATABASE_URL: await server.createDatabase() }));
});
afterAll(async () => {
  await Promise.all([...handles.values()].map((db) => db.destroy()));
  await Promise.all([one, other].map((server) => server.stop('SIGKILL')));
});
beforeEach(() => Promise.all([one, other].map((server) => setReadOnly(server, false))));

/** Returns the address of a database that has the same name on both. */
function listOf(...servers: { port: number }[]): string {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return one.url('x').replace(/@.*/, `@${hosts}/test_${process.pid}_1`);
}

async function setReadOnly(server: MariaDb, isReadOnly: boolean): Promise<void> {
  const root = await server.connect();
  await root.query(`SET GLOBAL read_only = ${isReadOnly ? 'ON' : 'OFF'}`);
  await root.end();
}

async function metric(admin: string, name: string): Promise<string[]> {
  const { text } = await request(admin).get('/metrics').expect(200);
  return text.split('\n').filter((line) => line.startsWith(name));
}

test('a read-only replica is passed over until it is promoted; then it is used without a restart', async () => {
  const [primary, replica] = [handles.get(one)!, handles.get(other)!];
  // Give the replica the licence too, because replication itself is not tested.
  for (const db of [replica, primary]) await givePlan(db, { limit: 0 });
  const { key, id } = await giveLicense(primary, 1);
  await replica(table(replica, 'licenses')).insert(await primary(table(primary, 'licenses')).where({ id }));
  await replica(table(replica, 'license_keys')).insert(
    await primary(table(primary, 'license_keys')).where({ license_id: id }),
  );
  await setReadOnly(other, true);
  const settings = { LICENSING_DATABASE_URL: listOf(other, one) };
  const service = await startServiceProcess(settings);
  const { admin } = service.log().find(({ msg }) => msg === 'listening') as unknown as { admin: string };
  const activate = (identifier: string) =>
    request(service.url).post(`${PREFIX}/licenses/activate`).send({ license_key: key, identifier });
  try {
    await activate('before.example').expect(200);
    expect(await rows(primary, 'activations')).toMatchObject([{ identifier: 'before.example' }]);
    await operator(settings).json(['product', 'add', '--name', 'By the command']);
    expect(await primary(table(primary, 'products')).pluck('name')).toContain('By the command');

    await setReadOnly(one, true);
    await setReadOnly(other, false);
    await eventually(async () => {
      expect(await metric(admin, 'licensing_database_node_used{')).toEqual([
        `licensing_database_node_used{node="127.0.0.1:${other.port}"} 1`,
        `licensing_database_node_used{node="127.0.0.1:${one.port}"} 0`,
      ]);
    });
    // Neither server is a Galera node.
    expect(await metric(admin, 'licensing_database_cluster_size{')).toEqual([]);
    await activate('after.example').expect(200);
    await operator(settings).json(['product', 'add', '--name', 'After it']);
  } finally {
    await service.stop();
  }
  expect(await rows(replica, 'activations')).toMatchObject([{ identifier: 'after.example' }]);
  expect(await replica(table(replica, 'products')).pluck('name')).toContain('After it');
  expect(await rows(primary, 'activations')).toHaveLength(1);
  // The start skipped the first server, and the promotion led back to it.
  expect(service.log().filter(({ msg }) => msg === 'another database server is used')).toMatchObject([
    { to: `127.0.0.1:${one.port}`, obstacle: 'is read-only' },
    { to: `127.0.0.1:${other.port}`, obstacle: 'is read-only' },
  ]);
});

/** Opens a database like a service, but returns to a server sooner. */
function openWatched(
  servers: { port: number }[],
  onSwitch: (change: NodeSwitch) => void = () => undefined,
): Db {
  return openDatabase(parseDatabaseUrl(listOf(...servers), '/'), '', 4, {
    statementTimeout: 3_500,
    isService: true,
    onSwitch,
    returning: { after: 300, spread: 100 },
  });
}

async function portOf(db: Db): Promise<number> {
  const [[row]] = (await db.raw('SELECT @@port AS port')) as [[{ port: number }]];
  return row.port;
}

test('a server that hangs is left, transactions end where they began, and the way back follows', async () => {
  const switches: NodeSwitch[] = [];
  const db = openWatched([one, other], (change) => switches.push(change));
  try {
    expect(await portOf(db)).toBe(one.port);
    one.hang();
    await eventually(async () => expect(await portOf(db)).toBe(other.port));
    const transaction = await db.transaction();
    expect(await portOf(transaction)).toBe(other.port);
    one.resume();
    await eventually(async () => expect(await portOf(db)).toBe(one.port));
    expect(await portOf(transaction)).toBe(other.port);
    await transaction.rollback();
  } finally {
    one.resume();
    await db.destroy();
  }
  const [first, second] = [`127.0.0.1:${one.port}`, `127.0.0.1:${other.port}`];
  expect(switches).toEqual([
    { from: first, to: second, obstacle: 'cannot be used (ETIMEDOUT)' },
    { from: second, to: first, obstacle: undefined },
  ]);
});

test('if no server can be written to, the one in use stays, and a new start names what is wrong with each', async () => {
  const missing = { port: await freePort() };
  const db = openWatched([missing, one, other]);
  try {
    expect(await portOf(db)).toBe(one.port);
    for (const server of [other, one]) {
      await setReadOnly(server, true);
      await eventually(() => {
        const { nodes } = clusterStatusOf(db)!();
        expect(nodes.find(({ name }) => name.endsWith(`:${server.port}`))).toMatchObject({ ready: false });
      });
    }
    expect(clusterStatusOf(db)!().nodes.map(({ inUse }) => inUse)).toEqual([false, true, false]);
    expect(await portOf(db)).toBe(one.port);
  } finally {
    await db.destroy();
  }
  const failed = await operator({ LICENSING_DATABASE_URL: listOf(missing, one, other) }).run([
    'product',
    'list',
  ]);
  expect(failed.stderr).toContain(
    `127.0.0.1:${missing.port} cannot be used (ECONNREFUSED), 127.0.0.1:${one.port} is read-only, 127.0.0.1:${other.port} is read-only`,
  );
  const nowhere = await operator({
    LICENSING_DATABASE_URL: listOf(missing, { port: await freePort() }),
  }).run(['product', 'list']);
  expect(nowhere.stderr).toContain('no server listens there');
});

test('with one server nothing is watched', async () => {
  const db = openWatched([one]);
  expect(await portOf(db)).toBe(one.port);
  expect(clusterStatusOf(db)).toBeUndefined();
  await db.destroy();
});
