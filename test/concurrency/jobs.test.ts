import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { startScheduler, type Job, type Turn } from '../../src/runner/jobs';
import type { Db } from '../../src/store/engine/database';
import { eventually, temporaryFolder } from '../support/processes';
import { openMigrated } from '../support/service-process';

/** An interval far longer than a test: a round runs only when an instance starts. */
const EVERY_MS = 600_000;

let db: Db;
let now = new Date('2026-11-26T12:00:00Z');
const lines: { job?: string; msg: string }[] = [];
const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  db = await openMigrated({ LICENSING_DATABASE_URL: `sqlite:${temporaryFolder()}/test.sqlite` });
});
afterAll(() => db.destroy());
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  lines.splice(0);
});

function start(jobs: Job[], everyMs = EVERY_MS): () => Promise<void> {
  const list = { lease: 'test', everyMs, jobs, failure: 'the round failed' };
  const stop = startScheduler(db, list, log, () => now);
  stops.push(stop);
  return stop;
}

/** The jobs' work, in order. */
const done: string[] = [];
afterEach(() => void done.splice(0));

/** Returns a job that records its run. */
function job(name: string, more: Partial<Job> = {}, run: () => unknown = () => undefined): Job {
  const noteAndRun = () => {
    done.push(name);
    return Promise.resolve(run());
  };
  return { name, run: noteAndRun, ...more };
}
const fail = () => Promise.reject(Object.assign(new Error(), { code: 'ER_TEST' }));

test.each([
  { what: 'runs all', jobs: [job('a'), job('b')], ran: 'ababab', logged: [] },
  {
    what: 'leaves out what is not due',
    jobs: [job('a', { isDue: () => Promise.resolve(false) }), job('b', { everyMs: EVERY_MS }), job('c')],
    ran: 'bccccc',
    logged: [],
  },
  {
    what: 'ends at a job that says so',
    jobs: [job('a', {}, () => false), job('b')],
    ran: 'aaaaaa',
    logged: [],
  },
  {
    what: 'ends at a failure, which is logged once',
    jobs: [job('a', {}, fail), job('b')],
    ran: 'aaaaaa',
    logged: ['the round failed'],
  },
  {
    what: 'goes on after a failure that a job explains, each time',
    jobs: [job('a', { failure: 'no a' }, fail), job('b')],
    ran: 'ababab',
    logged: ['no a', 'no a', 'no a'],
  },
])('a round $what', async ({ jobs, ran, logged }) => {
  start(jobs, 1);
  await eventually(() => expect(done.length).toBeGreaterThan(ran.length));
  expect(done.join('').slice(0, ran.length)).toBe(ran);
  expect(lines.slice(0, 3).map(({ msg }) => msg)).toEqual(logged);
});

test('a job in the background holds up neither the round nor its own next time, but the stop', async () => {
  let end: () => void = () => undefined;
  const hang = () => new Promise<void>((resolve) => (end = resolve));
  const long = job('long', { inBackground: true }, hang);
  const stop = start([long, job('short')], 1);
  await eventually(() => expect(done.filter((one) => one === 'short').length).toBeGreaterThan(2));
  expect(done.filter((one) => one === 'long')).toHaveLength(1);
  let isStopped = false;
  const stopped = stop().then(() => (isStopped = true));
  expect(isStopped).toBe(false);
  end();
  await stopped;
});

test('one instance runs the jobs, and the next one goes on at the place that a job keeps', async () => {
  // The place of the job, which a receiver of webhooks stores in `swept_at`.
  let place = 0;
  const walkTo = (end: number): Job => ({
    name: 'walk',
    async run({ goesOn }) {
      for (; place < end && (await goesOn()); place++) done.push(`${end}: ${place}`);
    },
  });
  const stop = start([walkTo(2)]);
  await eventually(() => expect(done).toEqual(['2: 0', '2: 1']));
  // This instance does not get the lease.
  start([walkTo(4)], 1);
  await stop();
  await eventually(() => expect(done).toEqual(['2: 0', '2: 1', '4: 2', '4: 3']));
});

test('a holder that has hung stops, because another has taken over', async () => {
  let goesOn: Turn['goesOn'] | undefined;
  start([{ name: 'hang', run: (turn) => Promise.resolve((goesOn = turn.goesOn)) }]);
  await eventually(async () => expect(await goesOn?.()).toBe(true));
  now = new Date(now.getTime() + 60_000);
  start([job('other')]);
  await eventually(() => expect(done).toEqual(['other']));
  expect(await goesOn?.()).toBe(false);
});
