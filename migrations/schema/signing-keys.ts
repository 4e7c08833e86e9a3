import type { Tables } from '../tables';

/**
 * The keys that sign answers. `x` is the public key as a JWK has it, `sealed` the private one; null: it did not come along
 * with an import. `token_days` is the longest life of a token that a key signs; 0: it has signed none.
 */
export const signingKeys: Tables = (t) => ({
  signing_keys: {
    columns: {
      id: t.smallId,
      kid: `${t.ascii(32)} NOT NULL`,
      x: `${t.ascii(64)} NOT NULL`,
      sealed: `${t.ascii(255)} NULL`,
      token_days: `${t.count} NOT NULL DEFAULT 0`,
      created_by: `${t.text(190)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
      retired_by: `${t.text(190)} NULL`,
      retired_at: `${t.time} NULL`,
      compromised: `${t.flag} NOT NULL DEFAULT 0`,
    },
    unique: [['kid']],
  },
});
