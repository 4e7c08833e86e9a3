import { expect, test } from '@jest/globals';
import { NOW, manageClient, startManaged, type Thing } from '../support/manage';
import { DATABASE_KINDS, givePlan, newPlace, rows, startTestService } from '../support/service';

/** The same order, posted by many at once. */

test.each(DATABASE_KINDS)('50 posts of an order issue once, on %s', async (kind) => {
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
      Array.from({ length: 50 }, (_, i) => clients[i % clients.length]!.send('POST /orders', { body })),
    );
    // A caller may be told to come again, and gets the same then.
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
