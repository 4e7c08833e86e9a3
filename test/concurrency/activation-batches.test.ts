import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Connection, RowDataPacket } from 'mysql2/promise';
import request from 'supertest';
import { changePlan } from '../../src/licensing/amend';
import { rekey } from '../../src/licensing/license-keys';
import { changeState } from '../../src/licensing/lifecycle';
import { table, type Db } from '../../src/store/engine/database';
import { lockLicenses, takeFreeSlots } from '../../src/store/licenses/licenses';
import { eventually } from '../support/processes';
import { startMariaDb, type MariaDb } from '../support/servers';
import {
  BACKENDS,
  giveLicense,
  givePlan,
  PREFIX,
  rows,
  startTestService,
  type TestLicense,
  type TestService,
} from '../support/service';

/** New activations that share a transaction: each behaves as if it were alone, and an error of one affects no other. */

/** The time after which a wait for a lock ends (store/engine/mysql.ts). */
const LOCK_WAIT_MS = 1_000;

let service: TestService;
let db: Db;

interface Answer {
  status: number;
  code: string | undefined;
  identifier: string | undefined;
  used: number | undefined;
}

function activate(key: string, identifier: string, name?: string): Promise<Answer> {
  return request(service.url)
    .post(`${PREFIX}/licenses/activate`)
    .send({ license_key: key, identifier, name })
    .then(({ status, body }) => {
      const { data, error } = body as {
        data?: { identifier: string; activations_used: number };
        error?: { code: string };
      };
      return { status, code: error?.code, identifier: data?.identifier, used: data?.activations_used };
    });
}

interface HistoryRow {
  license_id: number;
  action: string;
  times: number;
  before_json: string;
  after_json: string;
}

interface Change {
  activations_used?: number;
  identifier?: string;
  name?: string | null;
}

/** Returns the stored licence, its activations by identifier, and its history without the issue. */
async function stored({ id }: TestLicense) {
  const of = <T extends { license_id: number }>(all: T[]) => all.filter((row) => row.license_id === id);
  const licenses = await rows<{ id: number; activations_used: number }>(db, 'licenses');
  const activations = of(
    await rows<{ license_id: number; identifier: string; name: string | null }>(db, 'activations'),
  );
  return {
    used: licenses.find((row) => row.id === id)?.activations_used,
    identifiers: activations.map(({ identifier }) => identifier).sort(),
    names: activations.map(({ name }) => name),
    history: of(await rows<HistoryRow>(db, 'events'))
      .filter(({ action }) => action.includes('activat'))
      .map(({ action, times, before_json, after_json }) => ({
        action,
        ...(times > 1 ? { times } : {}),
        before: JSON.parse(before_json) as Change,
        after: JSON.parse(after_json) as Change,
      })),
  };
}

async function giveLicenses(count: number, limit: number): Promise<TestLicense[]> {
  const plan = await givePlan(db, { limit });
  const licenses: TestLicense[] = [];
  for (let i = 0; i < count; i++) licenses.push(await giveLicense(db, plan));
  return licenses;
}

const NOTHING = { used: 0, identifiers: [], names: [], history: [] };

