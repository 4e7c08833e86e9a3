import type { Tables } from '../tables';

/** Who may call the operator's API and use the pages. */
export const signIn: Tables = (t) => ({
  // `live_name` is the name in lower case while the token may be used and null afterwards, so that a unique index allows
  // one live token of a name and any number of ended ones.
  tokens: {
    columns: {
      id: t.smallId,
      name: `${t.text(190)} NOT NULL`,
      live_name: `${t.text(190)} NULL`,
      scope: `${t.ascii(16)} NOT NULL`,
      token_digest: `${t.digest} NOT NULL`,
      created_by: `${t.text(190)} NOT NULL`,
      joomla_user_id: `${t.smallRef} NULL`,
      // The account came through the component in Joomla, and its right is judged accordingly.
      by_door: `${t.flag} NOT NULL DEFAULT 0`,
      created_at: `${t.time} NOT NULL`,
      expires_at: `${t.time} NULL`,
      last_used_at: `${t.time} NULL`,
      revoked_at: `${t.time} NULL`,
      revoked_by: `${t.text(190)} NULL`,
    },
    unique: [['token_digest'], ['live_name']],
  },
  // Operators who may have a sign-in link mailed to them.
  operators: {
    columns: {
      id: t.smallId,
      email: `${t.text(190)} NOT NULL`,
      scope: `${t.ascii(16)} NOT NULL`,
      created_by: `${t.text(190)} NOT NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    unique: [['email']],
  },
  // With what opened each: its end ends the session. `expires_at` is the latest possible end.
  sessions: {
    columns: {
      id: t.id,
      cookie_digest: `${t.digest} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      actor: `${t.text(190)} NULL`,
      name: `${t.text(190)} NULL`,
      scope: `${t.ascii(16)} NULL`,
      token_id: `${t.smallRef} NULL`,
      joomla_user_id: `${t.smallRef} NULL`,
      by_door: `${t.flag} NOT NULL DEFAULT 0`,
      operator_id: `${t.smallRef} NULL`,
      license_id: `${t.ref} NULL`,
      key_digest: `${t.digest} NULL`,
      customer_digest: `${t.ascii(32)} NULL`,
      created_at: `${t.time} NOT NULL`,
      used_at: `${t.time} NOT NULL`,
      expires_at: `${t.time} NOT NULL`,
      ended_at: `${t.time} NULL`,
    },
    unique: [['cookie_digest']],
    indexes: [['expires_at']],
  },
  // One-time links, the tickets of the component in Joomla that were used, and the requests for links, counted by address. Neither holds a customer's address, so erasing a
  // customer leaves nothing here.
  one_time_codes: {
    columns: {
      code_digest: `${t.digest} NOT NULL PRIMARY KEY`,
      kind: `${t.ascii(16)} NOT NULL`,
      actor: `${t.text(190)} NULL`,
      name: `${t.text(190)} NULL`,
      scope: `${t.ascii(16)} NULL`,
      operator_id: `${t.smallRef} NULL`,
      customer_digest: `${t.ascii(32)} NULL`,
      created_at: `${t.time} NOT NULL`,
      expires_at: `${t.time} NOT NULL`,
    },
    indexes: [['expires_at']],
  },
  link_requests: {
    columns: {
      address_digest: `${t.digest} NOT NULL`,
      slot: `${t.flag} NOT NULL`,
      requested_at: `${t.time} NOT NULL`,
    },
    primary: ['address_digest', 'slot'],
    indexes: [['requested_at']],
  },
});
