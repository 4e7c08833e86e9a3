import type { Tables } from '../tables';

/** In the order of their digests, by which calls look them up. SQLite can only count a primary key. */
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
      // Six of the 32 digits, for the search: with the eight of the hint, 72 bits of a key stay unknown.
      key_start: `${t.ascii(6)} NULL`,
      // Of a key of another system, in lower case: one that was typed in other case is found by it.
      folded_digest: `${t.digest} NULL`,
    },
    unique: [[t.sqlite ? 'key_digest' : 'id']],
    indexes: [['license_id'], ['key_hint'], ['key_start'], ['label'], ['folded_digest']],
    references: { license_id: 'licenses' },
  },
});
