import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { underFault } from '../support/faults';
import { isUnavailable, openStand, tally, usage, type Stand } from '../support/load';

let stand: Stand;

beforeAll(async () => {
  stand = await openStand();
});

afterAll(() => stand.close());

test('the database hangs for 20 s: refused within 5 s, memory bounded, back by itself, nothing lost', async () => {
  const { mariadb, db } = stand;
  const service = await stand.start();
  const pid = service.process.pid as number;
  const atRest = usage(pid);
  const most = { memory: 0, descriptors: 0 };
  const watch = setInterval(() => {
    const { memory, descriptors } = usage(pid);
    most.memory = Math.max(most.memory, memory);
    most.descriptors = Math.max(most.descriptors, descriptors);
  }, 500);
  const { load, meanwhile, recovery } = await underFault({
    url: service.url,
    goods: await stand.newGoods(),
    db,
    begin: () => mariadb.hang(),
    lasts: 20,
    end: () => mariadb.resume(),
    patience: 5_000,
  }).finally(() => clearInterval(watch));

  expect(tally(meanwhile.filter((call) => !isUnavailable(call)))).toEqual({});
  expect(recovery).toBeLessThan(5_000);
  expect(most.memory).toBeLessThan(atRest.memory + 100);
  expect(most.descriptors).toBeLessThan(atRest.descriptors + 60);
  // A package that is decided after its client was refused must not be sent.
  expect(load.book.downloads).toBeGreaterThan(0);
  expect(service.process.exitCode).toBeNull();
}, 120_000);
