import type { Tables } from '../tables';

/**
 * The access log. It has no foreign keys: their shared lock on the licence's row would block the UPDATE of a batch of
 * validations. A row may represent several equal requests: their number, and the time of the latest (null for one).
 */
export const accessLog: Tables = (t) => ({
  access_log: {
    columns: {
      id: t.id,
      at: `${t.time} NOT NULL`,
      endpoint: `${t.ascii(16)} NOT NULL`,
      outcome: `${t.ascii(32)} NOT NULL`,
      license_id: `${t.ref} NULL`,
      key_hint: `${t.text(16)} NULL`,
      product_id: `${t.ref} NULL`,
      version: `${t.text(64)} NULL`,
      identifier: `${t.text(255)} NULL`,
      ip: `${t.ascii(45)} NULL`,
      user_agent: `${t.text(255)} NULL`,
      times: `${t.count} NOT NULL DEFAULT 1`,
      last_at: `${t.time} NULL`,
      key_id: `${t.ref} NULL`,
      // The number of its `times` that the daily sums do not contain yet; null if they contain all.
      unsummed: `${t.count} NULL`,
      // The site that a download request names, and the version that it reports as installed.
      site: `${t.text(255)} NULL`,
      installed_version: `${t.ascii(64)} NULL`,
    },
    indexes: [
      ['at'],
      ['license_id', 'at'],
      ['ip', 'at'],
      ['key_hint', 'at'],
      ['outcome', 'at'],
      ['product_id', 'at'],
      ['product_id', 'outcome', 'at'],
      ['unsummed'],
    ],
  },
  // The time of each licence's latest refused request, by which licences are listed. The log has millions of rows.
  license_refusals: {
    columns: {
      license_id: t.sqlite ? 'INTEGER PRIMARY KEY' : `${t.ref} NOT NULL PRIMARY KEY`,
      at: `${t.time} NOT NULL`,
    },
    indexes: [['at']],
  },
});
