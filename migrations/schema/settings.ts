import type { Tables } from '../tables';

/**
 * What a seller sets on a page or by the command: settings by their name, the shop's picture, and texts of mails. A value
 * with a password is sealed. `revision` is a digest of the value, so that every instance sees a change without reading it.
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
