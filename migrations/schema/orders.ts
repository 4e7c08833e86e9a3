import type { Tables } from '../tables';

/**
 * Orders, their events as received, and the effect of each line on licences. Digests distinguish orders and events byte
 * by byte, because MySQL ignores trailing spaces when it compares texts.
 */
export const orders: Tables = (t) => ({
  orders: {
    columns: {
      id: t.id,
      shop: `${t.ascii(40)} NOT NULL`,
      number: `${t.text(100)} NOT NULL`,
      digest: `${t.digest} NOT NULL`,
      // The name of the token that posted it first.
      owner: `${t.text(190)} NULL`,
      own_only: `${t.flag} NOT NULL DEFAULT 0`,
      customer: `${t.text(190)} NULL`,
      customer_name: `${t.text(190)} NULL`,
      customer_digest: `${t.ascii(32)} NULL`,
      is_test: `${t.flag} NOT NULL DEFAULT 0`,
      state: `${t.ascii(16)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
      // The customer's language, from the shop.
      language: `${t.ascii(8)} NULL`,
      // The value of the shop's `mail` when the order issued licences.
      mail: `${t.ascii(8)} NULL`,
      // An unexpected error: its reason, its first time, and the time of the next retry.
      failure: `${t.text(190)} NULL`,
      failed_at: `${t.time} NULL`,
      retry_at: `${t.time} NULL`,
      // The time at which the seller confirmed an order with too many lines.
      confirmed_at: `${t.time} NULL`,
    },
    unique: [['digest']],
    indexes: [
      ['shop'],
      ['shop', 'state'],
      ['state'],
      ['owner'],
      ['owner', 'state'],
      ['number'],
      ['customer_digest'],
      // For orders whose keys could not be mailed without an address.
      ['mail', 'customer_digest'],
      ['customer_name'],
    ],
  },
  order_events: {
    columns: {
      id: t.id,
      order_id: `${t.ref} NOT NULL`,
      event: `${t.ascii(32)} NOT NULL`,
      event_id: `${t.text(190)} NULL`,
      identity: `${t.digest} NOT NULL`,
      at: `${t.time} NOT NULL`,
      // The milliseconds of `at`.
      at_ms: `${t.count} NOT NULL DEFAULT 0`,
      received_at: `${t.time} NOT NULL`,
      actor: `${t.text(190)} NOT NULL`,
      partial: `${t.flag} NOT NULL DEFAULT 0`,
      is_test: `${t.flag} NOT NULL DEFAULT 0`,
      effect: `${t.ascii(16)} NOT NULL`,
      lines_json: `${t.longText} NULL`,
      // Null until its order is processed with it.
      outcome_json: `${t.longText} NULL`,
      payment: `${t.text(190)} NULL`,
      renews_itself: `${t.flag} NULL`,
      // The shop's rule for licences that an upgrade removes.
      reduced: `${t.ascii(16)} NULL`,
      // The shop's grace period when it was received.
      grace_days: `${t.count} NOT NULL DEFAULT 0`,
      // The amount of a payment or refund, in minor units of the currency (ISO 4217).
      amount: `${t.bigCount} NULL`,
      currency: `${t.ascii(3)} NULL`,
    },
    unique: [['order_id', 'identity']],
  },
  // `awaited` is set while a line waits: it is the digest of the article or order that the line waits for, by which a
  // new article or order finds its waiting lines.
  order_lines: {
    columns: {
      id: t.id,
      order_id: `${t.ref} NOT NULL`,
      line: `${t.text(100)} NOT NULL`,
      sku: `${t.text(190)} NULL`,
      plan_id: `${t.smallRef} NULL`,
      quantity: `${t.smallRef} NOT NULL`,
      renews_json: `${t.longText} NULL`,
      waits_for: `${t.ascii(32)} NULL`,
      awaited: `${t.digest} NULL`,
    },
    indexes: [['order_id'], ['awaited']],
  },
  order_licenses: {
    columns: {
      id: t.id,
      order_id: `${t.ref} NOT NULL`,
      line_id: `${t.ref} NOT NULL`,
      license_id: `${t.ref} NOT NULL`,
      role: `${t.ascii(16)} NOT NULL`,
      state: `${t.ascii(16)} NOT NULL`,
      base_ends_at: `${t.time} NULL`,
      // The plans that the line's article meant when the line was processed.
      plans_json: `${t.longText} NOT NULL`,
    },
    indexes: [['order_id'], ['license_id']],
  },
});
