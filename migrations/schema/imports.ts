import type { Tables } from '../tables';

/** Moves from other systems. */
export const imports: Tables = (t) => ({
  imports: {
    columns: {
      id: t.smallId,
      source: `${t.ascii(32)} NOT NULL`,
      at: `${t.time} NOT NULL`,
      actor: `${t.text(190)} NOT NULL`,
      // The plan map: the target of each of the source's plans, by key.
      plans_json: `${t.longText} NOT NULL`,
      counts_json: `${t.longText} NOT NULL`,
      undone_at: `${t.time} NULL`,
    },
    indexes: [['source']],
  },
  // The records that a run made. A licence's `brought_json` is the latest import baseline: other values were changed here.
  imported: {
    columns: {
      kind: `${t.ascii(16)} NOT NULL`,
      item_id: `${t.ref} NOT NULL`,
      import_id: `${t.smallRef} NOT NULL`,
      brought_json: `${t.longText} NULL`,
    },
    primary: ['kind', 'item_id'],
    indexes: [['import_id', 'kind', 'item_id']],
  },
});
