import type { Tables } from '../tables';

/**
 * The keys that sign answers. `x` is the public key in the form of a JWK, `sealed` the private one (null if an import
 * did not contain it). `token_days` is the longest validity of a token that the key signed; 0 if it has signed no token.
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
