/** @jest-config-loader ts-node */
import type { Config } from 'jest';

/** Of the long tests these are in every run; all of them are `npm run test:faults`, or one with TEST_FAULTS=all. */
const FAULTS_IN_EVERY_RUN = ['clock', 'database-killed', 'service-killed'];
const others = `/test/faults/(?!(?:${FAULTS_IN_EVERY_RUN.join('|')})\\.test\\.ts$)`;

const config: Config = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...(process.env.TEST_FAULTS === 'all' ? [] : [others])],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Jest's own choice leaves a core to its parent process, which has nothing to do.
  maxWorkers: '100%',
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/test/support/summary-reporter.mjs'],
};

export default config;
