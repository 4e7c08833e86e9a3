/* oxlint-disable typescript/no-unsafe-assignment -- answers are JSON of any form */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectNoSecrets, startManaged, type Managed, type Thing } from '../support/manage';
import { eventually } from '../support/processes';
import { BACKENDS, giveLicense, givePlan, PREFIX, rows, storedLicense } from '../support/service';

/** Tests licences, their keys and activations over the operator's API: answers, rows, and the author of each change. */

const KEY = /^[0-9A-F]{8}(-[0-9A-F]{8}){3}$/;

describe.each(BACKENDS)('licences by the operator’s API, on %s', (_, settings) => {
  let service: Managed;
  let write: Managed['write'];
  let planId: number;
  /** A licence with an end, a customer and a reference. */
  let license: Thing;
  let id: number;
  let orders = 0;
  beforeAll(async () => {
    service = await startManaged(await settings());
    ({ write } = service);
    planId = await givePlan(service.db, {}, service.clock.now);
  });
  beforeEach(async () => {
    license = await write.ok(
      'POST /licenses',
      {
        plan_id: planId,
        customer: 'jane@example.com',
        reference: `order-${++orders}`,
        expires_at: '2027-06-30',
      },
      201,
    );
    id = license.id as number;
  });
  afterAll(async () => {
    expectNoSecrets(service);
    await service.stop();
  });

  const events = async () =>
    (await rows(service.db, 'events'))
      .filter((event) => event.license_id === id)
      .map(({ action, actor, after_json }) => ({
        action,
        actor,
        after: JSON.parse((after_json as string | null) ?? 'null') as unknown,
      }));
  const activate = (body: Thing, status = 201) => write.ok(`POST /licenses/${id}/activations`, body, status);
  const validate = async (key: string) => {
    const answer = await fetch(`${service.url}${PREFIX}/licenses/validate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ license_key: key }),
    });
    return answer.status;
  };

  it('issues a licence with its key, and never shows the key again', async () => {
    expect(license).toMatchObject({
      license_key: expect.stringMatching(KEY),
      key_hint: (license.license_key as string).slice(-8),
      status: 'active',
      product_id: 42,
      plan_id: planId,
      customer: 'jane@example.com',
      expires_at: '2027-06-30T23:59:59Z',
      activation_limit: 3,
      revision: 1,
    });
    expect(await storedLicense(service.db, id)).toMatchObject({
      customer: 'jane@example.com',
      issued_by: 'admin',
    });
    expect(await events()).toMatchObject([{ action: 'issue', actor: 'token:admin' }]);
    expect(await validate(license.license_key as string)).toBe(200);
    for (const path of ['', '/keys', '/events', '/activations', '/requests'])
      expect((await write.send(`GET /licenses/${id}${path}`)).text).not.toContain(license.license_key);
    const details = await write.ok(`GET /licenses/${id}`);
    expect(details.keys).toMatchObject([{ key_hint: license.key_hint, label: null, ends_at: null }]);
    expect(details.activations).toEqual([]);
    expect(await write.ok(`GET /licenses/reference:order-${orders}`)).toEqual(details);
  });

  it('issues several at once, with their own terms, without an end, and with a given key', async () => {
    const many = await write.ok('POST /licenses', { plan_id: planId, count: 3, lifetime: true }, 201);
    expect(many).toMatchObject([{ expires_at: null }, { expires_at: null }, { expires_at: null }]);
    expect(new Set((many as Thing[]).map((one) => one.license_key as string)).size).toBe(3);
    expect(await write.ok('POST /licenses', { plan_id: planId, count: 1 }, 201)).toHaveLength(1);
    const own = {
      plan_id: planId,
      key: `My-Own-Key-${orders}-of-Mine`,
      activation_limit: 0,
      metadata: { shop: 'a' },
    };
    expect(await write.ok('POST /licenses', own, 201)).toMatchObject({
      license_key: own.key,
      activation_limit: 0,
      metadata: { shop: 'a' },
    });
    await write.refused('POST /licenses', own, 'CONFLICT');
  });

  it('answers with the same licence for the same reference, plan and customer, or else with a conflict', async () => {
    const order = { plan_id: planId, customer: 'Jane@Example.com', reference: `order-${orders}` };
    const before = await rows(service.db, 'licenses');
    expect(await write.ok('POST /licenses', order)).toMatchObject({ id, license_key: license.license_key });
    const other = await givePlan(service.db);
    await write.refused('POST /licenses', { ...order, plan_id: other }, 'CONFLICT');
    await write.refused('POST /licenses', { ...order, customer: 'joe@example.com' }, 'CONFLICT');
    await write.refused('POST /licenses', { ...order, key: 'Another-Key-0123456789' }, 'CONFLICT');
    expect(await rows(service.db, 'licenses')).toEqual(before);
    const reference = `order/${orders} ü+1%`;
    const named = await write.ok('POST /licenses', { plan_id: planId, reference }, 201);
    expect(await write.ok(`GET /licenses/reference:${encodeURIComponent(reference)}`)).toMatchObject({
      id: named.id,
    });
  });

  it('issues one licence for twenty parallel orders with a reference', async () => {
    const order = { plan_id: planId, reference: `parallel-${orders}` };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => write.send('POST /licenses', { body: order })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 200)).toHaveLength(19);
    expect(new Set(answers.map(({ body }) => body.data.license_key as string)).size).toBe(1);
  });

  it('changes all fields of a PATCH, or none', async () => {
    const plan = await givePlan(service.db, { limit: 7 });
    const changes = { plan_id: plan, customer: 'joe@example.com', expires_at: null, metadata: { a: 'b' } };
    for (const [bad, field] of [
      [{ expires_at: '2020-01-01' }, 'expires_at'],
      [{ metadata: { 'Not a name': 'x' } }, 'metadata'],
      [{ plan_id: 999 }, 'plan_id'],
      [{ customer: 'nobody' }, 'customer'],
    ] as const) {
      const before = [await storedLicense(service.db, id), await events()];
      await write.refused(
        `PATCH /licenses/${id}`,
        { activation_limit: 9, ...changes, ...bad },
        'INVALID_REQUEST',
        field,
      );
      expect([await storedLicense(service.db, id), await events()]).toEqual(before);
    }
    expect(await write.ok(`PATCH /licenses/reference:order-${orders}`, changes)).toMatchObject({
      ...changes,
      id,
      activation_limit: 7,
    });
    expect(await write.ok(`PATCH /licenses/${id}`, { activation_limit: 2 })).toMatchObject({
      activation_limit: 2,
    });
    expect(await storedLicense(service.db, id)).toMatchObject({
      plan_id: plan,
      activation_limit: 2,
      customer: 'joe@example.com',
      expires_at: null,
    });
    const made = await events();
    expect(made.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['change-plan', 'set-customer', 'renew', 'set-metadata', 'set-limit']),
    );
    expect(new Set(made.map(({ actor }) => actor))).toEqual(new Set(['token:admin']));
    expect(await write.ok(`PATCH /licenses/${id}`, {})).toMatchObject({ activation_limit: 2 });
    expect(await events()).toEqual(made);

    const otherProduct = await givePlan(service.db, { productId: 43 });
    await write.refused(`PATCH /licenses/${id}`, { plan_id: otherProduct }, 'CONFLICT');
    await write.ok(`POST /licenses/${id}/suspend`);
    await write.refused(`PATCH /licenses/${id}`, { expires_at: '2030-01-01' }, 'CONFLICT');
  });

  it('allows the transitions of the contract, and no other', async () => {
    const allowed: Record<string, string[]> = {
      active: ['suspend', 'renew', 'revoke', 'cancel'],
      suspended: ['reinstate', 'renew', 'revoke', 'cancel'],
      expired: ['renew', 'revoke', 'cancel'],
      revoked: [],
      cancelled: [],
    };
    const results: Record<string, string> = {
      suspend: 'suspended',
      reinstate: 'active',
      renew: 'active',
      revoke: 'revoked',
      cancel: 'cancelled',
    };
    const { now } = service.clock;
    for (const [from, actions] of Object.entries(allowed))
      for (const [action, to] of Object.entries(results)) {
        const given = await giveLicense(service.db, planId, {
          expiresAt: new Date(now.getTime() + (from === 'expired' ? -1_000 : 1e9)),
        });
        id = given.id;
        if (['suspended', 'revoked', 'cancelled'].includes(from))
          await write.ok(
            `POST /licenses/${id}/${{ suspended: 'suspend', revoked: 'revoke' }[from] ?? 'cancel'}`,
          );
        const body = { reason: 'because of it', ...(action === 'renew' ? { for: '1y' } : {}) };
        if (!actions.includes(action)) {
          const before = await events();
          await write.refused(`POST /licenses/${id}/${action}`, body, 'CONFLICT');
          expect(await events()).toEqual(before);
          continue;
        }
        expect(await write.ok(`POST /licenses/${id}/${action}`, body)).toMatchObject({ id, status: to });
        expect((await events()).at(-1)).toMatchObject({
          action,
          actor: 'token:admin',
          after: { status: to, reason: 'because of it' },
        });
      }
  });

  it('renews by a time, until a day, without an end, and by the plan’s duration', async () => {
    const renewed = async (body: Thing) =>
      (await write.ok(`POST /licenses/${id}/renew`, body)).expires_at as unknown;
    expect(await renewed({ for: '1y' })).toBe('2028-06-30T23:59:59Z');
    expect(await renewed({ until: '2029-01-31' })).toBe('2029-01-31T23:59:59Z');
    await write.refused(`POST /licenses/${id}/renew`, {}, 'INVALID_REQUEST', 'for');
    expect(await renewed({ lifetime: true })).toBeNull();
    await write.refused(`POST /licenses/${id}/renew`, { for: '1y' }, 'CONFLICT');
    const yearly = await write.ok(
      'POST /plans',
      {
        product_id: 42,
        name: `Yearly ${orders}`,
        activation_type: 'seat',
        activation_limit: 1,
        duration: '1y',
      },
      201,
    );
    ({ id } = (await write.ok('POST /licenses', { plan_id: yearly.id }, 201)) as { id: number });
    expect(await renewed({})).toBe('2028-11-24T12:00:00Z');
    expect(await renewed({ lifetime: false })).toBe('2029-11-24T12:00:00Z');
  });

  it('adds, changes, lists and ends keys', async () => {
    const key = await write.ok(
      `POST /licenses/${id}/keys`,
      { label: 'Agency', activation_limit: 2, ends_at: '2027-01-01' },
      201,
    );
    expect(key).toMatchObject({
      license_key: expect.stringMatching(KEY),
      label: 'Agency',
      activation_limit: 2,
      ends_at: '2027-01-01T23:59:59Z',
    });
    expect(await validate(key.license_key as string)).toBe(200);
    const path = `/licenses/${id}/keys/${key.id}`;
    expect(await write.ok(`PATCH ${path}`, { label: null, ends_at: null })).toMatchObject({
      label: null,
      activation_limit: 2,
      ends_at: null,
    });
    expect((await write.send(`PATCH ${path}`, { body: {} })).text).not.toContain(key.license_key);
    await write.ok(`DELETE ${path}`, undefined, 204);
    expect(await validate(key.license_key as string)).toBe(403);
    expect(await write.all(`/licenses/${id}/keys`)).toMatchObject([
      { key_hint: license.key_hint },
      { id: key.id, ends_at: '2026-11-24T12:00:00Z' },
    ]);
    await write.refused(`PATCH ${path}`, { label: 'x' }, 'CONFLICT');
    expect((await events()).map(({ action }) => action)).toEqual([
      'issue',
      'add-key',
      'edit-key',
      'edit-key',
      'end-key',
    ]);
  });

  it('answers 204 for the DELETE of a key, and 404 again', async () => {
    for (const free of ['', '?free=1']) {
      const { id: key } = await write.ok(`POST /licenses/${id}/keys`, {}, 201);
      await write.ok(`DELETE /licenses/${id}/keys/${key}${free}`, undefined, 204);
      for (const again of ['', '?free=1'])
        await write.refused(`DELETE /licenses/${id}/keys/${key}${again}`, undefined, 'NOT_FOUND');
    }
  });

  it('keeps the main key, whose terms are the licence’s', async () => {
    const [main] = (await write.ok(`GET /licenses/${id}`)).keys as { id: number }[];
    const path = `/licenses/${id}/keys/${main?.id}`;
    await write.refused(`DELETE ${path}`, undefined, 'CONFLICT');
    await write.refused(`DELETE ${path}?free=1`, undefined, 'CONFLICT');
    await write.refused(`PATCH ${path}`, { activation_limit: 1 }, 'CONFLICT');
    expect(await write.ok(`PATCH ${path}`, { label: 'Main' })).toMatchObject({ label: 'Main' });
    expect(await validate(license.license_key as string)).toBe(200);
  });

  it('frees the slots of a key only if asked to', async () => {
    for (const free of ['', '?free=0', '?free=1']) {
      const key = await write.ok(`POST /licenses/${id}/keys`, {}, 201);
      const activation = await fetch(`${service.url}${PREFIX}/licenses/activate`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ license_key: key.license_key as string, identifier: `site${key.id}.example` }),
      });
      expect(activation.status).toBe(200);
      const before = await write.all(`/licenses/${id}/activations`);
      await write.ok(`DELETE /licenses/${id}/keys/${key.id}${free}`, undefined, 204);
      expect(await write.all(`/licenses/${id}/activations`)).toHaveLength(
        before.length - (free === '?free=1' ? 1 : 0),
      );
    }
    expect(await storedLicense(service.db, id)).toMatchObject({ activations_used: 2 });
  });

  it('rekeys at once, with overlap, and a key by its id', async () => {
    const old = license.license_key as string;
    const first = await write.ok(`POST /licenses/${id}/rekey`);
    expect(first.license_key).toMatch(KEY);
    expect([await validate(old), await validate(first.license_key as string)]).toEqual([403, 200]);
    const second = await write.ok(`POST /licenses/${id}/rekey`, { overlap: '14d' });
    expect([
      await validate(first.license_key as string),
      await validate(second.license_key as string),
    ]).toEqual([200, 200]);
    await write.refused(`POST /licenses/${id}/rekey`, { key_id: first.id }, 'CONFLICT');
    const added = await write.ok(`POST /licenses/${id}/keys`, { label: 'Agency' }, 201);
    expect(await write.ok(`POST /licenses/${id}/rekey`, { key_id: added.id })).toMatchObject({
      label: 'Agency',
    });
    expect((await events()).filter(({ action }) => action === 'rekey')).toHaveLength(3);
  });

  it('reveals a kept key, and records who asked', async () => {
    const [main] = await write.all(`/licenses/${id}/keys`);
    expect(await write.ok(`POST /licenses/${id}/reveal`)).toEqual({
      ...main,
      license_key: license.license_key,
    });
    const added = await write.ok(`POST /licenses/${id}/keys`, {}, 201);
    expect(await write.ok(`POST /licenses/${id}/reveal`, { key_id: added.id })).toEqual(added);
    expect((await events()).filter(({ action }) => action === 'reveal')).toMatchObject([
      { actor: 'token:admin' },
      { actor: 'token:admin', after: { key_id: added.id } },
    ]);
    const unkept = await giveLicense(service.db, planId);
    await write.refused(`POST /licenses/${unkept.id}/reveal`, {}, 'CONFLICT');
  });

  it('activates over the limit, in every state, and once', async () => {
    await write.ok(`PATCH /licenses/${id}`, { activation_limit: 1 });
    const site = await activate({ identifier: 'https://www.Example.org/', name: 'Shop' });
    expect(site).toMatchObject({ identifier: 'example.org', name: 'Shop', free: false });
    expect(await activate({ identifier: 'example.org' }, 200)).toMatchObject({ id: site.id });
    await activate({ identifier: 'second.example' });
    await write.ok(`POST /licenses/${id}/cancel`);
    await activate({ identifier: 'third.example' });
    expect(await storedLicense(service.db, id)).toMatchObject({ activations_used: 3 });
    expect(
      (await write.all(`/licenses/${id}/activations`, 2)).map(({ identifier }) => identifier as string),
    ).toEqual(['example.org', 'second.example', 'third.example']);
    const path = `/licenses/${id}/activations/${site.id}`;
    const other = await giveLicense(service.db, planId);
    await write.refused(`DELETE /licenses/${other.id}/activations/${site.id}`, undefined, 'NOT_FOUND');
    await write.ok(`DELETE ${path}`, undefined, 204);
    await write.refused(`DELETE ${path}`, undefined, 'NOT_FOUND');
    expect(await storedLicense(service.db, id)).toMatchObject({ activations_used: 2 });
    expect((await events()).filter(({ actor }) => actor !== 'token:admin')).toEqual([]);
  });

  it('lists by every filter', async () => {
    const { clock } = service;
    const soon = new Date(clock.now.getTime() + 5 * 86_400_000);
    const wanted = await giveLicense(
      service.db,
      await givePlan(service.db, { productId: 50 + orders }),
      { customer: `filter${orders}@example.com`, reference: `filter-${orders}`, expiresAt: soon },
      clock.now,
    );
    const { product_id, plan_id, key_hint } = await write.ok(`GET /licenses/${wanted.id}`);
    await write.ok(`POST /licenses/${wanted.id}/activations`, { identifier: `filter${orders}.example` }, 201);
    for (const filter of [
      `product_id=${product_id}`,
      `covers=${product_id}`,
      `plan_id=${plan_id}`,
      `customer=FILTER${orders}@example.com`,
      `reference=filter-${orders}`,
      `hint=${key_hint}`,
      `expiring=6d`,
      `q=filter${orders}@exa`,
      `q=filter-${orders}`,
      `q=${key_hint}`,
      `q=filter${orders}.example`,
      `product_id=${product_id}&status=active&expiring=6d`,
    ])
      expect([filter, (await write.all(`/licenses?${filter}`)).map((one) => one.id as number)]).toEqual([
        filter,
        [wanted.id],
      ]);
    expect((await write.all(`/licenses?q=${wanted.id}`)).map((one) => one.id as number)).toContain(wanted.id);
    for (const none of ['customer=nobody@example.com', `product_id=${product_id}&status=expired`])
      expect(await write.all(`/licenses?${none}`)).toEqual([]);
    expect((await write.send('GET /licenses?product_id=999')).body).toMatchObject({
      error: { code: 'INVALID_REQUEST', field: 'product_id' },
    });
    clock.now = new Date(soon.getTime() + 1_000);
    expect(await write.all(`/licenses?product_id=${product_id}&status=expired`)).toHaveLength(1);
    clock.now = new Date(soon.getTime() - 5 * 86_400_000);
  });

  it('lists history and requests, the newest first', async () => {
    await write.ok(`POST /licenses/${id}/suspend`, { reason: 'unpaid' });
    const history = await service.read.all(`/licenses/${id}/events`, 1);
    expect(history).toMatchObject([
      { action: 'suspend', actor: 'token:admin', after: { status: 'suspended', reason: 'unpaid' } },
      { action: 'issue', actor: 'token:admin', before: null },
    ]);
    const download = `${service.url}${PREFIX}/downloads/42?license_key=${license.license_key}`;
    expect((await fetch(download)).status).toBe(403);
    for (const path of [
      `/licenses/${id}/requests`,
      `/requests?outcome=LICENSE_INACTIVE&product_id=42&hint=${license.key_hint}&ip=127.0.0.1&since=2026-11-24`,
    ]) {
      // The access log is written shortly after the answer.
      const found = await eventually(async () => {
        const written = await service.read.all(path);
        if (written.length === 0) throw new Error(`${path} has nothing yet`);
        return written;
      });
      expect(found).toMatchObject([
        {
          ...{ license_id: id, endpoint: 'download', outcome: 'LICENSE_INACTIVE' },
          key_hint: license.key_hint,
        },
      ]);
      expect(JSON.stringify(found)).not.toContain(license.license_key);
    }
    expect(await service.read.all('/requests?since=2027-01-01')).toEqual([]);
  });
});
