import type { Tables } from '../tables';

/** Shops, and what they told that is no order by itself. Digests tell things apart as in the orders. */
export const shops: Tables = (t) => ({
  // Those that post orders, and receivers of shops' own messages.
  shops: {
    columns: {
      id: t.smallId,
      name: `${t.ascii(40)} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      secret_sealed: `${t.longText} NULL`,
      is_test: `${t.flag} NOT NULL DEFAULT 0`,
      test_plan_id: `${t.smallRef} NULL`,
      rules_json: `${t.longText} NULL`,
      // Null where the first order made the row.
      created_by: `${t.text(190)} NULL`,
      created_at: `${t.time} NOT NULL`,
      // The name of the `issue` token that the shop's orders belong to.
      owner: `${t.text(190)} NULL`,
      // Whether customers are mailed their keys; null: as the shop's kind does.
      mail: `${t.ascii(8)} NULL`,
      // Reads the sender's list of what it told, to catch up.
      api_key_sealed: `${t.longText} NULL`,
      site_url: `${t.text(500)} NULL`,
      // All that was told until then was taken, as a run found that ended then.
      caught_up_until: `${t.time} NULL`,
      caught_up_at: `${t.time} NULL`,
      catch_up_tried_at: `${t.time} NULL`,
      // Why the last run ended early.
      catch_up_failure: `${t.ascii(64)} NULL`,
      // The place in the list where the next run goes on.
      catch_up_json: `${t.longText} NULL`,
      // Days for which a subscription's licence goes on while its renewal is awaited; null: LICENSING_GRACE_DAYS.
      grace_days: `${t.count} NULL`,
      // Where customers change how they pay.
      billing_url: `${t.text(500)} NULL`,
    },
    unique: [['name']],
  },
  // The plans that a shop's own article numbers mean. `awaited` is what order lines wait for.
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
  // The messages that receivers took. One whose id is not known yet waits for it: `awaits` is the digest of a link.
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
  // What they told of a shop's own ids: the order that a payment is of, the invoice that it paid, or a customer's address.
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
  // Messages refused for their signature on each UTC day.
  shop_refusals: {
    columns: {
      shop: `${t.ascii(40)} NOT NULL`,
      day: `${t.ascii(10)} NOT NULL`,
      times: `${t.bigCount} NOT NULL`,
    },
    primary: ['shop', 'day'],
    indexes: [['day']],
  },
  // Money that found no order, no line or no payment: an event of an order, or a receiver's message. `digest` is of the
  // event or message, so that each is kept once. It is `open` until somebody acts, and is deleted once what it lacked has
  // come.
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
      // What it was assigned to, or what was issued for it.
      license_id: `${t.ref} NULL`,
    },
    unique: [['digest']],
    indexes: [['shop', 'state'], ['state'], ['order_id'], ['message_id']],
  },
});
