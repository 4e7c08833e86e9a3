import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { ONE_BACKEND } from '../support/service';
import { sendHook, signStandard } from '../support/shop-senders';

/** Tests messages in the form of Standard Webhooks, signed by the specification's own library. */

const SECRET = `whsec_${randomBytes(24).toString('base64')}`;
const NOW = new Date('2026-11-24T12:00:00Z');

describe.each(ONE_BACKEND)('messages by Standard Webhooks, on %s', (_, settings) => {
  let service: Managed;
  let plan: number;
  let order: string;
  beforeAll(async () => {
    // The library uses the machine's time.
    service = await startManaged(await settings(), NOW);
    const { write } = service;
    const product = await write.ok('POST /products', { name: 'Pro' }, 201);
    const made = { product_id: product.id as number, activation_type: 'domain', activation_limit: 3 };
    plan = (await write.ok('POST /plans', { ...made, name: 'Year', duration: '1y' }, 201)).id as number;
    await write.ok('POST /shops', { name: 'own', kind: 'standard', secret: SECRET }, 201);
  });
  beforeEach(() => {
    order = randomUUID();
  });
  afterAll(() => service.stop());

  const message = (type: string, data: Thing = {}) => ({
    ...{ type, timestamp: NOW.toISOString() },
    data: { order, at: '2026-11-24T11:00:00Z', ...data },
  });
  const paid = (data: Thing = {}) =>
    message('order.paid', { lines: [{ line: '1', plan_id: plan }], ...data });
  const send = async (body: object, id: string = randomUUID(), at = NOW) => {
    const answer = await sendHook(service.url, 'own', signStandard(body, SECRET, at, id));
    return { status: answer.status, ...(JSON.parse(answer.text) as { data?: Thing }) };
  };
  const status = async () => {
    const answer = await service.read.send(`GET /licenses/reference:own:${order}:1`);
    return answer.status === 404 ? 'none' : (answer.body.data.status as string);
  };

  it('takes the events of orders', async () => {
    expect(await send(paid({ customer: { email: 'jo@example.com' } }))).toMatchObject({
      ...{ status: 200, data: { result: 'order', state: 'done' } },
    });
    expect(await status()).toBe('active');
    await send(message('order.refunded', { at: '2026-11-24T11:30:00Z', shop: 'own', event: 'refunded' }));
    expect(await status()).toBe('suspended');
    for (const type of ['customer.created', 'order.shipped', 'order.'])
      expect(await send(message(type))).toMatchObject({
        ...{ status: 200, data: { result: 'noted', reason: 'unused' } },
      });
    expect(await status()).toBe('suspended');
  });

  it('distinguishes events by event and time, not by the delivery', async () => {
    const [one, other] = [await send(paid()), await send(paid())];
    expect(one).toEqual(other);
    const { events } = await service.write.ok(`GET /orders/${String(one.data?.order_id)}`);
    expect(events).toHaveLength(1);
  });

  it('takes no order that the operator’s API refuses, and says why', async () => {
    for (const [data, field] of [
      [{ shop: 'other' }, 'data.shop'],
      [{ event: 'cancelled' }, 'data.event'],
      [{ shop: 7 }, 'data.shop'],
      [{ event: null }, 'data.event'],
      [{ lines: [] }, 'lines'],
      [{ surprise: 1 }, 'surprise'],
      [{ at: 'yesterday' }, 'at'],
    ] as const)
      expect(await send(paid(data))).toMatchObject({
        ...{ status: 200, data: { result: 'unreadable', reason: expect.stringContaining(field) } },
      });
    expect(await status()).toBe('none');
  });

  it('refuses old signatures, and those of a clock that is ahead', async () => {
    for (const minutes of [-6, 6]) {
      const at = new Date(NOW.getTime() + minutes * 60_000);
      expect(await send(paid(), randomUUID(), at)).toMatchObject({ status: 401, error: { message: /old/ } });
    }
    expect(await status()).toBe('none');
  });

  it('refuses a secret that the specification does not allow', async () => {
    const body = { name: 'short', kind: 'standard', secret: 'whsec_c2hvcnQ=' };
    await service.write.refused('POST /shops', body, 'INVALID_REQUEST', 'secret');
  });
});
