import type { Tables } from '../tables';

/** The history of licences. It has no foreign key, and `times`, `last_at` and `unsummed` as in the access log. */
export const events: Tables = (t) => ({
  events: {
    columns: {
      id: t.id,
      license_id: `${t.ref} NOT NULL`,
      at: `${t.time} NOT NULL`,
      actor: `${t.text(190)} NOT NULL`,
      action: `${t.ascii(32)} NOT NULL`,
      before_json: `${t.longText} NULL`,
      after_json: `${t.longText} NULL`,
      times: `${t.count} NOT NULL DEFAULT 1`,
      last_at: `${t.time} NULL`,
      unsummed: `${t.count} NULL`,
    },
    indexes: [['license_id', 'at'], ['unsummed']],
  },
});
