import type { Tables } from '../tables';

/** Keys are stored in the order of their digests, which requests look up. SQLite can only auto-increment a primary key. */
export const licenseKeys: Tables = (t) => ({
  license_keys: {
    columns: {
      id: t.sqlite ? t.id : 'BIGINT UNSIGNED NOT NULL AUTO_INCREMENT',
      key_digest: `${t.digest} NOT NULL${t.sqlite ? '' : ' PRIMARY KEY'}`,
      license_id: `${t.ref} NOT NULL`,
      key_hint: `${t.text(16)} NULL`,
      key_sealed: `${t.ascii(512)} NULL`,
      label: `${t.text(190)} NULL`,
      activation_limit: `${t.count} NULL`,
      ends_at: `${t.time} NULL`,
      replaced_by: `${t.ref} NULL`,
      created_at: `${t.time} NOT NULL`,
      // Six of the 32 digits, for the search. Together with the eight digits of the hint, 72 bits of a key stay unknown.
      key_start: `${t.ascii(6)} NULL`,
      // The digest of another system's key in lower case, so that a key entered in different case is found.
      folded_digest: `${t.digest} NULL`,
    },
    unique: [[t.sqlite ? 'key_digest' : 'id']],
    indexes: [['license_id'], ['key_hint'], ['key_start'], ['label'], ['folded_digest']],
    references: { license_id: 'licenses' },
  },
});
