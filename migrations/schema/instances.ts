import type { Tables } from '../tables';

/** What instances agree on by the database. */
export const instances: Tables = (t) => ({
  // Who does a piece of periodic work, and until when.
  leases: {
    columns: {
      name: `${t.ascii(64)} NOT NULL`,
      holder: `${t.ascii(64)} NOT NULL`,
      until: `${t.time} NOT NULL`,
    },
    primary: ['name'],
  },
  // Calls with an Idempotency-Key: who is at it, and the sealed answer once it is done. Both digests are keyed.
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
  // Requests of clients in a window, where processes count together without Redis. These columns in this order are those
  // of rate-limiter-flexible's RateLimiterMySQL; a key is a bucket and a digest, and `expire` is in ms.
  limit_counts: {
    columns: {
      '`key`': `${t.ascii(64)} NOT NULL PRIMARY KEY`,
      points: `${t.signedCount} NOT NULL`,
      expire: `${t.bigCount} NULL`,
    },
    indexes: [['expire']],
  },
});
