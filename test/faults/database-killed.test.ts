import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { countTimes } from '../support/service';
import { underFault } from '../support/faults';
import { isUnavailable, openStand, tally, type Stand } from '../support/load';
import { eventually } from '../support/processes';

let stand: Stand;

beforeAll(async () => {
  stand = await openStand();
});

afterAll(() => stand.close());

test('the database is killed and started again: refused at once, back by itself, nothing lost', async () => {
  const { db, mariadb } = stand;
  const service = await stand.start();
  const { load, meanwhile, until, recovery } = await underFault({
    url: service.url,
    goods: await stand.newGoods(),
    db,
    begin: () => mariadb.stop('SIGKILL'),
    lasts: 4,
    async end() {
      await request(service.admin).get('/readyz').expect(503);
      await mariadb.start();
    },
  });

  expect(until(isUnavailable)).toBeLessThan(3_000);
  expect(tally(meanwhile.filter((call) => !isUnavailable(call)))).toEqual({});
  expect(recovery).toBeLessThan(5_000);
  await request(service.admin).get('/readyz').expect(200);
  // Log entries from the time without the database were kept, and are written now.
  await eventually(async () => {
    const logged = await countTimes(db, 'access_log', { endpoint: 'download', outcome: 'ok' });
    expect(logged).toBeGreaterThanOrEqual(load.book.downloads);
  });
}, 120_000);
