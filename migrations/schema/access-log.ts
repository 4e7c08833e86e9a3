import type { Tables } from '../tables';

/**
 * No foreign keys: their shared lock on the licence's row would block the UPDATE of a batch of validations. A row may
 * stand for several equal requests: their number, and the time of the latest (null for a single one).
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
      // How many of its `times` the daily sums do not have yet; null: none of them.
      unsummed: `${t.count} NULL`,
      // The site that said it downloads, and the version it said is installed.
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
  // The latest refused request of each licence, by which licences are listed: the log has it in millions of rows.
  license_refusals: {
    columns: {
      license_id: t.sqlite ? 'INTEGER PRIMARY KEY' : `${t.ref} NOT NULL PRIMARY KEY`,
      at: `${t.time} NOT NULL`,
    },
    indexes: [['at']],
  },
});
