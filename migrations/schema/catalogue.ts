import type { Tables } from '../tables';

export const catalogue: Tables = (t) => ({
  products: {
    columns: {
      id: t.smallId,
      name: `${t.text(190)} NOT NULL`,
      element: `${t.text(100)} NULL`,
      created_at: `${t.time} NOT NULL`,
      // The operator's latest options, as JSON, with which the file is written again.
      update_xml: `${t.longText} NULL`,
      includes_all: `${t.count} NOT NULL DEFAULT 0`,
      renew_url: `${t.text(500)} NULL`,
      support_url: `${t.text(500)} NULL`,
      // Whether customers are reminded by mail before their licence ends.
      reminders: `${t.flag} NOT NULL DEFAULT 0`,
    },
  },
  product_includes: {
    columns: { product_id: `${t.smallRef} NOT NULL`, included_id: `${t.smallRef} NOT NULL` },
    primary: ['product_id', 'included_id'],
    indexes: [['included_id']],
    references: { product_id: 'products', included_id: 'products' },
  },
  plans: {
    columns: {
      id: t.smallId,
      product_id: `${t.smallRef} NOT NULL`,
      name: `${t.text(190)} NOT NULL`,
      activation_type: `${t.ascii(16)} NOT NULL`,
      activation_limit: `${t.count} NOT NULL`,
      duration: `${t.ascii(16)} NULL`,
      created_at: `${t.time} NOT NULL`,
      // The rights that remain after a licence has expired.
      after_expiry: `${t.ascii(16)} NOT NULL DEFAULT 'nothing'`,
      // Whether staging and local sites use no slot.
      free_staging: `${t.flag} NOT NULL DEFAULT 0`,
      // The number of sites that a customer may remove on the customer's page within 30 days.
      self_service_moves: `${t.count} NOT NULL DEFAULT 3`,
      // The page on which customers without a free slot, or without a product in their licence, buy a larger licence.
      upgrade_url: `${t.text(500)} NULL`,
    },
    indexes: [['product_id']],
    references: { product_id: 'products' },
  },
});
