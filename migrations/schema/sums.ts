import type { Tables } from '../tables';

/** Statistics, and the rows from which they are counted. */
export const sums: Tables = (t) => ({
  // The numbers of each UTC day and product. Product 0 is all products together.
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
  // The licences that `daily_sums` counts as refused, to count each only once a day; pruned with the access log.
  refused_licenses: {
    columns: {
      day: `${t.ascii(10)} NOT NULL`,
      product_id: `${t.ref} NOT NULL`,
      code: `${t.ascii(32)} NOT NULL`,
      license_id: `${t.ref} NOT NULL`,
    },
    primary: ['day', 'product_id', 'code', 'license_id'],
  },
  // The number of licences by live status; active ones also by the month of their end.
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
  // The downloads and refusals of each licence in a UTC month, for a little over a year.
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
  // The licences refused in the overview's periods, and in the periods before; code '' is any code, product 0 all products.
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
  // The number of a product's sites by the version that they report.
  told_counts: {
    columns: {
      product_id: `${t.ref} NOT NULL`,
      version: `${t.ascii(64)} NOT NULL`,
      sites: `${t.count} NOT NULL`,
    },
    primary: ['product_id', 'version'],
  },
  // The ends of licences, by UTC day and outcome (figures/timeline.ts).
  end_sums: {
    columns: {
      day: `${t.ascii(10)} NOT NULL`,
      plan_id: `${t.smallRef} NOT NULL`,
      outcome: `${t.ascii(16)} NOT NULL`,
      licenses: `${t.sum} NOT NULL`,
    },
    primary: ['day', 'plan_id', 'outcome'],
  },
  // The change of the number of licences in each state during a month, including future months.
  state_sums: {
    columns: {
      month: `${t.ascii(7)} NOT NULL`,
      plan_id: `${t.smallRef} NOT NULL`,
      status: `${t.ascii(16)} NOT NULL`,
      licenses: `${t.sum} NOT NULL`,
    },
    primary: ['month', 'plan_id', 'status'],
  },
  // The payments and refunds of orders, in minor units; kept when a customer is erased.
  money_sums: {
    columns: {
      month: `${t.ascii(7)} NOT NULL`,
      shop: `${t.ascii(40)} NOT NULL`,
      currency: `${t.ascii(3)} NOT NULL`,
      paid: `${t.sum} NOT NULL`,
      refunded: `${t.sum} NOT NULL`,
      // The time at which the first of these amounts was received.
      first_at: `${t.time} NOT NULL`,
    },
    primary: ['month', 'shop', 'currency'],
  },
});
