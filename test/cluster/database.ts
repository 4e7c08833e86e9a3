import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import request from 'supertest';
import { conflictsOf, table, type Db } from '../../src/store/engine/database';
import { inTransaction } from '../../src/store/engine/transaction';
import { IS_QUICK, metric, startClustered, type Clustered } from '../support/clustered';
import { note, quantile, underFault, unhealthy } from '../support/faults';
import { statusOf, type GaleraNode } from '../support/galera';
import { hotLimits, judgeRounds, recordRound } from '../support/history-load';
import { findLosses, isUnavailable, startLoad, tally } from '../support/load';
import { eventually } from '../support/processes';
import { giveLicense, givePlan, PREFIX, rows } from '../support/service';
import { openMigrated } from '../support/service-process';

/** Tests three real Galera nodes with instances that write to the first one, or in some tests to two of them. */

let cluster: Clustered;
let nodes: GaleraNode[];
let db: Db;
let listOf: Clustered['listOf'];
let startInstances: Clustered['startInstances'];
let newGoods: Clustered['newGoods'];
let whenAllUse: Clustered['whenAllUse'];
beforeAll(async () => {
  cluster = await startClustered();
  ({ nodes, db, listOf, startInstances, newGoods, whenAllUse } = cluster);
}, 120_000);
afterEach(() => cluster.settle(), 120_000);
afterAll(() => cluster.close());

/** On a busy machine, a node that wakes up can stop all nodes for some seconds, until they agree on the members. */
const MERGED_S = 20;
const SWITCH_MS = IS_QUICK ? 5_000 : 10_000;

test('the node in use is killed: instances switch within seconds, and back in turns, and nothing is lost', async () => {
  const urls = await startInstances(listOf(0, 1, 2), listOf(0, 1, 2));
  const killed = await underFault({
    url: urls,
    goods: await newGoods(),
    db,
    begin: () => nodes[0]!.stop('SIGKILL'),
    lasts: 10,
  });
  expect(killed.outage).toBeLessThan(SWITCH_MS);
  await whenAllUse(nodes[1]!);
  await expectSizes([1, 2], 2);

  await underFault({
    url: urls,
    goods: await newGoods(),
    db,
    begin: () => nodes[0]!.start(),
    lasts: 1,
    end: () => whenAllUse(nodes[0]!),
    // A joining node stalls the other nodes' commits for a moment.
    patience: 8_000,
  });
  for (const service of cluster.instances())
    expect(await metric(service, 'licensing_database_switches_total')).toEqual([
      'licensing_database_switches_total 2',
    ]);
  await expectSizes([0, 1, 2], 3);
  // The node received only the missed changes, not all data.
  expect(nodes[0]!.log()).toContain('IST received');
}, 240_000);

/** Expects that each instance sees this size at the running nodes, and no size at the others. */
async function expectSizes(running: number[], size: number): Promise<void> {
  const lines = running.map(
    (i) => `licensing_database_cluster_size{node="127.0.0.1:${nodes[i]!.port}"} ${size}`,
  );
  for (const service of cluster.instances())
    await eventually(async () =>
      expect(await metric(service, 'licensing_database_cluster_size{')).toEqual(lines),
    );
}

test('the node in use hangs: instances switch within seconds, and nothing is lost when it wakes up', async () => {
  const urls = await startInstances(listOf(0, 1, 2), listOf(0, 1, 2));
  const hung = await underFault({
    url: urls,
    goods: await newGoods(),
    db,
    begin: () => nodes[0]!.hang(),
    lasts: 15,
    end: () => nodes[0]!.resume(),
    patience: 8_000,
    recovers: MERGED_S,
  });
  expect(hung.outage).toBeLessThan(10_000);
}, 120_000);

