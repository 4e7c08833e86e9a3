'use strict';
/*
 * Preloaded into the process that Passenger starts (hosted-service.ts): the service of this build reads the clock of
 * the test, as in the tests' own process, and its answers are compared with the document.
 */
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
require('./answer-recorder.cjs');

const { TEST_CLOCK, TEST_APP } = process.env;
const path = join(TEST_APP, 'dist/src/app/service.js');
const service = require(path);
const now = () => new Date(readFileSync(TEST_CLOCK, 'utf8'));
require.cache[path].exports = {
  ...service,
  startService: (config, log, _now, open) => service.startService(config, log, now, open),
};
