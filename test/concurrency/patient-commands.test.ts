import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../../src/settings/config';
import { openDatabase, table } from '../../src/store/engine/database';
import { operator } from '../support/operator';
import { temporaryFolder } from '../support/processes';
import { DATABASE_KINDS, giveLicense, givePlan, migrateNew, newPlace, testConfig } from '../support/service';

/** A command waits for rows that another program locks, and reports it only after a while. */

/** The time of the lock, at which a service would have refused its caller. */
const HELD_MS = 5_000;

describe.each(DATABASE_KINDS)('on %s', (kind) => {
  async function open() {
    const settings = await newPlace(kind);
    const { database, tablePrefix } = testConfig(settings);
    const db = openDatabase(database, tablePrefix, 2);
    await migrateNew(db, database);
    const { id } = await giveLicense(db, await givePlan(db));
    const command = operator(settings);
    /** Runs commands while the rows of the licence, a plan and a product are locked. */
    const whileHeld = async (ms: number, lines: string[][]) => {
      let ran: Promise<{ code: number | null; stderr: string }[]> | undefined;
      await db.transaction(async (trx) => {
        for (const name of ['products', 'plans', 'licenses'] as const)
          await trx(table(trx, name)).update('id', trx.ref('id'));
        ran = Promise.all(lines.map((line) => command.run(line)));
        if (ms === Infinity) await ran;
        else await sleep(ms);
      });
      return ran!;
    };
    return { db, command, id, whileHeld };
  }

  test('changes, an import and a single statement go through once the rows are free', async () => {
    const { db, command, id, whileHeld } = await open();
    const file = join(temporaryFolder(), 'all.jsonl');
    await command.json(['export', '--out', file]);
    const began = performance.now();
    const ran = await whileHeld(HELD_MS, [
      ['license', 'set-limit', String(id), '7'],
      ['import', file],
    ]);
    expect(ran.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect(performance.now() - began).toBeGreaterThanOrEqual(HELD_MS);
    await db.destroy();
  });

  test('after ten seconds and more it says that another process is changing the same rows', async () => {
    const { db, id, whileHeld } = await open();
    const began = performance.now();
    const [ran] = await whileHeld(Infinity, [['license', 'suspend', String(id)]]);
    expect(ran).toMatchObject({ code: 1 });
    expect(ran!.stderr).toContain('another process is changing the same rows. Try again in a moment.');
    expect(performance.now() - began).toBeGreaterThan(10_000);
    await db.destroy();
  });

  test('a statement outside of transactions is sent again by itself', async () => {
    const { db, id } = await open();
    const other = openDatabase(
      readConfig(
        { LICENSING_ENV_FILE: '/dev/null' },
        { LICENSING_DATABASE_URL: kind === 'SQLite' ? `sqlite:${fileOf(db)}` : urlOf(db) },
      ).database,
      '',
      1,
    );
    let changed: Promise<number> | undefined;
    await db.transaction(async (trx) => {
      await trx(table(trx, 'licenses')).where({ id }).update({ reference: 'held' });
      changed = Promise.resolve(other(table(other, 'licenses')).where({ id }).update({ reference: 'late' }));
      await sleep(3_000);
    });
    expect(await changed).toBe(1);
    expect(await db(table(db, 'licenses')).where({ id }).pluck('reference')).toEqual(['late']);
    await other.destroy();
    await db.destroy();
  });
});

function fileOf(db: Parameters<typeof table>[0]): string {
  return (db.userParams as { file: string }).file;
}

function urlOf(db: Parameters<typeof table>[0]): string {
  const client = db.client as { database(): string };
  return `mysql://root:@127.0.0.1:${process.env.TEST_MARIADB_PORT!}/${client.database()}`;
}
