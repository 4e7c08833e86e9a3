import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockLicense } from '../../src/store/licenses/licenses';
import type { Db } from '../../src/store/engine/database';
import {
  historiesTimeout,
  hotLimits,
  judgeRounds,
  recordRound,
  type HotLicense,
} from '../support/history-load';
import { openStand, type Stand } from '../support/load';
import { freePort } from '../support/processes';
import { newPlace } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/** Linearizability under every fault, like test/histories.test.ts, which tests the checker itself. */

const OPERATIONS = { MariaDB: 400_000, SQLite: 100_000 };
/** The time before a fault, and after it. */
const CALM_MS = 1_500;

type Fault = (licenses: HotLicense[]) => Promise<unknown>;

/** Checks histories with one fault in each round. */
function judgeFaults(db: Db, urls: string[], faults: Fault[], operations: number) {
  const meanwhile = (fault: Fault) => async (licenses: HotLicense[]) => {
    await sleep(CALM_MS);
    await fault(licenses);
    await sleep(CALM_MS);
  };
  return judgeRounds(
    (round) =>
      recordRound({
        urls,
        db,
        limits: hotLimits(round),
        meanwhile: meanwhile(faults[round % faults.length]!),
      }),
    operations,
  );
}

/** Locks the rows of half of the licences in another transaction; on SQLite, takes the only write lock. */
function holdRows(db: Db, lasts: number): Fault {
  return (licenses) =>
    db.transaction(async (trx) => {
      for (const { id } of licenses.filter((_, i) => i % 2 === 0)) await lockLicense(trx, id);
      await sleep(lasts);
    });
}

/** Starts an instance that can be killed, and restarts at the same address. */
async function startInstance(start: (listen: string) => Promise<ServiceProcess>) {
  const listen = `127.0.0.1:${await freePort()}`;
  let service = await start(listen);
  return {
    url: service.url,
    async kill() {
      await service.stop('SIGKILL');
      service = await start(listen);
    },
    stop: () => service.stop('SIGKILL'),
  };
}

describe('two instances on MariaDB', () => {
  let stand: Stand;
  let instances: Awaited<ReturnType<typeof startInstance>>[];

  beforeAll(async () => {
    stand = await openStand();
    instances = [];
    for (let i = 0; i < 2; i++)
      instances.push(await startInstance((listen) => stand.start({ LICENSING_LISTEN: listen })));
  });

  afterAll(() => stand.close());

  /** Cuts the connections of the services and of the operator, but not our own. */
  async function cutConnections(): Promise<void> {
    const connection = await stand.mariadb.connect();
    for (let times = 0; times < 3; times++) {
      const [found] = await connection.query(
        'SELECT ID AS id FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND USER = "root"',
      );
      // A connection that has ended meanwhile cannot be killed.
      for (const { id } of found as { id: number }[])
        await connection.query(`KILL ${id}`).catch(() => undefined);
      await sleep(200);
    }
    await connection.end();
  }

  test(
    'the database killed, stopped, its connections cut, rows held, a service killed: an order explains every history',
    async () => {
      const { mariadb, db } = stand;
      const faults: Fault[] = [
        async () => {
          await mariadb.stop('SIGKILL');
          await mariadb.start();
        },
        cutConnections,
        holdRows(db, 1_500),
        () => instances[0]!.kill(),
        async () => {
          mariadb.hang();
          await sleep(1_500);
          mariadb.resume();
        },
      ];
      const urls = instances.map(({ url }) => url);
      const { unknown } = await judgeFaults(db, urls, faults, OPERATIONS.MariaDB);
      expect(unknown).toBeGreaterThan(0);
    },
    historiesTimeout(OPERATIONS.MariaDB),
  );
});

describe('one instance on SQLite', () => {
  let db: Db;
  let instance: Awaited<ReturnType<typeof startInstance>>;

  beforeAll(async () => {
    const settings = await newPlace('SQLite');
    db = await openMigrated(settings);
    instance = await startInstance((listen) =>
      startServiceProcess({ ...settings, LICENSING_LISTEN: listen }),
    );
  });

  afterAll(async () => {
    await instance.stop();
    await db.destroy();
  });

  test(
    'the service killed, the file locked by somebody else: an order explains every history',
    async () => {
      const faults: Fault[] = [() => instance.kill(), holdRows(db, 500), holdRows(db, 1_500)];
      const { unknown } = await judgeFaults(db, [instance.url], faults, OPERATIONS.SQLite);
      expect(unknown).toBeGreaterThan(0);
    },
    historiesTimeout(OPERATIONS.SQLite),
  );
});
