import type { Tables } from '../tables';

/**
 * Facts about a person. The address is also in licences and orders. `name` and `language` come from an order, or from
 * the page that requests a link, at `told_at`; the values that the seller chose take precedence.
 */
export const customers: Tables = (t) => ({
  customers: {
    columns: {
      id: t.id,
      digest: `${t.ascii(32)} NOT NULL`,
      address: `${t.text(190)} NOT NULL`,
      name: `${t.text(190)} NULL`,
      language: `${t.ascii(8)} NULL`,
      told_at: `${t.time} NULL`,
      chosen_name: `${t.text(190)} NULL`,
      chosen_language: `${t.ascii(8)} NULL`,
      // A note that only the seller sees.
      note: `${t.text(1000)} NULL`,
    },
    unique: [['digest']],
    indexes: [['name'], ['chosen_name']],
  },
});
