'use strict';
const { TestEnvironment } = require('jest-environment-node');

/** Classes that are the same inside a test file's sandbox and outside (runtime.cjs), so that `instanceof` tells the truth. */
const SHARED = ['Date', 'Error', 'Map', 'RangeError', 'Set', 'SyntaxError', 'TypeError'];

/** The sandbox of a test file. */
module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    for (const name of SHARED) this.global[name] = globalThis[name];
    // The service has its timers outside.
    const FakeTimers = this.fakeTimersModern.constructor;
    this.fakeTimersModern = new FakeTimers({ config: config.projectConfig, global: globalThis });
  }
};
