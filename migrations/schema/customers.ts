import type { Tables } from '../tables';

/**
 * What is known of a person besides the address, which licences and orders have. `name` and `language` are what an order
 * or the page of a request for a link told at `told_at`; what the seller chose counts before it.
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
      // The seller's own, for nobody outside.
      note: `${t.text(1000)} NULL`,
    },
    unique: [['digest']],
    indexes: [['name'], ['chosen_name']],
  },
});