test.each(['killed', 'hung'])(
  'a node that is not in use is %s: calls wait until the other nodes have given it up, and continue',
  async (how) => {
    const urls = await startInstances(listOf(0, 1, 2), listOf(0, 1, 2));
    const { meanwhile } = await underFault({
      url: urls,
      goods: await newGoods(),
      db,
      begin: () => (how === 'hung' ? nodes[2]!.hang() : nodes[2]!.stop('SIGKILL')),
      lasts: 10,
      async end() {
        // Check before the node comes back, which can stop all nodes for a while and make instances switch.
        for (const service of cluster.instances())
          expect(await metric(service, 'licensing_database_switches_total')).toEqual([
            'licensing_database_switches_total 0',
          ]);
        await (how === 'hung' ? nodes[2]!.resume() : nodes[2]!.start());
      },
      patience: 8_000,
      recovers: MERGED_S,
    });
    expect(tally(unhealthy(meanwhile))).toEqual({});
  },
  120_000,
);

test('the node in use is isolated: changes that it cannot pass on are not acknowledged', async () => {
  const urls = await startInstances(listOf(0, 1, 2), listOf(0, 1, 2));
  const isolate = async (isolated: 0 | 1) => {
    const connection = await nodes[0]!.connect();
    await connection.query(`SET GLOBAL wsrep_provider_options = 'gmcast.isolate=${isolated}'`);
    await connection.end();
  };
  const cut = await underFault({
    url: urls,
    goods: await newGoods(),
    db,
    begin: () => isolate(1),
    lasts: 15,
    end: () => isolate(0),
    patience: 8_000,
    recovers: MERGED_S,
  });
  expect(cut.outage).toBeLessThan(10_000);
}, 120_000);

test('two of three are killed: 503, until the majority is back; nothing acknowledged is lost', async () => {
  const urls = await startInstances(listOf(0, 1, 2), listOf(0, 1, 2));
  const { load, meanwhile } = await underFault({
    url: urls,
    goods: await newGoods(),
    db,
    begin: () => Promise.all([nodes[0]!.stop('SIGKILL'), nodes[1]!.stop('SIGKILL')]),
    lasts: 12,
    async end() {
      // This is the command of docs/cluster.md, "A cluster without a majority".
      const connection = await nodes[2]!.connect();
      await connection.query("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'");
      await connection.end();
    },
    recovers: 10,
  });
  expect(tally(meanwhile.filter((call) => !isUnavailable(call)))).toEqual({});
  expect(load.book.wrong).toEqual([]);
}, 180_000);

test('two instances write to two nodes: no slot too many, nothing lost, hardly a 503', async () => {
  const urls = await startInstances(listOf(0, 1, 2), listOf(1, 0, 2));
  const load = startLoad(urls, await newGoods(), { clients: 32, pause: 10 });
  await sleep(15_000);
  await load.stop();
  expect(await findLosses(db, load.book)).toEqual([]);
  const refused = unhealthy(load.calls);
  note({ calls: load.calls.length, ...tally(refused), p99_ms: Math.round(quantile(load.calls, 0.99)) });
  expect(tally(refused.filter((call) => !isUnavailable(call)))).toEqual({});
  expect(refused.length / load.calls.length).toBeLessThan(0.005);
  const conflicts = await Promise.all(
    cluster.instances().map((one) => metric(one, 'licensing_database_conflicts')),
  );
  // Without conflicts, the load would not have tested them.
  expect(conflicts.flat().map((line) => Number(line.split(' ')[1]) > 0)).toContain(true);
});

