import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { createConnection } from 'mysql2/promise';
import { isSqlite, table, tablePrefix } from '../../src/store/engine/database';
import { fillTable, makeMembershipPro } from '../support/membership-pro';
import { endProcess, eventually, startProcess } from '../support/processes';
import { CLI } from '../support/program';
import { processEnvironment } from '../support/service-process';
import { closePlaces, place, type Place } from '../support/transfers';

/** A move of 100,000 subscriptions that is killed, and measured. */

const COUNT = 100_000;

afterAll(closePlaces);

describe('a large move from another system', () => {
  it.each(['MariaDB', 'SQLite'] as const)(
    'leaves nothing when it is killed on %s, comes in whole the next time, and is quick and small',
    async (kind) => {
      const to = await place(kind);
      await to.operator.json(['product', 'add', '--name', 'Pro', '--id', '42']);
      await fill(to);
      const args = ['import', '--from', 'membershippro', '--make-plans', '--json'];
      const killed = start(to, args);
      await eventually(() => (isSqlite(to.db) ? expectLog(to) : expectUncommitted(to)), 120_000);
      await endProcess(killed, 'SIGKILL');
      await eventually(async () => {
        for (const name of ['licenses', 'license_keys', 'imports', 'imported', 'plans'] as const)
          expect({ name, rows: await to.db(table(to.db, name)) }).toEqual({ name, rows: [] });
      }, 60_000);

      const second = start(to, args);
      const { highest, seconds } = await measure(second);
      const [{ n }] = (await to.db(table(to.db, 'licenses')).count({ n: '*' })) as [{ n: number }];
      expect(n).toBe(COUNT);
      expect(highest).toBeLessThan(200);
      // Measure CPU time, because the machine may have other work.
      expect(seconds).toBeLessThan(60);
    },
    900_000,
  );
});

function start({ settings }: Place, args: string[]) {
  return startProcess(process.execPath, [CLI, ...args], {
    env: processEnvironment(settings),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Returns the highest memory in MiB, and the CPU time. */
async function measure(child: ReturnType<typeof start>): Promise<{ highest: number; seconds: number }> {
  let [highest, seconds] = [0, 0];
  const ended = once(child, 'close');
  while (child.exitCode === null && child.signalCode === null) {
    const read = (name: string) => {
      const file = `/proc/${child.pid!}/${name}`;
      return existsSync(file) ? readFileSync(file, 'utf8') : '';
    };
    highest = Math.max(highest, Number(/VmHWM:\s+(\d+)/.exec(read('status'))?.[1] ?? 0) / 1024);
    const fields = read('stat').split(') ')[1]?.split(' ') ?? [];
    seconds = Math.max(seconds, (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / 100);
    await sleep(100);
  }
  expect(await ended).toEqual([0, null]);
  return { highest, seconds };
}

async function fill({ db }: Place): Promise<void> {
  const prefix = tablePrefix(db);
  await makeMembershipPro(db, prefix);
  await fillTable(db, prefix, {
    osmembership_plans: [{ id: 1, title: 'Pro', subscription_length: 1, subscription_length_unit: 'Y' }],
  });
  const digits = (n: number) => n.toString(16).padStart(32, '0');
  for (let first = 1; first <= COUNT; first += 10_000) {
    const ids = Array.from({ length: 10_000 }, (_, i) => first + i);
    await fillTable(db, prefix, {
      osmembership_subscribers: ids.map((id) => ({
        ...{ id, plan_id: 1, user_id: id, email: `user${id}@example.com`, first_name: 'Jo' },
        ...{ last_name: `${id}`, plan_main_record: 1, plan_subscription_status: 1 },
        plan_subscription_from_date: '2026-01-01 00:00:00',
        plan_subscription_to_date: '2030-01-01 00:00:00',
      })),
      osmembership_downloadids: ids.map((id) => ({
        ...{ id, user_id: id, download_id: digits(id), published: 1 },
        domain: id % 2 === 0 ? `site${id}.example` : null,
      })),
    });
  }
}

async function expectUncommitted({ settings, db }: Place): Promise<void> {
  const connection = await createConnection(settings.LICENSING_DATABASE_URL!.replace('root:@', 'root@'));
  try {
    await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED');
    const [[row]] = (await connection.query(
      `SELECT COUNT(*) AS n FROM ${table(db, 'licenses')}`,
    )) as unknown as [[{ n: number }]];
    expect(row.n).toBeGreaterThan(20_000);
  } finally {
    await connection.end();
  }
}

/** Expects uncommitted data in SQLite's log, which it writes once its cache is full. */
function expectLog({ settings }: Place): Promise<void> {
  const file = `${settings.LICENSING_DATABASE_URL!.replace('sqlite:', '')}-wal`;
  expect(existsSync(file) && statSync(file).size).toBeGreaterThan(32 * 1024 * 1024);
  return Promise.resolve();
}
