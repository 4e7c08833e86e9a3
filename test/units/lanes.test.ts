import { expect, jest, test } from '@jest/globals';
import { isCoded } from '../../src/base/errors';
import { createLanes } from '../../src/licensing/core/lanes';

/** Tests the lanes of licences whose rows are locked: one batch at a time in each, and few lanes at once. */

/** Opens lanes whose batches run until the test ends them, in the order in which they began. */
function start(atOnce: number) {
  const running: { items: string[]; end: (error?: Error) => void }[] = [];
  const lanes = createLanes<string, string>(atOnce, (items) =>
    new Promise<void>((resolve, reject) => {
      running.push({ items, end: (error) => (error ? reject(error) : resolve()) });
    }).then(() => items.map((item) => item.toUpperCase())),
  );
  return {
    lanes,
    running,
    batches: () => running.map(({ items }) => items.join(' ')),
    endAll: async () => {
      for (const { end } of running) {
        end();
        await settle();
      }
    },
  };
}

/** Waits until every batch that can begin has begun. */
async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

type Step = [licenseId: number, item: string] | 'end' | 'wait';

test.each<[string, atOnce: number, steps: Step[], batches: string[]]>([
  ['one', 2, [[1, 'a']], ['a']],
  [
    'what comes together is one batch',
    2,
    [
      [1, 'a'],
      [1, 'b'],
    ],
    ['a b'],
  ],
  ['what comes later waits for the batch', 2, [[1, 'a'], 'wait', [1, 'b'], [1, 'c']], ['a']],
  ['and is the next one, together', 2, [[1, 'a'], 'wait', [1, 'b'], [1, 'c'], 'end'], ['a', 'b c']],
  [
    'licences do not wait for each other',
    2,
    [
      [1, 'a'],
      [2, 'b'],
    ],
    ['a', 'b'],
  ],
  [
    'but for a turn',
    2,
    [
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ],
    ['a', 'b'],
  ],
  ['which the first who ends gives on', 2, [[1, 'a'], [2, 'b'], [3, 'c'], 'wait', 'end'], ['a', 'b', 'c']],
  [
    'in the order in which they came',
    1,
    [[1, 'a'], [2, 'b'], 'wait', [1, 'c'], [3, 'd'], 'wait', 'end'],
    ['a', 'b'],
  ],
])('%s', async (_, atOnce, steps, expected) => {
  const { lanes, running, batches, endAll } = start(atOnce);
  let ended = 0;
  for (const step of steps)
    if (step === 'end') running[ended++]!.end();
    else if (step === 'wait') await settle();
    else void lanes.submit(...step);
  await settle();
  expect(batches()).toEqual(expected);
  await endAll();
});

test('a lane exists while something waits or runs in it, and each item gets its own answer', async () => {
  const { lanes, running } = start(1);
  const [first, second] = [lanes.submit(1, 'a'), lanes.submit(1, 'b')];
  expect([lanes.has(1), lanes.has(2)]).toEqual([true, false]);
  await settle();
  const third = lanes.submit(1, 'c');
  running[0]!.end();
  expect(await Promise.all([first, second])).toEqual(['A', 'B']);
  await settle();
  expect(lanes.has(1)).toBe(true);
  running[1]!.end();
  expect(await third).toBe('C');
  await settle();
  expect(lanes.has(1)).toBe(false);
});

test('a batch that fails fails its items, and the next one runs', async () => {
  const { lanes, running } = start(1);
  const first = lanes.submit(1, 'a');
  await settle();
  const second = lanes.submit(1, 'b');
  running[0]!.end(new Error('The disk is full.'));
  await expect(first).rejects.toThrow('The disk is full.');
  await settle();
  running[1]!.end();
  expect(await second).toBe('B');
});

test('an item that waits longer than three seconds for its turn is refused, because the database is busy', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  try {
    const { lanes, running } = start(1);
    const first = lanes.submit(1, 'a');
    await settle();
    const second = lanes.submit(2, 'b').catch((error: unknown) => error);
    await settle();
    jest.advanceTimersByTime(2_999);
    await settle();
    expect(lanes.has(2)).toBe(true);
    jest.advanceTimersByTime(1);
    expect(isCoded(await second, 'BUSY')).toBe(true);
    running[0]!.end();
    expect(await first).toBe('A');
  } finally {
    jest.useRealTimers();
  }
});

test('if more than 500 wait for one licence, the last are refused at once', async () => {
  const { lanes, running, endAll } = start(1);
  const all = Array.from({ length: 501 }, () => lanes.submit(1, 'a'));
  await expect(all[500]).rejects.toMatchObject({ code: 'BUSY' });
  await settle();
  expect(running[0]!.items.length).toBeLessThanOrEqual(200);
  await endAll();
  expect(await Promise.all(all.slice(0, 500))).toHaveLength(500);
});
