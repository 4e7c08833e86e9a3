import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { underFault, unhealthy, type Fault, type Outcome } from '../support/faults';
import { isUnavailable, openStand, slowest, tally, type Call, type Goods, type Stand } from '../support/load';

/** A database that answers, but refuses its work. */

const MAX_CONNECTIONS = 60;
let stand: Stand;
let url: string;
let goods: Goods;
const connections: Connection[] = [];

beforeAll(async () => {
  stand = await openStand(
    { LICENSING_TABLE_PREFIX: 'jos_' },
    { options: [`--max-connections=${MAX_CONNECTIONS}`] },
  );
  ({ url } = await stand.start());
});

beforeEach(async () => {
  goods = await stand.newGoods();
});

afterAll(async () => {
  for (const connection of connections) connection.destroy();
  await stand.close();
});

const under = (fault: Pick<Fault, 'begin' | 'end' | 'lasts'>, at = url): Promise<Outcome> =>
  underFault({ url: at, goods, db: stand.db, ...fault });

const neither = (calls: Call[]) => unhealthy(calls).filter((call) => !isUnavailable(call));

async function connect(): Promise<Connection> {
  const own = new URL(stand.settings.LICENSING_DATABASE_URL as string);
  const connection = await stand.mariadb.connect(own.pathname.slice(1));
  connections.push(connection);
  return connection;
}

test('read-only: what has to be written is refused, downloads and known activations go on', async () => {
  // Use a site's own user, because an administrator's privileges override read_only.
  const root = await connect();
  const own = new URL(stand.settings.LICENSING_DATABASE_URL as string);
  await root.query("CREATE USER site@'%' IDENTIFIED BY 'secret'");
  await root.query(`GRANT ALL ON ${own.pathname.slice(1)}.* TO site@'%'`);
  own.username = 'site';
  own.password = 'secret';
  const service = await stand.start({ LICENSING_DATABASE_URL: own.href });

  const { meanwhile } = await under(
    {
      begin: () => root.query('SET GLOBAL read_only = 1'),
      lasts: 5,
      end: () => root.query('SET GLOBAL read_only = 0'),
    },
    service.url,
  );

  const writes = meanwhile.filter(
    ({ kind, license }) =>
      kind === 'validate' || (kind === 'activate' && license < goods.licenses.length - 1),
  );
  const reads = meanwhile.filter(({ kind }) => kind === 'download' || kind === 'repeat');
  expect(writes.length).toBeGreaterThan(0);
  expect(tally(writes.filter((call) => !isUnavailable(call)))).toEqual({});
  expect(reads.length).toBeGreaterThan(0);
  expect(tally(unhealthy(reads))).toEqual({});
}, 120_000);

test('out of connections: refused at once, and back as soon as there are some', async () => {
  const root = await connect();
  const hogs: Connection[] = [];
  const takeAll = async () => {
    for (;;)
      try {
        hogs.push(await connect());
      } catch {
        return;
      }
  };
  const { meanwhile, until, recovery } = await under({
    async begin() {
      // End the service's connections until this test is faster to open new ones.
      for (;;) {
        await takeAll();
        // "address:port" is a TCP connection; this test connects by the socket.
        const [threads] = await root.query<RowDataPacket[]>(
          "SELECT id FROM information_schema.processlist WHERE host LIKE '%:%'",
        );
        if (threads.length === 0) return;
        await Promise.all(threads.map(({ id }) => root.query(`KILL ${String(id)}`).catch(() => undefined)));
      }
    },
    lasts: 5,
    end: () => hogs.forEach((hog) => hog.destroy()),
  });

  expect(until(isUnavailable)).toBeLessThan(5_000);
  expect(tally(neither(meanwhile))).toEqual({});
  expect(meanwhile.some(isUnavailable)).toBe(true);
  expect(recovery).toBeLessThan(5_000);
}, 120_000);

test('a licence is locked by somebody else for 30 s: its callers are refused, all others answered at once', async () => {
  const holder = await connect();
  const { meanwhile } = await under({
    async begin() {
      await holder.query('START TRANSACTION');
      await holder.query('SELECT * FROM jos_licensing_licenses WHERE id = ? FOR UPDATE', [
        goods.licenses[0]!.id,
      ]);
    },
    lasts: 30,
    end: () => holder.query('ROLLBACK'),
  });

  const others = meanwhile.filter(({ license }) => license !== 0);
  const held = meanwhile.filter(({ license }) => license === 0);
  const writes = held.filter(({ kind }) => kind === 'validate' || kind === 'activate');
  expect(others.length).toBeGreaterThan(100);
  expect(tally(unhealthy(others))).toEqual({});
  expect(slowest(others)).toBeLessThan(2_000);
  expect(writes.length).toBeGreaterThan(0);
  expect(tally(writes.filter((call) => !isUnavailable(call)))).toEqual({});
  expect(tally(unhealthy(held.filter((call) => !writes.includes(call))))).toEqual({});
}, 120_000);

test('a table of the site is altered again and again: nothing of it is felt here', async () => {
  const { db } = stand;
  await db.raw('CREATE TABLE jos_content (id INT PRIMARY KEY AUTO_INCREMENT, title VARCHAR(200))');
  await db('jos_content').insert(Array.from({ length: 5_000 }, (_, i) => ({ title: `article ${i}` })));
  let altering = true;
  let alterations: Promise<number>;
  const { meanwhile } = await under({
    begin() {
      alterations = (async () => {
        let count = 0;
        for (; altering; count++) {
          await db.raw('ALTER TABLE jos_content ADD COLUMN extra INT, ALGORITHM=COPY');
          await db.raw('ALTER TABLE jos_content DROP COLUMN extra, ALGORITHM=COPY');
        }
        return count;
      })();
    },
    lasts: 4,
    async end() {
      altering = false;
      expect(await alterations).toBeGreaterThan(0);
    },
  });

  expect(tally(unhealthy(meanwhile))).toEqual({});
}, 120_000);

test('a table of ours gets a column of the site under load: callers wait for it or are refused', async () => {
  const { db } = stand;
  const { load } = await under({
    begin: () => db.raw('ALTER TABLE jos_licensing_licenses ADD COLUMN of_the_site INT, ALGORITHM=COPY'),
    lasts: 2,
    end: () => db.raw('ALTER TABLE jos_licensing_licenses DROP COLUMN of_the_site, ALGORITHM=COPY'),
  });

  expect(tally(neither(load.calls))).toEqual({});
}, 120_000);
