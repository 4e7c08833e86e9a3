import type { Tables } from '../tables';

/** Moves from other systems. */
export const imports: Tables = (t) => ({
  imports: {
    columns: {
      id: t.smallId,
      source: `${t.ascii(32)} NOT NULL`,
      at: `${t.time} NOT NULL`,
      actor: `${t.text(190)} NOT NULL`,
      // What became of the source's plans, by their keys.
      plans_json: `${t.longText} NOT NULL`,
      counts_json: `${t.longText} NOT NULL`,
      undone_at: `${t.time} NULL`,
    },
    indexes: [['source']],
  },
  // What a run made. Of a licence also what the latest run brought: what differs from it was changed here since.
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
