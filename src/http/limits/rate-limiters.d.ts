/**
 * Types for the files of the two stores in use. The package's index loads all stores, and one loads `node:cluster`, at
 * which Passenger writes a complaint into the seller's log at every start.
 */
declare module 'rate-limiter-flexible/lib/RateLimiterMySQL.js' {
  import { RateLimiterMySQL } from 'rate-limiter-flexible';

  export = RateLimiterMySQL;
}

declare module 'rate-limiter-flexible/lib/RateLimiterRedis.js' {
  import { RateLimiterRedis } from 'rate-limiter-flexible';

  export = RateLimiterRedis;
}
