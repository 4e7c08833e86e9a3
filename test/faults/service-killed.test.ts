import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { countsOf, note } from '../support/faults';
import { findLosses, isHealthy, openStand, startLoad, tally, type Stand } from '../support/load';
import { eventually, freePort } from '../support/processes';

let stand: Stand;

beforeAll(async () => {
  stand = await openStand();
});

afterAll(() => stand.close());

test('the service is killed in the middle of batches, again and again: what it acknowledged is stored', async () => {
  const listen = { LICENSING_LISTEN: `127.0.0.1:${await freePort()}` };
  let service = await stand.start(listen);
  const { url } = service;
  // Pause little, so that a batch always runs, and the next one waits.
  const load = startLoad(url, await stand.newGoods(), { pause: 4 });
  let killed = 0;
  for (; killed < 4; killed++) {
    await sleep(1_500 + Math.random() * 500);
    await service.stop('SIGKILL');
    service = await stand.start(listen);
  }
  await sleep(1_500);
  const last = load.now();
  await sleep(1_500);
  await load.stop();

  const { calls } = load;
  const unanswered = calls.filter(({ status }) => status === undefined);
  // These were in progress at a kill; the others found no service before the next start.
  expect(unanswered.filter(({ failure }) => failure !== 'ECONNREFUSED').length).toBeGreaterThan(0);
  expect(tally(calls.filter((call) => call.status !== undefined && !isHealthy(call)))).toEqual({});
  expect(tally(calls.filter((call) => call.sentAt > last && !isHealthy(call)))).toEqual({});
  expect(calls.filter(isHealthy).length).toBeGreaterThan(100);
  expect(await findLosses(stand.db, load.book)).toEqual([]);
  note({ killed, ...countsOf(calls) });
}, 120_000);

test('the book itself finds what is lost', async () => {
  const { db } = stand;
  const { url } = await stand.start();
  const goods = await stand.newGoods();
  const load = startLoad(url, goods);
  await eventually(() => {
    expect(load.book.checks[0]!.acknowledged).toBeGreaterThan(0);
    expect(load.book.activations[0]!.acknowledged.size).toBeGreaterThan(0);
  });
  await load.stop();
  expect(await findLosses(db, load.book)).toEqual([]);

  const { id } = goods.licenses[0]!;
  const [identifier = ''] = load.book.activations[0]!.acknowledged;
  await db('licensing_licenses').where({ id }).decrement('check_count', 1);
  await db('licensing_activations').where({ license_id: id, identifier }).delete();
  expect(await findLosses(db, load.book)).toEqual([
    expect.stringMatching(/checks acknowledged/),
    expect.stringMatching(/counts \d+ activations, has \d+/),
    expect.stringMatching(/tells of \d+ activations, has \d+/),
    `licence ${id}: ${identifier} was acknowledged and is not there`,
  ]);
});
