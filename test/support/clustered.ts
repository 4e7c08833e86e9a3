import { expect } from '@jest/globals';
import request from 'supertest';
import type { Settings } from '../../src/settings/config';
import type { Db } from '../../src/store/engine/database';
import { startGalera, statusOf, type GaleraNode } from './galera';
import { giveGoods, giveLicenses, type Goods } from './load';
import { eventually, hasEnded, sharedFolder } from './processes';
import { openMigrated, startServiceProcess, type ServiceProcess } from './service-process';

/** Three real Galera nodes with a migrated database, and the instances that write to them. */
export interface Clustered {
  nodes: GaleraNode[];
  /** the test's own connection, to the first node that can be written to */
  db: Db;
  packagesDir: string;
  /** returns a database URL with these nodes, by index */
  listOf: (...order: number[]) => string;
  /** Starts an instance for each list of nodes. @returns their addresses */
  startInstances: (...lists: string[]) => Promise<string[]>;
  startInstance: (settings: Settings) => Promise<ServiceProcess>;
  /** returns the running instances */
  instances: () => ServiceProcess[];
  newGoods: () => Promise<Goods>;
  /** Waits until every instance uses this node. */
  whenAllUse: (node: GaleraNode) => Promise<void>;
  /** Ends the instances, and starts the nodes that are down. Afterwards all have the same rows. */
  settle: () => Promise<void>;
  close: () => Promise<void>;
}

/** True unless TEST_GALERA_DEFAULTS gives the nodes Galera's own time-outs. */
export const IS_QUICK = process.env.TEST_GALERA_DEFAULTS === undefined;

export async function startClustered(): Promise<Clustered> {
  const nodes = await startGalera({ isSlow: !IS_QUICK });
  const name = new URL(await nodes[0]!.createDatabase()).pathname.slice(1);
  const listOf = (...order: number[]) =>
    `mysql://root:@${order.map((i) => `127.0.0.1:${nodes[i]!.port}`).join(',')}/${name}`;
  const db = await openMigrated({ LICENSING_DATABASE_URL: listOf(0, 1, 2) });
  const packagesDir = sharedFolder();
  const goods = await giveGoods(db, packagesDir);
  const started: ServiceProcess[] = [];
  const instances = () => started.filter((one) => !hasEnded(one.process));

  async function startInstance(settings: Settings): Promise<ServiceProcess> {
    const service = await startServiceProcess({ LICENSING_PACKAGES_DIR: packagesDir, ...settings });
    started.push(service);
    return service;
  }

  return {
    ...{ nodes, db, packagesDir, listOf, startInstance, instances },
    async startInstances(...lists) {
      const services = await Promise.all(
        lists.map((list) => startInstance({ LICENSING_DATABASE_URL: list })),
      );
      return services.map(({ url }) => url);
    },
    newGoods: async () => ({ ...goods, licenses: await giveLicenses(db) }),
    async whenAllUse(node) {
      for (const service of instances())
        await eventually(
          async () =>
            expect(await metric(service, 'licensing_database_node_used{')).toContain(
              `licensing_database_node_used{node="127.0.0.1:${node.port}"} 1`,
            ),
          90_000,
        );
    },
    async settle() {
      await Promise.all(instances().map((service) => service.stop('SIGKILL')));
      for (const node of nodes) {
        node.resume();
        if (hasEnded(node.process)) await node.start();
      }
      await expectEqualNodes(nodes, name);
    },
    async close() {
      await db.destroy();
      await Promise.all(nodes.map((node) => node.stop('SIGKILL')));
    },
  };
}

/** Returns the lines of an instance's metric. */
export async function metric(service: ServiceProcess, metricName: string): Promise<string[]> {
  const { admin } = service.log().find(({ msg }) => msg === 'listening') as unknown as { admin: string };
  const { text } = await request(admin).get('/metrics').expect(200);
  return text.split('\n').filter((line) => line.startsWith(metricName));
}

/** Expects the same rows in all tables of every node. */
async function expectEqualNodes(nodes: GaleraNode[], name: string): Promise<void> {
  await eventually(async () => {
    const sums = await Promise.all(
      nodes.map(async (node) => {
        const connection = await node.connect(name);
        try {
          expect(await statusOf(connection)).toMatchObject({
            wsrep_cluster_size: '3',
            wsrep_local_state_comment: 'Synced',
          });
          await connection.query('SET wsrep_sync_wait = 15');
          const [tables] = await connection.query({ sql: 'SHOW TABLES', rowsAsArray: true });
          const names = (tables as [string][]).map(([one]) => one).join(', ');
          const [found] = await connection.query({ sql: `CHECKSUM TABLE ${names}`, rowsAsArray: true });
          return found;
        } finally {
          await connection.end();
        }
      }),
    );
    expect(sums[1]).toEqual(sums[0]);
    expect(sums[2]).toEqual(sums[0]);
  }, 60_000);
}
