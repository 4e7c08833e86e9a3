import type { Tables } from '../tables';

/** The access of operators and customers to the API and the pages. */
export const signIn: Tables = (t) => ({
  // `live_name` is the name in lower case while the token is valid, and null afterwards, so that a unique index allows
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
      // Whether the account came through the component in Joomla, which decides how its right is checked.
      by_door: `${t.flag} NOT NULL DEFAULT 0`,
      created_at: `${t.time} NOT NULL`,
      expires_at: `${t.time} NULL`,
      last_used_at: `${t.time} NULL`,
      revoked_at: `${t.time} NULL`,
      revoked_by: `${t.text(190)} NULL`,
    },
    unique: [['token_digest'], ['live_name']],
  },
  // The operators who may request a sign-in link by mail.
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
  // Sessions, each with the record that opened it and whose end also ends it. `expires_at` is the latest possible end.
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
  // One-time links, used tickets of the component in Joomla, and requests for links, counted by address. None of these
  // rows contains a customer's address, so erasing a customer leaves nothing here.
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
