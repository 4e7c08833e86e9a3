import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectNoSecrets, expectRefusal, startManaged, type Managed } from '../support/manage';
import { giveRelease } from '../support/packages';
import { temporaryFolder } from '../support/processes';
import { ONE_BACKEND, giveLicense, rows, storedLicense } from '../support/service';

/** Tests products, plans, customers, tokens and imports over the operator's API. */

describe.each(ONE_BACKEND)('the rest of the operator’s API, on %s', (_, settings) => {
  let service: Managed;
  let write: Managed['write'];
  beforeAll(async () => {
    service = await startManaged(await settings());
    ({ write } = service);
    await write.ok('POST /products', { id: 42, name: 'Example Shop' }, 201);
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });
  const plan = (name: string, others = {}) => ({
    ...{ product_id: 42, name, activation_type: 'domain', activation_limit: 3 },
    ...others,
  });

  it('adds, changes and removes products and plans', async () => {
    await write.refused('POST /products', { id: 42, name: 'Again' }, 'CONFLICT');
    const bundle = await write.ok('POST /products', { name: 'Club', includes: [42] }, 201);
    await write.refused('DELETE /products/42', undefined, 'CONFLICT');
    await write.ok(`PATCH /products/${bundle.id}`, {
      includes: 'all',
      renew_url: 'https://shop.example/renew',
    });
    expect(await service.read.ok(`GET /products/${bundle.id}`)).toMatchObject({
      includes: 'all',
      renew_url: 'https://shop.example/renew',
    });
    await write.ok(`DELETE /products/${bundle.id}`, undefined, 204);
    await write.refused(`DELETE /products/${bundle.id}`, undefined, 'NOT_FOUND');

    const { id } = await write.ok('POST /plans', plan('Developer'), 201);
    await write.refused('POST /plans', plan('developer'), 'CONFLICT', 'name');
    await write.refused('DELETE /products/42', undefined, 'CONFLICT');
    expect(await write.ok(`PATCH /plans/${id}`, { duration: '1y' })).toMatchObject({ duration: '1y' });
    await write.ok(`DELETE /plans/${id}`, undefined, 204);
    await write.refused(`DELETE /plans/${id}`, undefined, 'NOT_FOUND');
  });

  it('asks whether licences follow the limit of their plan', async () => {
    const { id } = (await write.ok('POST /plans', plan('Followed'), 201)) as { id: number };
    const license = await giveLicense(service.db, id);
    await write.refused(`PATCH /plans/${id}`, { activation_limit: 5 }, 'INVALID_REQUEST', 'licenses');
    await write.ok(`PATCH /plans/${id}`, { activation_limit: 5, licenses: 'keep' });
    expect(await storedLicense(service.db, license.id)).toMatchObject({ activation_limit: 3 });
    await write.ok(`PATCH /plans/${id}`, { activation_limit: 3 });
    await write.ok(`PATCH /plans/${id}`, { activation_limit: 9, licenses: 'follow' });
    expect(await storedLicense(service.db, license.id)).toMatchObject({ activation_limit: 9 });
    expect((await rows(service.db, 'events')).at(-1)).toMatchObject({
      action: 'set-limit',
      actor: 'token:admin',
    });
    await write.refused(`DELETE /plans/${id}`, undefined, 'CONFLICT');
  });

  it('reads and erases a customer by id and by address', async () => {
    const { id: plan_id } = (await write.ok('POST /plans', plan('Bought'), 201)) as { id: number };
    await write.ok('POST /licenses', { plan_id, customer: 'jane@example.com' }, 201);
    const [customer] = await service.read.all('/customers?q=JANE');
    expect(customer).toMatchObject({ customer: 'jane@example.com', licenses: 1 });
    for (const name of [customer?.id as string, 'jane%40example.com'])
      expect(await service.read.ok(`GET /customers/${name}`)).toMatchObject({ customer: 'jane@example.com' });
    await write.ok(`DELETE /customers/${customer?.id}`, undefined, 204);
    await write.refused(`DELETE /customers/${customer?.id}`, undefined, 'NOT_FOUND');
    await write.refused('GET /customers/jane%40example.com', undefined, 'NOT_FOUND');
    expect(JSON.stringify(await rows(service.db, 'licenses'))).not.toContain('jane@');
  });

  it('shows a token once, and ends it', async () => {
    const added = await write.ok('POST /tokens', { name: 'Script', scope: 'read', expires_at: null }, 201);
    await write.refused('POST /tokens', { name: 'script', scope: 'read' }, 'CONFLICT', 'name');
    expect((await write.send('GET /tokens')).text).not.toContain(added.token);
    await service.as(added.token as string).ok('GET /me');
    await write.ok(`DELETE /tokens/${added.id}`, undefined, 204);
    await write.refused(`DELETE /tokens/${added.id}`, undefined, 'NOT_FOUND');
  });

  it('imports a table, with a dry run before, and imports nothing from a wrong one', async () => {
    await write.ok('POST /plans', plan('Imported'), 201);
    const send = (csv: string, query = '') =>
      write.send(`POST /imports?map=${encodeURIComponent('key=Key,plan=Plan')}&product=42${query}`, {
        body: csv,
        headers: { 'Content-Type': 'text/csv' },
      });
    const good = 'Key,Plan\nOld-Key-0123456789-A,Imported\nOld-Key-0123456789-B,Imported\n';
    const before = (await rows(service.db, 'licenses')).length;
    expect((await send(good, '&dry_run=1')).body.data).toMatchObject({ dry_run: true, new: 2, left_out: [] });
    // The shop has no plan of this name.
    expectRefusal(await send(`${good}Old-Key-0123456789-C,Nothing\n`), 'INVALID_REQUEST', 'plans');
    expect((await rows(service.db, 'licenses')).length).toBe(before);
    expect((await send(good)).body.data).toMatchObject({ dry_run: false, new: 2, left_out: [] });
    expect((await send(good)).body.data).toMatchObject({ new: 0, same: 2 });
    const twins = await send('Key,Plan\nold-key-0123456789-a,Imported\n', '&dry_run=1');
    expect(twins.body.data).toMatchObject({
      new: 1,
      warnings: [{ code: 'no-states' }, {}, { code: 'case-twin' }],
    });
    expect((await rows(service.db, 'licenses')).length).toBe(before + 2);
  });
});

it('writes the files of a club’s products at once, when its plan changes or a product joins it', async () => {
  const xmlDir = temporaryFolder();
  const service = await startManaged({
    LICENSING_XML_DIR: xmlDir,
    LICENSING_PUBLIC_URL: 'https://shop.example',
  });
  try {
    const { write } = service;
    for (const id of [42, 43]) {
      await write.ok('POST /products', { id, name: `Product ${id}`, element: `pkg_${id}` }, 201);
      for (const version of ['1.0.0', '2.0.0']) await giveRelease(service, { productId: id, version });
    }
    const upTo = (id: number) => existsSync(join(xmlDir, `pkg_${id}/up-to-1.0.0.xml`));
    const added = await write.ok('POST /products', { name: 'Club', includes: [42] }, 201);
    const club = added.id as number;
    await write.ok(
      'POST /plans',
      {
        ...{ product_id: club, name: 'All', activation_type: 'domain', activation_limit: 1 },
        after_expiry: 'last_release',
      },
      201,
    );
    expect([upTo(42), upTo(43)]).toEqual([true, false]);
    await write.ok(`PATCH /products/${club}`, { includes: [42, 43] });
    expect([upTo(42), upTo(43)]).toEqual([true, true]);
  } finally {
    await service.stop();
  }
});
