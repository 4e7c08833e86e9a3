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
});
