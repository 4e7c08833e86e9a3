/** In `npm run test:faults`: as many runs as are worth the time; otherwise some, so that `npm test` stays short. */
export const IS_WHOLE = process.env.TEST_FAULTS === 'all';

/** How many runs of something: `some` in `npm test`, `all` in `npm run test:faults`. */
export const runs = (some: number, all: number): number => (IS_WHOLE ? all : some);

/** In `npm run test:databases`, and where all bad input is tried: every test that runs on one database runs on both. */
export const ON_BOTH = IS_WHOLE || process.env.TEST_DATABASES === 'both';
