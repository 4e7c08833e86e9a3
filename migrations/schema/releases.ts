import type { Tables } from '../tables';

export const releases: Tables = (t) => ({
  releases: {
    columns: {
      id: t.smallId,
      product_id: `${t.smallRef} NOT NULL`,
      version: `${t.ascii(64)} NOT NULL`,
      version_order: `${t.ascii(255)} NOT NULL`,
      state: `${t.ascii(16)} NOT NULL`,
      changelog: `${t.longText} NOT NULL`,
      // The staged rollout: the percentage of addresses that are offered the release.
      rollout: `${t.count} NOT NULL DEFAULT 100`,
      security: `${t.flag} NOT NULL DEFAULT 0`,
      // The time at which customers were notified of it, which happens only once.
      notified_at: `${t.time} NULL`,
      published_at: `${t.time} NULL`,
      file_name: `${t.ascii(255)} NOT NULL`,
      file_size: `${t.bigCount} NOT NULL`,
      sha256: `${t.hex(64)} NOT NULL`,
      sha384: `${t.hex(96)} NOT NULL`,
      sha512: `${t.hex(128)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['product_id', 'version']],
    references: { product_id: 'products' },
  },
  // The progress of a security release's mails: the plan and licence up to which they are queued, and the next mail's time.
  security_notices: {
    columns: {
      release_id: t.sqlite ? 'INTEGER PRIMARY KEY' : `${t.smallRef} NOT NULL PRIMARY KEY`,
      actor: `${t.text(190)} NOT NULL`,
      plan_id: `${t.smallRef} NOT NULL DEFAULT 0`,
      license_id: `${t.ref} NOT NULL DEFAULT 0`,
      mails: `${t.count} NOT NULL DEFAULT 0`,
      due_at: `${t.time} NOT NULL`,
      done_at: `${t.time} NULL`,
    },
    indexes: [['done_at']],
  },
});
