import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createConnection, type Connection, type RowDataPacket } from 'mysql2/promise';
import { operator, type Operator } from '../support/operator';
import { eventually, temporaryFolder } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import { giveLicense, givePlan, PREFIX } from '../support/service';
import { openMigrated, startServiceProcess, type ServiceProcess } from '../support/service-process';

/** A host that gives the site's database user few connections, which the service shares with the site. */

let mariadb: MariaDb;
let root: Connection;
let key: string;
let rootUrl: string;
beforeAll(async () => {
  mariadb = await startMariaDb();
  root = await mariadb.connect();
  rootUrl = await mariadb.createDatabase();
  const db = await openMigrated({ LICENSING_DATABASE_URL: rootUrl });
  ({ key } = await giveLicense(db, await givePlan(db)));
  await db.destroy();
});
afterAll(async () => {
  await root.end();
  await mariadb.stop('SIGKILL');
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

describe.each([5, 9])('of %d connections', (limit) => {
  const half = Math.floor(limit / 2);
  const user = `site${limit}`;
  let url: string;
  let command: Operator;
  beforeAll(async () => {
    url = rootUrl.replace('root:', `${user}:secret`);
    command = operator({ LICENSING_DATABASE_URL: url, LICENSING_PACKAGES_DIR: temporaryFolder() });
    await root.query(`CREATE USER ${user}@'%' IDENTIFIED BY 'secret' WITH MAX_USER_CONNECTIONS ${limit}`);
    await root.query(`GRANT ALL ON *.* TO ${user}@'%'`);
  });
  beforeEach(() => eventually(async () => expect(await connections()).toBe(0)));

  async function connections(): Promise<number> {
    const [rows] = await root.query<RowDataPacket[]>(
      `SELECT COUNT(*) AS used FROM information_schema.PROCESSLIST WHERE USER = '${user}'`,
    );
    return Number(rows[0]!.used);
  }

  async function start(): Promise<ServiceProcess> {
    const service = await startServiceProcess({ LICENSING_DATABASE_URL: url });
    cleanups.push(() => service.stop());
    return service;
  }

  /** Connects as the site does. */
  async function connect(count: number): Promise<Connection[]> {
    return Promise.all(
      Array.from({ length: count }, async () => {
        const own = await createConnection(url);
        cleanups.push(() => own.destroy());
        return own;
      }),
    );
  }

  /** Sends many requests at once, and returns the statuses and the most connections that there were. */
  async function load(...services: ServiceProcess[]): Promise<{ statuses: Set<number>; most: number }> {
    const state = { isOver: false };
    const calls = Promise.all(
      Array.from({ length: 80 }, async (_, i) => {
        const answer = await fetch(`${services[i % services.length]!.url}${PREFIX}/licenses/validate`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ license_key: i % 2 === 0 ? key : `UNKNOWN-${i}` }),
        });
        return answer.status;
      }),
    ).finally(() => (state.isOver = true));
    let most = 0;
    while (!state.isOver) most = Math.max(most, await connections());
    return { statuses: new Set(await calls), most };
  }

  test('a busy service leaves half of them to the site, and an idle one nearly all', async () => {
    const service = await start();
    const { statuses, most } = await load(service);
    expect(statuses).toEqual(new Set([200, 403]));
    expect(most).toBeLessThanOrEqual(half);
    await eventually(async () => expect(await connections()).toBeLessThanOrEqual(1));
    const site = await connect(limit - 1);
    for (const own of site) await own.query('SELECT 1');
    // The service continues with its one.
    expect((await load(service)).statuses).toEqual(new Set([200, 403]));
  });

  test('two processes know each other, and together leave half of them', async () => {
    const [first, second] = [await start(), await start()];
    await eventually(async () => {
      const { statuses, most } = await load(first, second);
      expect(statuses).toEqual(new Set([200, 403]));
      expect(most).toBeLessThanOrEqual(half);
    });
    const { findings } = await doctor();
    expect(findings.find(({ code }) => code === 'CONNECTIONS')).toMatchObject({
      level: 'warning',
      what: `The database user may have ${limit} connections at once (max_user_connections), and the site may need some of them. 2 instances would use up to 20 and may use ${half}.`,
      remedy: expect.stringContaining('Raise max_user_connections to 40'),
    });
  });

  async function doctor() {
    const { stdout } = await command.run(['doctor', '--json']);
    return JSON.parse(stdout) as { findings: { code: string; level: string; what: string }[] };
  }

  test('the commands need one connection', async () => {
    await connect(limit - 1);
    const file = join(temporaryFolder(), 'export.jsonl');
    for (const line of [`export --out ${file}`, `import ${file}`, 'license list', 'work'])
      expect([line, await command.run(line.split(' '), { ownProcess: true })]).toMatchObject([
        line,
        { code: 0 },
      ]);
    const { findings } = await doctor();
    expect(findings.find(({ code }) => code === 'DATABASE')?.level).toBe('ok');
    expect(findings.find(({ code }) => code === 'CONNECTIONS')?.what).toContain('1 instance would use');
    expect(findings.filter(({ what }) => /could not be checked|cannot be used/.test(what))).toEqual([]);
  });

  test('a command waits until the site has closed one', async () => {
    const refused = async () => {
      const [rows] = await root.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Aborted_connects'");
      return Number(rows[0]!.Value);
    };
    const [one] = await connect(limit);
    const before = await refused();
    const listed = command.run(['product', 'list', '--json']);
    await eventually(async () => expect(await refused()).toBeGreaterThan(before + 2));
    await one!.end();
    expect(await listed).toMatchObject({ code: 0 });
  });
});