describe.each(BACKENDS)('on %s', (_name, settings) => {
  beforeAll(async () => {
    service = await startTestService(await settings());
    db = service.db;
  });

  afterAll(() => service.stop());

  test('four sites at once on each of 15 licences with three slots: counters, rows and history agree', async () => {
    const licenses = await giveLicenses(15, 3);
    const sites = ['a.example', 'b.example', 'c.example', 'd.example'];
    const answers = await Promise.all(
      sites.flatMap((site) =>
        licenses.map(async (license) => ({ license, ...(await activate(license.key, site)) })),
      ),
    );
    for (const license of licenses) {
      const own = answers.filter((answer) => answer.license === license);
      const taken = own.filter(({ status }) => status === 200).sort((a, b) => a.used! - b.used!);
      expect(own.filter(({ code }) => code === 'ACTIVATION_LIMIT_REACHED')).toHaveLength(1);
      expect(taken.map(({ used }) => used)).toEqual([1, 2, 3]);
      const { used, identifiers, history } = await stored(license);
      expect([used, identifiers]).toEqual([3, taken.map(({ identifier }) => identifier).sort()]);
      expect(history).toEqual(
        taken.map((answer, i) => ({
          action: 'activate',
          before: { activations_used: i },
          after: { activations_used: i + 1, identifier: answer.identifier, name: null },
        })),
      );
    }
  });

  test('50 sites at once on one licence with three slots: exactly three', async () => {
    const [license] = (await giveLicenses(1, 3)) as [TestLicense];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => activate(license.key, `site-${i}.example`)),
    );
    const taken = answers.filter(({ status }) => status === 200);
    expect(taken.map(({ used }) => used).sort()).toEqual([1, 2, 3]);
    expect(new Set(answers.map(({ code }) => code))).toEqual(
      new Set([undefined, 'ACTIVATION_LIMIT_REACHED']),
    );
    const { used, identifiers, history } = await stored(license);
    expect([used, identifiers]).toEqual([3, taken.map(({ identifier }) => identifier).sort()]);
    expect(history.map(({ after }) => after.activations_used)).toEqual([1, 2, 3]);
  });

  test('100 times the same site at once: one slot, one event, and everybody succeeds', async () => {
    const [license] = (await giveLicenses(1, 1)) as [TestLicense];
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        activate(license.key, i % 2 === 0 ? 'https://www.Example.com/' : 'example.com', 'Shop'),
      ),
    );
    expect(new Set(answers.map(({ status, used }) => `${status} ${used}`))).toEqual(new Set(['200 1']));
    expect(await stored(license)).toEqual({
      used: 1,
      identifiers: ['example.com'],
      names: ['Shop'],
      history: [
        {
          action: 'activate',
          before: { activations_used: 0 },
          after: { activations_used: 1, identifier: 'example.com', name: 'Shop' },
        },
      ],
    });
  });

  test('20 names at once for one site: each follows the one before it, and the last one stays', async () => {
    const [license, neighbour] = (await giveLicenses(2, 1)) as [TestLicense, TestLicense];
    const answers = await Promise.all([
      ...Array.from({ length: 20 }, (_, i) => activate(license.key, 'example.com', `Name ${i}`)),
      activate(neighbour.key, 'example.com', 'Mine'),
    ]);
    expect(new Set(answers.map(({ status, used }) => `${status} ${used}`))).toEqual(new Set(['200 1']));
    const { used, names, history } = await stored(license);
    expect(history).toMatchObject([{ action: 'activate' }, { action: 'rename-activation', times: 19 }]);
    expect(history[1]!.before.name).toBe(history[0]!.after.name);
    expect([used, names]).toEqual([1, [history.at(-1)!.after.name]]);
    expect(await stored(neighbour)).toMatchObject({ used: 1, names: ['Mine'] });
  });

  test('no more slots are counted than there are, whoever forgot to look', async () => {
    const [one, other] = (await giveLicenses(2, 2)) as [TestLicense, TestLicense];
    const take = (slots: [number, number][]) => db.transaction((trx) => takeFreeSlots(trx, new Map(slots)));
    await take([
      [one.id, 2],
      [other.id, 1],
    ]);
    for (const slots of [
      [[one.id, 1]],
      [[other.id, 2]],
      [
        [one.id, 1],
        [other.id, 1],
      ],
    ] as [number, number][][])
      await expect(take(slots)).rejects.toThrow('A slot was taken that is not free.');
    expect([(await stored(one)).used, (await stored(other)).used]).toEqual([2, 1]);
  });
});

