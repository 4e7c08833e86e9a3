/** In `npm run test:faults`: as many runs as are worth the time; otherwise some, so that `npm test` stays short. */
export const IS_WHOLE = process.env.TEST_FAULTS === 'all';

/** How many runs of something: `some` in `npm test`, `all` in `npm run test:faults`. */
export const runs = (some: number, all: number): number => (IS_WHOLE ? all : some);

/** In `npm run test:databases`, and where all bad input is tried: every test that runs on one database runs on both. */
export const ON_BOTH = IS_WHOLE || process.env.TEST_DATABASES === 'both';

/** In the second part of `npm run test:hosting`: the service runs behind Apache and Passenger (hosted-service.ts). */
export const ON_PASSENGER = process.env.TEST_PASSENGER !== undefined;

/** For a case that shared hosting has no place for; a comment beside it says why. */
export const whereNotHosted = <T extends { skip: unknown }>(run: T): T =>
  ON_PASSENGER ? (run.skip as T) : run;