test('activations race on two nodes for few slots: exactly as many succeed as slots exist', async () => {
  const urls = await startInstances(listOf(0, 1, 2), listOf(1, 0, 2));
  const planId = await givePlan(db, { limit: 7 });
  const licenses = [];
  for (let i = 0; i < 20; i++) licenses.push(await giveLicense(db, planId));
  const outcomes = await Promise.all(
    licenses.flatMap(({ key }) =>
      Array.from({ length: 40 }, async (_, i) => {
        const answer = await request(urls[i % 2]!)
          .post(`${PREFIX}/licenses/activate`)
          .send({ license_key: key, identifier: `site-${i}.example` });
        const { error } = answer.body as { error?: { code: string } };
        return { key, outcome: error?.code ?? 'given' };
      }),
    ),
  );
  const stored = await rows<{ id: number; activations_used: number }>(db, 'licenses');
  for (const { key, id } of licenses) {
    const own = outcomes.filter((one) => one.key === key).map(({ outcome }) => outcome);
    const given = own.filter((outcome) => outcome === 'given').length;
    const doubtful = own.filter((outcome) => outcome === 'SERVICE_UNAVAILABLE').length;
    const present = await db(table(db, 'activations')).where({ license_id: id });
    expect(present.length).toBeLessThanOrEqual(7);
    expect(given).toBeLessThanOrEqual(present.length);
    expect(given + doubtful).toBeGreaterThanOrEqual(7);
    expect(stored.find((one) => one.id === id)?.activations_used).toBe(present.length);
  }
});

test('another instance sees an acknowledged change, even on a node that is still busy with earlier ones', async () => {
  const [here, there] = await startInstances(listOf(0, 1, 2), listOf(1, 0, 2));
  const { key } = await giveLicense(db, await givePlan(db));
  const send = (url: string, verb: string) =>
    request(url)
      .post(`${PREFIX}/licenses/${verb}`)
      .send({ license_key: key, identifier: 'site.example' })
      .expect(200);
  await db.raw('CREATE TABLE bulk (id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY, n INTEGER NOT NULL)');
  try {
    await db.raw('INSERT INTO bulk (n) VALUES (1)');
    for (let i = 0; i < 16; i++) await db.raw('INSERT INTO bulk (n) SELECT n FROM bulk');
    await send(there!, 'validate');
    // Nodes apply changes in order, and this one takes the other node a second.
    await db.raw('UPDATE bulk SET n = n + 1');
    await send(here!, 'activate');
    const answer = await send(there!, 'validate');
    expect(answer.body).toMatchObject({ data: { identifier_activated: true, activations_used: 1 } });
  } finally {
    await db.raw('DROP TABLE bulk');
  }
});

test('two instances on two nodes: an order explains every answer', async () => {
  const urls = await startInstances(listOf(0, 1, 2), listOf(1, 0, 2));
  await judgeRounds((round) => recordRound({ urls, db, limits: hotLimits(round), calls: 3_000 }), 12_000);
}, 240_000);

/** Counts the transactions that a node has rolled back because a change from another node was applied first. */
async function abortsOf(node: GaleraNode): Promise<number> {
  const connection = await node.connect();
  const status = await statusOf(connection);
  await connection.end();
  return Number(status.wsrep_local_bf_aborts);
}

test('a conflict that shows at COMMIT is retried, and counted', async () => {
  const [here, there] = await Promise.all(
    [0, 1].map((i) => openMigrated({ LICENSING_DATABASE_URL: listOf(i) })),
  );
  try {
    const { id } = await giveLicense(here!, await givePlan(here!));
    const aborts = await abortsOf(nodes[0]!);
    const add = (handle: Db) => handle(table(handle, 'licenses')).where({ id }).increment('check_count', 1);
    let runs = 0;
    await inTransaction(here!, async (trx) => {
      await add(trx);
      // The other node changes the same row, which rolls this transaction back. The answer to COMMIT is the first to report it.
      if (++runs === 1) {
        await add(there!);
        await eventually(async () => expect(await abortsOf(nodes[0]!)).toBeGreaterThan(aborts));
      }
    });
    expect(runs).toBe(2);
    expect(conflictsOf(here!)).toBe(1);
    expect(await there!(table(there!, 'licenses')).where({ id }).first()).toMatchObject({ check_count: 2 });
  } finally {
    await Promise.all([here!.destroy(), there!.destroy()]);
  }
});
