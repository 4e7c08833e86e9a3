/* oxlint-disable typescript/no-unsafe-assignment -- answers are JSON of any form */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { startExpiryWatcher } from '../../src/webhooks/expiry-events';
import { customerDigest } from '../../src/store/customer-digest';
import { table } from '../../src/store/engine/database';
import { WEBHOOK_TYPES } from '../../src/licensing/webhook-events';
import { startManaged, type Managed } from '../support/manage';
import { makePackage } from '../support/packages';
import { eventually } from '../support/processes';
import { DATABASE_KINDS, givePlan, newPlace, PREFIX, rows } from '../support/service';
import { startReceiver, type Received, type WebhookReceiver } from '../support/webhook-receiver';

/** The events that receivers get for each change through the API of customers and of the operator. */

const DAY = 86_400_000;

describe.each(DATABASE_KINDS)('on %s', (kind) => {
  let service: Managed;
  let receiver: WebhookReceiver;
  let planId: number;
  beforeAll(async () => {
    receiver = await startReceiver();
    // The receiver's library refuses timestamps that are more than a few minutes off the real time.
    service = await startManaged(
      { ...(await newPlace(kind)), LICENSING_WEBHOOK_NETWORKS: '127.0.0.0/8' },
      new Date(),
    );
    planId = await givePlan(service.db, { limit: 2 });
    const added = await service.write.ok('POST /webhooks', { url: receiver.url, events: ['*'] }, 201);
    receiver.secret = added.secret as string;
  });
  afterEach(() => {
    receiver.received.length = 0;
  });
  afterAll(async () => {
    expect(receiver.forged).toBe(0);
    expect(service.logLines.join('\n')).not.toContain(receiver.secret);
    await service.stop();
    await receiver.stop();
  });

  /** Returns each delivery once, in the order of first arrival. A claim that expires early repeats a delivery. */
  const delivered = () =>
    [...new Map([...receiver.received].reverse().map((one) => [one.id, one])).values()].reverse();
  /** Waits for events of these types, each as often as it is named. @returns all deliveries of the test */
  const untilReceived = (...types: string[]) =>
    eventually(() => {
      const got = delivered().map(({ type }) => type);
      const missing = types.filter((type) => {
        const at = got.indexOf(type);
        if (at !== -1) got.splice(at, 1);
        return at === -1;
      });
      expect(missing).toEqual([]);
      return delivered();
    });
  /** Waits until the queue is empty. Call it before you move the clock, because that would end a claim. */
  const untilDelivered = () =>
    eventually(async () => {
      const waiting = service.db(table(service.db, 'outbox')).whereNotNull('next_attempt_at');
      expect(await waiting).toEqual([]);
    });
  const issue = async (fields: object = {}) =>
    service.write.ok('POST /licenses', { plan_id: planId, ...fields }, 201);
  const typesOf = (received: Received[]) => received.map(({ type }) => type);
  const post = (path: string, body: object) =>
    fetch(`${service.url}${PREFIX}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });

  test("each change of a licence arrives in order, with the licence as of that change's revision", async () => {
    const license = await issue({
      customer: 'jo@example.com',
      reference: 'ORDER 1',
      metadata: { shop: 'a' },
    });
    const path = `/licenses/${license.id}`;
    await service.write.ok(`POST ${path}/suspend`, { reason: 'Not paid' });
    await service.write.ok(`POST ${path}/reinstate`);
    await service.write.ok(`PATCH ${path}`, { activation_limit: 5, metadata: { shop: 'b' } });
    await service.write.ok(`POST ${path}/rekey`);
    await service.write.ok(`POST ${path}/keys`, { label: 'Client' }, 201);
    await service.write.ok(`POST ${path}/cancel`);
    await eventually(() => expect(typesOf(receiver.received)).toContain('license.cancelled'));
    const got = delivered();
    const [issued] = got;
    expect(JSON.parse(issued!.text)).toEqual({
      type: 'license.issued',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      data: {
        license: {
          id: license.id,
          product_id: 42,
          plan_id: planId,
          status: 'active',
          customer: 'jo@example.com',
          reference: 'ORDER 1',
          key_hint: (license.license_key as string).slice(-8),
          expires_at: null,
          activation_limit: 2,
          activations_used: 0,
          revision: 1,
          metadata: { shop: 'a' },
        },
        actor: 'token:admin',
      },
    });
    expect(typesOf(got)).toEqual([
      'license.issued',
      'license.suspended',
      'license.reinstated',
      'license.changed',
      'license.changed',
      'license.rekeyed',
      'license.changed',
      'license.cancelled',
    ]);
    const states = got.map(({ data }) => [data.license!.revision, data.license!.status]);
    expect(states.map(([revision]) => revision)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(states.map(([, status]) => status)).toEqual([
      ...['active', 'suspended', 'active', 'active', 'active', 'active', 'active', 'cancelled'],
    ]);
    expect(got[1]!.data.reason).toBe('Not paid');
    // The payload shows the licence as of the limit's revision, before the metadata changed.
    const changed = got.filter(({ type }) => type === 'license.changed').map(({ data }) => data.license!);
    expect(changed.map((one) => [one.activation_limit, one.metadata])).toEqual([
      [5, { shop: 'a' }],
      [5, { shop: 'b' }],
      [5, { shop: 'b' }],
    ]);
    expect(got.map(({ text }) => text).join()).not.toContain(license.license_key);
    expect(new Set(got.map(({ id }) => id)).size).toBe(got.length);
  });

  test("customers' calls: activations, the limit once an hour, a refused download once; never an address", async () => {
    const { id, license_key: key } = (await issue()) as { id: number; license_key: string };
    for (const site of ['a.example', 'b.example', 'c.example', 'c.example'])
      await post('/licenses/activate', { license_key: key, identifier: site, name: `Site ${site}` });
    await post('/licenses/deactivate', { license_key: key, identifier: 'a.example' });
    await service.write.ok(`POST /licenses/${id}/suspend`);
    for (let i = 0; i < 3; i++) await fetch(`${service.url}${PREFIX}/downloads/42?dlid=${key}`);
    const types = [
      ...['activation.added', 'activation.added', 'activation.limit_reached', 'activation.removed'],
      ...['download.refused', 'license.issued', 'license.suspended'],
    ];
    await untilReceived(...types);
    await untilDelivered();
    const got = delivered();
    expect(typesOf(got).sort()).toEqual(types);
    const of = (type: string) => got.find((one) => one.type === type)!.data;
    expect(of('activation.added')).toMatchObject({
      license: { id, activations_used: 1, revision: 2 },
      activation: { identifier: 'a.example', name: 'Site a.example' },
      actor: 'customer',
    });
    expect(of('activation.removed')).toMatchObject({
      license: { activations_used: 1, revision: 4 },
      activation: { identifier: 'a.example', name: 'Site a.example' },
    });
    expect(of('activation.limit_reached')).toMatchObject({
      license: { id },
      activation: { identifier: 'c.example', name: null },
    });
    expect(of('download.refused')).toMatchObject({ license: { id }, reason: 'LICENSE_INACTIVE' });
    const texts = got.map(({ text }) => text).join();
    expect(texts).not.toMatch(/127\.0\.0\.1|::1/);
    expect(texts).not.toContain(key);
    // An hour later, it is reported again.
    service.clock.now = new Date(service.clock.now.getTime() + 3_600_000);
    await fetch(`${service.url}${PREFIX}/downloads/42?dlid=${key}`);
    await untilReceived('download.refused', 'download.refused');
    service.clock.now = new Date();
  });

  test('releases: published by a draft or at once, and withdrawn', async () => {
    const { bytes } = await makePackage();
    const publish = (version: string, query = '') =>
      service.write.send(`POST /products/42/releases?version=${version}${query}`, {
        body: bytes,
        headers: { 'Content-Type': 'application/zip' },
      });
    const draft = (await publish('1.0.0', '&draft=1')).body.data;
    const other = (await publish('1.1.0')).body.data;
    await service.write.ok(`POST /releases/${draft.id}/publish`);
    await service.write.ok(`POST /releases/${other.id}/withdraw`, { allow_downgrade: true });
    const got = await untilReceived('release.published', 'release.published', 'release.withdrawn');
    expect(got.map(({ type, data }) => [type, data])).toEqual(
      expect.arrayContaining([
        ['release.published', { release: { id: other.id, product_id: 42, version: '1.1.0' } }],
        ['release.published', { release: { id: draft.id, product_id: 42, version: '1.0.0' } }],
        ['release.withdrawn', { release: { id: other.id, product_id: 42, version: '1.1.0' } }],
      ]),
    );
  });

  test('an erasure clears waiting and sent deliveries, and is reported with the id only', async () => {
    const customer = `erased${kind.toLowerCase()}@example.com`;
    const { id, license_key: key } = (await issue({ customer, reference: `${customer} 7` })) as {
      id: number;
      license_key: string;
    };
    await untilReceived('license.issued');
    receiver.answer = (response) => response.writeHead(500).end(`cannot store ${customer}`);
    await post('/licenses/activate', { license_key: key, identifier: 'private.example', name: customer });
    await service.write.ok(`POST /licenses/${id}/suspend`, { reason: `${customer} asked` });
    await untilReceived('license.issued', 'activation.added');
    await eventually(async () => {
      expect(JSON.stringify(await rows(service.db, 'outbox'))).toContain('cannot store');
    });
    receiver.answer = undefined;
    receiver.received.length = 0;
    await service.write.ok(`DELETE /customers/${customer}`, undefined, 204);
    await eventually(() => expect(typesOf(receiver.received)).toContain('customer.erased'));
    expect(receiver.received.find(({ type }) => type === 'customer.erased')!.data).toEqual({
      customer: { id: customerDigest(customer) },
    });
    const stored = JSON.stringify(await rows(service.db, 'outbox'));
    expect(stored).not.toContain(customer);
    expect(stored).not.toContain('private.example');
    // Waiting deliveries still arrive, in order.
    service.clock.now = new Date(service.clock.now.getTime() + 10_000);
    await untilReceived('activation.added', 'license.suspended', 'license.changed');
    const ofLicense = delivered().filter(({ data }) => data.license?.id === id);
    expect(typesOf(ofLicense)).toEqual(['activation.added', 'license.suspended', 'license.changed']);
    for (const { data } of ofLicense) {
      expect(data.license).toMatchObject({ customer: null, metadata: {} });
      expect(data).not.toHaveProperty('activation');
    }
    expect(receiver.received.map(({ text }) => text).join()).not.toContain(customer);
    service.clock.now = new Date();
  });

  test('a licence that ends, or ends in 14 days, is reported once, also after a time without any instance', async () => {
    const { id: ending } = await issue({ expires_at: new Date(Date.now() + 40 * DAY).toISOString() });
    const { id: renewed } = await issue({ expires_at: new Date(Date.now() + 41 * DAY).toISOString() });
    const { id: suspended } = await issue({ expires_at: new Date(Date.now() + 40 * DAY).toISOString() });
    await service.write.ok(`POST /licenses/${suspended}/suspend`);
    await untilDelivered();
    receiver.received.length = 0;
    const ends = () =>
      delivered()
        .filter(({ type }) => type.startsWith('license.expir'))
        .map(({ type, data }) => [type, data.license!.id, data.license!.status]);
    const at = async (days: number, instances: number) => {
      const now = new Date(Date.now() + days * DAY);
      service.clock.now = now;
      const stops = Array.from({ length: instances }, () =>
        startExpiryWatcher(service.db, pino({ level: 'silent' }), () => now),
      );
      await eventually(async () => {
        const [webhook] = await rows<{ swept_at: string }>(service.db, 'webhooks');
        expect(Date.parse(`${webhook!.swept_at}Z`)).toBeGreaterThan(+now - 2_000);
      });
      for (const stop of stops) await stop();
    };
    await at(25, 1);
    await untilDelivered();
    expect(ends()).toEqual([]);
    // Several instances, and several sweeps, report it once.
    await at(26.5, 2);
    await untilDelivered();
    await at(26.6, 2);
    await untilReceived('license.expiring');
    expect(ends()).toHaveLength(1);
    const expiring = delivered().find(({ type }) => type === 'license.expiring');
    expect(expiring).toMatchObject({ data: { license: { id: ending, status: 'active', revision: 1 } } });
    expect(expiring!.data).not.toHaveProperty('renews');
    await service.write.ok(`PATCH /licenses/${renewed}`, { expires_at: null });
    await untilDelivered();
    await at(45, 1);
    await untilDelivered();
    await at(45.1, 1);
    await untilDelivered();
    await eventually(() => expect(typesOf(receiver.received)).toContain('license.expired'));
    expect(ends()).toEqual([
      ['license.expiring', ending, 'active'],
      ['license.expired', ending, 'expired'],
    ]);
    const { id: subscribed } = await issue({ expires_at: new Date(Date.now() + 46 * DAY).toISOString() });
    await service.db(table(service.db, 'licenses')).where({ id: subscribed }).update({ renews_itself: 1 });
    await at(46.1, 1);
    await untilDelivered();
    await eventually(() => expect(ends()).toHaveLength(3));
    expect(delivered().at(-1)!.data).toMatchObject({ license: { id: subscribed }, renews: true });
    receiver.received.length = 0;
    // The receiver subscribes only after this licence has ended.
    await issue({ expires_at: new Date(Date.now() + 48 * DAY).toISOString() });
    const [{ id }] = (await rows<{ id: number }>(service.db, 'webhooks')) as [{ id: number }];
    await service.write.ok(`PATCH /webhooks/${id}`, { events: ['license.suspended'] });
    service.clock.now = new Date(Date.now() + 50 * DAY);
    await service.write.ok(`PATCH /webhooks/${id}`, { events: ['*'] });
    await at(50.1, 1);
    await untilDelivered();
    expect(ends()).toEqual([]);
    service.clock.now = new Date();
  });

  test('only events that a receiver subscribes to are queued', async () => {
    const other = await startReceiver();
    const { id } = await service.write.ok(
      'POST /webhooks',
      { url: other.url, events: ['license.suspended', 'release.*'] },
      201,
    );
    const license = await issue();
    await service.write.ok(`POST /licenses/${license.id}/suspend`);
    await eventually(() => expect(typesOf(other.received)).toEqual(['license.suspended']));
    expect(await service.db(table(service.db, 'outbox')).where({ webhook_id: id })).toHaveLength(1);
    await service.write.ok(`DELETE /webhooks/${id}`, undefined, 204);
    await other.stop();
    expect(WEBHOOK_TYPES).toHaveLength(19);
  });
});
