import type { Tables } from '../tables';

/**
 * The outbox: mails and webhooks to send, and those that were sent. `next_attempt_at` is null once a row is sent or
 * given up; in a claimed row it is the end of the claim. `once` is the deduplication key. For a webhook's receiver,
 * `lane` is the licence whose order a row keeps, until it is delivered, and `failures` counts the failures of its
 * present schedule. A mail of keys refers to its order.
 */
export const outbox: Tables = (t) => ({
  outbox: {
    columns: {
      id: t.id,
      kind: `${t.ascii(16)} NOT NULL`,
      type: `${t.ascii(32)} NOT NULL`,
      license_id: `${t.ref} NULL`,
      recipient: `${t.text(255)} NULL`,
      recipient_digest: `${t.ascii(32)} NULL`,
      details_json: `${t.longText} NULL`,
      language: `${t.ascii(8)} NOT NULL`,
      message_id: `${t.ascii(64)} NOT NULL`,
      once: `${t.ascii(64)} NULL`,
      created_at: `${t.time} NOT NULL`,
      next_attempt_at: `${t.time} NULL`,
      attempts: `${t.count} NOT NULL DEFAULT 0`,
      sent_at: `${t.time} NULL`,
      failed_at: `${t.time} NULL`,
      last_error: `${t.ascii(64)} NULL`,
      webhook_id: `${t.smallRef} NULL`,
      lane: `${t.ref} NULL`,
      revision: `${t.bigCount} NULL`,
      failures: `${t.count} NOT NULL DEFAULT 0`,
      attempted_at: `${t.time} NULL`,
      answer_status: `${t.count} NULL`,
      answer: `${t.longText} NULL`,
      order_id: `${t.ref} NULL`,
      // The time at which the seller sent a given-up mail again, or dismissed it.
      settled_at: `${t.time} NULL`,
    },
    unique: [['once']],
    indexes: [
      ['kind', 'next_attempt_at'],
      ['license_id'],
      ['recipient_digest', 'created_at'],
      ['created_at'],
      ['failed_at'],
      // For a receiver's due rows, and the first row of a licence's lane.
      ['webhook_id', 'next_attempt_at'],
      ['webhook_id', 'lane', 'revision'],
      // For lists, and for deleting old rows.
      ['webhook_id', 'created_at'],
      ['kind', 'created_at'],
      ['order_id'],
    ],
  },
});
