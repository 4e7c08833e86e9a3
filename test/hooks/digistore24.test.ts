import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { linkDigest, messageDigest } from '../../src/orders/names';
import { insertLinkOnce, insertMessageOnce } from '../../src/store/orders/shop-messages';
import { WITHOUT_GRACE } from '../support/hook-shop';
import { startManaged, type Managed, type Thing } from '../support/manage';
import { ONE_BACKEND } from '../support/service';
import { fixture, sendHook, signDigistore24 } from '../support/shop-senders';

/** Tests messages of Digistore24: their effect on licences, and the answer that Digistore24 puts into its mail. */

const SECRET = 'a passphrase of the seller';
const NOW = new Date('2026-11-24T12:00:00Z');
const KEY = '[0-9A-F]{8}(?:-[0-9A-F]{8}){3}';

type Fields = Record<string, string>;

describe.each(ONE_BACKEND)('messages of Digistore24, on %s', (_, settings) => {
  let service: Managed;
  let order: string;
  let transaction: number;
  beforeAll(async () => {
    service = await startManaged({ ...(await settings()), ...WITHOUT_GRACE }, NOW);
    const { write } = service;
    const product = await write.ok('POST /products', { name: 'Pro' }, 201);
    const made = { product_id: product.id as number, activation_type: 'domain', activation_limit: 3 };
    const plan = await write.ok('POST /plans', { ...made, name: 'Year', duration: '1y' }, 201);
    await write.ok('POST /shops', { name: 'ds24', kind: 'digistore24', secret: SECRET }, 201);
    await write.ok('POST /shops/ds24/map', { sku: '122343', plan_id: plan.id as number }, 201);
  });
  beforeEach(() => {
    service.clock.now = NOW;
    order = `A${randomInt(1e9)}`;
    transaction = randomInt(1e9);
  });
  afterAll(() => service.stop());

  const fields = (name: string, change: Fields = {}): Fields => {
    const text = JSON.stringify(fixture(`digistore24/${name}`));
    const own = JSON.parse(
      text.replaceAll('A3NXHEHF', order).replaceAll(/"100(\d)"/g, `"${transaction}$1"`),
    ) as Fields;
    return { ...own, ...change };
  };
  async function send(own: Fields, signed = own): Promise<string> {
    const answer = await sendHook(service.url, 'ds24', signDigistore24(own, SECRET, signed));
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    return answer.text;
  }
  const pass = (minutes: number) =>
    (service.clock.now = new Date(service.clock.now.getTime() + minutes * 60_000));
  const findLicense = async (item = '1'): Promise<Thing | undefined> => {
    const answer = await service.read.send(`GET /licenses/reference:ds24:${order}:${order}${item}`);
    return answer.status === 404 ? undefined : answer.body.data;
  };
  const status = async () => ((await findLicense()) ?? { status: 'none' }).status as string;

  it('issues a licence, and answers its key in the customer’s language', async () => {
    const paid = fields('on_payment');
    const answer = await send(paid);
    expect(answer).toMatch(new RegExp(`^OK\nheadline: Ihre Lizenz\nLizenzschlüssel: ${KEY}$`));
    expect(await findLicense()).toMatchObject({ status: 'active', customer: 'jo@example.com' });
    pass(60);
    expect(await send(paid)).toBe(answer);
    const english = await send(
      fields('on_payment', {
        language: 'en',
        quantity: '2',
        order_item_id: `${order}2`,
        transaction_id: '7',
      }),
    );
    expect(english).toMatch(
      new RegExp(`^OK\nheadline: Your license\nLicense key: ${KEY}\nLicense key 2: ${KEY}$`),
    );
  });

  it('takes a signature over the values as sent, or with HTML decoded', async () => {
    const paid = fields('on_payment', { address_last_name: 'M&uuml;ller &amp; Söhne' });
    await send(paid, { ...paid, address_last_name: 'Müller & Söhne' });
    expect(await status()).toBe('active');
    await send(paid);
    const wrong = await sendHook(service.url, 'ds24', signDigistore24(paid, 'another passphrase'));
    expect(wrong.status).toBe(401);
  });

  it('reads the values that are signed, so that another spelling of them is the same message', async () => {
    const paid = fields('on_payment');
    await send(paid);
    const first = paid.transaction_id?.charCodeAt(0);
    await send(
      {
        ...paid,
        order_id: order.replace('A', '&#65;'),
        transaction_id: `&#${first};${paid.transaction_id?.slice(1)}`,
      },
      paid,
    );
    const orders = (await service.read.all('/orders?shop=ds24')).filter(({ order: number }) =>
      String(number).endsWith(order.slice(1)),
    );
    expect(orders).toMatchObject([{ order, lines: [{ licenses: [{}] }] }]);
    const { events } = await service.write.ok(`GET /orders/${String(orders[0]?.id)}`);
    expect(events).toHaveLength(1);
  });

  it('refuses a form with more fields than Digistore24 sends', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`tag${i}`, '1']));
    const answer = await sendHook(
      service.url,
      'ds24',
      signDigistore24({ event: 'connection_test', ...many }, SECRET),
    );
    expect(answer.status).toBe(401);
  });

  it('treats an invalid amount as unknown', async () => {
    for (const amount of ['1e300', 'Infinity', 'much']) {
      order = `A${randomInt(1e9)}`;
      transaction = randomInt(1e9);
      await send(fields('on_payment', { transaction_amount: amount }));
      expect(await status()).toBe('active');
      await send(fields('on_refund', { transaction_amount: amount }));
      expect(await status()).toBe('suspended');
    }
  });

  it('treats a payment as older than its refund if its first attempt was cut off before the refund', async () => {
    const paid = fields('on_payment');
    // A process that is killed before it stores the order leaves this message.
    await insertMessageOnce(service.db, {
      ...{ shop: 'ds24', digest: messageDigest('ds24', `on_payment:${paid.transaction_id}`) },
      ...{
        type: 'on_payment',
        result: 'order',
        reason: null,
        orderId: null,
        awaits: null,
        pendingJson: null,
      },
      receivedAt: NOW,
    });
    await insertLinkOnce(service.db, {
      ...{ shop: 'ds24', digest: linkDigest('ds24', paid.transaction_id as string), kind: 'order' },
      ...{ target: order, paid: 4900, currency: 'EUR', createdAt: NOW },
    });
    pass(10);
    await send(fields('on_refund'));
    pass(10);
    expect(await send(paid)).toBe('OK');
    expect(await status()).toBe('none');
  });

  it('suspends for a refund of all the money, not for a part', async () => {
    await send(fields('on_payment'));
    pass(1);
    expect(await send(fields('on_refund', { transaction_amount: '-10.00' }))).toBe('OK');
    expect(await status()).toBe('active');
    await send(fields('on_refund', { transaction_id: '77' }));
    expect(await status()).toBe('suspended');
  });

  it('suspends for a charge-back', async () => {
    await send(fields('on_payment'));
    pass(1);
    await send(fields('on_chargeback'));
    expect(await status()).toBe('suspended');
  });

  it('treats a payment as older than a refund that came before it', async () => {
    await send(fields('on_refund'));
    pass(10);
    expect(await send(fields('on_payment'))).toBe('OK');
    expect(await status()).toBe('none');
    const part = `${order}9`;
    order = part;
    transaction++;
    await send(fields('on_refund', { transaction_amount: '-10.00' }));
    pass(10);
    await send(fields('on_payment'));
    expect(await status()).toBe('active');
  });

  it('renews by later payments of a subscription, not by instalments', async () => {
    await send(fields('on_payment'));
    expect((await findLicense())?.expires_at).toBe('2027-11-24T12:00:00Z');
    const later = { pay_sequence_no: '2', transaction_id: `${transaction}2` };
    await send(fields('on_payment', { ...later, billing_type: 'installment', transaction_id: '5' }));
    expect((await findLicense())?.expires_at).toBe('2027-11-24T12:00:00Z');
    service.clock.now = new Date('2027-11-20T12:00:00Z');
    await send(fields('on_payment', later));
    expect((await findLicense())?.expires_at).toBe('2028-11-24T12:00:00Z');
    await send(fields('last_paid_day'));
    expect(await status()).toBe('active');
  });

  it('answers the test of a connection, and messages that it does not use', async () => {
    expect(await send(fields('connection_test'))).toBe('OK');
    expect(await send(fields('on_payment', { event: 'on_payment_missed' }))).toBe('OK');
    expect(await status()).toBe('none');
    expect(await send(fields('on_payment', { api_mode: 'test' }))).toBe('OK');
    expect(await status()).toBe('none');
  });
});
