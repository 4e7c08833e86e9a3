'use strict';
const { TestEnvironment } = require('jest-environment-node');

/** Classes that are the same inside and outside a test file's sandbox (runtime.cjs), so that `instanceof` works. */
const SHARED = ['Date', 'Error', 'Map', 'RangeError', 'Set', 'SyntaxError', 'TypeError'];

/** The sandbox of a test file. */
module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    for (const name of SHARED) this.global[name] = globalThis[name];
    // Fake the outer timers, which the service uses.
    const FakeTimers = this.fakeTimersModern.constructor;
    this.fakeTimersModern = new FakeTimers({ config: config.projectConfig, global: globalThis });
  }
};
