/** @jest-config-loader ts-node */
import { availableParallelism } from 'node:os';
import type { Config } from 'jest';

/** Types are stripped, and the pages' components compiled as tsconfig.json says. */
const swc = (parser: object): [string, object] => [
  '@swc/jest',
  {
    jsc: {
      target: 'es2022',
      parser: { syntax: 'typescript', ...parser },
      transform: { react: { runtime: 'automatic', importSource: 'hono/jsx' } },
    },
    module: { type: 'commonjs' },
  },
];

/** `npm run test:mysql` */
const ON_MYSQL = process.env.TEST_MYSQL !== undefined;

/**
 * `npm run test:quick`: the rules, by tables, and the service over HTTP on SQLite, in a few minutes. Tests that need a
 * server, PHP or root are left out.
 */
const IS_QUICK = process.env.TEST_QUICK !== undefined;
const QUICK = [
  '**/test/units/*.test.ts',
  '**/test/contract/{contract,fuzz}.test.ts',
  '**/test/hooks/rules.test.ts',
  '**/test/manage/{form,licenses,orders,scopes}.test.ts',
  '**/test/pages/{escaping,license}.test.ts',
  '**/test/webhooks/{deliveries,events}.test.ts',
];

const config: Config = {
  runtime: '<rootDir>/test/support/runtime.cjs',
  testEnvironment: '<rootDir>/test/support/environment.cjs',
  roots: ['<rootDir>/test'],
  // test/cluster runs in `npm run test:cluster`, test/release in `npm run test:release`.
  testMatch: IS_QUICK ? QUICK : ['**/*.test.ts', '!**/test/cluster/**'],
  // Slow tests run in `npm run test:faults`. To run one file of them: TEST_FAULTS=all npx jest test/faults/clock
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.env.TEST_FAULTS === 'all' || ON_MYSQL ? [] : ['/test/faults/']),
    ...(IS_QUICK ? ['/units/(?:keys|log|versions|target-platform)'] : []),
    // MariaDB has a log of what it writes to disk; the document is judged by answers of all tests.
    ...(ON_MYSQL ? ['/disk-tables', '/contract/document'] : []),
  ],
  transform: { '^.+\\.ts$': swc({}), '^.+\\.tsx$': swc({ tsx: true }) },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Tests wait half of their time for servers that they start and stop.
  maxWorkers: 2 * availableParallelism(),
  // A hung test ends. With busy loops on two cores and a load of 20, tests of many commands took 120 s.
  testTimeout: 300_000,
  // Within Jest's 500 ms a worker with a heap of 300 MB has closed everything, but not always ended on a busy machine.
  workerGracefulExitTimeout: 10_000,
  reporters: ['default', '<rootDir>/test/support/summary-reporter.mjs'],
};

export default config;
