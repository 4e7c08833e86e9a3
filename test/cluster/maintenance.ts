import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import request from 'supertest';
import { table } from '../../src/store/engine/database';
import { startClustered, type Clustered } from '../support/clustered';
import { underFault, unhealthy, type Fault } from '../support/faults';
import { NODE_USER, startGalera, type GaleraNode } from '../support/galera';
import { giveGoods, isUnavailable, tally } from '../support/load';
import { ofCluster, startNginx } from '../support/nginx';
import { NEXT_MIGRATION, NEXT_VERSION } from '../support/next-version';
import { operator } from '../support/operator';
import { eventually, freePort, sharedFolder, temporaryFolder } from '../support/processes';
import { startMariaDb } from '../support/servers';
import { givePlan, PREFIX } from '../support/service';
import { openMigrated, startServiceProcess } from '../support/service-process';

/** Tests an operator's work on a cluster that is in use: restarts, a new host, an import, a migration. */

/** The number of imported licences. TEST_CLUSTER_IMPORT=100000 takes two minutes. */
const IMPORTED = Number(process.env.TEST_CLUSTER_IMPORT ?? 20_000);

let cluster: Clustered;
beforeAll(async () => {
  cluster = await startClustered();
}, 120_000);
afterEach(() => cluster.settle(), 120_000);
afterAll(() => cluster.close());

/** Does something while two instances are called. A node that leaves or joins stalls the others for a moment. */
async function inUse(begin: Fault['begin'], { lasts = 2, recovers = 10 } = {}) {
  const { db, listOf, startInstances, newGoods } = cluster;
  const url = await startInstances(listOf(0, 1, 2), listOf(0, 1, 2));
  const outcome = await underFault({
    ...{ url, goods: await newGoods(), db, begin, lasts, recovers },
    patience: 8_000,
  });
  const refused = unhealthy(outcome.load.calls);
  expect(tally(refused.filter((call) => !isUnavailable(call)))).toEqual({});
  expect(outcome.load.book.wrong).toEqual([]);
  return outcome;
}

test('all nodes are restarted in turns, the one in use last: nothing acknowledged is lost', async () => {
  const { nodes, whenAllUse } = cluster;
  await inUse(async () => {
    for (const node of [nodes[2]!, nodes[1]!, nodes[0]!]) {
      await node.stop('SIGTERM');
      await node.start();
    }
    await whenAllUse(nodes[0]!);
  });
}, 240_000);

test('a new host takes the place of a node, and fetches all data from another', async () => {
  const [, , last] = cluster.nodes;
  const copies = () => last!.log().split('SST received').length;
  const before = copies();
  await inUse(async () => {
    await last!.stop('SIGTERM');
    await last!.startEmpty();
  });
  expect(copies()).toBeGreaterThan(before);
}, 240_000);

test('three instances behind nginx are restarted in turns: no request is refused', async () => {
  const { db, listOf, startInstance, newGoods } = cluster;
  const listens: string[] = [];
  for (let i = 0; i < 3; i++) listens.push(`127.0.0.1:${await freePort()}`);
  const start = (listen: string) =>
    startInstance({ LICENSING_DATABASE_URL: listOf(0, 1, 2), LICENSING_LISTEN: listen });
  const instances = await Promise.all(listens.map(start));
  const nginx = await startNginx({ upstream: [], edit: ofCluster(listens) });
  try {
    const { load } = await underFault({
      ...{ url: nginx.url, goods: await newGoods(), db, lasts: 2 },
      async begin() {
        for (const [i, listen] of listens.entries()) {
          await instances[i]!.stop('SIGTERM');
          await start(listen);
          // Wait until nginx uses the instance again (fail_timeout).
          await sleep(6_000);
        }
      },
    });
    expect(tally(unhealthy(load.calls))).toEqual({});
  } finally {
    await nginx.stop();
  }
}, 120_000);

test(`an import of ${IMPORTED} licences, while the service is in use`, async () => {
  const { db, listOf } = cluster;
  const plan = await givePlan(db, { limit: 2 });
  const file = join(temporaryFolder(), 'old.csv');
  const rows = Array.from({ length: IMPORTED }, (_, i) => `old-key-number-${i},${plan},old-${i}.example\n`);
  writeFileSync(file, `key,plan,sites\n${rows.join('')}`);
  const count = async () => Number((await db(table(db, 'licenses')).count({ n: '*' }))[0]!.n);
  const before = await count();
  await inUse(() =>
    operator({ LICENSING_DATABASE_URL: listOf(0, 1, 2) }).json([
      ...['import', file, '--csv', '--map', 'key=key,plan=plan,activations=sites'],
    ]),
  );
  // The load's own 12 licences count too.
  expect(await count()).toBe(before + IMPORTED + 12);
}, 400_000);

test('a migration changes the tables on all nodes, while the service is in use', async () => {
  const { db, listOf } = cluster;
  await inUse(async () => {
    const next = operator({ LICENSING_DATABASE_URL: listOf(0, 1, 2) });
    expect(await next.json(['migrate'], { env: NEXT_VERSION })).toEqual({ run: [NEXT_MIGRATION] });
  });
  expect(await db.schema.hasColumn(table(db, 'licenses'), 'noted_at')).toBe(true);
  // The following tests start the present version.
  await db(table(db, 'migrations')).where({ name: NEXT_MIGRATION }).delete();
}, 120_000);

test('a server in use becomes the first node of a cluster', async () => {
  const single = await startMariaDb([], { user: NODE_USER });
  const url = await single.createDatabase();
  const packagesDir = sharedFolder();
  const settings = { LICENSING_DATABASE_URL: url, LICENSING_PACKAGES_DIR: packagesDir };
  const db = await openMigrated(settings);
  const goods = await giveGoods(db, packagesDir);
  const service = await startServiceProcess(settings);
  let nodes: GaleraNode[] = [];
  await underFault({
    ...{ url: service.url, goods, db, lasts: 2, recovers: 10 },
    begin: async () => (nodes = await startGalera({ single })),
    patience: 8_000,
  });
  await Promise.all([service.stop(), db.destroy()]);

  const list = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const clustered = await startServiceProcess({
    ...settings,
    LICENSING_DATABASE_URL: url.replace(new URL(url).host, list),
  });
  await nodes[0]!.stop('SIGKILL');
  await eventually(async () => {
    const answer = await request(clustered.url)
      .post(`${PREFIX}/licenses/validate`)
      .send({ license_key: goods.licenses[0]!.key });
    expect([answer.status, answer.body]).toMatchObject([200, { data: { valid: true } }]);
  }, 30_000);
  await clustered.stop();
  await Promise.all(nodes.map((node) => node.stop('SIGKILL')));
}, 240_000);
