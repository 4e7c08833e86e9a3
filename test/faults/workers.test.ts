import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { underFault, unhealthy } from '../support/faults';
import { openStand, tally, type Stand } from '../support/load';
import { eventually } from '../support/processes';
import type { ServiceProcess } from '../support/service-process';

/** Two workers under one primary, of which one ends. */

const CLIENTS = 24;
let stand: Stand;
let service: ServiceProcess;
let primary: number;

beforeAll(async () => {
  stand = await openStand({ LICENSING_WORKERS: '2' });
  service = await stand.start();
  primary = service.process.pid as number;
}, 60_000);

afterAll(() => stand.close(), 60_000);

function workers(): number[] {
  return readFileSync(`/proc/${primary}/task/${primary}/children`, 'utf8')
    .trim()
    .split(/\s+/)
    .filter(Boolean)
    .map(Number);
}

const replacements = () =>
  service.log().filter(({ msg }) => msg === 'a worker ended and is replaced') as unknown as {
    pause_ms: number;
    signal: string | null;
  }[];

test('one of two workers is killed under load: the other answers on, and it is replaced', async () => {
  const [victim] = workers();
  const { load, meanwhile } = await underFault({
    url: service.url,
    goods: await stand.newGoods(),
    db: stand.db,
    begin: () => process.kill(victim!, 'SIGKILL'),
    lasts: 3,
  });

  // Each client had one call under way, and one connection that was the other's to lose.
  const cut = load.calls.filter(({ status }) => status === undefined);
  expect(cut.length).toBeLessThanOrEqual(2 * CLIENTS);
  expect(tally(unhealthy(load.calls).filter((call) => !cut.includes(call)))).toEqual({});
  expect(meanwhile.length).toBeGreaterThan(CLIENTS);
  expect(workers()).toHaveLength(2);
  expect(workers()).not.toContain(victim);
  expect(replacements()).toMatchObject([{ signal: 'SIGKILL' }]);
}, 60_000);

test('its replacement throws at every start: tried ever more slowly, the other answers on, in the end there are two', async () => {
  const { db } = stand;
  const before = replacements().length;
  const { meanwhile } = await underFault({
    url: service.url,
    goods: await stand.newGoods(),
    db,
    async begin() {
      // No schema that this version knows: a worker that starts now refuses to.
      await db.schema.renameTable('licensing_migrations', 'licensing_elsewhere');
      process.kill(workers()[0]!, 'SIGKILL');
    },
    lasts: 12,
    end: () => db.schema.renameTable('licensing_elsewhere', 'licensing_migrations'),
  });

  const cut = meanwhile.filter(({ status }) => status === undefined);
  expect(cut.length).toBeLessThanOrEqual(CLIENTS);
  expect(tally(unhealthy(meanwhile).filter((call) => !cut.includes(call)))).toEqual({});
  const pauses = replacements()
    .slice(before + 1)
    .map(({ pause_ms }) => pause_ms);
  expect(pauses.length).toBeGreaterThanOrEqual(2);
  // A loop without a brake would have tried a dozen times by now.
  expect(pauses.length).toBeLessThanOrEqual(6);
  expect(pauses).toEqual([...pauses].sort((a, b) => a - b));
  expect(new Set(pauses).size).toBe(pauses.length);
  await eventually(() => expect(workers()).toHaveLength(2), 40_000);
  expect(service.process.exitCode).toBeNull();
}, 120_000);
