import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename } from 'node:path';
import { readUnseen, readWrong } from './answers-seen.mjs';

const namesOf = (paths) =>
  paths
    .map((path) => basename(path, '.test.ts'))
    .sort()
    .join(', ');

/** Prints a machine-readable last line, and before it the tests that a full run skipped. */
export default class SummaryReporter {
  constructor({ rootDir, nonFlagArgs }) {
    this.rootDir = rootDir;
    this.isWhole = nonFlagArgs.length === 0 && process.env.TEST_QUICK === undefined;
  }

  onRunComplete(
    _contexts,
    { numPassedTests, numFailedTests, numPendingTests, numRuntimeErrorTestSuites, testResults },
  ) {
    if (this.isWhole && process.env.TEST_FAULTS !== 'all') {
      const run = new Set(testResults.map(({ testFilePath }) => testFilePath));
      const folder = `${this.rootDir}/test/faults`;
      const left = readdirSync(folder).filter((name) => !run.has(`${folder}/${name}`));
      const shortened = [...run].filter((path) => readFileSync(path, 'utf8').includes("'../support/extent'"));
      process.stdout.write(
        `\nLeft to "npm run test:faults": ${namesOf(left)}; and most runs of ${namesOf(shortened)}.\n`,
      );
      if (process.env.TEST_DATABASES !== 'both')
        process.stdout.write('Left to "npm run test:databases": on SQLite, what differs by no SQL.\n');
    }
    this.compareAnswers();
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    const skipped = numPendingTests > 0 ? `, ${numPendingTests} skipped` : '';
    // Print at exit, because Jest's own summary comes later and on the other stream.
    process.once('exit', () =>
      process.stdout.write(`\n${numPassedTests} passed, ${failed} failed${skipped}\n`),
    );
  }

  /** Fails the run for answers that differ from the document, and a full run also for operations without a call. */
  compareAnswers() {
    const folder = process.env.TEST_ANSWERS;
    if (folder === undefined) return;
    const document = JSON.parse(readFileSync(`${this.rootDir}/docs/openapi.json`, 'utf8'));
    createRequire(import.meta.url)('./answer-recorder.cjs').judgeKept(folder);
    const wrong = readWrong(folder);
    const unseen = this.isWhole && process.env.TEST_FAULTS !== 'all' ? readUnseen(folder, document) : [];
    const texts = [
      ...(wrong.length > 0 ? [`Answers that docs/openapi.json does not describe:`, ...wrong] : []),
      ...(unseen.length > 0 ? [`Of docs/openapi.json no test saw:`, ...unseen] : []),
    ];
    if (texts.length === 0) return;
    process.stdout.write(`\n${texts.join('\n')}\n`);
    this.error = new Error('The answers and docs/openapi.json differ.');
  }

  /** Returns an error, which fails the run. */
  getLastError() {
    return this.error;
  }
}
