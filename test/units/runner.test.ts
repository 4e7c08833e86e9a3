import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { createLoop } from '../../src/runner/loop';
import { createPool, type PoolSettings } from '../../src/runner/pool';

/** Opens a loop, and collects its log lines. */
function openLoop(stopLimitMs?: number) {
  const lines: { reason: string; msg: string }[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
  return { loop: createLoop(log, 'work waits', stopLimitMs), lines };
}

/** Opens a pool over a queue of numbers. The test decides when their work ends. */
function openPool(queue: number[], settings: Partial<PoolSettings<number>> = {}) {
  const { loop, lines } = openLoop();
  const asked: number[] = [];
  const ends = new Map<number, (next?: number) => void>();
  const wake = createPool<number>(loop, {
    limit: () => 3,
    claim(most) {
      asked.push(most);
      return Promise.resolve(queue.splice(0, most));
    },
    work: (item) => new Promise((resolve) => void ends.set(item, resolve)),
    ...settings,
  });
  async function end(items: number[], next?: number): Promise<void> {
    for (const item of items) {
      ends.get(item)!(next);
      ends.delete(item);
    }
    await idle();
  }
  return { loop, lines, wake, end, asked, underWay: () => [...ends.keys()] };
}

/** Waits until only work that the test has to end is under way. */
async function idle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => void setImmediate(resolve));
}

test.each([
  {
    what: 'works on as many as its limit, and claims for all that end together at once',
    queue: [1, 2, 3, 4, 5, 6],
    steps: [[1, 3], [2]],
    underWay: [
      [1, 2, 3],
      [2, 4, 5],
      [4, 5, 6],
    ],
    asked: [3, 2, 1],
  },
  {
    what: 'asks no more once less was due',
    queue: [1, 2],
    steps: [[1], [2]],
    underWay: [[1, 2], [2], []],
    asked: [3],
  },
  {
    what: 'claims singly, and begins each before it claims another',
    queue: [1, 2, 3, 4],
    settings: { claimMost: 1 },
    steps: [[2]],
    underWay: [
      [1, 2, 3],
      [1, 3, 4],
    ],
    asked: [1, 1, 1, 1],
  },
  {
    what: 'claims nothing while its limit is 0',
    queue: [1],
    settings: { limit: () => 0 },
    steps: [],
    underWay: [[]],
    asked: [],
  },
])('a pool $what', async ({ queue, settings, steps, underWay, asked }) => {
  const pool = openPool([...queue], settings);
  pool.wake();
  await idle();
  const seen = [pool.underWay()];
  for (const items of steps) {
    await pool.end(items);
    seen.push(pool.underWay());
  }
  expect({ underWay: seen, asked: pool.asked }).toEqual({ underWay, asked });
  await pool.end(pool.underWay());
});

test('a pool continues in the same place with the item that work returns', async () => {
  const pool = openPool([1, 2, 3, 4]);
  pool.wake();
  await idle();
  await pool.end([1], 10);
  expect(pool.underWay()).toEqual([2, 3, 10]);
  await pool.end([10]);
  expect(pool.underWay()).toEqual([2, 3, 4]);
});

test('a pool that was woken during a claim searches again, within its turn', async () => {
  const order: string[] = [];
  const queue: number[] = [];
  const pool = openPool(queue, {
    async inTurn(claim) {
      order.push('turn');
      const items = await claim();
      // Queue an item after the search and before the claim ends.
      if (order.length === 1) {
        queue.push(1);
        pool.wake();
      }
      return items;
    },
  });
  pool.wake();
  await idle();
  expect({ order, underWay: pool.underWay() }).toEqual({ order: ['turn', 'turn'], underWay: [1] });
});

test('a loop logs a failure once until something succeeds', async () => {
  const { loop, lines } = openLoop();
  const fail = () => loop.track(Promise.reject(Object.assign(new Error(), { code: 'ECONNREFUSED' })));
  fail();
  fail();
  await idle();
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ msg: 'work waits', reason: 'ECONNREFUSED' });
  loop.track(Promise.resolve());
  await idle();
  fail();
  await idle();
  expect(lines).toHaveLength(2);
  await loop.stop();
});

test('the stop begins nothing more, waits for what is under way, and lets it record its end', async () => {
  const pool = openPool([1, 2, 3, 4]);
  pool.wake();
  await idle();
  let isStopped = false;
  const stop = pool.loop.stop().then(() => (isStopped = true));
  pool.wake();
  await pool.end([1, 2]);
  expect({ isStopped, underWay: pool.underWay(), asked: pool.asked }).toEqual({
    isStopped: false,
    underWay: [3],
    asked: [3],
  });
  await pool.end([3]);
  await stop;
});

test('the stop cuts off work that takes too long, and work that begins after that', async () => {
  const { loop } = openLoop(0);
  const ends: string[] = [];
  const hang = (name: string) =>
    loop.cuttable(async (cut) => {
      if (!cut.aborted) await new Promise((resolve) => cut.addEventListener('abort', resolve));
      ends.push(name);
    });
  loop.track(hang('first').then(() => hang('second')));
  await loop.stop();
  expect(ends).toEqual(['first', 'second']);
});

test('work with a time limit of its own is cut off separately', async () => {
  const { loop } = openLoop();
  await loop.cuttable((cut) => new Promise((resolve) => cut.addEventListener('abort', resolve)), 1);
  expect(loop.stopping.aborted).toBe(false);
});
