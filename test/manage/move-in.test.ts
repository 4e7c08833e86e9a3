import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { table, tablePrefix } from '../../src/store/engine/database';
import { fillTable, makeMembershipPro } from '../support/membership-pro';
import { expectNoSecrets, expectRefusal, startManaged, type Managed } from '../support/manage';
import { givePlan, newPlace } from '../support/service';

/** Tests a move from another system over the operator's API. */
describe('moving in over the API', () => {
  let service: Managed;
  const key = 'ABCDEF0123456789ABCDEF0123456789';
  const post = (query: string) => service.write.send(`POST /imports?from=membershippro${query}`, {});
  beforeAll(async () => {
    service = await startManaged(await newPlace('MariaDB'));
    const { db } = service;
    await makeMembershipPro(db, tablePrefix(db));
    await fillTable(db, tablePrefix(db), {
      osmembership_plans: [{ id: 3, title: 'Pro', subscription_length: 1, subscription_length_unit: 'Y' }],
      osmembership_subscribers: [
        {
          ...{ id: 5, plan_id: 3, user_id: 7, email: 'jane@example.com', plan_main_record: 1 },
          ...{ plan_subscription_status: 1, plan_subscription_to_date: '2099-12-31 23:59:59' },
        },
      ],
      osmembership_downloadids: [{ id: 1, user_id: 7, download_id: key, published: 1 }],
    });
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });

  it('makes a dry run, moves in, lists the import and undoes it', async () => {
    const dry = await post('&dry_run=1&make_plans=1');
    expect(dry.body.data).toMatchObject({
      ...{ id: null, dry_run: true, new: 1, columns: null, made: { products: 1, plans: 1 } },
      plans: [
        {
          key: '3',
          licenses: 1,
          target: { plan_id: null, plan: 'Pro', new: true, activation_limit: 0, duration: '1y' },
        },
      ],
      counts: [{ product: 'Pro', plan: 'Pro', state: 'active', licenses: 1 }],
      samples: [{ before: { id: '5' }, after: { customer: 'jane@example.com', expires_at: null } }],
    });
    expect(dry.text).not.toContain(key);
    expect(await service.read.all('/imports')).toEqual([]);
    const moved = await post('&make_plans=1');
    const id = (moved.body.data as unknown as { id: number }).id;
    expect(moved.body.data).toMatchObject({ dry_run: false, new: 1, id });
    const listed = { id, source: 'membershippro', new: 1, made: { products: 1, plans: 1 }, undone_at: null };
    expect(await service.read.all('/imports')).toMatchObject([listed]);
    expect(await service.write.ok(`POST /imports/${id}/undo`, {})).toEqual({
      ...{ id, removed: { licenses: 1, products: 1, plans: 1 }, left: [] },
    });
    for (const name of ['licenses', 'license_keys', 'events', 'imported', 'plans', 'products'] as const)
      expect([name, await service.db(table(service.db, name))]).toEqual([name, []]);
    await service.write.refused(`POST /imports/${id}/undo`, {}, 'CONFLICT');
    await service.write.refused('POST /imports/999/undo', {}, 'NOT_FOUND');
  });

  it('accepts the customers’ addresses as a second part', async () => {
    const form = (parts: Record<string, string>) => {
      const body = new FormData();
      for (const [name, text] of Object.entries(parts)) body.append(name, new Blob([text]), `${name}.csv`);
      return body;
    };
    const file = 'id,order_id,product_id,user_id,license_key,status\n1,7,9,5,ABC-DEF-GHI,2\n';
    const users = 'ID,user_email\n5,jo@example.com\n';
    const query = 'POST /imports?from=lmfwc-csv&make_plans=1&dry_run=1';
    const dry = await service.write.send(query, { body: form({ file, users }) });
    expect(dry.body.data).toMatchObject({ new: 1, samples: [{ after: { customer: 'jo@example.com' } }] });
    expectRefusal(
      await service.write.send(query, { body: form({ file, others: users }) }),
      'INVALID_REQUEST',
      'file',
    );
    expectRefusal(
      await service.write.send('POST /imports?map=key%3Dlicense_key', { body: form({ file, users }) }),
      'INVALID_REQUEST',
      'users',
    );
  });

  it('accepts any table, with "from" and without', async () => {
    const planId = await givePlan(service.db);
    const text = (rows: string[]) => ['License Key,State,Until,Notes', ...rows].join('\n');
    const send = (rows: string[], query: string) =>
      service.write.send(`POST /imports?plan=${planId}${query}`, {
        ...{ body: text(rows), headers: { 'Content-Type': 'text/csv' } },
      });
    const good = ['Any-Key-000001,aktiv,31.01.2027,a', 'Any-Key-000002,,unbegrenzt,b'];
    const bad = 'Any-Key-000003,,31.02.2027,c';
    const dry = await send([...good, bad], '&dry_run=1&from=csv&map=metadata.note%3DNotes&ignore=State');
    expect(dry.body.data).toMatchObject({
      ...{ id: null, source: 'csv', new: 2, left_out: [{ code: 'no-date', rows: [4] }] },
      read_as: [
        { column: 'License Key', field: 'key' },
        { column: 'State', field: null },
        { column: 'Until', field: 'expiry' },
        { column: 'Notes', field: 'metadata.note' },
      ],
    });
    expectRefusal(await send([...good, bad], ''), 'INVALID_REQUEST', 'file');
    const done = await send([...good, bad], '&skip_bad_rows=1');
    expect(done.body.data).toMatchObject({ dry_run: false, source: 'csv', new: 2 });
    expect((await send(good, '')).body.data).toMatchObject({ new: 0, same: 2 });
    const { id } = done.body.data as unknown as { id: number };
    expect(await service.write.ok(`POST /imports/${id}/undo`, {})).toMatchObject({
      removed: { licenses: 2 },
    });
  });

  it('refuses what does not fit, and names the field', async () => {
    const refused = async (query: string, field: string) =>
      expectRefusal(await service.write.send(`POST /imports?${query}`, {}), 'INVALID_REQUEST', field);
    for (const name of ['nothing', 'licensedock', 'easycommerce']) await refused(`from=${name}`, 'from');
    expect((await service.write.send('POST /imports?from=licensedock', {})).text).toContain(
      'csv reads a table',
    );
    await refused('from=membershippro', 'plans');
    await refused('from=membershippro&plans=4%3D1', 'plans');
    await refused('from=membershippro&plans=3', 'plans');
    await refused('from=membershippro&plans=3%3D99', 'plans');
    await refused('from=membershippro&map=key%3DKey', 'map');
    await refused('from=ars', 'from');
    await refused('plans=3%3D1', 'file');
    await refused('map=key', 'map');
    expect(await service.read.send('POST /imports?from=membershippro', {})).toMatchObject({ status: 403 });
  });
});
