import type { Tables } from '../tables';

/** The tables through which instances coordinate. */
export const instances: Tables = (t) => ({
  // Leases: the holder of a periodic task, and the end of its lease.
  leases: {
    columns: {
      name: `${t.ascii(64)} NOT NULL`,
      holder: `${t.ascii(64)} NOT NULL`,
      until: `${t.time} NOT NULL`,
    },
    primary: ['name'],
  },
  // Requests with an Idempotency-Key: the claim of the running request, then its sealed answer. Both digests are keyed.
  idempotency: {
    columns: {
      key_digest: `${t.digest} NOT NULL PRIMARY KEY`,
      claim: `${t.ascii(32)} NOT NULL`,
      request_digest: `${t.digest} NULL`,
      lease_ends_at: `${t.time} NOT NULL`,
      answer: `${t.longText} NULL`,
      created_at: `${t.time} NOT NULL`,
    },
    indexes: [['created_at']],
  },
  // Requests of clients in a window, if processes count together without Redis. These columns in this order are those
  // of rate-limiter-flexible's RateLimiterMySQL. A key is a bucket and a digest, and `expire` is in ms.
  limit_counts: {
    columns: {
      '`key`': `${t.ascii(64)} NOT NULL PRIMARY KEY`,
      points: `${t.signedCount} NOT NULL`,
      expire: `${t.bigCount} NULL`,
    },
    indexes: [['expire']],
  },
});
