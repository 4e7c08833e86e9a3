import { expect, test } from '@jest/globals';
import { NOW, manageClient, startManaged, type Thing } from '../support/manage';
import { byToken, chance, giveModelPlans, judgeSale, makeSale, tellAll } from '../support/order-model';
import { DATABASE_KINDS, givePlan, newPlace, rows, startTestService } from '../support/service';

/** The same order, posted by many clients at once, and many orders whose events arrive in any order. */

test.each(DATABASE_KINDS)('20 posts of an order issue once, on %s', async (kind) => {
  const place = { ...(await newPlace(kind)), LICENSING_KEY_SECRET: Buffer.alloc(32, 7).toString('base64') };
  const first = await startManaged(place);
  // An SQLite file serves one service.
  const second = kind === 'SQLite' ? undefined : await startTestService(place, NOW);
  try {
    const plan = await givePlan(first.db);
    const clients = [first.issue, ...(second ? [manageClient(second.url, first.issue.token)] : [])];
    const order = { shop: 'new-shop', order: '1', event: 'paid', at: NOW.toISOString(), event_id: 'evt_1' };
    const body = { ...order, lines: [{ line: '1', plan_id: plan, quantity: 2 }] };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => clients[i % clients.length]!.send('POST /orders', { body })),
    );
    // A caller may have to retry, and receives the same answer then.
    expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 503)).toEqual(
      [],
    );
    const done = answers.filter(({ status }) => status === 200).map(({ body: { data } }) => data);
    expect(done.length).toBeGreaterThan(0);
    for (const data of done) expect(data).toEqual(done[0]);
    expect(await first.issue.ok('POST /orders', body)).toEqual(done[0]);
    expect((done[0]!.lines as Thing[])[0]).toMatchObject({ action: 'issued', licenses: [{}, {}] });
    for (const [name, count] of [
      ['licenses', 2],
      ['events', 2],
      ['orders', 1],
      ['order_events', 1],
      ['shops', 1],
    ] as const)
      expect({ name, rows: await rows(first.db, name) }).toMatchObject({ rows: { length: count } });
  } finally {
    await second?.stop();
    await first.stop();
  }
});

test.each(DATABASE_KINDS)(
  'events told in any order, some twice, end as the model says, on %s',
  async (kind) => {
    const service = await startManaged({ ...(await newPlace(kind)), LICENSING_LOG_DAYS: '90' });
    try {
      const first = new Date(NOW.getTime() - 60_000);
      const plans = await giveModelPlans(service.db);
      const of = { shop: 'model', plans, first };
      const sale = makeSale(chance(20_261_125), { ...of, orders: 30 });
      const { sent } = await tellAll(sale.messages, () => [byToken(service.issue)], 4);
      expect(sent).toBeGreaterThanOrEqual(sale.messages.length);
      // Run waiting orders now: one that began to wait as its earlier order issued would run within a minute.
      await service.write.ok(`POST /shops/${of.shop}/run`);
      const counts = await judgeSale(service.db, sale, of);
      // Every state must occur.
      expect(Object.keys(counts).sort()).toEqual(['active', 'cancelled', 'none', 'suspended']);
    } finally {
      await service.stop();
    }
  },
);
