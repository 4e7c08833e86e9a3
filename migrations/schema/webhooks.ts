import type { Tables } from '../tables';

/**
 * Receivers of webhooks. Their secrets are sealed with LICENSING_KEY_SECRET. Until `previous_ends_at`, the previous
 * secret signs too. Licences' ends up to `swept_at` have been processed.
 */
export const webhooks: Tables = (t) => ({
  webhooks: {
    columns: {
      id: t.smallId,
      url: `${t.text(500)} NOT NULL`,
      events: `${t.ascii(1000)} NOT NULL`,
      description: `${t.text(190)} NULL`,
      secret_sealed: `${t.ascii(255)} NOT NULL`,
      previous_sealed: `${t.ascii(255)} NULL`,
      previous_ends_at: `${t.time} NULL`,
      enabled_at: `${t.time} NOT NULL`,
      disabled_at: `${t.time} NULL`,
      disabled_reason: `${t.ascii(16)} NULL`,
      swept_at: `${t.time} NOT NULL`,
      created_by: `${t.text(190)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
    },
  },
});
