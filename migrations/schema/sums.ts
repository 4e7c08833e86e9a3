import type { Tables } from '../tables';

/** Statistics, and what they are counted by. */
export const sums: Tables = (t) => ({
  // What happened on each UTC day, of each product, and of all of them together: product 0.
  daily_sums: {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      day: `${t.ascii(10)} NOT NULL`,
      kind: `${t.ascii(16)} NOT NULL`,
      name: `${t.text(64)} NOT NULL`,
      times: `${t.bigCount} NOT NULL`,
      licenses: `${t.count} NOT NULL`,
    },
    primary: ['product_id', 'day', 'kind', 'name'],
  },
  // The licences that `daily_sums` has counted as refused, so that it counts each once a day; pruned with the access log.
  refused_licenses: {
    columns: {
      day: `${t.ascii(10)} NOT NULL`,
      product_id: `${t.ref} NOT NULL`,
      code: `${t.ascii(32)} NOT NULL`,
      license_id: `${t.ref} NOT NULL`,
    },
    primary: ['day', 'product_id', 'code', 'license_id'],
  },
  // Licences by live status; active ones also by the month of their end.
  license_counts: {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      plan_id: `${t.ref} NOT NULL DEFAULT 0`,
      status: `${t.ascii(16)} NOT NULL`,
      month: `${t.ascii(7)} NOT NULL`,
      licenses: `${t.bigCount} NOT NULL`,
    },
    primary: ['product_id', 'plan_id', 'status', 'month'],
  },
  // What each licence did in a UTC month, for a little over a year.
  license_months: {
    columns: {
      license_id: `${t.ref} NOT NULL`,
      month: `${t.ascii(7)} NOT NULL`,
      downloads: `${t.count} NOT NULL`,
      refused: `${t.count} NOT NULL`,
    },
    primary: ['license_id', 'month'],
    indexes: [['month']],
  },
  // Different licences that were refused in the overview's periods, and in those before; code '' is any. Product 0 is all.
  refused_counts: {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      days: `${t.count} NOT NULL`,
      code: `${t.ascii(32)} NOT NULL`,
      licenses: `${t.count} NOT NULL`,
      licenses_before: `${t.count} NOT NULL`,
    },
    primary: ['product_id', 'days', 'code'],
  },
  // Sites of a product by the version that they said.
  told_counts: {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      version: `${t.ascii(64)} NOT NULL`,
      sites: `${t.count} NOT NULL`,
    },
    primary: ['product_id', 'version'],
  },
  // Ends of licences by their UTC day and what became of them (figures/timeline.ts).
  end_sums: {
    columns: {
      day: `${t.ascii(10)} NOT NULL`,
      plan_id: `${t.smallRef} NOT NULL`,
      outcome: `${t.ascii(16)} NOT NULL`,
      licenses: `${t.sum} NOT NULL`,
    },
    primary: ['day', 'plan_id', 'outcome'],
  },
  // By how much licences in each state became more or fewer in a month, those of months to come included.
  state_sums: {
    columns: {
      month: `${t.ascii(7)} NOT NULL`,
      plan_id: `${t.smallRef} NOT NULL`,
      status: `${t.ascii(16)} NOT NULL`,
      licenses: `${t.sum} NOT NULL`,
    },
    primary: ['month', 'plan_id', 'status'],
  },
  // What orders' payments brought and refunds gave back, in minor units; kept when a customer is erased.
  money_sums: {
    columns: {
      month: `${t.ascii(7)} NOT NULL`,
      shop: `${t.ascii(40)} NOT NULL`,
      currency: `${t.ascii(3)} NOT NULL`,
      paid: `${t.sum} NOT NULL`,
      refunded: `${t.sum} NOT NULL`,
      // When the first of these amounts was received.
      first_at: `${t.time} NOT NULL`,
    },
    primary: ['month', 'shop', 'currency'],
  },
});
