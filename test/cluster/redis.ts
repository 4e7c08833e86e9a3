import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import type { Db } from '../../src/store/engine/database';
import { quantile, underFault, unhealthy } from '../support/faults';
import { giveGoods, giveLicenses, tally, type Goods } from '../support/load';
import { eventually, sharedFolder } from '../support/processes';
import { startRedisCluster, type RedisNode } from '../support/servers';
import { createMariaDbDatabase, PREFIX } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/** Tests two instances that count in a Redis Cluster of three masters with a replica each, as in deploy/cluster. */

const LIMIT = 60;
const MASTERS = 3;
/** The time that a request may wait for Redis, and the time that this machine may add. */
const MAX_DELAY_MS = 400;
const SLACK_MS = 400;

let nodes: RedisNode[];
let services: ServiceProcess[];
let db: Db;
let goods: Goods;

beforeAll(async () => {
  nodes = await startRedisCluster(MASTERS, 'pass-word-of-redis', MASTERS);
  const packagesDir = sharedFolder();
  const settings = {
    LICENSING_DATABASE_URL: await createMariaDbDatabase(),
    LICENSING_PACKAGES_DIR: packagesDir,
    // The masters are enough: the instances discover the replicas.
    LICENSING_REDIS_URL: nodes
      .slice(0, MASTERS)
      .map(({ url }) => url)
      .join(),
    LICENSING_RATE_LIMIT: String(LIMIT),
  };
  db = await openMigrated(settings);
  goods = await giveGoods(db, packagesDir);
  services = await Promise.all([startServiceProcess(settings), startServiceProcess(settings)]);
});

afterAll(async () => {
  for (const { commander } of nodes) commander.disconnect();
  await Promise.all([...services, ...nodes].map((one) => one.stop('SIGKILL')));
  await db.destroy();
});

let addresses = 0;

/** Returns an unused address that this master counts. */
async function addressOf(master: number): Promise<string> {
  const asked = nodes[MASTERS]!.commander;
  for (;;) {
    addresses++;
    const address = `198.18.${addresses >> 8}.${addresses & 255}`;
    const slot = await asked.cluster('KEYSLOT', `licensing:api:${address}`);
    if (Math.floor((slot * MASTERS) / 16_384) === master) return address;
  }
}

async function ask(service: ServiceProcess, address: string): Promise<number> {
  const { status } = await request(service.url).get(`${PREFIX}/updates/42`).set('X-Forwarded-For', address);
  return status;
}

/** Returns how many requests at once, over both instances, are let in. */
async function allowed(address: string): Promise<number> {
  const statuses = await Promise.all(
    Array.from({ length: LIMIT + 40 }, (_, i) => ask(services[i % services.length]!, address)),
  );
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  return statuses.filter((status) => status === 200).length;
}

/** Expects that both instances together count the clients of each master. */
async function expectSharedLimits(): Promise<void> {
  const counts: number[] = [];
  for (const master of [0, 1, 2]) counts.push(await allowed(await addressOf(master)));
  expect(counts).toEqual([LIMIT, LIMIT, LIMIT]);
}

/** Returns the log messages about Redis of the instance that gets the load. */
const changes = () =>
  services[0]!
    .log()
    .map(({ msg }) => msg)
    .filter((msg) => /^Redis is (?:away|back)/.test(msg));

test('both instances share the limits', async () => {
  // On a busy machine Redis may be late once, and the instance then counts alone until Redis answers again.
  await eventually(expectSharedLimits);
});

describe.each<[string, number, (node: RedisNode) => unknown]>([
  ['hangs', 0, (node) => node.hang()],
  ['is killed', 1, (node) => node.stop('SIGKILL')],
])('a master %s', (_what, master, fail) => {
  test('every request is answered in time, and the limits are shared again after the failover', async () => {
    const from = changes().length;
    const { before, meanwhile, load } = await underFault({
      url: services[0]!.url,
      goods: { ...goods, licenses: await giveLicenses(db) },
      db,
      begin: () => fail(nodes[master]!),
      lasts: 4,
      patience: 3_000,
    });

    expect(tally(unhealthy(load.calls))).toEqual({});
    expect(quantile(meanwhile, 0.99)).toBeLessThan(quantile(before, 0.99) + MAX_DELAY_MS + SLACK_MS);
    await eventually(async () => {
      expect(await nodes[MASTERS + master]!.commander.info('replication')).toContain('role:master');
      await expectSharedLimits();
    });
    // The log has a few lines, and not one for each second.
    expect(changes().length - from).toBeLessThanOrEqual(6);
  }, 120_000);
});
