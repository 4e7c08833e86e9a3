'use strict';
/*
 * Loaded first by the process that Passenger starts (hosted-service.ts): the service of this build reads the clock that the
 * test sets, as it does in the tests' own process, and its answers are compared with the document.
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
