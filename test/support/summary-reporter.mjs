import { readdirSync } from 'node:fs';

/** Prints a machine-readable last line, and before it what a full run skipped. */
export default class SummaryReporter {
  constructor({ rootDir, nonFlagArgs }) {
    this.rootDir = rootDir;
    this.isWhole = nonFlagArgs.length === 0;
  }

  onRunComplete(
    _contexts,
    { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites, testResults },
  ) {
    if (this.isWhole && process.env.TEST_FAULTS !== 'all') {
      const run = new Set(testResults.map(({ testFilePath }) => testFilePath));
      const folder = `${this.rootDir}/test/faults`;
      const left = readdirSync(folder).filter((name) => !run.has(`${folder}/${name}`));
      const names = left.map((name) => name.replace('.test.ts', '')).join(', ');
      process.stdout.write(
        `\nLeft to "npm run test:faults": ${names}; and 98,000 of the 100,000 requests of fuzz.\n`,
      );
    }
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : '';
    // Printed at exit, because Jest's own summary comes later and on the other stream.
    process.once('exit', () =>
      process.stdout.write(`\n${numPassedTests} passed, ${failed} failed${skipped}\n`),
    );
  }
}
