/** True in `npm run test:faults`, which makes all useful runs; `npm test` makes only some, to remain short. */
export const IS_WHOLE = process.env.TEST_FAULTS === 'all';

/** Returns the number of runs: `some` in `npm test`, `all` in `npm run test:faults`. */
export const runs = (some: number, all: number): number => (IS_WHOLE ? all : some);

/** True in `npm run test:databases`, and for all bad input: every test that uses one database runs on both. */
export const ON_BOTH = IS_WHOLE || process.env.TEST_DATABASES === 'both';

/** True in the second part of `npm run test:hosting`: behind Apache and Passenger (hosted-service.ts). */
export const ON_PASSENGER = process.env.TEST_PASSENGER !== undefined;

/** Skips a case that is impossible on shared hosting; a comment next to it gives the reason. */
export const whereNotHosted = <T extends { skip: unknown }>(run: T): T =>
  ON_PASSENGER ? (run.skip as T) : run;

/** In `npm run test:quick`: without MariaDB and Redis, so that it needs only Node and no rights. */
export const IS_QUICK = process.env.TEST_QUICK !== undefined;
