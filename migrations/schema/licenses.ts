import type { Tables } from '../tables';

export const licenses: Tables = (t) => ({
  licenses: {
    columns: {
      id: t.id,
      plan_id: `${t.smallRef} NOT NULL`,
      status: `${t.ascii(16)} NOT NULL`,
      activation_limit: `${t.count} NOT NULL`,
      activations_used: `${t.count} NOT NULL DEFAULT 0`,
      customer: `${t.text(190)} NULL`,
      reference: `${t.text(190)} NULL`,
      expires_at: `${t.time} NULL`,
      last_check_at: `${t.time} NULL`,
      last_check_ip: `${t.ascii(45)} NULL`,
      check_count: `${t.bigCount} NOT NULL DEFAULT 0`,
      created_at: `${t.time} NOT NULL`,
      // The shop's own names and texts, as a JSON object.
      metadata: 'TEXT NULL',
      // The number of the latest change.
      revision: `${t.bigCount} NOT NULL DEFAULT 0`,
      main_key_id: `${t.ref} NULL`,
      // The name of the token that issued it. Such a token can read only its own licences.
      issued_by: `${t.text(190)} NULL`,
      // The digest by which a customer is found without storing or naming the address.
      customer_digest: `${t.ascii(32)} NULL`,
      // The days of `expires_at` that are not paid: a grace period, in which a subscription's renewal is awaited.
      grace_days: `${t.count} NOT NULL DEFAULT 0`,
      // Whether a subscription renews it automatically.
      renews_itself: `${t.flag} NOT NULL DEFAULT 0`,
    },
    unique: [['reference']],
    // Lists are filtered and paged by the indexes with `status`, in which `id` is the order of the pages.
    indexes: [
      ['customer'],
      ['expires_at'],
      ['plan_id'],
      ['issued_by'],
      ['status', 'id', 'expires_at'],
      ['status', 'expires_at', 'renews_itself'],
      ['plan_id', 'status', 'id', 'expires_at'],
      ['plan_id', 'status', 'expires_at', 'renews_itself'],
      ['customer_digest'],
    ],
    references: { plan_id: 'plans' },
  },
});
