import type { Tables } from '../tables';

/** The reports of customers' sites about themselves, and the networks in which keys are used. */
export const told: Tables = (t) => ({
  // The version that each site reported last, for a licence, product and site.
  told_sites: {
    columns: {
      license_id: `${t.ref} NOT NULL`,
      product_id: `${t.ref} NOT NULL`,
      site: `${t.ascii(255)} NOT NULL`,
      version: `${t.ascii(64)} NOT NULL`,
      // The time of its first report of this version.
      first_at: `${t.time} NOT NULL`,
      at: `${t.time} NOT NULL`,
    },
    primary: ['license_id', 'product_id', 'site'],
    indexes: [['product_id', 'at'], ['product_id', 'version', 'first_at'], ['at']],
  },
  // The networks that downloaded with each key, as digests, with the time of the latest download.
  key_networks: {
    columns: {
      key_id: `${t.ref} NOT NULL`,
      network: `${t.hex(16)} NOT NULL`,
      at: `${t.time} NOT NULL`,
    },
    primary: ['key_id', 'network'],
    indexes: [['at']],
  },
  // The keys that many customers seem to share, with the latest time at which this was found.
  spreading_keys: {
    columns: {
      key_id: t.sqlite ? 'INTEGER PRIMARY KEY' : `${t.ref} NOT NULL PRIMARY KEY`,
      license_id: `${t.ref} NOT NULL`,
      at: `${t.time} NOT NULL`,
    },
    indexes: [['license_id'], ['at']],
  },
});
