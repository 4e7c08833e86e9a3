import type { Tables } from '../tables';

/** Shops, and their messages other than orders. Digests distinguish messages as in the orders. */
export const shops: Tables = (t) => ({
  // Shops that post orders, and receivers of shops' own messages.
  shops: {
    columns: {
      id: t.smallId,
      name: `${t.ascii(40)} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      secret_sealed: `${t.longText} NULL`,
      is_test: `${t.flag} NOT NULL DEFAULT 0`,
      test_plan_id: `${t.smallRef} NULL`,
      rules_json: `${t.longText} NULL`,
      // Null if the first order created the row.
      created_by: `${t.text(190)} NULL`,
      created_at: `${t.time} NOT NULL`,
      // The name of the `issue` token that owns the shop's orders.
      owner: `${t.text(190)} NULL`,
      // Whether customers are mailed their keys; null for the default of the shop's kind.
      mail: `${t.ascii(8)} NULL`,
      // The API key that reads the sender's list of messages, to catch up.
      api_key_sealed: `${t.longText} NULL`,
      site_url: `${t.text(500)} NULL`,
      // The time up to which all messages were received, according to the catch-up run that ended at `caught_up_at`.
      caught_up_until: `${t.time} NULL`,
      caught_up_at: `${t.time} NULL`,
      catch_up_tried_at: `${t.time} NULL`,
      // The reason that the last run ended early.
      catch_up_failure: `${t.ascii(64)} NULL`,
      // The cursor in the list, from which the next run continues.
      catch_up_json: `${t.longText} NULL`,
      // The days of grace for a subscription's licence while its renewal is awaited; null for LICENSING_GRACE_DAYS.
      grace_days: `${t.count} NULL`,
      // The page on which customers change their payment method.
      billing_url: `${t.text(500)} NULL`,
    },
    unique: [['name']],
  },
  // The plans for a shop's own article numbers. `awaited` is the digest that order lines wait for.
  shop_skus: {
    columns: {
      id: t.smallId,
      shop: `${t.ascii(40)} NOT NULL`,
      sku: `${t.text(190)} NOT NULL`,
      awaited: `${t.digest} NOT NULL`,
      plan_id: `${t.smallRef} NOT NULL`,
      quantity: `${t.ascii(16)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['awaited', 'plan_id']],
    indexes: [['shop'], ['plan_id']],
    references: { plan_id: 'plans' },
  },
  // The messages that receivers accepted. A message about an unknown id waits for it: `awaits` is the digest of a link.
  shop_messages: {
    columns: {
      id: t.id,
      shop: `${t.ascii(40)} NOT NULL`,
      digest: `${t.digest} NOT NULL`,
      type: `${t.text(100)} NOT NULL`,
      result: `${t.ascii(16)} NOT NULL`,
      reason: `${t.text(190)} NULL`,
      order_id: `${t.ref} NULL`,
      awaits: `${t.digest} NULL`,
      pending_json: `${t.longText} NULL`,
      received_at: `${t.time} NOT NULL`,
    },
    unique: [['digest']],
    indexes: [['shop'], ['shop', 'result'], ['awaits'], ['received_at'], ['order_id']],
  },
  // Links between a shop's own ids: a payment's order, the invoice that it paid, or a customer's address.
  shop_links: {
    columns: {
      id: t.id,
      shop: `${t.ascii(40)} NOT NULL`,
      digest: `${t.digest} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      target: `${t.text(190)} NULL`,
      paid: `${t.bigCount} NULL`,
      currency: `${t.ascii(3)} NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['digest']],
    indexes: [['target']],
  },
  // The number of messages with a wrong signature on each UTC day.
  shop_refusals: {
    columns: {
      shop: `${t.ascii(40)} NOT NULL`,
      day: `${t.ascii(10)} NOT NULL`,
      times: `${t.bigCount} NOT NULL`,
    },
    primary: ['shop', 'day'],
    indexes: [['day']],
  },
  // Money without an order, line or payment: an event of an order, or a receiver's message. `digest` identifies the
  // event or message, so that it is stored only once. The row is `open` until an operator acts, and is deleted when the
  // missing order, line or payment arrives.
  unmatched: {
    columns: {
      id: t.id,
      shop: `${t.ascii(40)} NOT NULL`,
      digest: `${t.digest} NOT NULL`,
      order_id: `${t.ref} NULL`,
      message_id: `${t.ref} NULL`,
      event: `${t.text(100)} NOT NULL`,
      reason: `${t.text(190)} NOT NULL`,
      state: `${t.ascii(16)} NOT NULL`,
      at: `${t.time} NOT NULL`,
      acted_by: `${t.text(190)} NULL`,
      acted_at: `${t.time} NULL`,
      // The licence to which it was assigned, or that was issued for it.
      license_id: `${t.ref} NULL`,
    },
    unique: [['digest']],
    indexes: [['shop', 'state'], ['state'], ['order_id'], ['message_id']],
  },
});
