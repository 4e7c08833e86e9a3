import type { Tables } from '../tables';

/**
 * A seller's settings, made on a page or by command: settings by name, the shop's picture, and texts of mails. A value
 * with a password is sealed. `revision` is a digest of the value, so that instances see a change without reading the value.
 */
export const settings: Tables = (t) => ({
  settings: {
    columns: {
      id: t.smallId,
      name: `${t.ascii(64)} NOT NULL`,
      value: `${t.longText} NULL`,
      value_sealed: `${t.longText} NULL`,
      revision: `${t.ascii(32)} NOT NULL`,
      changed_by: `${t.text(190)} NOT NULL`,
      changed_at: `${t.time} NOT NULL`,
    },
    unique: [['name']],
  },
});
