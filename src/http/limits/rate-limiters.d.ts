/**
 * The two stores by their own files: the package's index loads all of them, and one asks for `node:cluster`, at which
 * Passenger writes a complaint into the seller's log at every start.
 */
declare module 'rate-limiter-flexible/lib/RateLimiterMySQL.js' {
  import { RateLimiterMySQL } from 'rate-limiter-flexible';

  export = RateLimiterMySQL;
}

declare module 'rate-limiter-flexible/lib/RateLimiterRedis.js' {
  import { RateLimiterRedis } from 'rate-limiter-flexible';

  export = RateLimiterRedis;
}
