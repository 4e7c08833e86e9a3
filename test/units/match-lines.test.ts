import { describe, expect, it } from '@jest/globals';
import { matchLines } from '../../src/orders/match-lines';
import type { StoredLine, ReadEvent } from '../../src/orders/order-events';

/** Tests which line of an order an item of a later message belongs to, in any company and any order of arrival. */

function event(name: string, minute: number, lines: StoredLine[]): ReadEvent {
  const at = new Date(Date.UTC(2026, 10, 24, 10, minute));
  return { event: name, at, identity: `${name}${minute}`, items: lines } as ReadEvent;
}
const item = (line: string, ids: string[], more: Partial<StoredLine> = {}): StoredLine => ({
  line,
  ids,
  ...more,
});
const order = (...names: string[]) => names.map((line) => ({ line, sku: `sku-${line}` }));

/** Returns the lines of the last event. */
function placed(events: ReadEvent[], lines: { line: string; sku: string }[]): StoredLine[] {
  return matchLines(events, lines).at(-1)?.items ?? [];
}
const namesOf = (lines: StoredLine[]) => lines.map(({ line }) => line);

describe('an item of a later message', () => {
  const paid = event('paid', 0, [
    item('pro_1', ['pri_1', 'pro_1']),
    item('pro_fee', ['pri_fee', 'pro_fee'], { once: true }),
  ]);
  const lines = order('pro_1', 'pro_fee');

  it.each([
    ['the same price', [item('pro_1', ['pri_1', 'pro_1'])], ['pro_1']],
    [
      'the same price beside another of the product',
      [item('pri_1', ['pri_1', 'pro_1']), item('pri_s', ['pri_s', 'pro_1'])],
      ['pro_1', 'pri_s'],
    ],
    ['a custom price of the product', [item('pri_c', ['pri_c', 'pro_1'])], ['pro_1']],
    ['what is left over, not what is paid once', [item('pri_9', ['pri_9', 'pro_9'])], ['pro_1']],
    [
      'nothing, where two are left',
      [item('pri_8', ['pri_8', 'pro_8']), item('pri_9', ['pri_9', 'pro_9'])],
      ['pri_8', 'pri_9'],
    ],
    ['by the shop’s own words', [{ line: 'pro_1' }], ['pro_1']],
  ])('is the line of %s', (_, items, expected) => {
    expect(namesOf(placed([paid, event('renewed', 9, items)], lines))).toEqual(expected);
  });

  it('is recognized by the ids that an upgrade gave it, in any order of arrival', () => {
    const upgrade = event('upgraded', 5, [item('pri_2', ['pri_2', 'pro_2'], { sku: 'pri_2' })]);
    const renewal = event('renewed', 9, [
      item('x', ['pri_seat', 'pro_s']),
      item('pri_2', ['pri_2', 'pro_2']),
    ]);
    for (const events of [
      [paid, upgrade, renewal],
      [upgrade, paid, renewal],
    ])
      expect(namesOf(placed(events, lines))).toEqual(['x', 'pro_1']);
    const early = matchLines([renewal, upgrade, paid], lines)[0]?.items ?? [];
    expect(namesOf(early)).toEqual(['x', 'pro_1']);
  });

  it('is compared with what was paid before, so that a renewal says what it changes', () => {
    const was = [{ line: '1', sku: 'PRO' }];
    const first = event('paid', 0, [item('1', ['si_1', 'm'], { sku: 'm', price: 'm', quantity: 2 })]);
    const change = (minute: number, price: string) =>
      event('upgraded', minute, [item('1', ['si_1', price], { sku: price, price, quantity: 2 })]);
    const renewal = (price: string, quantity = 2) =>
      event('renewed', 9, [item('1', ['si_1', price], { sku: price, price, quantity })]);
    const renewed = (...events: ReadEvent[]) => {
      const [line] = placed(events, was);
      return { follows: line?.follows, sku: line?.sku, quantity: line?.quantity };
    };
    expect(renewed(first, renewal('m'))).toEqual({});
    expect(renewed(first, renewal('y'))).toEqual({ follows: true, sku: 'y' });
    expect(renewed(first, renewal('m', 3))).toEqual({ follows: true, quantity: 3 });
    expect(renewed(change(5, 'y'), first, renewal('y'))).toEqual({});
    expect(renewed(change(5, 'y'), first, renewal('m'))).toEqual({ follows: true, sku: 'PRO' });
    // Nothing is known about earlier payments.
    expect(renewed(renewal('y'))).toEqual({});
    expect(placed([first, change(5, 'y'), change(6, 'm')], was)[0]?.sku).toBe('PRO');
  });

  it('is not another article at another price of the same one, and is not a refunded one', () => {
    const was = [{ line: '1', sku: 'PRO' }];
    const pay = (
      name: string,
      minute: number,
      paidAs: string,
      more: Partial<StoredLine> = {},
    ): ReadEvent => ({
      ...event(name, minute, [item('1', [paidAs, 'pro_1'], { sku: 'PRO', paidAs, quantity: 1, ...more })]),
      payment: `txn_${minute}`,
      effect: name === 'paid' ? 'issue' : 'renew',
    });
    const last = (...events: ReadEvent[]) => {
      const [line] = placed(events, was);
      return { follows: line?.follows, sku: line?.sku, quantity: line?.quantity };
    };
    const first = pay('paid', 0, 'm');
    expect(last(first, pay('renewed', 9, 'dearer'))).toEqual({});
    expect(last(first, pay('renewed', 9, 'dearer', { quantity: 2 }))).toEqual({ follows: true, quantity: 2 });

    const yearly = (minute: number) => pay('renewed', minute, 'y', { sku: 'YEAR' });
    expect(last(first, yearly(5), yearly(9))).toEqual({});
    const refund: ReadEvent = {
      ...event('refunded', 6, []),
      items: null,
      payment: 'txn_5',
      effect: 'suspend',
    };
    expect(last(first, yearly(5), refund, yearly(9))).toEqual({ follows: true, sku: 'YEAR' });
    const failed: ReadEvent = {
      ...event('refund_failed', 7, []),
      items: null,
      payment: 'txn_5',
      effect: 'reinstate',
    };
    expect(last(first, yearly(5), refund, failed, yearly(9))).toEqual({});
  });

  it('is the order’s only line that ends first, if no id decides', () => {
    const items = [item('a', ['a']), item('1', ['b'], { first: true })];
    expect(namesOf(placed([event('renewed', 9, items)], order('1')))).toEqual(['a', '1']);
  });

  it('changes the article only at another price, and not to the earlier one', () => {
    const first = event('paid', 0, [item('1', ['si_1', 'price_m'], { sku: 'PRO-1M', price: 'price_m' })]);
    const was = [{ line: '1', sku: 'PRO-1M' }];
    const change = (more: Partial<StoredLine>) =>
      placed(
        [first, event('upgraded', 5, [item('1', ['si_1', more.price ?? ''], { quantity: 2, ...more })])],
        was,
      )[0];
    expect(change({ price: 'price_m', sku: 'price_m' })?.sku).toBeUndefined();
    // The subscription's own fields still describe the time before the change.
    expect(change({ price: 'price_y', sku: 'PRO-1M' })?.sku).toBe('price_y');
    expect(change({ price: 'price_y', sku: 'PRO-1Y' })?.sku).toBe('PRO-1Y');
  });
});