/** Triggers on a private MariaDB delay a batch, so that the next one gathers behind it, or fail in its middle. */
describe('on a MariaDB of its own', () => {
  let mariadb: MariaDb;
  let database: string;
  /** the connection of another program */
  let other: Connection;

  const [SLOW, BAD, WORSE] = ['slow.example', 'bad.example', 'worse.example'] as const;

  beforeAll(async () => {
    mariadb = await startMariaDb();
    const url = await mariadb.createDatabase();
    database = url.split('/').at(-1)!;
    service = await startTestService({ LICENSING_DATABASE_URL: url });
    db = service.db;
    await connect();
    await other.query(
      `CREATE TRIGGER in_the_middle BEFORE INSERT ON ${table(db, 'activations')} FOR EACH ROW
         IF NEW.identifier = '${SLOW}' THEN DO GET_LOCK('gate', 10), RELEASE_LOCK('gate');
         ELSEIF NEW.identifier = '${BAD}' THEN SIGNAL SQLSTATE '45000'; END IF`,
    );
    await other.query(
      `CREATE TRIGGER near_the_end BEFORE INSERT ON ${table(db, 'events')} FOR EACH ROW
         IF NEW.after_json LIKE '%${WORSE}%' THEN SIGNAL SQLSTATE '45000'; END IF`,
    );
  });

  afterEach(() => other.rollback());

  afterAll(async () => {
    await service.stop();
    await other.end();
    await mariadb.stop();
  });

  async function connect(): Promise<void> {
    other = await mariadb.connect(database);
    // Ignore errors, because it may be killed with the server.
    other.on('error', () => undefined);
  }

  async function untilHeldUp(): Promise<void> {
    await eventually(async () => {
      const [waiting] = await other.query<RowDataPacket[]>(
        "SELECT 1 FROM information_schema.processlist WHERE state = 'User lock'",
      );
      expect(waiting).toHaveLength(1);
    });
  }

  /**
   * Begins work while a batch is delayed, so that it is part of the next one.
   *
   * @param meanwhile runs after the look-up of this work, and before it is written
   */
  async function behindSlow<T>(begin: () => Promise<T>, meanwhile?: () => Promise<unknown>): Promise<T> {
    const [license] = (await giveLicenses(1, 1)) as [TestLicense];
    await other.query("DO GET_LOCK('gate', 0)");
    const slow = activate(license.key, SLOW);
    await untilHeldUp();
    const begun = begin();
    begun.catch(() => undefined);
    await sleep(200);
    await meanwhile?.();
    await other.query("DO RELEASE_LOCK('gate')");
    expect((await slow).status).toBe(200);
    return begun;
  }

  const activateEach = (licenses: TestLicense[], site = 'a.example') =>
    Promise.all(licenses.map(({ key }) => activate(key, site)));
  const statuses = (answers: Answer[]) => [...new Set(answers.map(({ status }) => status))];
  const hold = async ({ id }: TestLicense) => {
    await other.beginTransaction();
    await other.query(`SELECT 1 FROM ${table(db, 'licenses')} WHERE id = ? FOR UPDATE`, [id]);
  };
  const expectOneEach = async (licenses: TestLicense[]) => {
    for (const license of licenses) {
      const { used, identifiers, history } = await stored(license);
      expect([used, identifiers.length, history.length]).toEqual([1, 1, 1]);
    }
  };

  async function status(name: string): Promise<number> {
    const [[row]] = await other.query<RowDataPacket[]>('SHOW GLOBAL STATUS LIKE ?', [name]);
    return Number(row!.Value);
  }

  test('60 activations that arrive together share a transaction', async () => {
    const licenses = await giveLicenses(60, 1);
    let before = 0;
    const answers = await behindSlow(
      () => activateEach(licenses),
      async () => (before = await status('Com_commit')),
    );
    expect(statuses(answers)).toEqual([200]);
    // Count the slow batch, the next one, and on a slow machine some for late requests.
    expect((await status('Com_commit')) - before).toBeLessThan(20);
    await expectOneEach(licenses);
  });

  test('a batch locks the rows of its licences, in the order of their ids, and nothing else', async () => {
    const licenses = await giveLicenses(8, 3);
    const batch = licenses.filter((_, i) => i % 2 === 1).map(({ id }) => id);
    const others = licenses.filter((_, i) => i % 2 === 0).map(({ id }) => id);
    await other.query('SET SESSION innodb_lock_wait_timeout = 0');
    await db.transaction(async (trx) => {
      const locked = await lockLicenses(trx, [...batch].reverse());
      expect([...locked.keys()]).toEqual(batch);
      await other.beginTransaction();
      await other.query(`SELECT id FROM ${table(db, 'licenses')} WHERE id IN (?) FOR UPDATE`, [others]);
      // Lock the last row, behind which the next licence is inserted.
      await other.query(
        `INSERT INTO ${table(db, 'licenses')} (plan_id, status, activation_limit, created_at)
         SELECT plan_id, status, 3, created_at FROM ${table(db, 'licenses')} WHERE id = ?`,
        [others[0]],
      );
      const third = await db.transaction();
      const free = await lockLicenses(third, [batch[0]!], { skipLocked: true });
      await third.rollback();
      expect(free.size).toBe(0);
    });
  });

  test('a licence whose row somebody holds waits by itself, and is activated when it comes free', async () => {
    const [held, ...free] = (await giveLicenses(20, 1)) as [TestLicense, ...TestLicense[]];
    await hold(held);
    const begun = await behindSlow(() =>
      Promise.resolve({ held: activate(held.key, 'a.example'), free: activateEach(free) }),
    );
    expect(await Promise.race([begun.free, begun.held.then(() => 'the held one first')])).toHaveLength(
      free.length,
    );
    expect(statuses(await begun.free)).toEqual([200]);
    expect(await stored(held)).toEqual(NOTHING);
    await other.rollback();
    expect(await begun.held).toMatchObject({ status: 200, used: 1 });
    await expectOneEach([held, ...free]);
  });

  test('however many wait for a licence that stays held, its neighbours do not, and they are refused in the end', async () => {
    const [held, ...free] = (await giveLicenses(20, 1)) as [TestLicense, ...TestLicense[]];
    await hold(held);
    const waiting: Promise<Answer>[] = [];
    const times: number[] = [];
    // Send more batches than connections exist, one after the other.
    for (const { key } of free) {
      waiting.push(activate(held.key, `site-${waiting.length}.example`));
      const started = performance.now();
      expect(await activate(key, 'a.example')).toMatchObject({ status: 200 });
      times.push(performance.now() - started);
    }
    // A busy machine may delay a few of them, but hardly most.
    expect(times.filter((ms) => ms > LOCK_WAIT_MS).length).toBeLessThan(times.length / 2);
    expect(statuses(await Promise.all(waiting))).toEqual([503]);
    expect(await stored(held)).toEqual(NOTHING);
    await expectOneEach(free);
  });

  test('what became of a licence meanwhile is its own: another key, another plan, an end', async () => {
    const licenses = await giveLicenses(10, 2);
    const [rekeyed, moved, ended, ...others] = licenses as [TestLicense, TestLicense, TestLicense];
    const devices = await givePlan(db, { type: 'device', limit: 2 });
    service.clock.now = new Date();
    const context = { actor: 'operator:test', now: service.clock.now };
    const answers = await behindSlow(
      () =>
        Promise.all([
          activateEach(licenses, 'https://www.Example.com/'),
          activate(licenses[3]!.key, 'no domain'),
          activate('UNKNOWN-KEY', 'a.example'),
        ]),
      async () => {
        await rekey(db, rekeyed.id, {}, undefined, context);
        await changePlan(db, moved.id, devices, context);
        await changeState(db, ended.id, 'revoke', context);
      },
    );
    const [[atRekeyed, atMoved, atEnded, ...atOthers], wrong, unknown] = answers;
    expect(atRekeyed).toMatchObject({ code: 'LICENSE_NOT_FOUND' });
    expect(atMoved).toMatchObject({ identifier: 'https://www.Example.com/', used: 1 });
    expect(atEnded).toMatchObject({ code: 'LICENSE_INACTIVE' });
    expect(wrong).toMatchObject({ code: 'INVALID_REQUEST' });
    expect(unknown).toMatchObject({ code: 'LICENSE_NOT_FOUND' });
    expect(atOthers.map(({ identifier, used }) => [identifier, used])).toEqual(
      others.map(() => ['example.com', 1]),
    );
    for (const license of [rekeyed, ended]) expect(await stored(license)).toEqual(NOTHING);
    expect((await stored(moved)).identifiers).toEqual(['https://www.Example.com/']);
    await expectOneEach([moved, ...others]);
  });

  test.each([
    ['activations', BAD],
    ['events', WORSE],
  ])(
    'a row that the table of %s refuses fails its own licence: nothing of it is stored',
    async (_what, site) => {
      const [bad, ...good] = (await giveLicenses(20, 3)) as [TestLicense, ...TestLicense[]];
      const [failed, answers] = await behindSlow(() =>
        Promise.all([activate(bad.key, site), activateEach(good)]),
      );
      expect(failed.status).toBe(500);
      expect(statuses(answers)).toEqual([200]);
      expect(await stored(bad)).toEqual(NOTHING);
      await expectOneEach(good);
      expect(await activate(bad.key, 'a.example')).toMatchObject({ status: 200, used: 1 });
    },
  );

  test('an activation that somebody writes without the lock is found, and its batch succeeds', async () => {
    const licenses = await giveLicenses(10, 1);
    await other.query('SET SESSION foreign_key_checks = 0');
    await other.beginTransaction();
    await other.query(
      `INSERT INTO ${table(db, 'activations')} (license_id, identifier, activated_at) VALUES (?, 'a.example', '2026-01-01')`,
      [licenses[4]!.id],
    );
    const answers = activateEach(licenses);
    await eventually(async () => expect(await status('Innodb_row_lock_current_waits')).toBe(1));
    await other.commit();
    expect((await answers).map(({ status, used }) => [status, used])).toEqual(
      licenses.map((_, i) => [200, i === 4 ? 0 : 1]),
    );
    await expectOneEach(licenses.filter((_, i) => i !== 4));
  });

  test('the database is killed in the middle of a batch: all of it is refused, and none of it stored', async () => {
    const licenses = await giveLicenses(20, 1);
    const [slow] = licenses as [TestLicense];
    await other.query("DO GET_LOCK('gate', 0)");
    const answers = activateEach(licenses, SLOW);
    await untilHeldUp();
    await mariadb.stop('SIGKILL');
    expect(statuses(await answers)).toEqual([503]);
    await mariadb.start();
    await connect();
    for (const license of licenses) expect(await stored(license)).toEqual(NOTHING);
    await eventually(async () =>
      expect(await activate(slow.key, 'a.example')).toMatchObject({ status: 200 }),
    );
    await expectOneEach([slow]);
  });
});
