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
      // Percent of the addresses that are offered it.
      rollout: `${t.count} NOT NULL DEFAULT 100`,
      security: `${t.flag} NOT NULL DEFAULT 0`,
      // When its customers were told of it: once.
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
  // How far the mails of a security release are queued: up to a licence of a plan. `due_at` is the next mail's.
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
